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

class PkAgGemm final : public PkSwitchKernel {
 public:
  const ScheduleInfo& info() const override {
    using std::int64_t;
    static const ScheduleInfo info{
        .name = "parallelkittens.ag_gemm",
        .system = "ParallelKittens",
        .summary =
            "one kernel: some CTAs multicast the rank's shard, the others multiply what has come",
        .citation = std::string(pk_citation),
        .knobs = {comm_sms("CTAs that multicast", {int64_t{4}, int64_t{8}, int64_t{16}}, 8)},
        .applies_to = "all-gather + product on 8 Hopper GPUs",
        .order = "own rows first, then blocks of 256 rows interleaved over the 7 peers",
        .edges = "a barrier a block of rows that the sender raises on all ranks through the switch",
        .resources = "num_comm_sms SMs and the switch's multicast; the product on the other SMs",
        .buffers = "the gathered matrix in multicast memory",
        .rules = {"8 ranks of one NVSwitch node", "Hopper",
                  "M divides by 256 x ranks, N by 256, K by 256"}};
    return info;
  }

 protected:
  std::int64_t rows_divide_by() const override { return block_rows * pk_ranks; }
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::all_gather}; }
  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    const int ranks = graph.ranks(), comm_sms = senders(knobs);
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
      const GemmCost cost = pk_cost(view, program.site(), comm_sms, rank);
      sim::KernelWriter kernel = begin(graph, label, cost, comm_sms);
      kernel.role(sim::Purpose::communication, sim::TileOrder::static_shares, comm_sms,
                  "multicast");
      for (std::int64_t block = 0; block < blocks; ++block) {
        const Bytes bytes =
            bytes_of(view.collective.format, rows(block) * view.collective.extent.columns);
        const Bytes each = Bytes::from(divide_up(bytes.count(), comm_sms));
        kernel.range(comm_sms, pk_move_time(program.site(), each), copy_demand)
            .route(program.site().built.multicast[static_cast<std::size_t>(rank)], each, true);
        for (int step = 1; step < ranks; ++step)
          kernel.post(add_one(flag(rank, block, graph.peer(rank, step))));
      }
      multiply(graph, rank, cost, tiles_of_rows(cost, view.work.rank.n, parts, true), kernel);
      launch_product(graph, rank, label, kernel.id());
    }
  }
  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return whole_bytes(view);
  }
};

const Registration pk_ag_gemm(std::make_unique<PkAgGemm>());

}  // namespace
}  // namespace weft::model
