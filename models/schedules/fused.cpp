// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/fused.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "models/schedules/pair_schedule.hpp"
#include "sim/units/check.hpp"

namespace weft::model {

std::optional<FusedPair> fused_pair(const Boundary& boundary) {
  std::optional<FusedPair> weight_gradient;
  for (const Pairing& pair : boundary.pairs) {
    if (pair.relation == Relation::independent) continue;
    if (matmul_of(boundary.operators.at(pair.op)) == nullptr) continue;
    const FusedPair fused{pair.collective, pair.op, pair.relation == Relation::consumes};
    // The rows of a wgrad are features: chunks of tokens would cut its K, and every chunk add into one result.
    if (boundary.operators[pair.op].pass != Pass::wgrad) return fused;
    if (!weight_gradient) weight_gradient = fused;
  }
  return std::nullopt;
}

FusedView::FusedView(const Boundary& boundary, const FusedPair& pair)
    : collective(boundary.collectives.at(pair.collective)),
      work(*matmul_of(boundary.operators.at(pair.op))),
      gathers(pair.gathers) {}

bool FusedView::reduces() const {
  return collective.op == CollectiveOp::reduce_scatter || collective.op == CollectiveOp::all_reduce;
}

ChunkPlan FusedView::plan(int chunks, ChunkOrder order) const {
  return ChunkPlan(collective.extent.rows, collective.group, chunks, order, gathers);
}

Block FusedView::block(const Piece& piece) const {
  return {piece.rows.begin, piece.rows.rows(), 0, collective.extent.columns};
}

Bytes FusedView::bytes(const Block& block) const {
  return bytes_of(collective.format, block.elements());
}

Block FusedView::exchanged(int, RowRange rows, int to) const {
  const RowRange columns = shard_of(collective.extent.columns, collective.group, to);
  return {rows.begin, rows.rows(), columns.begin, columns.rows()};
}

Bytes FusedView::message(const ChunkPlan& plan, int chunk) const {
  // nccl-tests counts one rank's send buffer for an all-to-all, the whole matrix for the others.
  std::int64_t rows = 0;
  plan.each_piece(0, chunk, [&](const Piece& piece) {
    if (collective.op != CollectiveOp::all_to_all || piece.owner == 0) rows += piece.rows.rows();
  });
  return bytes_of(collective.format, rows * collective.extent.columns);
}

CollectiveProblem problem_of(const BoundaryCollective& collective, const Site& site) {
  CollectiveProblem problem = site.group;
  problem.op = collective.op;
  problem.dtype = collective.format.element;
  return problem;
}

bool reach_peers(const Site& site) {
  const auto& ranks = site.built.machine.ranks;
  const bool apart = std::any_of(ranks.begin(), ranks.end(), [&](const sim::Rank& rank) {
    return rank.device != ranks.front().device;
  });
  if (!apart || site.group.ranks_per_node() < 2) return true;
  const auto priced = [](const auto& copies) {
    return std::any_of(copies.begin(), copies.end(),
                       [](const auto& each) { return each.path == CopyPath::to_peer; });
  };
  return priced(site.profile.copy_engines) || priced(site.profile.sm_copies);
}

std::vector<std::string> fused_refusals(const Boundary& boundary, const Site& site,
                                        const Knobs& knobs) {
  std::vector<std::string> refusals;
  const auto pair = fused_pair(boundary);
  if (!pair) {
    return {fmt::format("\"{}\" has no product that makes or needs what is communicated",
                        boundary.name)};
  }
  const FusedView view(boundary, *pair);
  if (site.ranks() < 2) return {"one rank has nobody to talk to"};
  if (view.collective.group != site.ranks()) {
    refusals.push_back(fmt::format("the collective joins {} ranks and the site has {}",
                                   view.collective.group, site.ranks()));
  }
  if (!reach_peers(site)) return {no_peer_access};
  const std::string& transport = knobs.text("transport");
  if (transport == "copy_engine" || transport == "switch") {
    if (site.group.nodes > 1) {
      refusals.push_back(fmt::format("{} reaches only peers of one node; the ranks are on {}",
                                     transport == "switch" ? "a switch" : "a copy engine",
                                     site.group.nodes));
    }
  }
  if (transport == "switch") {
    if (!site.fabric.switch_reduces)
      refusals.push_back("no switch that multicasts and reduces joins the ranks");
    if (view.collective.op == CollectiveOp::all_to_all) {
      refusals.push_back("an all-to-all has nothing to multicast or reduce");
    }
  }
  if (transport == "copy_engine") require_engines(refusals, site);
  require_sms(refusals, site, knobs.count("margin"));
  const std::int64_t shard = shard_of(view.collective.extent.rows, site.ranks(), 0).rows();
  const std::int64_t chunks = knobs.count("chunks");
  if (chunks > shard) {
    refusals.push_back(
        fmt::format("{} chunks of {} rows of a rank leave chunks empty", chunks, shard));
  }
  return refusals;
}

Bytes chunk_buffers(const FusedView& view) {
  return view.collective.op == CollectiveOp::all_to_all ? output_bytes(view) : whole_bytes(view);
}

std::vector<Transfer> direct_transfers(const FusedView& view, const ChunkPlan& plan) {
  std::vector<Transfer> transfers;
  const int ranks = view.collective.group;
  const auto add = [&](Transfer transfer) {
    if (!transfer.block.empty() && transfer.from != transfer.to)
      transfers.push_back(std::move(transfer));
  };
  for (int chunk = 0; chunk < plan.size(); ++chunk) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (const Piece& piece : plan.pieces(rank, chunk)) {
        if (view.collective.op == CollectiveOp::all_to_all) {
          if (piece.owner != rank) continue;
          for (int to = 0; to < ranks; ++to) {
            add({Transfer::Kind::gather,
                 rank,
                 to,
                 view.exchanged(rank, piece.rows, to),
                 {},
                 chunk,
                 0});
          }
        } else if (view.gathers) {
          add({Transfer::Kind::gather, piece.owner, rank, view.block(piece), {}, chunk, 0});
        } else {
          add({Transfer::Kind::reduce, rank, piece.owner, view.block(piece), {rank}, chunk, 0});
        }
      }
    }
  }
  if (view.collective.op == CollectiveOp::all_reduce) {
    // Sums go back once every rank's part of them is in, so in a step after all chunks.
    for (int owner = 0; owner < ranks; ++owner) {
      const Piece piece{owner, shard_of(view.collective.extent.rows, ranks, owner)};
      for (int to = 0; to < ranks; ++to) {
        add({Transfer::Kind::gather, owner, to, view.block(piece), {}, plan.size(), 0});
      }
    }
  }
  return transfers;
}

std::vector<Transfer> library_transfers(const BoundaryCollective& collective, const Site& site,
                                        CollectiveAlgorithm algorithm) {
  ChunkGeometry geometry;
  geometry.op = collective.op;
  geometry.ranks = collective.group;
  geometry.node_of_rank = site.built.node_of_rank;
  const auto cut = [&](MatrixDim dim, int rank) {
    Block block{0, collective.extent.rows, 0, collective.extent.columns};
    const RowRange part =
        shard_of(dim == MatrixDim::columns ? block.columns : block.rows, collective.group, rank);
    if (dim == MatrixDim::columns) {
      block.column = part.begin;
      block.columns = part.rows();
    } else {
      block.row = part.begin;
      block.rows = part.rows();
    }
    return block;
  };
  const MatrixDim owned = collective.op == CollectiveOp::all_gather       ? collective.from
                          : collective.op == CollectiveOp::reduce_scatter ? collective.to
                                                                          : MatrixDim::rows;
  geometry.owned = [=](int rank) { return cut(owned, rank); };
  geometry.exchanged = [=](int from, int to) {
    const Block source = cut(collective.from, from), target = cut(collective.to, to);
    const std::int64_t row = std::max(source.row, target.row);
    const std::int64_t column = std::max(source.column, target.column);
    return Block{row, std::min(source.row + source.rows, target.row + target.rows) - row, column,
                 std::min(source.column + source.columns, target.column + target.columns) - column};
  };
  return algorithm_transfers(algorithm, geometry);
}

std::vector<Transfer> library_transfers(const BoundaryCollective& collective, const Site& site) {
  return library_transfers(
      collective, site,
      site.prices->library(problem_of(collective, site), collective.message).algorithm);
}

Duration pipeline_bound(const std::vector<Duration>& computes, const std::vector<Duration>& moves,
                        bool gathers, Duration tail) {
  if (computes.empty()) return tail;
  Duration compute, move;
  for (const Duration& each : computes) compute += each;
  for (const Duration& each : moves) move += each;
  const Duration by_compute = compute + (gathers ? moves.front() : moves.back());
  const Duration by_moves = move + (gathers ? computes.back() : computes.front());
  return std::max(by_compute, by_moves) + tail;
}

Duration copies_bound(const FusedView& view, const std::vector<Piece>& pieces, int rank,
                      const Site& site) {
  const sim::Machine& machine = site.built.machine;
  const sim::Device& device =
      machine.device(machine.ranks.at(static_cast<std::size_t>(rank)).device);
  const sim::EngineDirection wanted =
      view.gathers ? sim::EngineDirection::inbound : sim::EngineDirection::outbound;
  Duration time;
  const auto add = [&](Bytes bytes) {
    if (bytes == Bytes()) return;
    for (const sim::TransportEngine& engine : device.engines) {
      if (engine.direction != wanted && engine.direction != sim::EngineDirection::any) continue;
      // An engine that serves several commands at once overlaps their starts.
      if (engine.concurrency > 1) return;
      time += engine.start_cost;
      if (engine.rate) time += bytes / *engine.rate;
      return;
    }
  };
  for (const Piece& piece : pieces) {
    if (view.collective.op == CollectiveOp::all_to_all) {
      if (piece.owner != rank) continue;
      for (int to = 0; to < view.collective.group; ++to) {
        if (to != rank) add(view.bytes(view.exchanged(rank, piece.rows, to)));
      }
    } else if (piece.owner != rank) {
      add(view.bytes(view.block(piece)));
    }
  }
  return time;
}

Duration tiles_bound(const GemmCost& cost, const Site& site) {
  // What a kernel takes to start beyond a launch is paid again by every one of them, but for the event that one behind
  // another does not wait for.
  const sim::ControlLatency& control = site.built.machine.control;
  const Duration start =
      std::max(Duration(), cost.start - control.launch - control.kernel_drain - control.event_hop);
  return start + divide_up(cost.tiles, std::max<std::int64_t>(1, cost.grid)) * cost.tile_time();
}

namespace {

// The library's kernel for one whole collective, on every rank's communication stream.
void run_whole(const BoundaryCollective& collective, LayerProgram& program) {
  std::vector<sim::StreamId> streams;
  for (int rank = 0; rank < program.running(); ++rank) {
    program.tag(rank, 0, sim::Purpose::communication);
    streams.push_back(program.communication(rank));
  }
  program.collective(
      program.site().prices->library(problem_of(collective, program.site()), collective.message),
      collective.message, collective.name, streams);
}

bool has(const Boundary& boundary, std::size_t collective, Relation relation) {
  return std::any_of(boundary.pairs.begin(), boundary.pairs.end(), [&](const Pairing& pair) {
    return pair.collective == collective && pair.relation == relation;
  });
}

}  // namespace

void expand_around(const Boundary& boundary, const FusedPair& pair, LayerProgram& program,
                   const std::function<void()>& fused) {
  const auto join_all = [&](bool compute_waits) {
    for (int rank = 0; rank < program.running(); ++rank) {
      program.tag(rank, 0, sim::Purpose::synchronisation);
      const sim::StreamId compute = program.compute(rank),
                          communication = program.communication(rank);
      program.join(rank, compute_waits ? compute : communication,
                   compute_waits ? communication : compute);
    }
  };
  const auto operate = [&](std::size_t op) {
    for (int rank = 0; rank < program.running(); ++rank) {
      program.tag(rank, 0, sim::Purpose::compute);
      program.operate(rank, program.compute(rank), boundary.operators[op]);
    }
  };
  // Loose: not the fused ones. A loose collective with no producer here can run at once; a loose operator that
  // needs no collective covers the head of a gather or the tail of a reduction.
  std::vector<std::size_t> early, late;
  for (std::size_t c = 0; c < boundary.collectives.size(); ++c) {
    if (c != pair.collective) (has(boundary, c, Relation::produces) ? late : early).push_back(c);
  }
  const auto needs_collective = [&](std::size_t op) {
    return std::any_of(boundary.pairs.begin(), boundary.pairs.end(), [&](const Pairing& each) {
      return each.op == op && each.relation == Relation::consumes;
    });
  };

  // What was computed before the boundary is what its collectives send.
  join_all(false);
  if (pair.gathers) {
    for (std::size_t op = 0; op < boundary.operators.size(); ++op) {
      const bool produces = std::any_of(late.begin(), late.end(), [&](std::size_t c) {
        return relation_of(boundary, c, op) == Relation::produces;
      });
      if (op != pair.op && !needs_collective(op) && !produces) operate(op);
    }
  } else {
    for (const std::size_t c : early) run_whole(boundary.collectives[c], program);
  }
  fused();
  if (pair.gathers) {
    for (const std::size_t c : early) run_whole(boundary.collectives[c], program);
  }
  bool joined = false;
  for (std::size_t op = 0; op < boundary.operators.size(); ++op) {
    if (op == pair.op) continue;
    const bool produces = std::any_of(late.begin(), late.end(), [&](std::size_t c) {
      return relation_of(boundary, c, op) == Relation::produces;
    });
    if (pair.gathers && !needs_collective(op) && !produces) continue;
    if (needs_collective(op) && !joined) {
      join_all(true);
      joined = true;
    }
    operate(op);
  }
  if (!late.empty()) {
    join_all(false);
    for (const std::size_t c : late) run_whole(boundary.collectives[c], program);
  }
  join_all(true);
}

}  // namespace weft::model
