// SPDX-License-Identifier: Apache-2.0
// ParallelKittens' all-gather + product: one kernel, num_comm_sms of whose CTAs load the rank's shard and store it to
// the multicast address, block of rows by block, and tell every rank; the others multiply their own rows first and
// then the peers' blocks in turn, as they come.
#include <memory>

#include "models/schedules/demands.hpp"
#include "models/schedules/published/pk_rules.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

constexpr std::int64_t block_rows = 256;  // rows of a shared-memory chunk: 256 x 128 of bf16

class PkAgGemm final : public PairSchedule {
 public:
  const ScheduleInfo& info() const override {
    using std::int64_t;
    static const ScheduleInfo info{
        .name = "parallelkittens.ag_gemm",
        .system = "ParallelKittens",
        .summary =
            "one kernel: some CTAs multicast the rank's shard, the others multiply what has come",
        .citation = std::string(pk_citation),
        .knobs = {{"num_comm_sms",
                   "CTAs that multicast",
                   {int64_t{4}, int64_t{8}, int64_t{16}},
                   int64_t{8},
                   "num_comm_sms"}},
        .applies_to = "all-gather + product on 8 Hopper GPUs",
        .order = "own rows first, then blocks of 256 rows interleaved over the 7 peers",
        .edges = "a barrier a block of rows that the sender raises on all ranks through the switch",
        .resources = "num_comm_sms SMs and the switch's multicast; the product on the other SMs",
        .buffers = "the gathered matrix in multicast memory",
        .rules = {"8 ranks of one NVSwitch node", "Hopper", "M divides by tile x ranks"}};
    return info;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::all_gather}; }
  void rules(const FusedView& view, const Knobs& knobs, const Site& site,
             Rules& broken) const override {
    pk_rules(view, site, static_cast<int>(knobs.count("num_comm_sms")), broken);
  }
  std::vector<Transfer> moves(const FusedView& view, const Knobs&,
                              const Site& site) const override {
    return part_transfers(view, site, CollectiveAlgorithm::nvls,
                          {0, view.collective.extent.columns}, 0);
  }
  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    const int ranks = graph.ranks(), senders = static_cast<int>(knobs.count("num_comm_sms"));
    const std::int64_t shard = graph.shard_rows(0), blocks = divide_up(shard, block_rows);
    // [owner * blocks + block][rank]
    std::vector<RankSignals> here;
    for (std::int64_t i = 0; i < ranks * blocks; ++i) here.push_back(graph.signals());
    const auto flag = [&](int owner, std::int64_t block, int rank) {
      return here[static_cast<std::size_t>(owner * blocks + block)][static_cast<std::size_t>(rank)];
    };
    const auto rows = [&](std::int64_t block) {
      return std::min(block_rows, shard - block * block_rows);
    };
    const RankSignals ready = graph.signals();
    for (int rank = 0; rank < ranks; ++rank) {
      graph.join(rank, graph.compute(rank), graph.communication(rank));
      graph.barrier(rank, graph.compute(rank), ready);
      std::vector<ProductPart> parts = {{shard}};
      for (std::int64_t block = 0; block < blocks; ++block) {
        for (int step = 1; step < ranks; ++step) {
          parts.push_back({rows(block), 0, {{flag(graph.peer(rank, step), block, rank), 1, 0}}});
        }
      }
      const GemmCost cost = flagged_cost(view, program.site(), senders, rank);
      sim::KernelWriter kernel =
          program.builder().kernel(label, static_cast<int>(cost.resident) + senders);
      kernel.footprint(cost.footprint).prologue(program.beyond_launch(cost.start));
      kernel.role(sim::Purpose::communication, sim::TileOrder::static_shares, senders, "multicast");
      for (std::int64_t block = 0; block < blocks; ++block) {
        const Bytes bytes =
            bytes_of(view.collective.format, rows(block) * view.collective.extent.columns);
        const Bytes each = Bytes::from(divide_up(bytes.count(), senders));
        kernel.range(senders, pk_move_time(program.site(), each), copy_demand)
            .route(program.site().built.multicast[static_cast<std::size_t>(rank)], each, true);
        for (int step = 1; step < ranks; ++step)
          kernel.post(add_one(flag(rank, block, graph.peer(rank, step))));
      }
      kernel
          .role(sim::Purpose::compute, sim::TileOrder::static_shares,
                static_cast<int>(cost.resident))
          .spin(10);
      write_parts(graph, rank, cost, tiles_of_rows(cost, view.work.rank.n, parts, true), kernel);
      program.tag(rank, 0, sim::Purpose::compute);
      program.host(rank).labelled(label).launch(graph.compute(rank), kernel.id());
    }
  }
  Duration compute_bound(const FusedView& view, const Knobs& knobs,
                         const Site& site) const override {
    return flagged_work(view, site, static_cast<int>(knobs.count("num_comm_sms")));
  }
  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return bytes_of(view.collective.format,
                    view.collective.extent.rows * view.collective.extent.columns);
  }
};

const Registration pk_ag_gemm(std::make_unique<PkAgGemm>());

}  // namespace
}  // namespace weft::model
