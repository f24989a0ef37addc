// SPDX-License-Identifier: Apache-2.0
// cuBLASMp's matrix product with its collective. The library is closed: its algorithms are taken to be what their
// names and Transformer Engine's use of them say.
//
//   split_p2p        a product for each rank's chunk, chunks by COMMUNICATION_SM_COUNT CTAs that store to peers
//   split_multicast  the same with chunks through the switch
//   atomic_p2p       one product with a flag a chunk, chunks by CTAs
//   atomic_multicast the same through the switch
//   no_overlap       product and collective one after the other: what it falls back to without a symmetric workspace
#include <map>
#include <memory>

#include <fmt/format.h>

#include "models/schedules/flag_program.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/transport_knobs.hpp"
#include "sim/units/check.hpp"

namespace weft::model {
namespace {

struct CublasMpForm {
  std::string name;
  CollectiveOp op;
  std::string what;
};

class CublasMpMatmul final : public Schedule {
 public:
  explicit CublasMpMatmul(const CublasMpForm& form) : op_(form.op) {
    using std::int64_t;
    info_ = {
        .name = form.name,
        .system = "cuBLASMp",
        .summary = form.what + " by one of the library's algorithms (closed; structure assumed)",
        .citation =
            "docs.nvidia.com/cuda/cublasmp; NVIDIA/TransformerEngine at d0067d0: "
            "common/comm_gemm/comm_gemm.cpp",
        .knobs = {{"algo",
                   "the library's algorithm",
                   {"split_p2p", "split_multicast", "atomic_p2p", "atomic_multicast", "no_overlap"},
                   "split_p2p",
                   "cublasMpMatmulAlgoType_t"},
                  {"communication_sm_count",
                   "CTAs that communicate",
                   {int64_t{8}, int64_t{16}, int64_t{32}},
                   int64_t{16},
                   "CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_COMMUNICATION_SM_COUNT"}},
        .applies_to = form.what,
        .order = "non-cyclic blocks of ceil(dim / ranks), one chunk a rank",
        .edges = "split: stream events; atomic: a flag a chunk",
        .resources = "communication_sm_count SMs, which the product leaves free",
        .buffers = "a workspace in NCCL's symmetric memory: the gathered or partial rows",
        .rules = {"multicast needs a switch", "ranks of one NVLink domain",
                  "without a symmetric workspace it runs no_overlap, and does not say so"}};
  }

  const ScheduleInfo& info() const override { return info_; }

  bool overlaps(const Boundary& boundary, const Knobs& knobs, const Site& site) const override {
    const Run run = run_of(knobs, site);
    return run.schedule->overlaps(boundary, run.knobs, site);
  }
  std::vector<std::string> refusals(const Boundary& boundary, const Knobs& knobs,
                                    const Site& site) const override {
    const auto pair = fused_pair(boundary);
    if (!pair) {
      return {fmt::format("\"{}\" has no product that makes or needs what is communicated",
                          boundary.name)};
    }
    if (boundary.collectives[pair->collective].op != op_) {
      return {fmt::format("{} fuses {} with a product, and this is {}", info_.name, name_of(op_),
                          name_of(boundary.collectives[pair->collective].op))};
    }
    if (!nvlink_domain(site)) {
      return {fmt::format(
          "its workspace is symmetric memory of one NVLink domain: {} ranks on {} nodes "
          "run no_overlap whatever is asked",
          site.ranks(), site.group.nodes)};
    }
    const bool multicast = knobs.text("algo").ends_with("multicast");
    if (multicast && !site.fabric.switch_reduces)
      return {"multicast needs a switch that multicasts and reduces, and these ranks have none"};
    const Run run = run_of(knobs, site);
    return knobs.text("algo").starts_with("atomic")
               ? flag_refusals(boundary, run.knobs, site)
               : run.schedule->refusals(boundary, run.knobs, site);
  }
  std::vector<std::vector<Transfer>> transfers(const Boundary& boundary, const Knobs& knobs,
                                               const Site& site) const override {
    const Run run = run_of(knobs, site);
    return run.schedule->transfers(boundary, run.knobs, site);
  }
  void expand(const Boundary& boundary, const Knobs& knobs, const Site& site,
              LayerProgram& program) const override {
    const Run run = run_of(knobs, site);
    run.schedule->expand(boundary, run.knobs, site, program);
  }
  Duration lower_bound(const Boundary& boundary, const Knobs& knobs,
                       const Site& site) const override {
    const Run run = run_of(knobs, site);
    return run.schedule->lower_bound(boundary, run.knobs, site);
  }
  Bytes buffer_bytes(const Boundary& boundary, const Knobs& knobs, const Site&) const override {
    const FusedView view(boundary, *fused_pair(boundary));
    return knobs.text("algo") == "no_overlap" ? Bytes() : whole_bytes(view);
  }
  Knobs normalised(const Boundary&, const Knobs& knobs, const Site&) const override {
    Knobs result = knobs;
    if (knobs.text("algo") == "no_overlap") result.set("communication_sm_count", std::int64_t{16});
    return result;
  }

 private:
  struct Run {
    const Schedule* schedule;
    Knobs knobs;
  };
  // Which of weft's own forms has the structure that the algorithm's name says.
  static Run run_of(const Knobs& knobs, const Site& site) {
    const std::string& algorithm = knobs.text("algo");
    const auto form = [](std::string_view name) {
      const Schedule* schedule = find_schedule(name);
      WEFT_CHECK(schedule != nullptr, "there is no schedule {}", name);
      return Run{schedule, Knobs(schedule->info().knobs)};
    };
    if (algorithm == "no_overlap") return form("serial");
    Run run = form(algorithm.starts_with("split") ? "chunked" : "device_flag");
    const std::int64_t sms = knobs.count("communication_sm_count");
    run.knobs.set("chunks", std::int64_t{site.ranks()});
    run.knobs.set("transport", algorithm.ends_with("multicast") ? "switch" : "sm");
    run.knobs.set("ctas", sms);
    run.knobs.set("pace", "free");
    run.knobs.set("margin", sms);
    return run;
  }

  ScheduleInfo info_;
  CollectiveOp op_;
};

const Registration cublasmp_gather(std::make_unique<CublasMpMatmul>(CublasMpForm{
    "cublasmp.ag_matmul", CollectiveOp::all_gather, "all-gather + product"}));
const Registration cublasmp_scatter(std::make_unique<CublasMpMatmul>(CublasMpForm{
    "cublasmp.matmul_rs", CollectiveOp::reduce_scatter, "product + reduce-scatter"}));
const Registration cublasmp_reduce(std::make_unique<CublasMpMatmul>(CublasMpForm{
    "cublasmp.matmul_ar", CollectiveOp::all_reduce, "product + all-reduce"}));

}  // namespace
}  // namespace weft::model
