// SPDX-License-Identifier: Apache-2.0
// ParallelKittens' product + all-reduce: computing CTAs store tiles locally and count them up at the tile's owner
// (tile mod 8); communicating CTAs of the owner wait for all 8 counts and all-reduce the tile through the switch.
#include <memory>

#include "models/schedules/demands.hpp"
#include "models/schedules/published/pk_rules.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

class PkGemmAr final : public PkSwitchKernel {
 public:
  const ScheduleInfo& info() const override {
    using std::int64_t;
    static const ScheduleInfo info{
        .name = "parallelkittens.gemm_ar",
        .system = "ParallelKittens",
        .summary =
            "one kernel: CTAs that multiply, and CTAs that all-reduce finished tiles by the switch",
        .citation = std::string(pk_citation),
        .knobs = {comm_sms("CTAs that all-reduce", {int64_t{8}, int64_t{16}, int64_t{32}}, 16)},
        .applies_to = "product + all-reduce on 8 Hopper GPUs",
        .order = "tiles in rows, the same on every rank; tile t belongs to rank t mod 8",
        .edges = "a counter a run of tiles at its owner, raised by all 8 ranks",
        .resources = "num_comm_sms SMs and the switch's reduction and multicast",
        .buffers = "the product's output in multicast memory",
        .rules = {"8 ranks of one NVSwitch node", "Hopper",
                  "M divides by 128, N by 256, K by 256"}};
    return info;
  }

 protected:
  std::int64_t rows_divide_by() const override { return pk_tile_rows; }
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::all_reduce}; }
  // Tiles are followed a wave of the product at a time: an eighth of each wave belongs to each rank.
  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    const int ranks = graph.ranks(), reducers = senders(knobs);
    const GemmCost first = pk_cost(view, program.site(), reducers);
    const std::int64_t wave = std::max<std::int64_t>(ranks, first.resident);
    const std::int64_t waves = divide_up(first.tiles, wave);
    std::vector<RankSignals> counts;  // [wave][owner]
    for (std::int64_t i = 0; i < waves; ++i) counts.push_back(graph.signals());
    const RankSignals done = graph.signals();
    for (int rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const sim::StreamId main = graph.compute(rank);
      graph.join(rank, main, graph.communication(rank));
      const GemmCost cost = pk_cost(view, program.site(), reducers, rank);
      std::vector<ProductPart> parts;
      for (std::int64_t i = 0; i < waves; ++i) {
        ProductPart part;
        part.tiles = std::min(wave, cost.tiles - i * wave);
        part.rows = view.work.rank.m * (i * wave + part.tiles) / cost.tiles -
                    view.work.rank.m * (i * wave) / cost.tiles;
        for (int step = 0; step < ranks; ++step) {
          part.posts.push_back(add_one(counts[static_cast<std::size_t>(i)]
                                             [static_cast<std::size_t>(graph.peer(rank, step))]));
        }
        parts.push_back(part);
      }
      sim::KernelWriter kernel = begin(graph, label, cost, reducers);
      multiply(graph, rank, cost, parts, kernel);
      kernel.role(sim::Purpose::communication, sim::TileOrder::static_shares, reducers, "reduce")
          .spin(10);
      for (std::int64_t i = 0; i < waves; ++i) {
        const std::int64_t tiles = parts[static_cast<std::size_t>(i)].tiles;
        const Bytes own =
            Bytes::from(divide_up(Int128{whole_bytes(view).count()} * tiles, cost.tiles * ranks));
        const Bytes each = Bytes::from(divide_up(own.count(), reducers));
        const Duration time = pk_move_time(program.site(), each);
        kernel.range(reducers, time, copy_demand)
            .route(program.site().built.reduce[at], each)
            .wait(counts[static_cast<std::size_t>(i)][at], static_cast<std::uint64_t>(ranks));
        kernel.range(reducers, time, copy_demand)
            .route(program.site().built.multicast[at], each, true);
      }
      launch_product(graph, rank, label, kernel.id());
      graph.barrier(rank, main, done, static_cast<int>(waves));
    }
  }
  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return output_bytes(view);
  }
};

const Registration pk_gemm_ar(std::make_unique<PkGemmAr>());

}  // namespace
}  // namespace weft::model
