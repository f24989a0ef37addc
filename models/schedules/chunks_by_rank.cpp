// SPDX-License-Identifier: Apache-2.0
// Gather:    pull i on the communication stream, an event, product i.
// Reduction: product i, an event, push i into a slot of the owner; the owner adds its slots at the end. What a peer
//            that does not run would push is fetched from it meanwhile, so that both directions are loaded as
//            they would be.
// Ranks that all run meet before the first pull and after the last push, by flags or, in one process, by events; memory
// is always ready.
#include "models/schedules/chunks_by_rank.hpp"

#include <algorithm>
#include <vector>

#include "models/schedules/communication_kernel.hpp"
#include "models/schedules/one_process.hpp"
#include "models/schedules/slot_sums.hpp"
#include "models/schedules/transport_knobs.hpp"

namespace weft::model {
namespace {

std::size_t index_of_rank(int rank) {
  return static_cast<std::size_t>(rank);
}

class ChunksByRank {
 public:
  ChunksByRank(const FusedView& view, const ChunkPlan& plan, const Knobs& knobs,
               std::string_view label, LayerProgram& program)
      : view_(view), plan_(plan), knobs_(knobs), label_(label), program_(program) {
    engines_ = transport_of(knobs) == Transport::copy_engine;
    by_events_ = in_one_process(program.site());
    margin_ = engines_ ? 0 : static_cast<int>(knobs.count("margin"));
    // Pushes and fetches of CTAs that run at the same time share the CTAs of the knob.
    ctas_ = knobs.count("ctas");
    if (!view.gathers && some_rest()) ctas_ = std::max<std::int64_t>(1, ctas_ / 2);
  }

  void gather() {
    const std::vector<sim::SignalId> ready = begin_pulls();
    for (int rank = 0; rank < program_.running(); ++rank) {
      meet(rank, ready, "ready", 0);
      for (int chunk = 0; chunk < plan_.size(); ++chunk) {
        const std::vector<Piece> pieces = plan_.pieces(rank, chunk);
        move(rank, chunk, pieces);
        if (crosses(rank, pieces)) {
          program_.tag(rank, chunk, sim::Purpose::synchronisation);
          program_.join(rank, program_.compute(rank), program_.communication(rank));
        }
        chunk_product(view_, plan_, rank, chunk, margin_, label_, program_);
      }
    }
  }

  // The collective without products: from the compute stream and back to it.
  void alone() {
    const std::vector<sim::SignalId> first = view_.gathers ? begin_pulls() : signals();
    for (int rank = 0; rank < program_.running(); ++rank) {
      program_.tag(rank, 0, sim::Purpose::synchronisation);
      program_.join(rank, program_.communication(rank), program_.compute(rank));
      if (!view_.gathers && some_rest())
        program_.join(rank, program_.fetch(rank), program_.compute(rank));
      if (view_.gathers) meet(rank, first, "ready", 0);
      for (int chunk = 0; chunk < plan_.size(); ++chunk) {
        const std::vector<Piece> pieces = plan_.pieces(rank, chunk);
        if (!view_.gathers) fetch(rank, chunk, pieces);
        move(rank, chunk, pieces);
      }
      if (!view_.gathers) meet(rank, first, "arrived", plan_.size() - 1);
    }
    if (view_.reduces()) add_up();
    for (int rank = 0; rank < program_.running(); ++rank) {
      program_.tag(rank, 0, sim::Purpose::synchronisation);
      program_.join(rank, program_.compute(rank), program_.communication(rank));
    }
  }

  void scatter() {
    const std::vector<sim::SignalId> arrived = signals();
    for (int rank = 0; rank < program_.running(); ++rank) {
      for (int chunk = 0; chunk < plan_.size(); ++chunk) {
        const std::vector<Piece> pieces = plan_.pieces(rank, chunk);
        fetch(rank, chunk, pieces);
        chunk_product(view_, plan_, rank, chunk, margin_, label_, program_);
        if (!crosses(rank, pieces)) continue;
        program_.tag(rank, chunk, sim::Purpose::synchronisation);
        program_.join(rank, program_.communication(rank), program_.compute(rank));
        move(rank, chunk, pieces);
      }
      meet(rank, arrived, "arrived", plan_.size() - 1);
    }
    if (view_.reduces()) add_up();
  }

 private:
  bool some_rest() const { return program_.running() < program_.ranks(); }
  static bool crosses(int rank, const std::vector<Piece>& pieces) {
    return std::any_of(pieces.begin(), pieces.end(),
                       [rank](const Piece& piece) { return piece.owner != rank; });
  }
  sim::RouteId route(int from, int to) const {
    return program_.site().built.unicast[index_of_rank(from)][index_of_rank(to)];
  }

  // What ranks tell each other before the first of them pulls.
  std::vector<sim::SignalId> begin_pulls() {
    if (by_events_) await_peers(program_);
    return signals();
  }

  // One signal in each running rank's memory, where ranks meet by them.
  std::vector<sim::SignalId> signals() {
    std::vector<sim::SignalId> result;
    if (by_events_) return result;
    for (int rank = 0; rank < program_.running(); ++rank)
      result.push_back(program_.builder().signal(program_.memory(rank)));
    return result;
  }

  // Tells every running peer that this rank has come so far, and waits until all of them have.
  void meet(int rank, const std::vector<sim::SignalId>& signals, std::string_view label,
            int chunk) {
    if (by_events_) return;
    std::vector<sim::SignalId> peers;
    const int running = program_.running();
    for (int step = 1; step < running; ++step)
      peers.push_back(signals[index_of_rank((rank + step) % running)]);
    if (peers.empty()) return;
    program_.tag(rank, chunk, sim::Purpose::synchronisation);
    program_.post_all(rank, program_.communication(rank), label, peers);
    program_.host(rank).wait(program_.communication(rank), signals[index_of_rank(rank)],
                             static_cast<std::uint64_t>(running - 1));
  }

  // What a chunk brings (gather) or takes away, on the communication stream.
  void move(int rank, int chunk, const std::vector<Piece>& pieces) {
    if (engines_) {
      copy_chunk(view_, pieces, rank, chunk, program_);
      return;
    }
    program_.tag(rank, chunk, sim::Purpose::communication);
    for (const Piece& piece : pieces) {
      if (piece.owner == rank) continue;
      const int from = view_.gathers ? piece.owner : rank;
      const int to = view_.gathers ? rank : piece.owner;
      carry(rank, from, to, view_.bytes(view_.block(piece)), program_.communication(rank));
    }
  }

  // As many rows as are pushed to a peer that does not run come from it, for the own shard.
  void fetch(int rank, int chunk, const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      if (piece.owner == rank || program_.site().runs(piece.owner)) continue;
      program_.tag(rank, chunk, sim::Purpose::communication);
      const Bytes bytes = view_.bytes(view_.block(piece));
      if (engines_) {
        program_.host(rank)
            .labelled(view_.collective.name)
            .copy(program_.fetch(rank), copy_engine(rank, piece.owner, rank, program_),
                  route(piece.owner, rank), bytes);
      } else {
        carry(rank, piece.owner, rank, bytes, program_.fetch(rank));
      }
    }
  }

  void carry(int rank, int from, int to, Bytes bytes, sim::StreamId stream) {
    CommunicationKernel kernel(program_, rank, knobs_, view_.collective.name,
                               program_.site().path(rank, from, to), ctas_);
    if (!view_.gathers && some_rest()) kernel.both_ways();
    kernel.move(program_.site().route_of_ctas(from, to), bytes, from == rank);
    kernel.launch(stream);
  }

  void add_up() {
    const std::vector<sim::SignalId> summed = signals();
    // In one process a stream can wait for what others send once all of it has been issued.
    if (by_events_) await_arrivals(plan_.size() - 1, program_);
    for (int rank = 0; rank < program_.running(); ++rank) add(rank, summed);
    share_sums(view_, plan_.size(), program_);
  }

  // Where the peers run in processes of their own, their word that all is there has come on the communication stream.
  void add(int rank, const std::vector<sim::SignalId>& summed) {
    sim::StreamId stream = program_.communication(rank);
    program_.tag(rank, plan_.size() - 1, sim::Purpose::synchronisation);
    if (by_events_) {
      stream = program_.compute(rank);
    } else if (some_rest()) {
      stream = program_.compute(rank);
      program_.join(rank, stream, program_.communication(rank));
      program_.join(rank, stream, program_.fetch(rank));
    }
    add_slots(view_, rank, plan_.size() - 1, stream, program_);
    if (view_.collective.op == CollectiveOp::all_reduce) meet(rank, summed, "summed", plan_.size());
  }

  const FusedView& view_;
  const ChunkPlan& plan_;
  const Knobs& knobs_;
  std::string_view label_;
  LayerProgram& program_;
  bool engines_ = true, by_events_ = false;
  int margin_ = 0;
  std::int64_t ctas_ = 0;
};

}  // namespace

std::int64_t product_rows(const FusedView& view, const ChunkPlan& plan, int rank, int chunk) {
  std::int64_t rows = 0;
  plan.each_piece(rank, chunk, [&](const Piece& piece) {
    if (view.collective.op != CollectiveOp::all_to_all || piece.owner == rank)
      rows += piece.rows.rows();
  });
  return rows;
}

void chunk_product(const FusedView& view, const ChunkPlan& plan, int rank, int chunk, int margin,
                   std::string_view label, LayerProgram& program) {
  program.tag(rank, chunk, sim::Purpose::compute);
  program.gemm(
      rank, program.compute(rank),
      {&view.work, product_rows(view, plan, rank, chunk), program.site().products, margin, label});
}

void emit_unfused(const Boundary& boundary, const Knobs& knobs, LayerProgram& program,
                  bool computes, bool communicates) {
  const FusedPair pair = *fused_pair(boundary);
  const FusedView view(boundary, pair);
  program.begin(boundary.name);
  const auto compute = [&] {
    for (int rank = 0; rank < program.running() && computes; ++rank) {
      program.tag(rank, 0, sim::Purpose::compute);
      program.gemm(rank, program.compute(rank),
                   {&view.work, view.work.rank.m, program.site().products, 0,
                    boundary.operators[pair.op].name});
    }
  };
  const auto collective = [&] {
    if (!communicates) return;
    const ChunkPlan plan = view.plan(static_cast<int>(knobs.count("chunks")), ChunkOrder::rotated);
    ChunksByRank(view, plan, knobs, boundary.operators[pair.op].name, program).alone();
  };
  if (view.gathers) collective();
  compute();
  if (!view.gathers) collective();
}

void emit_chunks_by_rank(const FusedView& view, const ChunkPlan& plan, const Knobs& knobs,
                         std::string_view label, LayerProgram& program) {
  ChunksByRank chunks(view, plan, knobs, label, program);
  if (view.gathers) {
    chunks.gather();
  } else {
    chunks.scatter();
  }
}

}  // namespace weft::model
