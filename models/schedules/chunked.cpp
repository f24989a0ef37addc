// SPDX-License-Identifier: Apache-2.0
// One kernel a chunk, ordered by stream events: the product is cut into as many launches as the collective, and a
// chunk's communication runs under the next chunk's product.
//
// Gather:    chunk i arrives on the communication stream, an event lets product i start.
// Reduction: product i ends, an event lets chunk i leave. Copy engines cannot add: partials land in slots of their
//            owner, and a kernel at the end adds them (the exposed tail of such schedules).
// Ignored: that a chunk's product could start on the rows of it that are already there.
#include <memory>

#include <fmt/format.h>

#include "models/schedules/fused.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/transport_knobs.hpp"

namespace weft::model {
namespace {

class Chunked final : public Schedule {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "chunked",
        .system = "weft",
        .summary =
            "a library kernel for each chunk, ordered with its communication by stream events",
        .citation =
            "the decomposition of S. Wang et al., ASPLOS 2023 (doi 10.1145/3567955.3567959), as "
            "kernels/baseline runs it",
        .knobs = transport_knobs()};
    return info;
  }

  std::vector<std::string> refusals(const Boundary& boundary, const Knobs& knobs,
                                    const Site& site) const override {
    std::vector<std::string> refusals = fused_refusals(boundary, site, knobs);
    if (order_of(knobs) == ChunkOrder::rotated && transport_of(knobs) != Transport::copy_engine) {
      refusals.push_back(
          "a collective kernel moves the same rows on every rank: only copies can be rotated");
    }
    const auto pair = fused_pair(boundary);
    if (pair && order_of(knobs) == ChunkOrder::rotated &&
        boundary.collectives[pair->collective].op == CollectiveOp::all_to_all) {
      refusals.push_back(
          "an all-to-all sends a part of every row to everybody: there is nothing to rotate");
    }
    return refusals;
  }

  Knobs normalised(const Boundary& boundary, const Knobs& knobs, const Site& site) const override {
    if (transport_of(knobs) == Transport::copy_engine) return without_sm_knobs(knobs);
    Knobs result = knobs;
    const FusedView view(boundary, *fused_pair(boundary));
    if (site.group.nodes == 1) {
      // A pace that the collective stays under anyway holds nothing back.
      Knobs free = knobs, held = knobs;
      free.set("pace", "free");
      held.set("pace", "95%");
      const Bytes any = view.collective.message;
      if (chunk_collective(view, free, any, site).rate_cap ==
          chunk_collective(view, held, any, site).rate_cap) {
        result.set("pace", "95%");
      }
    }
    const ChunkPlan plan = view.plan(static_cast<int>(knobs.count("chunks")), order_of(knobs));
    if (site.group.nodes > 1) {
      // The library's own kernel: it takes neither CTAs nor a pace from us.
      const Knobs fixed = without_sm_knobs(knobs);
      result.set("ctas", fixed.count("ctas"));
      result.set("pace", fixed.text("pace"));
    }
    // A margin that leaves every chunk's kernel as it is changes nothing: the least such margin stands for all.
    const auto kernels = [&](int margin) {
      std::vector<std::int64_t> grids;
      for (int chunk = 0; chunk < plan.size(); ++chunk) {
        const GemmCost cost =
            site.prices->gemm({rows_of(view, plan, 0, chunk), view.work.rank.n, view.work.rank.k,
                               view.work.x.element, view.work.y.element, GemmLibrary::cublaslt},
                              site.sms(0, margin));
        grids.insert(grids.end(), {cost.grid, cost.waves, cost.tile_time().ps(), cost.kernel.tile_m,
                                   cost.kernel.tile_n});
      }
      return grids;
    };
    const auto own = kernels(static_cast<int>(knobs.count("margin")));
    for (const KnobSpec& spec : transport_knobs()) {
      if (spec.name != "margin") continue;
      for (const KnobValue& value : spec.values) {
        const std::int64_t margin = std::get<std::int64_t>(value);
        if (margin < knobs.count("margin") && kernels(static_cast<int>(margin)) == own) {
          result.set("margin", margin);
          return result;
        }
      }
    }
    return result;
  }

  Duration lower_bound(const Boundary& boundary, const Knobs& knobs,
                       const Site& site) const override {
    const FusedView view(boundary, *fused_pair(boundary));
    const ChunkPlan plan = view.plan(static_cast<int>(knobs.count("chunks")), order_of(knobs));
    const bool copies = transport_of(knobs) == Transport::copy_engine;
    const int margin = copies ? 0 : static_cast<int>(knobs.count("margin"));
    std::vector<Duration> computes, moves;
    for (int chunk = 0; chunk < plan.size(); ++chunk) {
      const std::int64_t rows = rows_of(view, plan, 0, chunk);
      computes.push_back(
          rows == 0 ? Duration()
                    : tiles_bound(site.prices->gemm({rows, view.work.rank.n, view.work.rank.k,
                                                     view.work.x.element, view.work.y.element,
                                                     GemmLibrary::cublaslt},
                                                    site.sms(0, margin)),
                                  site));
      if (copies) {
        moves.push_back(copies_bound(view, plan.pieces(0, chunk), 0, site));
      } else {
        const Bytes message = view.message(plan, chunk);
        const CollectiveCost cost = chunk_collective(view, knobs, message, site);
        const sim::ControlLatency& control = site.built.machine.control;
        moves.push_back(
            std::max(Duration(), cost.fixed(message) - control.launch - control.kernel_drain) +
            message / cost.rate_cap);
      }
    }
    return pipeline_bound(computes, moves, view.gathers, Duration());
  }

  std::vector<std::vector<Transfer>> transfers(const Boundary& boundary, const Knobs& knobs,
                                               const Site& site) const override {
    const FusedPair pair = *fused_pair(boundary);
    const FusedView view(boundary, pair);
    const ChunkPlan plan = view.plan(static_cast<int>(knobs.count("chunks")), order_of(knobs));
    std::vector<std::vector<Transfer>> all;
    for (std::size_t c = 0; c < boundary.collectives.size(); ++c) {
      if (c != pair.collective) {
        all.push_back(library_transfers(boundary.collectives[c], site));
      } else if (transport_of(knobs) == Transport::copy_engine) {
        all.push_back(direct_transfers(view, plan));
      } else {
        std::vector<Transfer>& own = all.emplace_back();
        for (int chunk = 0; chunk < plan.size(); ++chunk) {
          const auto part = chunk_transfers(view, plan, chunk, knobs, site);
          own.insert(own.end(), part.begin(), part.end());
        }
      }
    }
    return all;
  }

  void expand(const Boundary& boundary, const Knobs& knobs, const Site&,
              LayerProgram& program) const override {
    const FusedPair pair = *fused_pair(boundary);
    program.begin(boundary.name);
    const FusedView view(boundary, pair);
    const ChunkPlan plan = view.plan(static_cast<int>(knobs.count("chunks")), order_of(knobs));
    expand_around(boundary, pair, program, [&] {
      if (transport_of(knobs) != Transport::copy_engine) {
        by_collectives(view, plan, knobs, boundary.operators[pair.op].name, program);
      } else if (view.gathers) {
        gather_by_copies(view, plan, boundary.operators[pair.op].name, program);
      } else {
        scatter_by_copies(view, plan, boundary.operators[pair.op].name, program);
      }
    });
  }

 private:
  // Rows of the product that a chunk is: for an all-to-all only the rank's own rows are computed here.
  static std::int64_t rows_of(const FusedView& view, const ChunkPlan& plan, int rank, int chunk) {
    std::int64_t rows = 0;
    for (const Piece& piece : plan.pieces(rank, chunk)) {
      if (view.collective.op != CollectiveOp::all_to_all || piece.owner == rank)
        rows += piece.rows.rows();
    }
    return rows;
  }

  static void product(const FusedView& view, const ChunkPlan& plan, int rank, int chunk, int margin,
                      std::string_view label, LayerProgram& program) {
    program.tag(rank, chunk, sim::Purpose::compute);
    program.gemm(
        rank, program.compute(rank),
        {&view.work, rows_of(view, plan, rank, chunk), GemmLibrary::cublaslt, margin, label});
  }

  static void by_collectives(const FusedView& view, const ChunkPlan& plan, const Knobs& knobs,
                             std::string_view label, LayerProgram& program) {
    const int margin = static_cast<int>(knobs.count("margin"));
    std::vector<sim::StreamId> streams;
    for (int rank = 0; rank < program.ranks(); ++rank)
      streams.push_back(program.communication(rank));
    for (int chunk = 0; chunk < plan.size(); ++chunk) {
      const auto products = [&] {
        for (int rank = 0; rank < program.ranks(); ++rank)
          product(view, plan, rank, chunk, margin, label, program);
      };
      const auto join = [&](bool compute_waits) {
        for (int rank = 0; rank < program.ranks(); ++rank) {
          program.tag(rank, chunk, sim::Purpose::synchronisation);
          const sim::StreamId compute = program.compute(rank),
                              communication = program.communication(rank);
          program.join(rank, compute_waits ? compute : communication,
                       compute_waits ? communication : compute);
        }
      };
      if (!view.gathers) {
        products();
        join(false);
      }
      const Bytes message = view.message(plan, chunk);
      for (int rank = 0; rank < program.ranks(); ++rank)
        program.tag(rank, chunk, sim::Purpose::communication);
      program.collective(chunk_collective(view, knobs, message, program.site()), message,
                         view.collective.name, streams);
      if (view.gathers) {
        join(true);
        products();
      }
    }
  }

  // A rank pulls once all of its peers have said that their rows are there.
  static void gather_by_copies(const FusedView& view, const ChunkPlan& plan, std::string_view label,
                               LayerProgram& program) {
    const std::vector<sim::SignalId> ready = signals(program);
    for (int rank = 0; rank < program.ranks(); ++rank) {
      meet(rank, ready, "ready", 0, program);
      for (int chunk = 0; chunk < plan.size(); ++chunk) {
        const std::vector<Piece> pieces = plan.pieces(rank, chunk);
        copy_chunk(view, pieces, rank, chunk, program);
        if (pieces.size() > 1 || (!pieces.empty() && pieces.front().owner != rank)) {
          program.tag(rank, chunk, sim::Purpose::synchronisation);
          program.join(rank, program.compute(rank), program.communication(rank));
        }
        product(view, plan, rank, chunk, 0, label, program);
      }
    }
  }

  // One signal in each rank's memory.
  static std::vector<sim::SignalId> signals(LayerProgram& program) {
    std::vector<sim::SignalId> result;
    for (int rank = 0; rank < program.ranks(); ++rank)
      result.push_back(program.builder().signal(program.memory(rank)));
    return result;
  }

  // Tells every peer that this rank has come so far, and waits until all of them have.
  static void meet(int rank, const std::vector<sim::SignalId>& signals, std::string_view label,
                   int chunk, LayerProgram& program) {
    std::vector<sim::SignalId> peers;
    for (int step = 1; step < program.ranks(); ++step)
      peers.push_back(signals[as_size((rank + step) % program.ranks())]);
    program.tag(rank, chunk, sim::Purpose::synchronisation);
    program.post_all(rank, program.communication(rank), label, peers);
    program.host(rank).wait(program.communication(rank), signals[as_size(rank)],
                            static_cast<std::uint64_t>(program.ranks() - 1));
  }

  // A rank pushes partials into slots of their owners, and adds up its own once all have arrived.
  static void scatter_by_copies(const FusedView& view, const ChunkPlan& plan,
                                std::string_view label, LayerProgram& program) {
    const int ranks = program.ranks();
    const std::vector<sim::SignalId> arrived = signals(program), summed = signals(program);
    for (int rank = 0; rank < ranks; ++rank) {
      for (int chunk = 0; chunk < plan.size(); ++chunk) {
        product(view, plan, rank, chunk, 0, label, program);
        program.tag(rank, chunk, sim::Purpose::synchronisation);
        program.join(rank, program.communication(rank), program.compute(rank));
        copy_chunk(view, plan.pieces(rank, chunk), rank, chunk, program);
      }
      meet(rank, arrived, "arrived", plan.size() - 1, program);
      if (!view.reduces()) continue;
      const Piece own{rank, shard_of(view.collective.extent.rows, ranks, rank)};
      program.tag(rank, plan.size() - 1, sim::Purpose::communication);
      // Every slot is read once and the sum is written.
      program.memory_kernel(rank, program.communication(rank), view.collective.name + ".add",
                            view.bytes(view.block(own)) * (ranks + 1), sim::Purpose::communication);
      if (view.collective.op != CollectiveOp::all_reduce) continue;
      meet(rank, summed, "summed", plan.size(), program);
      for (int step = 1; step < ranks; ++step) {
        const int peer = (rank + step) % ranks;
        const Piece piece{peer, shard_of(view.collective.extent.rows, ranks, peer)};
        if (piece.rows.empty()) continue;
        program.tag(rank, plan.size(), sim::Purpose::communication);
        program.host(rank)
            .labelled(view.collective.name)
            .copy(program.communication(rank), *program.engine(rank, sim::EngineDirection::inbound),
                  program.site().built.unicast[as_size(peer)][as_size(rank)],
                  view.bytes(view.block(piece)));
      }
    }
  }

  static std::size_t as_size(int rank) { return static_cast<std::size_t>(rank); }
};

const Registration chunked_registration(std::make_unique<Chunked>());

}  // namespace
}  // namespace weft::model
