====== Generated Config Code =======
  inst.add(
      make_gemm_meta(
          _FP16{}(),  // one type for all
          _Sm90{}(), _AGKernel{}(), _RRR{}(), _GemmV3{}()),
      make_runtime_config(
          2048, 12288, /* local */ 6144,
          make_all_gather_runtime_config(4, 1)),
      make_gemm_hparams(
          make_gemm_v2_hparams(cute::make_tuple(1l, 2l, 1l)), None{},
          cute::make_tuple(256l, 128l, 64l), _GemmDefault{}(), 3, _RasterAlongM{}()));
