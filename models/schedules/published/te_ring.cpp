// SPDX-License-Identifier: Apache-2.0
// Gather:    step i multiplies the chunk that came in step i-1 (own first) while it is passed on to the next rank.
//            aggregate: partners swap chunks first, then pairs of chunks go round by two ranks a step.
// Reduction: step i multiplies what rank id+i+1 will own and sends it straight there; at most two products are in
//            flight; the rank's own chunk comes last, then one kernel adds all chunks up: the exposed tail.
#include "models/schedules/published/te_ring.hpp"

#include <fmt/format.h>

namespace weft::model {
namespace {

std::size_t step_of(int i) {
  return static_cast<std::size_t>(i);
}

// What is sent in the ring's steps, and by whom.
class Ring {
 public:
  Ring(const FusedView& view, const Knobs& knobs, std::string_view label, LayerProgram& program)
      : graph_(view, label, program),
        ranks_(graph_.ranks()),
        by_engine_(knobs.count("use_ce") == 1),
        ctas_(static_cast<int>(knobs.count("num_sm"))),
        margin_(knobs.count("set_sm_margin") == 1 ? ctas_ : 0),
        aggregate_(knobs.count("aggregate") == 1 && view.gathers) {
    for (int step = 0; step < ranks_; ++step) arrived_.push_back(graph_.signals());
  }

  void gather() {
    for (int rank = 0; rank < ranks_; ++rank) {
      fork(rank);
      // A pair of chunks is one message and one product; without pairs each chunk is its own.
      const int width = aggregate_ ? 2 : 1;
      const int steps = ranks_ / width;
      if (aggregate_) {
        const int partner = rank ^ 1;
        send(rank, partner, {rank}, arrived_[step_of(steps)][step_of(partner)], 0);
        receive(rank, arrived_[step_of(steps)][step_of(rank)], 0, 0, true);
      }
      for (int step = 0; step < steps; ++step) {
        const std::vector<int> owners = owners_at(rank, step, width);
        if (step > 0)
          receive(rank, arrived_[step_of(step)][step_of(rank)], step, step, step + 1 < steps);
        product(rank, owners, step);
        if (step + 1 == steps) continue;
        const int to = graph_.peer(rank, width);
        send(rank, to, owners, arrived_[step_of(step + 1)][step_of(to)], step);
      }
      end(rank);
    }
  }

  void scatter() {
    for (int rank = 0; rank < ranks_; ++rank) {
      fork(rank);
      for (int step = 0; step < ranks_; ++step) {
        const int owner = graph_.peer(rank, step + 1);
        product(rank, {owner}, step);
        if (step + 1 == ranks_) continue;
        graph_.join(rank, sends(rank), te_compute(graph_, rank, step), step);
        send(rank, owner, {owner}, arrived_[step_of(step)][step_of(owner)], step);
        graph_.wait_kernel(rank, receives(rank), arrived_[step_of(step)][step_of(rank)], 1, step);
      }
      end(rank);
      graph_.add(rank, graph_.compute(rank), graph_.shard_bytes(rank) * (ranks_ + 1), ranks_ - 1);
    }
  }

 private:
  sim::StreamId sends(int rank) { return graph_.program().stream(rank, "ub.send", true); }
  sim::StreamId receives(int rank) { return graph_.program().stream(rank, "ub.receive", true); }

  void fork(int rank) {
    te_fork(graph_, rank);
    graph_.join(rank, sends(rank), graph_.communication(rank));
    graph_.join(rank, receives(rank), graph_.communication(rank));
  }
  void end(int rank) {
    te_join(graph_, rank);
    graph_.join(rank, graph_.compute(rank), sends(rank));
    graph_.join(rank, graph_.compute(rank), receives(rank));
  }

  // Whose chunks a rank holds at a step: its own pair or chunk, then those of the ranks before it.
  std::vector<int> owners_at(int rank, int step, int width) const {
    const int first = graph_.peer(rank / width * width, -step * width);
    return width == 1 ? std::vector<int>{first} : std::vector<int>{first, graph_.peer(first, 1)};
  }

  void product(int rank, const std::vector<int>& owners, int step) {
    std::int64_t rows = 0;
    for (const int owner : owners) rows += graph_.shard_rows(owner);
    graph_.product(rank, te_compute(graph_, rank, step), {rows, 0, margin_}, step);
  }

  void send(int rank, int to, const std::vector<int>& owners, sim::SignalId flag, int chunk) {
    Bytes bytes;
    for (const int owner : owners) bytes += graph_.shard_bytes(owner);
    if (by_engine_) {
      graph_.copy(rank, sends(rank), rank, to, bytes, chunk);
      graph_.post_kernel(rank, sends(rank), flag, chunk);
      return;
    }
    CommunicationKernel kernel = graph_.copies(rank, ctas_);
    kernel.then({sim::SignalPost::Kind::add, flag, 1, {}});
    kernel.move(graph_.route(rank, to), bytes, true);
    graph_.launch(rank, sends(rank), kernel, chunk);
  }

  // A kernel on the receiving stream spins; the product of this step, and the next send, wait for it.
  void receive(int rank, sim::SignalId flag, int step, int chunk, bool passed_on) {
    graph_.wait_kernel(rank, receives(rank), flag, 1, chunk);
    graph_.join(rank, te_compute(graph_, rank, step), receives(rank), chunk);
    if (passed_on) graph_.join(rank, sends(rank), receives(rank), chunk);
  }

  GraphWriter graph_;
  int ranks_;
  bool by_engine_;
  int ctas_;
  int margin_;
  bool aggregate_;
  std::vector<RankSignals> arrived_;  // [step][rank]
};

std::int64_t widest(const FusedView& view, const Knobs& knobs) {
  return knobs.count("aggregate") == 1 && view.gathers ? 2 : 1;
}

}  // namespace

std::vector<KnobSpec> te_ring_knobs() {
  using std::int64_t;
  return {
      {"aggregate",
       "1: chunks of two ranks go together, half as many products of twice the rows",
       {int64_t{0}, int64_t{1}},
       int64_t{0},
       "aggregate"},
      {"use_ce",
       "1: chunks go by copy engine; 0: by a kernel",
       {int64_t{1}, int64_t{0}},
       int64_t{1},
       "use_ce"},
      {"num_sm",
       "CTAs of a sending kernel",
       {int64_t{1}, int64_t{4}, int64_t{16}},
       int64_t{1},
       "num_sm"},
      {"set_sm_margin",
       "1: products leave num_sm SMs free",
       {int64_t{0}, int64_t{1}},
       int64_t{0},
       "set_sm_margin"},
  };
}

void WithRing::rules(const FusedView& view, const Knobs& knobs, const Site& site,
                     Rules& broken) const {
  if (knobs.count("use_ce") == 1) require_engines(broken, site);
  te_rules(view, site, broken);
  require(broken, view.gathers || knobs.count("aggregate") == 0,
          "aggregate joins two chunks of an all-gather: a reduce-scatter goes chunk by chunk");
  require(broken, knobs.count("aggregate") == 0 || view.collective.group % 2 == 0,
          fmt::format("aggregate pairs ranks up, and {} is odd", view.collective.group));
}

Knobs WithRing::normalised(const Boundary&, const Knobs& given, const Site&) const {
  Knobs knobs = given;
  if (knobs.count("use_ce") == 1) {
    knobs.set("num_sm", std::int64_t{1});
    knobs.set("set_sm_margin", std::int64_t{0});
  }
  return knobs;
}

std::int64_t WithRing::sms_left_free(const Knobs& knobs, const Site&) const {
  return knobs.count("set_sm_margin") == 1 ? knobs.count("num_sm") : 0;
}

std::vector<Transfer> WithRing::moves(const FusedView& view, const Knobs& knobs,
                                      const Site&) const {
  if (!view.gathers) return owner_transfers(view);
  std::vector<Transfer> transfers;
  const int ranks = view.collective.group, width = static_cast<int>(widest(view, knobs));
  const auto pass = [&](int from, int to, int owner, int step) {
    const Block block = view.block({owner, rows_of_owner(view, owner)});
    if (from != to && !block.empty())
      transfers.push_back({Transfer::Kind::gather, from, to, block, {}, 0, step});
  };
  for (int rank = 0; rank < ranks; ++rank) {
    if (width == 2) pass(rank, rank ^ 1, rank, 0);
    const int pair = rank / width * width;
    for (int step = 0; step + 1 < ranks / width; ++step) {
      for (int i = 0; i < width; ++i) {
        const int owner = ((pair - step * width + i) % ranks + ranks) % ranks;
        pass(rank, (rank + width) % ranks, owner, step + 1);
      }
    }
  }
  return transfers;
}

void WithRing::emit(const FusedView& view, const Knobs& knobs, std::string_view label,
                    LayerProgram& program) const {
  Ring ring(view, knobs, label, program);
  if (view.gathers) {
    ring.gather();
  } else {
    ring.scatter();
  }
}

Duration WithRing::compute_bound(const FusedView& view, const Knobs& knobs,
                                 const Site& site) const {
  const std::int64_t width = widest(view, knobs);
  const std::int64_t margin = sms_left_free(knobs, site);
  return tile_work(view, rows_of_owner(view, 0).rows() * width, view.work.rank.n,
                   GemmLibrary::cublaslt, static_cast<int>(margin), site) *
         (view.collective.group / width);
}

Bytes WithRing::buffers(const FusedView& view, const Knobs&, const Site&) const {
  const Bytes chunk = bytes_of(view.collective.format,
                               rows_of_owner(view, 0).rows() * view.collective.extent.columns);
  return chunk * (view.gathers ? view.collective.group : 2 * view.collective.group - 1);
}

}  // namespace weft::model
