// SPDX-License-Identifier: Apache-2.0
// A profile of round numbers for closed forms; no GPU has it.
#pragma once

#include "models/profile/profile.hpp"

namespace weft::model::testing {

template <class T>
Sourced<T> given(T value) {
  return {value, {SourceKind::assumed, "test"}};
}

inline ProtocolCosts protocol(CollectiveOp op, CollectiveAlgorithm algorithm, Duration base,
                              Duration hop, Bandwidth rate) {
  ProtocolCosts costs;
  costs.op = op;
  costs.algorithm = algorithm;
  costs.base = given(base);
  costs.hop = given(hop);
  costs.slack = given(Bytes{});
  costs.rate = given(rate);
  costs.local_steps = given(0.0);
  costs.ctas = given<std::int64_t>(16);
  return costs;
}

/// 100 SMs, 100 TFLOP/s, 1 TB/s of HBM, links of 100 GB/s.
inline Profile sample_profile() {
  using namespace literals;
  Profile profile;
  profile.name = "round";
  profile.gpu.architecture = "none";
  profile.gpu.sms = given<std::int64_t>(100);
  profile.gpu.matrix = {{DType::bf16, given(100_TFLOPps)}, {DType::fp8_e4m3, given(200_TFLOPps)}};
  profile.gpu.vector_fp32 = given(10_TFLOPps);
  profile.gpu.hbm = given(1_TBps);
  profile.gpu.hbm_size = given(80_GiB);
  profile.gpu.l2 = given(4_TBps);
  profile.gpu.l2_size = given(50_MiB);
  profile.gpu.link_per_direction = given(100_GBps);
  profile.control.launch = given(3_us);
  profile.control.kernel_drain = given(1_us);
  profile.control.signal_peer = given(2_us);
  profile.copy_engines = {{CopyPath::to_peer, given(4_us), given(90_GBps), given(80_GBps)}};
  profile.sm_copies = {
      {CopyPath::to_peer, given(10_GBps), given(95_GBps), given<std::int64_t>(512)}};
  return profile;
}

}  // namespace weft::model::testing
