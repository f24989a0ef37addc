auto &inst = TuningConfigRegistry::instance();
inst.add(make_gemm_meta(_BF16{}()));
inst.add();
