// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/flag_program.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/schedules/communication_kernel.hpp"
#include "models/schedules/demands.hpp"
#include "models/schedules/flag_parts.hpp"
#include "models/schedules/one_process.hpp"
#include "models/schedules/slot_sums.hpp"
#include "models/schedules/store_program.hpp"
#include "models/schedules/tile_order.hpp"
#include "models/schedules/tile_walk.hpp"
#include "models/schedules/transport_knobs.hpp"

namespace weft::model {
namespace {

// The stages of a producer that may be filled before a flag binds: the operand of a tile that is waited for is
// the one that its flag guards, so none.
constexpr int run_ahead = 0;

std::size_t as_size(int rank) {
  return static_cast<std::size_t>(rank);
}

// The program of one boundary: flags by rank and chunk, the persistent product, and who moves the chunks.
class FlagProgram {
 public:
  FlagProgram(const FusedView& view, const Knobs& knobs, std::string_view label,
              LayerProgram& program)
      : view_(view),
        knobs_(knobs),
        label_(label),
        program_(program),
        ranks_(program.ranks()),
        by_events_(in_one_process(program.site())),
        plan_(view.plan(static_cast<int>(knobs.count("chunks")), order_of(knobs))) {
    for (int rank = 0; rank < program.running(); ++rank) {
      auto& flags = chunk_flags_.emplace_back();
      for (int chunk = 0; chunk < plan_.size(); ++chunk) flags.push_back(signal(rank));
      ready_.push_back(signal(rank));
      arrived_.push_back(signal(rank));
      summed_.push_back(signal(rank));
    }
  }

  void emit() {
    const Transport transport = transport_of(knobs_);
    if (view_.gathers && by_events_) await_peers(program_);
    for (int rank = 0; rank < program_.running(); ++rank) {
      if (view_.gathers) {
        tell_ready(rank);
        if (transport == Transport::copy_engine) {
          gather_by_copies(rank);
          product(rank);
        } else {
          gather_by_ctas(rank, transport == Transport::fabric_switch);
        }
      } else if (transport == Transport::copy_engine) {
        product(rank);
        scatter_by_copies(rank);
      } else if (program_.running() < ranks_) {
        product(rank);
        carry_beside(rank);
      } else {
        scatter_by_switch(rank);
        product(rank);
      }
    }
    if (transport == Transport::copy_engine && view_.reduces()) add_up();
  }

 private:
  sim::SignalId signal(int rank) { return program_.builder().signal(program_.memory(rank)); }
  static sim::SignalPost add(sim::SignalId signal) {
    return {sim::SignalPost::Kind::add, signal, 1, {}};
  }
  // Peers that run: the others have neither flags nor anybody who waits for one.
  std::uint64_t peers() const { return static_cast<std::uint64_t>(program_.running() - 1); }
  // Ranks of one process meet by events.
  bool meet_by_flags() const { return peers() > 0 && !by_events_; }
  std::vector<sim::SignalId> of_peers(int rank, const std::vector<sim::SignalId>& signals) const {
    std::vector<sim::SignalId> result;
    const int running = program_.running();
    for (int step = 1; step < running; ++step)
      result.push_back(signals[as_size((rank + step) % running)]);
    return result;
  }
  // A product that waits for what its peers send fills the device: the word that this rank is ready goes out before.
  void tell_ready(int rank) {
    if (!meet_by_flags()) return;
    program_.tag(rank, 0, sim::Purpose::synchronisation);
    const sim::EventId said = program_.builder().event();
    program_.post_all(rank, program_.communication(rank), "ready", of_peers(rank, ready_), said);
    program_.host(rank).wait(program_.compute(rank), said);
  }
  sim::RouteId route(int from, int to) const {
    return program_.site().built.unicast[as_size(from)][as_size(to)];
  }
  // Pieces of a chunk that cross a link.
  std::vector<Piece> remote(int rank, int chunk) const {
    std::vector<Piece> pieces;
    for (const Piece& piece : plan_.pieces(rank, chunk)) {
      if (piece.owner != rank) pieces.push_back(piece);
    }
    return pieces;
  }
  Piece own_slice(int rank, int chunk) const {
    for (const Piece& piece : plan_.pieces(rank, chunk)) {
      if (piece.owner == rank) return piece;
    }
    return {rank, {}};
  }
  // ---- the product -----------------------------------------------------------------------------------------

  // Posts that make chunk `chunk` of this rank satisfied, as the product must wait for them.
  std::uint64_t posts_of(int rank, int chunk) const {
    if (transport_of(knobs_) == Transport::copy_engine)
      return remote(rank, chunk).empty() ? 0U : 1U;
    if (transport_of(knobs_) == Transport::fabric_switch)
      return static_cast<std::uint64_t>(ranks_ - 1);
    return remote(rank, chunk).size();
  }

  // Flags that chunk `chunk` of this rank's product sets.
  std::vector<sim::SignalId> posts_after(int rank, int chunk) const {
    if (transport_of(knobs_) != Transport::fabric_switch)
      return {chunk_flags_[as_size(rank)][as_size(chunk)]};
    // The owner of a slice reads every rank's partial of it.
    std::vector<sim::SignalId> posts;
    for (int step = 0; step < ranks_; ++step)
      posts.push_back(chunk_flags_[as_size((rank + step) % ranks_)][as_size(chunk)]);
    return posts;
  }

  // Kept, as product and movers both ask; where ranks walk alike the next one's are the same with its own flags.
  const std::vector<FlagPart>& parts_of(int rank, const GemmCost& cost) {
    if (parts_rank_ == rank) return parts_;
    const auto& flags = chunk_flags_[as_size(rank)];
    if (parts_cost_ == &cost && walks_alike(cost)) {
      const std::uint32_t first = chunk_flags_[as_size(*parts_rank_)].front().value();
      for (FlagPart& part : parts_) {
        for (FlagWait& wait : part.waits) wait.signal = flags[wait.signal.value() - first];
        for (sim::SignalId& post : part.posts) post = flags[post.value() - first];
      }
    } else {
      std::vector<FlagWait> waits;
      for (int chunk = 0; chunk < plan_.size(); ++chunk)
        waits.push_back({flags[as_size(chunk)], posts_of(rank, chunk)});
      parts_ = flag_parts(
          view_, plan_, rank, cost, [&](int chunk) { return waits[as_size(chunk)]; },
          [&](int chunk) { return posts_after(rank, chunk); });
    }
    parts_rank_ = rank;
    parts_cost_ = &cost;
    return parts_;
  }

  // All ranks run the same walk, and nobody sets flags of others.
  bool walks_alike(const GemmCost& cost) const {
    return program_.running() == ranks_ &&
           ranks_walk_alike(view_.collective.extent.rows, ranks_, cost) &&
           (view_.gathers || transport_of(knobs_) != Transport::fabric_switch);
  }

  // Posts of the product that make each chunk complete.
  std::vector<std::uint64_t> completions(int rank) {
    std::vector<std::uint64_t> posts(as_size(plan_.size()), 0);
    // A rank's flags were made one after the other.
    const std::uint32_t first = chunk_flags_[as_size(rank)].front().value();
    for (const FlagPart& part : parts_of(rank, cost_of(rank))) {
      for (const sim::SignalId signal : part.posts) {
        const std::uint32_t chunk = signal.value() - first;
        if (chunk < posts.size()) ++posts[chunk];
      }
    }
    return posts;
  }

  const GemmCost& cost_of(int rank) const {
    return flag_cost(view_, knobs_, label_, program_, rank);
  }

  void write_tiles(int rank, sim::KernelWriter& kernel) {
    const GemmCost& cost = cost_of(rank);
    const OrderedTiles tiles = flag_tiles(view_, plan_, cost, program_.site(), rank);
    const std::int64_t rows = std::max<std::int64_t>(1, view_.work.rank.m);
    const Duration fluid = program_.gemm_fluid(rank, view_.work, rows);
    for (const FlagPart& part : parts_of(rank, cost)) {
      kernel.range(part.tiles, tiles.tile_time, matrix_demand)
          .fluid(Duration::from_ps(narrow(Int128{fluid.ps()} * part.rows / rows)))
          .l2(cost.l2_per_tile)
          .memory(program_.memory(rank), tiles.hbm_per_tile);
      for (const FlagWait& wait : part.waits) kernel.wait(wait.signal, wait.posts, run_ahead);
      for (const sim::SignalId signal : part.posts) kernel.post(add(signal));
    }
  }

  void product(int rank) {
    sim::KernelWriter kernel =
        begin_flag_product(posting(view_, plan_, cost_of(rank), program_.site()), label_, program_);
    write_tiles(rank, kernel);
    program_.tag(rank, 0, sim::Purpose::compute);
    program_.host(rank).labelled(label_).launch(program_.compute(rank), kernel.id());
  }

  // ---- gather ----------------------------------------------------------------------------------------------

  void gather_by_copies(int rank) {
    program_.tag(rank, 0, sim::Purpose::synchronisation);
    if (meet_by_flags())
      program_.host(rank).wait(program_.communication(rank), ready_[as_size(rank)], peers());
    for (int chunk = 0; chunk < plan_.size(); ++chunk) {
      const std::vector<Piece> pieces = remote(rank, chunk);
      if (pieces.empty()) continue;
      copy_chunk(view_, pieces, rank, chunk, program_);
      program_.tag(rank, chunk, sim::Purpose::synchronisation);
      program_.host(rank).post(program_.communication(rank),
                               add(chunk_flags_[as_size(rank)][as_size(chunk)]));
    }
  }

  void gather_by_ctas(int rank, bool by_switch) {
    const GemmCost& cost = cost_of(rank);
    CommunicationKernel kernel(program_, rank, knobs_, label_,
                               program_.site().path(rank, (rank + 1) % ranks_, rank),
                               knobs_.count("ctas"), cost);
    // Nobody reads or writes a peer before all have come.
    if (meet_by_flags()) kernel.after(ready_[as_size(rank)], peers());
    for (int chunk = 0; chunk < plan_.size(); ++chunk) {
      if (by_switch) {
        for (int step = 1; step < ranks_; ++step)
          kernel.then(add(chunk_flags_[as_size((rank + step) % ranks_)][as_size(chunk)]));
        kernel.move(program_.site().built.multicast[as_size(rank)],
                    view_.bytes(view_.block(own_slice(rank, chunk))), true);
        continue;
      }
      for (const Piece& piece : remote(rank, chunk)) {
        kernel.then(add(chunk_flags_[as_size(rank)][as_size(chunk)]));
        kernel.move(program_.site().route_of_ctas(piece.owner, rank),
                    view_.bytes(view_.block(piece)), false);
      }
    }
    sim::KernelWriter product = kernel.product(cost);
    write_tiles(rank, product);
    program_.tag(rank, 0, sim::Purpose::compute);
    kernel.launch(program_.compute(rank));
  }

  // ---- reduction and exchange ------------------------------------------------------------------------------

  // Peers that send this rank something: each says once that all of it is there.
  std::uint64_t arrivals(int rank) const {
    std::uint64_t count = 0;
    for (int peer = 0; peer < program_.running(); ++peer) {
      bool sends = false;
      for (int chunk = 0; chunk < plan_.size() && peer != rank && !sends; ++chunk) {
        const auto out = pushes(peer, chunk);
        sends = std::any_of(out.begin(), out.end(),
                            [rank](const auto& push) { return push.first == rank; });
      }
      count += sends ? 1U : 0U;
    }
    return count;
  }

  // What this rank pushes of a chunk: target and bytes, in the order of the plan.
  std::vector<std::pair<int, Bytes>> pushes(int rank, int chunk) const {
    std::vector<std::pair<int, Bytes>> result;
    if (view_.collective.op == CollectiveOp::all_to_all) {
      for (int step = 1; step < ranks_; ++step) {
        const int to = (rank + step) % ranks_;
        const Block block = view_.exchanged(rank, own_slice(rank, chunk).rows, to);
        if (!block.empty()) result.emplace_back(to, view_.bytes(block));
      }
      return result;
    }
    for (const Piece& piece : remote(rank, chunk))
      result.emplace_back(piece.owner, view_.bytes(view_.block(piece)));
    return result;
  }

  // The last chunk with something for `to`: a stream goes in order, so that its arrival is that of all.
  int last_push(int rank, int to) const {
    for (int chunk = plan_.size() - 1; chunk > 0; --chunk) {
      for (const auto& [peer, bytes] : pushes(rank, chunk)) {
        if (peer == to) return chunk;
      }
    }
    return 0;
  }

  void scatter_by_copies(int rank) {
    const sim::StreamId stream = program_.communication(rank);
    const std::vector<std::uint64_t> complete = completions(rank);
    std::vector<int> last;
    for (int to = 0; to < ranks_; ++to) last.push_back(last_push(rank, to));
    for (int chunk = 0; chunk < plan_.size(); ++chunk) {
      const auto out = pushes(rank, chunk);
      if (out.empty()) continue;
      program_.tag(rank, chunk, sim::Purpose::synchronisation);
      program_.host(rank).wait(stream, chunk_flags_[as_size(rank)][as_size(chunk)],
                               complete[as_size(chunk)]);
      copy_chunk(view_, plan_.pieces(rank, chunk), rank, chunk, program_);
      program_.tag(rank, chunk, sim::Purpose::synchronisation);
      for (const auto& [to, bytes] : out) {
        if (program_.site().runs(to)) {
          if (meet_by_flags() && chunk == last[as_size(to)])
            program_.host(rank).post(stream, add(arrived_[as_size(to)]));
        } else {
          fetch_by_copy(rank, to, chunk, bytes);
        }
      }
    }
    program_.tag(rank, plan_.size() - 1, sim::Purpose::synchronisation);
    if (meet_by_flags()) program_.host(rank).wait(stream, arrived_[as_size(rank)], arrivals(rank));
  }

  // What copies have brought is added, once all of it is there; the sums of an all-reduce go to everybody.
  void add_up() {
    // In one process a stream can wait for what others send once all of it has been issued.
    if (by_events_) await_arrivals(plan_.size() - 1, program_);
    const bool shares = view_.collective.op == CollectiveOp::all_reduce;
    for (int rank = 0; rank < program_.running(); ++rank) {
      const sim::StreamId stream =
          by_events_ ? program_.compute(rank) : program_.communication(rank);
      program_.tag(rank, plan_.size() - 1, sim::Purpose::synchronisation);
      if (!by_events_) program_.join(rank, stream, program_.compute(rank));
      if (program_.running() < ranks_) program_.join(rank, stream, program_.fetch(rank));
      add_slots(view_, rank, plan_.size() - 1, stream, program_);
      if (!shares || !meet_by_flags()) continue;
      program_.tag(rank, plan_.size(), sim::Purpose::synchronisation);
      program_.post_all(rank, stream, "summed", of_peers(rank, summed_));
      program_.host(rank).wait(stream, summed_[as_size(rank)], peers());
    }
    share_sums(view_, plan_.size(), program_);
  }

  // What a peer that does not run would push of the own rows: as much as it is sent.
  void fetch_by_copy(int rank, int peer, int chunk, Bytes bytes) {
    program_.tag(rank, chunk, sim::Purpose::communication);
    program_.host(rank)
        .labelled(view_.collective.name)
        .copy(program_.fetch(rank), copy_engine(rank, peer, rank, program_), route(peer, rank),
              bytes);
  }

  // Towards peers that do not run: one launch carries each chunk away once its flag is there, another fetches what
  // they add meanwhile, each with half of the CTAs; all SMs add at the end. The kernels keep a window of bytes under
  // way, and wait for stores as they wait for loads: none are left to queue behind a full link.
  void carry_beside(int rank) {
    const std::int64_t half = std::max<std::int64_t>(1, knobs_.count("ctas") / 2);
    const int next = (rank + 1) % ranks_;
    {
      CommunicationKernel back(program_, rank, knobs_, view_.collective.name + ".fetch",
                               program_.site().path(rank, next, rank), half);
      back.both_ways();
      for (int chunk = 0; chunk < plan_.size(); ++chunk) {
        for (const auto& [to, bytes] : pushes(rank, chunk))
          back.move(program_.site().route_of_ctas(to, rank), bytes, false);
      }
      program_.tag(rank, 0, sim::Purpose::communication);
      back.launch(program_.fetch(rank));
    }
    CommunicationKernel away(program_, rank, knobs_, view_.collective.name,
                             program_.site().path(rank, rank, next), half);
    away.both_ways();
    const std::vector<std::uint64_t> complete = completions(rank);
    for (int chunk = 0; chunk < plan_.size(); ++chunk) {
      for (const auto& [to, bytes] : pushes(rank, chunk)) {
        away.after(chunk_flags_[as_size(rank)][as_size(chunk)], complete[as_size(chunk)]);
        away.move(program_.site().route_of_ctas(rank, to), bytes, false);
      }
    }
    program_.tag(rank, 0, sim::Purpose::communication);
    away.launch(program_.communication(rank));
    const sim::StreamId stream = program_.compute(rank);
    program_.tag(rank, plan_.size() - 1, sim::Purpose::synchronisation);
    program_.join(rank, stream, program_.communication(rank));
    program_.join(rank, stream, program_.fetch(rank));
    add_slots(view_, rank, plan_.size() - 1, stream, program_);
  }

  // A switch adds what it reads of all ranks, and hands the sums of an all-reduce to everybody.
  void scatter_by_switch(int rank) {
    CommunicationKernel kernel(program_, rank, knobs_, view_.collective.name);
    const bool all_reduce = view_.collective.op == CollectiveOp::all_reduce;
    for (int chunk = 0; chunk < plan_.size(); ++chunk) {
      const Bytes bytes = view_.bytes(view_.block(own_slice(rank, chunk)));
      kernel.after(chunk_flags_[as_size(rank)][as_size(chunk)], static_cast<std::uint64_t>(ranks_));
      kernel.move(program_.site().built.reduce[as_size(rank)], bytes, false);
      if (!all_reduce) continue;
      for (int step = 1; step < ranks_; ++step)
        kernel.then(add(summed_[as_size((rank + step) % ranks_)]));
      kernel.move(program_.site().built.multicast[as_size(rank)], bytes, true);
    }
    program_.tag(rank, 0, sim::Purpose::communication);
    kernel.launch_first();
    if (!all_reduce) return;
    program_.tag(rank, plan_.size() - 1, sim::Purpose::synchronisation);
    program_.host(rank).wait(
        program_.communication(rank), summed_[as_size(rank)],
        static_cast<std::uint64_t>(ranks_ - 1) * static_cast<std::uint64_t>(plan_.size()));
  }

  const FusedView& view_;
  const Knobs& knobs_;
  std::string label_;
  LayerProgram& program_;
  int ranks_;
  bool by_events_;  // how ranks meet: they are one process
  ChunkPlan plan_;
  std::vector<std::vector<sim::SignalId>> chunk_flags_;  // [rank][chunk], in the rank's memory
  std::vector<sim::SignalId> ready_, arrived_, summed_;  // [rank]
  std::optional<int> parts_rank_;                        // whose parts_ are
  const GemmCost* parts_cost_ = nullptr;                 // by which kernel
  std::vector<FlagPart> parts_;
};

}  // namespace

void emit_flag_program(const FusedView& view, const Knobs& knobs, std::string_view label,
                       LayerProgram& program) {
  if (stores_tiles(view, knobs, program.site()))
    emit_store_program(view, knobs, label, program);
  else
    FlagProgram(view, knobs, label, program).emit();
}

}  // namespace weft::model
