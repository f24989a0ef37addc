// SPDX-License-Identifier: Apache-2.0
// FLUX's all-gather + product: one chunk a rank, pulled by copy engine on one stream, each with a flag that a stream
// memory operation writes; one persistent product whose tiles start with the rank's own rows and wait, chunk by chunk,
// for the flags of the others. One copy stream: the W-1 pulls are strictly serial.
//
// all2all: each rank pulls from rank+1, rank+2, ... (NVSwitch). ring1d: chunks go from rank to rank. ring2d: they go
// round each half of the ranks, and each rank swaps its own with its counterpart's in the other half (two NUMA nodes
// of PCIe). The library's auto takes all2all where a switch joins the ranks, else a ring.
#include <memory>

#include <fmt/format.h>

#include "models/schedules/flagged_product.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

constexpr int most_gathering_ranks = 8;  // of one node: the kernel's barrier table

// One copy: the chunk of `owner` from rank to rank, as that rank's so-manieth.
struct Hop {
  int from = 0, to = 0, owner = 0;
  int step = 0;
};

class FluxAgGemm final : public PairSchedule {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "flux.ag_gemm",
        .system = "FLUX",
        .summary =
            "one persistent product that waits, chunk by chunk, for shards that one copy stream "
            "pulls in turn",
        .citation =
            "bytedance/flux at 19831ca: src/coll/ths_op/all_gather_op.cc, src/ag_gemm; arXiv "
            "2406.06858",
        .knobs = {{"ring_mode",
                   "who sends a shard to whom; auto: all2all over NVLink, else a ring",
                   {"auto", "all2all", "ring1d", "ring2d"},
                   "auto",
                   "AllGatherOption.mode"}},
        .applies_to = "all-gather + product",
        .order =
            "one chunk a rank (SPLIT 1); tiles rotated to start with the rank's own rows, then the "
            "chunks as they come",
        .edges = "a flag a chunk by stream memory operation; two barriers of all ranks before",
        .resources = "one copy engine; the product on all SMs",
        .buffers = "the gathered matrix in symmetric memory, 64 flags",
        .rules = {"at most 8 ranks of one node", "rows divide by the ranks",
                  "K and N in pieces of 16 bytes", "ring2d needs two halves of at least 2 ranks"}};
    return info;
  }
  Knobs normalised(const Boundary&, const Knobs& knobs, const Site& site) const override {
    Knobs result = knobs;
    if (mode_of(knobs, site) == mode_of(Knobs(info().knobs), site)) result.set("ring_mode", "auto");
    return result;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::all_gather}; }

  void rules(const FusedView& view, const Knobs& knobs, const Site& site,
             Rules& broken) const override {
    require_engines(broken, site);
    const int ranks = view.collective.group;
    require(
        broken, site.group.nodes == 1 && ranks <= most_gathering_ranks,
        fmt::format("its copies and flags reach at most {} GPUs of one node; these are {} on {}",
                    most_gathering_ranks, ranks, site.group.nodes));
    require(broken, view.collective.extent.rows % ranks == 0,
            fmt::format("a chunk is M / ranks rows, and {} rows do not divide by {}",
                        view.collective.extent.rows, ranks));
    require_alignment(broken, view, architecture_number(site) >= 90 ? "TMA" : "cp.async");
    require(broken, mode_of(knobs, site) != "ring2d" || (ranks % 2 == 0 && ranks >= 4),
            fmt::format("ring2d needs two halves of at least 2 ranks, and there are {}", ranks));
  }

  std::vector<Transfer> moves(const FusedView& view, const Knobs& knobs,
                              const Site& site) const override {
    std::vector<Transfer> transfers;
    for (int rank = 0; rank < view.collective.group; ++rank) {
      for (const Hop& hop : arrivals(rank, view.collective.group, mode_of(knobs, site))) {
        transfers.push_back({Transfer::Kind::gather,
                             hop.from,
                             hop.to,
                             view.block({hop.owner, rows_of_owner(view, hop.owner)}),
                             {},
                             0,
                             hop.step});
      }
    }
    return transfers;
  }

  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    const int ranks = graph.ranks();
    const std::string mode = mode_of(knobs, program.site());
    const RankSignals first = graph.signals(), second = graph.signals();
    std::vector<RankSignals> flags;  // [owner][rank]
    for (int owner = 0; owner < ranks; ++owner) flags.push_back(graph.signals());
    const auto flag = [&](int owner, int rank) {
      return flags[static_cast<std::size_t>(owner)][static_cast<std::size_t>(rank)];
    };
    for (int rank = 0; rank < ranks; ++rank) {
      const sim::StreamId main = graph.compute(rank), copies = graph.communication(rank);
      graph.join(rank, main, copies);
      graph.barrier(rank, main, first);
      graph.copy(rank, main, rank, rank, graph.shard_bytes(rank), 0);
      graph.post(rank, main, flag(rank, rank));
      graph.barrier(rank, main, second);
      graph.join(rank, copies, main);  // local_prepare
      std::vector<ProductPart> parts = {{graph.shard_rows(rank), 0, {{flag(rank, rank), 1, 0}}}};
      for (const Hop& hop : arrivals(rank, ranks, mode)) {
        // A ring passes on what the rank before has received: its flag is read over the link.
        if (hop.from != hop.owner) graph.wait(rank, copies, flag(hop.owner, hop.from), 1, hop.step);
        graph.copy(rank, copies, hop.from, rank, graph.shard_bytes(hop.owner), hop.step);
        graph.post(rank, copies, flag(hop.owner, rank), hop.step);
        parts.push_back({graph.shard_rows(hop.owner), 0, {{flag(hop.owner, rank), 1, 0}}});
      }
      launch_rows(graph, rank, label, {}, parts, true);
    }
  }

  Duration compute_bound(const FusedView& view, const Knobs&, const Site& site) const override {
    return flagged_work(view, site);
  }
  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return whole_bytes(view);
  }

 private:
  static std::string mode_of(const Knobs& knobs, const Site& site) {
    if (knobs.text("ring_mode") != "auto") return knobs.text("ring_mode");
    if (nvlink_domain(site)) return "all2all";
    return site.ranks() % 2 == 0 && site.ranks() >= 4 ? "ring2d" : "ring1d";
  }

  // The pulls of one rank, in order.
  static std::vector<Hop> arrivals(int rank, int ranks, const std::string& mode) {
    std::vector<Hop> hops;
    const auto add = [&](int from, int owner) {
      hops.push_back({from, rank, owner, static_cast<int>(hops.size()) + 1});
    };
    if (mode == "all2all") {
      for (int step = 1; step < ranks; ++step) add((rank + step) % ranks, (rank + step) % ranks);
      return hops;
    }
    if (mode == "ring1d") {
      const int before = (rank + ranks - 1) % ranks;
      for (int step = 1; step < ranks; ++step) add(before, (rank + ranks - step) % ranks);
      return hops;
    }
    const int half = ranks / 2, base = rank / half * half, other = base == 0 ? half : 0;
    const int place = rank - base, before = base + (place + half - 1) % half;
    for (int step = 1; step < half; ++step) add(before, base + (place + half - step) % half);
    add(other + place, other + place);
    for (int step = 1; step < half; ++step) add(before, other + (place + half - step) % half);
    return hops;
  }
};

const Registration flux_ag_gemm(std::make_unique<FluxAgGemm>());

}  // namespace
}  // namespace weft::model
