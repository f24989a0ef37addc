// SPDX-License-Identifier: Apache-2.0
// Ascend's cross-operator forms: the backward of attention beside the all-reduce of the FFN's gradient, and the FFN
// beside that of attention's. The collective of one operator goes whole on the HCCL server while the cores run another
// that neither makes nor needs it.
#include <memory>

#include <fmt/format.h>

#include "models/schedules/graph_writer.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/whole_schedule.hpp"

namespace weft::model {
namespace {

class Mc2CrossOperator final : public WholeSchedule {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "mc2.cross_operator",
        .system = "Ascend MC2",
        .summary =
            "one operator's collective on the HCCL server beside another operator on the cores",
        .citation =
            "gitcode.com/cann/ops-transformer: attention backward beside the FFN gradient's "
            "AllReduce, FFN beside the attention gradient's",
        .knobs = {},
        .applies_to =
            "boundaries on Ascend with an operator that neither makes nor needs what is moved",
        .order = "operators as they come; a collective as soon as what it sends is there",
        .edges = "events between the cores' stream and the HCCL server's",
        .resources = "the HCCL server; all AI cores compute",
        .buffers = "the collective's message in the communication window",
        .rules = {"Ascend", "independent work in the boundary", "ranks of one node"}};
    return info;
  }

 protected:
  bool runs_on(std::string_view architecture) const override {
    return architecture.starts_with("ascend");
  }
  bool overlaps(const Boundary&, const Knobs&, const Site&) const override { return true; }
  void rules(const Boundary& boundary, const Knobs&, const Site& site,
             Rules& broken) const override {
    require_engines(broken, site);
    require(broken, has_independent_work(boundary),
            "a cross-operator form overlaps independent operators, and here each makes or needs "
            "what is "
            "communicated");
  }
  std::optional<CollectiveCost> carry(const BoundaryCollective&, const Knobs&, const Site& site,
                                      std::string& why) const override {
    if (site.group.nodes > 1) {
      why = fmt::format("the HCCL server reaches the ranks of one node, and these are on {}",
                        site.group.nodes);
      return std::nullopt;
    }
    CollectiveCost cost;
    cost.algorithm = CollectiveAlgorithm::direct;
    cost.transport = Transport::copy_engine;
    return cost;
  }
  void launch(const BoundaryCollective& collective, const Knobs&,
              const std::vector<sim::StreamId>& streams, const std::vector<sim::EventId>&,
              LayerProgram& program) const override {
    GraphWriter graph(collective, program);
    const auto transfers =
        library_transfers(collective, program.site(), CollectiveAlgorithm::direct);
    int steps = 0;
    for (const Transfer& each : transfers) steps = std::max(steps, each.step + 1);
    // Partials are added as the server writes them; what it gathers afterwards waits for all ranks.
    std::vector<RankSignals> met;
    for (int step = 0; step <= steps; ++step) met.push_back(graph.signals());
    for (int rank = 0; rank < graph.ranks(); ++rank) {
      const sim::StreamId server = streams[static_cast<std::size_t>(rank)];
      graph.barrier(rank, server, met[0]);
      for (int step = 0; step < steps; ++step) {
        for (int by = 1; by < graph.ranks(); ++by) {
          const int to = graph.peer(rank, by);
          for (const Transfer& each : transfers) {
            if (each.step != step || each.from != rank || each.to != to) continue;
            graph.copy(rank, server, rank, to, bytes_of(collective.format, each.block.elements()),
                       step, sim::EngineKind::ccu);
          }
        }
        graph.barrier(rank, server, met[static_cast<std::size_t>(step + 1)], step);
      }
    }
  }
};

const Registration mc2_cross_operator(std::make_unique<Mc2CrossOperator>());

}  // namespace
}  // namespace weft::model
