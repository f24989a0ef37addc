// SPDX-License-Identifier: Apache-2.0
// The rules are those of initialize_ub in Transformer Engine (transformer_engine/pytorch/module/
// base.py) at commit d0067d0, and of its UserBuffers (UB_MAX_SM 32).
#include "models/import/tp_overlap.hpp"

#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "models/cost/userbuffers.hpp"

namespace weft::model {
namespace {

constexpr int kWithClusters = 90;  // settings are read for GPUs that have them

constexpr UbSite kSites[] = {
    {"qkv_fprop", UbMethod::ring_exchange, true, false, false},
    {"qkv_dgrad", UbMethod::bulk, false, true, false},
    {"qkv_wgrad", UbMethod::bulk, false, true, false},
    {"proj_fprop", UbMethod::pipeline, false, false, false},
    {"proj_dgrad", UbMethod::ring_exchange, true, false, false},
    {"proj_wgrad", UbMethod::external, true, false, true},
    {"fc1_fprop", UbMethod::ring_exchange, true, false, false},
    {"fc1_dgrad", UbMethod::bulk, false, true, false},
    {"fc1_wgrad", UbMethod::bulk, false, true, false},
    {"fc2_fprop", UbMethod::pipeline, false, false, false},
    {"fc2_dgrad", UbMethod::ring_exchange, true, false, false},
    {"fc2_wgrad", UbMethod::external, true, false, true},
};

}  // namespace

std::string_view name_of(UbMethod method) {
  switch (method) {
    case UbMethod::ring_exchange:
      return "ring_exchange";
    case UbMethod::pipeline:
      return "pipeline";
    case UbMethod::bulk:
      return "bulk";
    case UbMethod::external:
      return "external";
  }
  return "unknown";
}

std::int64_t ub_num_sm(const UbGemm& gemm) {
  return gemm.num_sm.value_or(gemm.method == UbMethod::ring_exchange ? 1 : 16);
}

bool same_settings(const UbGemm& a, const UbGemm& b) {
  const auto settings = [](const UbGemm& g) {
    return std::tie(g.name, g.method, g.num_sm, g.cga_size, g.num_splits, g.set_sm_margin,
                    g.aggregate, g.atomic_gemm, g.use_ce, g.fp8_buf);
  };
  return settings(a) == settings(b);
}

const UbSite* ub_site(std::string_view name) {
  for (const UbSite& site : kSites) {
    if (site.name == name) return &site;
  }
  return nullptr;
}

std::vector<std::string> faults_of(const UbGemm& gemm) {
  std::vector<std::string> faults;
  const UbSite* site = ub_site(gemm.name);
  if (site == nullptr) return {fmt::format("there is no product \"{}\"", gemm.name)};
  const std::string_view method = name_of(gemm.method);
  if (gemm.method == UbMethod::pipeline && site->gathers) {
    faults.push_back(fmt::format("pipeline cannot gather: {} takes ring_exchange", gemm.name));
  }
  if (gemm.method == UbMethod::bulk && !site->may_be_bulk) {
    faults.push_back(fmt::format("{} has nothing to run beside it in bulk", gemm.name));
  }
  if ((gemm.method == UbMethod::external) != (site->may_be_external)) {
    faults.push_back(site->may_be_external
                         ? fmt::format("{} rides on its dgrad: only external", gemm.name)
                         : fmt::format("{} cannot be external", gemm.name));
  }
  for (std::string& fault : ub_grid_faults(ub_num_sm(gemm), gemm.cga_size.value_or(1),
                                           gemm.method == UbMethod::pipeline, kWithClusters))
    faults.push_back(std::move(fault));
  if (gemm.num_splits && gemm.method != UbMethod::pipeline) {
    faults.push_back(fmt::format("num_splits belongs to pipeline, not to {}", method));
  }
  if (gemm.num_splits && (*gemm.num_splits < 1 || *gemm.num_splits > 64)) {
    faults.push_back(fmt::format("num_splits {} is not between 1 and 64", *gemm.num_splits));
  }
  if (gemm.aggregate.value_or(false) && gemm.method != UbMethod::ring_exchange) {
    faults.push_back(fmt::format("aggregate belongs to ring_exchange, not to {}", method));
  }
  const bool whole = gemm.method == UbMethod::bulk || gemm.method == UbMethod::external;
  if (gemm.atomic_gemm.value_or(false) && whole) {
    faults.push_back(fmt::format("atomic_gemm does not go with {}", method));
  }
  if (gemm.fp8_buf.value_or(false) && !site->gathers && gemm.method != UbMethod::bulk &&
      gemm.method != UbMethod::pipeline) {
    faults.push_back(fmt::format("{} keeps no gathered input for fp8_buf", gemm.name));
  }
  return faults;
}

std::vector<UbPairFault> pair_faults_of(const std::vector<UbGemm>& gemms) {
  const auto find = [&](std::string_view name) -> const UbGemm* {
    for (const UbGemm& gemm : gemms) {
      if (gemm.name == name) return &gemm;
    }
    return nullptr;
  };
  std::vector<UbPairFault> faults;
  for (const auto& [gather, reduction] :
       {std::pair("qkv_fprop", "proj_fprop"), std::pair("fc1_fprop", "fc2_fprop")}) {
    const UbGemm *a = find(gather), *b = find(reduction);
    const bool atomic = a != nullptr && a->atomic_gemm.value_or(false);
    if ((a != nullptr || b != nullptr) &&
        atomic != (b != nullptr && b->atomic_gemm.value_or(false))) {
      faults.push_back({b == nullptr ? gather : reduction,
                        fmt::format("atomic_gemm of {} and of {} differ", gather, reduction)});
    }
  }
  // initialize_ub takes the wgrad out of the bulk ones, and asserts that it is not told otherwise
  // (NVIDIA/TransformerEngine pull request 1341).
  for (const auto& [dgrad, wgrad] :
       {std::pair("qkv_dgrad", "qkv_wgrad"), std::pair("fc1_dgrad", "fc1_wgrad")}) {
    const UbGemm* a = find(dgrad);
    if (a != nullptr && a->method != UbMethod::bulk && find(wgrad) != nullptr) {
      faults.push_back({wgrad, fmt::format("{} reduces as {}, which leaves {} nothing to overlap",
                                           dgrad, name_of(a->method), wgrad)});
    }
  }
  return faults;
}

}  // namespace weft::model
