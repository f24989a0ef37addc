// clang-format off
#include "flux/op_registry.h"
namespace bytedance::flux {
using namespace cute;

static int config_hand_written = []() {
  auto &inst = TuningConfigRegistry::instance();
  inst.add(make_gemm_meta(make_gemm_dtype_config(_BF16{}(),_BF16{}(),_Void{}(),_BF16{}()),_Sm90{}(),_AGKernel{}(),_RCR{}(),_GemmV3{}()),make_runtime_config(4096,6144,8192,make_all_gather_runtime_config(8,1,0)),make_gemm_hparams(make_gemm_v3_hparams(cute::make_tuple(2l,1l,1l)),None{},cute::make_tuple(128l,256l,64l),_GemmDefault{}(),4,_RasterAlongN{}()));
  // NVLink
  inst.add(make_gemm_meta(make_gemm_dtype_config(_BF16{}(),_BF16{}(),_Void{}(),_BF16{}(),_FP32{}(),_FP32{}()),_Sm90{}(),_H800{}(),_ReduceScatter{}(),_RRR{}(),_GemmV3{}(),None{},make_reduce_scatter_meta(false,_IntraNode{}())),make_runtime_config(4096,8192,1024,make_reduce_scatter_runtime_config(8,1)),make_gemm_hparams(make_gemm_v3_hparams(cute::make_tuple(2l,1l,1l),_Cooperative{}()),None{},cute::make_tuple(128l,256l,64l),_GemmDefault{}(),0,_RasterHeuristic{}()));
  return 0;
}();
}
// clang-format on
