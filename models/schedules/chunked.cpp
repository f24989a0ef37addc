// SPDX-License-Identifier: Apache-2.0
// One kernel a chunk, ordered by stream events: the product is cut into as many launches as the collective, and a
// chunk's communication runs under the next chunk's product.
//
// Gather:    chunk i arrives on the communication stream, an event lets product i start.
// Reduction: product i ends, an event lets chunk i leave. Copy engines cannot add: partials land in slots of their
//            owner, and a kernel at the end adds them (the exposed tail of such schedules).
// Ignored: that a chunk's product could start on the rows of it that are already there.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "models/profile/families.hpp"
#include "models/schedules/beside.hpp"
#include "models/schedules/chunks_by_rank.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/transport_knobs.hpp"
#include "models/schedules/wire_bound.hpp"

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
        .knobs = transport_knobs(),
        .applies_to = "a product that makes or needs what is communicated",
        .order = "chunks of rows, sliced from every rank's part or taken peer by peer",
        .edges = "stream events between a compute and a communication stream",
        .resources = "copy engines, CTAs or the switch; products on the SMs that the margin leaves",
        .buffers = "the gathered rows, slots of partials, or what the switch or an exchange reads",
        .measured_in = std::string(families::chunked_peers)};
    return info;
  }

  bool overlaps(const Boundary& boundary, const Knobs& knobs, const Site&) const override {
    return chunks_overlap(knobs) || has_independent_work(boundary);
  }

  std::vector<std::string> refusals(const Boundary& boundary, const Knobs& knobs,
                                    const Site& site) const override {
    std::vector<std::string> refusals = fused_refusals(boundary, site, knobs);
    const bool rotated = order_of(knobs) == ChunkOrder::rotated;
    if (!all_run(site)) {
      if (!rotated) refusals.push_back("peers that run no kernel take rotated chunks only");
      if (transport_of(knobs) == Transport::fabric_switch)
        refusals.push_back("a switch joins no peers that run no kernel");
    } else if (rotated && transport_of(knobs) != Transport::copy_engine) {
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
    std::vector<std::int64_t> sizes;
    for (int chunk = 0; chunk < plan.size(); ++chunk) {
      const std::int64_t rows = product_rows(view, plan, 0, chunk);
      // More chunks than tiles of rows leave some without a product.
      if (rows > 0 && (sizes.empty() || sizes.back() != rows)) sizes.push_back(rows);
    }
    const auto kernels = [&](int margin) {
      std::vector<std::int64_t> grids;
      const SmBudget sms = site.sms(0, margin);
      for (const std::int64_t rows : sizes) {
        const GemmCost& cost =
            site.prices->gemm(piece_of(view.work, rows, view.work.rank.n, site.products), sms);
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
    const SmBudget sms = site.sms(0, margin);
    // Kernels of one stream go one after the other, each with its launch and its drain.
    const sim::ControlLatency& control = site.built.machine.control;
    const Duration around = control.launch + control.kernel_drain;
    std::vector<Duration> computes, moves;
    for (int chunk = 0; chunk < plan.size(); ++chunk) {
      const std::int64_t rows = product_rows(view, plan, 0, chunk);
      computes.emplace_back();
      if (rows > 0) {
        const GemmCost& cost =
            site.prices->gemm(piece_of(view.work, rows, view.work.rank.n, site.products), sms);
        computes.back() = around + tiles_bound(cost, site);
      }
      if (copies) {
        moves.push_back(copies_bound(view, plan.pieces(0, chunk), 0, site));
        continue;
      }
      moves.emplace_back();
      const Bytes message = view.message(plan, chunk);
      if (message == Bytes() || !all_run(site)) continue;
      const CollectiveCost cost = chunk_collective(view, knobs, message, site);
      moves.back() = std::max(around, cost.fixed(message)) + message / cost.rate_cap;
    }
    const Duration bound = pipeline_bound(computes, moves, view.gathers, Duration());
    return copies ? std::max(bound, wire_bound(view, site)) : bound;
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

  Bytes buffer_bytes(const Boundary& boundary, const Knobs&, const Site&) const override {
    return chunk_buffers(FusedView(boundary, *fused_pair(boundary)));
  }

  void expand(const Boundary& boundary, const Knobs& knobs, const Site&,
              LayerProgram& program) const override {
    const FusedPair pair = *fused_pair(boundary);
    program.begin(boundary.name);
    const FusedView view(boundary, pair);
    const ChunkPlan plan = view.plan(static_cast<int>(knobs.count("chunks")), order_of(knobs));
    expand_around(boundary, pair, program, [&] {
      const std::string& label = boundary.operators[pair.op].name;
      if (transport_of(knobs) != Transport::copy_engine && all_run(program.site())) {
        by_collectives(view, plan, knobs, label, program);
      } else {
        emit_chunks_by_rank(view, plan, knobs, label, program);
      }
    });
  }

 private:
  static bool all_run(const Site& site) { return site.running() == site.ranks(); }

  static void by_collectives(const FusedView& view, const ChunkPlan& plan, const Knobs& knobs,
                             std::string_view label, LayerProgram& program) {
    const int margin = static_cast<int>(knobs.count("margin"));
    std::vector<sim::StreamId> streams;
    for (int rank = 0; rank < program.ranks(); ++rank)
      streams.push_back(program.communication(rank));
    for (int chunk = 0; chunk < plan.size(); ++chunk) {
      const auto products = [&] {
        for (int rank = 0; rank < program.ranks(); ++rank)
          chunk_product(view, plan, rank, chunk, margin, label, program);
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
};

const Registration chunked_registration(std::make_unique<Chunked>());

}  // namespace
}  // namespace weft::model
