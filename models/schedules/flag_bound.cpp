// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <vector>

#include "models/schedules/communication_kernel.hpp"
#include "models/schedules/flag_parts.hpp"
#include "models/schedules/flag_program.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/store_program.hpp"
#include "models/schedules/tile_walk.hpp"
#include "models/schedules/transport_knobs.hpp"
#include "models/schedules/wire_bound.hpp"

namespace weft::model {
namespace {

// Bytes of a chunk that rank 0 pulls (gather) or pushes, and rows of it that its product computes.
struct ChunkWork {
  Bytes moved;
  std::int64_t rows = 0;
};

ChunkWork work_of(const FusedView& view, const ChunkPlan& plan, int chunk) {
  ChunkWork work;
  plan.each_piece(0, chunk, [&](const Piece& piece) {
    if (view.collective.op == CollectiveOp::all_to_all) {
      if (piece.owner != 0) return;
      work.rows += piece.rows.rows();
      for (int to = 1; to < view.collective.group; ++to)
        work.moved += view.bytes(view.exchanged(0, piece.rows, to));
    } else {
      work.rows += piece.rows.rows();
      if (piece.owner != 0) work.moved += view.bytes(view.block(piece));
    }
  });
  return work;
}

// What one rank's movers take for these bytes: engines one after the other, CTAs at their common rate. Through a
// switch a rank moves one block for all of its peers, but what they move enters its port, so that the port is the
// bound.
Duration move_time(const FusedView& view, const ChunkPlan& plan, int chunk, const Knobs& knobs,
                   const std::optional<Bandwidth>& port, const Site& site) {
  const Bytes moved = work_of(view, plan, chunk).moved;
  const Duration at_port = port ? moved / *port : Duration();
  // No mover but the port bounds tiles that go by themselves.
  if (stores_tiles(view, knobs, site)) return at_port;
  switch (transport_of(knobs)) {
    case Transport::copy_engine:
      return copies_bound(view, plan.pieces(0, chunk), 0, site);
    case Transport::fabric_switch:
      return at_port;
    case Transport::sm:
    case Transport::nic:
      break;
  }
  return std::max(at_port, moved / communication_rate(knobs, site));
}

// What rank 0 adds of its own rows, cut as the rank before it sends them.
struct Sums {
  Duration all, least;  ///< of all cuts one after the other, of the one that takes least
};

Sums sums_of(const FusedView& view, const ChunkPlan& plan, const Knobs& knobs, const Site& site) {
  Sums sums;
  if (!view.reduces()) return sums;
  std::optional<Duration> least;
  for (int chunk = 0; chunk < plan.size(); ++chunk) {
    plan.each_piece(plan.ranks() - 1, chunk, [&](const Piece& piece) {
      if (piece.owner != 0) return;
      const Bytes bytes = view.bytes(view.block(piece)) * (plan.ranks() + 1);
      const Duration time =
          sum_time(site.profile, Bytes::from(bytes.count() / knobs.count("ctas")), bytes, false);
      sums.all += time;
      least = std::min(least.value_or(time), time);
    });
  }
  sums.least = least.value_or(Duration());
  return sums;
}

// By the product, its movers and rank 0's port.
Duration product_bound(const FusedView& view, const Knobs& knobs, const Site& site) {
  const ChunkPlan plan = view.plan(static_cast<int>(knobs.count("chunks")), order_of(knobs));
  const bool copies = transport_of(knobs) == Transport::copy_engine;
  const GemmCost& cost =
      site.prices->gemm(piece_of(view.work, view.work.rank.m, view.work.rank.n, GemmLibrary::ours),
                        site.sms(0, copies ? 0 : static_cast<int>(knobs.count("margin"))));
  const std::int64_t resident = std::max<std::int64_t>(1, cost.resident);
  const Duration tile = cost.tile_time();
  const Duration compute = divide_up(cost.tiles, resident) * tile;
  const std::optional<Bandwidth> port = port_rate(site, view.gathers);
  std::vector<Duration> moves;
  Duration all_moves;
  for (int chunk = 0; chunk < plan.size(); ++chunk) {
    moves.push_back(move_time(view, plan, chunk, knobs, port, site));
    all_moves += moves.back();
  }
  if (view.gathers)
    return std::max(compute + moves.front(),
                    all_moves + (all_moves > Duration() ? tile : Duration()));
  if (stores_tiles(view, knobs, site)) {
    // What a tile stores goes while it is made; a sum follows the last of it.
    const Duration stored = std::max(flag_tiles(view, plan, cost, site, 0).tile_time,
                                     paced_tile(view, cost, knobs, site));
    const Duration product = divide_up(cost.tiles, resident) * stored;
    const Sums sums = sums_of(view, plan, knobs, site);
    return std::max(std::max(product, all_moves) + sums.least, sums.all);
  }

  // Nothing of a chunk leaves before its tiles are done, as many at once as there are CTAs.
  const std::int64_t first = tiles_of(cost, work_of(view, plan, 0).rows, view.work.rank.n, false);
  const Duration before = divide_up(first, resident) * tile;
  return std::max(compute + moves.back(), before + all_moves);
}

}  // namespace

Duration flag_bound(const FusedView& view, const Knobs& knobs, const Site& site) {
  const Duration bound = product_bound(view, knobs, site);
  const Transport transport = transport_of(knobs);
  const bool straight = transport == Transport::copy_engine || transport == Transport::sm;
  return straight ? std::max(bound, wire_bound(view, site)) : bound;
}

}  // namespace weft::model
