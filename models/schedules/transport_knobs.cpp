// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/transport_knobs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/units/check.hpp"

namespace weft::model {
namespace {

std::vector<KnobValue> counts(std::initializer_list<std::int64_t> values) {
  return std::vector<KnobValue>(values.begin(), values.end());
}

}  // namespace

const std::vector<KnobSpec>& transport_knobs() {
  static const std::vector<KnobSpec> knobs = {
      {"chunks", "pieces that the communicated rows are cut into",
       counts({1, 2, 3, 4, 6, 8, 12, 16, 24, 32}), default_chunks, ""},
      {"transport",
       "who moves the bytes: copy engines, CTAs on SMs, or CTAs through a switch that reduces",
       {"copy_engine", "sm", "switch"},
       "copy_engine",
       ""},
      {"order",
       "sliced: a chunk is a part of every rank's rows; rotated: each rank takes its peers' rows "
       "in turn, its own "
       "where they cost nothing",
       {"sliced", "rotated"},
       "sliced",
       ""},
      {"ctas", "CTAs that communicate on each rank", counts({1, 2, 4, 8, 16, 24, 32}), default_ctas,
       ""},
      {"pace",
       "free, or held to 95 % of the link so that no queue builds up behind it",
       {"free", "95%"},
       "95%",
       ""},
      {"margin", "SMs that products leave free for communication", counts({0, 8, 16, 24, 32}),
       std::int64_t{0}, ""},
  };
  return knobs;
}

Transport transport_of(const Knobs& knobs) {
  const std::string& name = knobs.text("transport");
  if (name == "copy_engine") return Transport::copy_engine;
  if (name == "switch") return Transport::fabric_switch;
  return Transport::sm;
}

ChunkOrder order_of(const Knobs& knobs) {
  return knobs.text("order") == "rotated" ? ChunkOrder::rotated : ChunkOrder::sliced;
}

bool chunks_overlap(const Knobs& knobs) {
  return knobs.count("chunks") > 1 || order_of(knobs) == ChunkOrder::rotated;
}

Knobs without_sm_knobs(Knobs knobs) {
  for (const KnobSpec& spec : transport_knobs()) {
    if (spec.name == "ctas" || spec.name == "pace" || spec.name == "margin")
      knobs.set(spec.name, spec.default_value);
  }
  return knobs;
}

namespace {

Bandwidth unpaced_rate(const Knobs& knobs, const Site& site) {
  const SmCopyCosts& costs = site.profile.sm_copy(CopyPath::to_peer);
  return std::min(costs.per_cta.value * knobs.count("ctas"), costs.cap.value);
}

}  // namespace

std::optional<Bandwidth> pace_of(const Site& site) {
  if (site.pace) return site.pace;
  if (site.fabric.gpu_per_direction == Bandwidth()) return std::nullopt;
  return Bandwidth::from_bytes_per_second(
      narrow(Int128{site.fabric.gpu_per_direction.bytes_per_second()} * pace_permille / 1000));
}

bool pace_binds(const Knobs& knobs, const Site& site) {
  const std::optional<Bandwidth> pace = pace_of(site);
  return pace && *pace < unpaced_rate(knobs, site);
}

Bandwidth communication_rate(const Knobs& knobs, const Site& site) {
  const Bandwidth rate = unpaced_rate(knobs, site);
  return knobs.text("pace") == "free" ? rate : std::min(rate, pace_of(site).value_or(rate));
}

CollectiveCost paced(CollectiveCost cost, const Site& site) {
  const std::int64_t port = site.fabric.port(cost.algorithm).bytes_per_second();
  const std::int64_t busiest = std::max(cost.per_byte.egress, cost.per_byte.ingress);
  if (busiest == 0 || port == 0) return cost;
  const Bandwidth most = Bandwidth::from_bytes_per_second(
      narrow(Int128{port} * pace_permille / 1000 * cost.denominator / busiest));
  cost.rate_cap = std::min(cost.rate_cap, most);
  return cost;
}

std::uint32_t copy_engine(int mover, int from, int to, const LayerProgram& program) {
  const CopyPath path = program.site().path(mover, from, to);
  const auto engine =
      program.engine(mover, path == CopyPath::same_device ? sim::EngineDirection::local
                            : to == mover                 ? sim::EngineDirection::inbound
                                                          : sim::EngineDirection::outbound);
  WEFT_CHECK(engine.has_value(), "rank {} has no copy engine", mover);
  return *engine;
}

void copy_chunk(const FusedView& view, const std::vector<Piece>& pieces, int rank, int chunk,
                LayerProgram& program) {
  const auto& unicast = program.site().built.unicast;
  const auto route = [&](int from, int to) {
    return unicast[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  };
  program.tag(rank, chunk, sim::Purpose::communication);
  sim::CallWriter& host = program.host(rank).labelled(view.collective.name);
  const auto copy = [&](int from, int to, const Block& block) {
    if (from != to && !block.empty())
      host.copy(program.communication(rank), copy_engine(rank, from, to, program), route(from, to),
                view.bytes(block));
  };
  for (const Piece& piece : pieces) {
    if (view.collective.op == CollectiveOp::all_to_all) {
      if (piece.owner != rank) continue;
      for (int step = 1; step < program.ranks(); ++step) {
        const int to = (rank + step) % program.ranks();
        copy(rank, to, view.exchanged(rank, piece.rows, to));
      }
    } else if (view.gathers) {
      copy(piece.owner, rank, view.block(piece));
    } else {
      copy(rank, piece.owner, view.block(piece));
    }
  }
}

CollectiveCost chunk_collective(const FusedView& view, const Knobs& knobs, Bytes message,
                                const Site& site) {
  const CollectiveProblem problem = problem_of(view.collective, site);
  if (site.group.nodes > 1) return site.prices->library(problem, message);
  const std::optional<CollectiveCost>& cost =
      site.prices->direct(problem, transport_of(knobs), knobs.count("ctas"));
  WEFT_CHECK(cost.has_value(), "{} cannot carry {}", knobs.text("transport"), name_of(problem.op));
  return knobs.text("pace") == "free" ? *cost : paced(*cost, site);
}

std::vector<Transfer> chunk_transfers(const FusedView& view, const ChunkPlan& plan, int chunk,
                                      const Knobs& knobs, const Site& site) {
  const CollectiveCost cost = chunk_collective(view, knobs, view.message(plan, chunk), site);
  ChunkGeometry geometry;
  geometry.op = view.collective.op;
  geometry.ranks = site.ranks();
  geometry.node_of_rank = site.built.node_of_rank;
  geometry.chunk = chunk;
  // Sliced plans only: a piece is the owner's slice, the same on every rank.
  const auto slice = [&view, plan, chunk](int owner) {
    for (const Piece& piece : plan.pieces(owner, chunk)) {
      if (piece.owner == owner) return piece;
    }
    return Piece{owner, {}};
  };
  geometry.owned = [&view, slice](int owner) { return view.block(slice(owner)); };
  geometry.exchanged = [&view, slice](int from, int to) {
    return view.exchanged(from, slice(from).rows, to);
  };
  return algorithm_transfers(cost.algorithm, geometry);
}

}  // namespace weft::model
