// SPDX-License-Identifier: Apache-2.0
// The single-launch forms of GEMM+RS: tiles post the flag of their chunk, or land at their owner.
#include <algorithm>
#include <stdexcept>

#include "kernels/measure/scatter_case.hpp"
#include "kernels/memory/check.hpp"

namespace weft::kernels {

Enqueue ScatterCase::flagged(const Cut& cut, bool multiply, bool move) {
  if (choice_.library != "weft")
    throw std::invalid_argument("only kernels of our own post flags from a tile");
  auto made = std::make_shared<std::vector<Program>>(buffers_.size());
  std::vector<Signal*> landed;
  std::vector<Signal*> shared;
  for (const int rank : stage_.running()) {
    landed.push_back(stage_.flags(rank, std::int64_t{ranks_} * cut.chunks));
    shared.push_back(stage_.flags(rank, std::int64_t{ranks_} * cut.chunks));
  }
  for (int set = 0; set < sets_; ++set)
    for (const int rank : stage_.running()) {
      Program& program = (*made)[index(set, rank)];
      stage_.memory().enter(rank);
      if (landing_at_peers(cut))
        plan_inside(set, rank, cut, multiply, move, landed, shared, program);
      else
        plan_outside(set, rank, cut, multiply, move, landed[position(rank)], program);
      for (const Plan& plan : program.plan)
        kernel_ = describe(plan.tile(), plan.grid(), plan.name(), choice_.scheduler);
    }
  return [this, made](int repetition, cudaStream_t timed) {
    sequence_ = stage_.next_sequence();
    run(*made, set_of(repetition), timed);
  };
}

Options ScatterCase::options(int rank, const Cut& cut, int margin) const {
  Options options;
  options.tile = choice_.tile;
  options.sms = stage_.memory().sms(rank);
  options.margin = margin;
  options.scheduler = choice_.scheduler;
  options.wait_budget_ns = kWaitBudgetNs;
  // Tiles that stay on this rank go at their own rate; communication CTAs outside keep the pace.
  if (landing_at_peers(cut)) options.pace = {cut.pace_bytes_per_second, cut.in_flight_bytes};
  return options;
}

Product ScatterCase::product(int set, int rank) const {
  return {static_cast<int>(shape_.m),
          static_cast<int>(shape_.n),
          static_cast<int>(shape_.k),
          buffers(set, rank).x,
          0,
          buffers(set, rank).w,
          0};
}

void ScatterCase::plan_outside(int set, int rank, const Cut& cut, bool multiply, bool move,
                               Signal* landed, Program& program) {
  const Ownership rows = ownership(cut.chunks);
  Scatter scatter;
  scatter.rank = rank;
  scatter.ranks = ranks_;
  scatter.chunks_per_shard = cut.chunks;
  for (int owner = 0; owner < ranks_; ++owner) {
    scatter.slots.push_back(
        {buffers(set, rank).partial + rows.shard(owner).begin * row_bytes(), 0});
    scatter.landed.push_back(landed + owner * cut.chunks);
  }
  if (multiply)
    program.plan.push_back(plan_gemm_rs(product(set, rank), scatter, Reduce{},
                                        options(rank, cut, cut.margin), stage_.workspace(rank)));
  if (!move) return;
  program.tails = tails_of(set, rank, cut);
  if (cut.mover == Mover::ctas) {
    carry_by_ctas(set, rank, cut, multiply, landed, program);
    return;
  }
  for (int step = 1; step < ranks_; ++step) {
    const int owner = (rank + step) % ranks_;
    for (int c = 0; c < cut.chunks; ++c) {
      const Rows chunk = rows.chunk(owner * cut.chunks + c);
      Step one;
      if (chunk.count() > 0) {
        const std::int64_t offset = (chunk.begin - rows.shard(owner).begin) * row_bytes();
        one.push = make_moves(
            stage_, rank,
            {{buffers(set, rank).partial + chunk.begin * row_bytes(),
              slot(set, owner, rank) + offset, rank, owner, chunk.count() * row_bytes()}},
            cut);
      }
      one.pull = pull_of(set, rank, owner, c, cut);
      program.steps.push_back(one);
      Signal* flag = landed + owner * cut.chunks + c;
      SymmetricMemory* memory = &stage_.memory();
      program.waits.emplace_back([this, memory, flag, multiply](cudaStream_t stream) {
        // Without tile work the posts stay: whoever runs the transfers alone posts for the tiles.
        if (!multiply) memory->post(flag, sequence_, stream);
        memory->wait(flag, sequence_, stream);
      });
    }
  }
}

void ScatterCase::carry_by_ctas(int set, int rank, const Cut& cut, bool multiply, Signal* landed,
                                Program& program) {
  const Ownership rows = ownership(cut.chunks);
  std::vector<Move> pushes;
  std::vector<Move> pulls;
  for (int step = 1; step < ranks_; ++step) {
    const int owner = (rank + step) % ranks_;
    for (int c = 0; c < cut.chunks; ++c) {
      const Rows chunk = rows.chunk(owner * cut.chunks + c);
      const std::int64_t offset = (chunk.begin - rows.shard(owner).begin) * row_bytes();
      pushes.push_back({buffers(set, rank).partial + chunk.begin * row_bytes(),
                        slot(set, owner, rank) + offset, rank, owner, chunk.count() * row_bytes()});
      const Rows own = rows.chunk(rank * cut.chunks + c);
      const std::int64_t at = (own.begin - rows.shard(rank).begin) * row_bytes();
      pulls.push_back({prepared(set, owner) + at, arrived(set, rank, owner) + at, owner, rank,
                       own.count() * row_bytes()});
    }
  }
  // Rank 0 is the one that runs beside host peers: its flags follow each other in rotated order.
  Signal* waits = landed + cut.chunks;
  if (!multiply) {
    const std::int64_t count = std::int64_t{ranks_} * cut.chunks;
    waits = stage_.flags(rank, count);
    WEFT_CUDA(cudaMemset(waits, 0x3f, static_cast<std::size_t>(count) * sizeof(Signal)));
  }
  program.steps.push_back({{},
                           make_moves(stage_, rank, pushes, half(cut), nullptr, &sequence_, waits),
                           make_moves(stage_, rank, pulls, half(cut))});
}

void ScatterCase::plan_inside(int set, int rank, const Cut& cut, bool multiply, bool move,
                              const std::vector<Signal*>& landed,
                              const std::vector<Signal*>& shared, Program& program) {
  Scatter scatter;
  Reduce reduce;
  Share share;
  scatter.rank = rank;
  scatter.ranks = ranks_;
  scatter.chunks_per_shard = cut.chunks;
  scatter.owners_in_turns = cut.owners_in_turns;
  const std::size_t flag_count = static_cast<std::size_t>(cut.chunks) * sizeof(Signal);
  for (int other = 0; other < ranks_; ++other) {
    const bool runs = stage_.memory().runs(other);
    const Rows rows = ownership(1).shard(other);
    std::byte* local = buffers(set, rank).partial + rows.begin * row_bytes();
    scatter.slots.push_back({other == rank || !move ? local : slot(set, other, rank), 0});
    Signal* posted =
        runs ? landed[position(other)] + rank * cut.chunks : stage_.flags(rank, cut.chunks);
    scatter.landed.push_back(posted);
    reduce.slots.push_back({other == rank ? local
                            : runs        ? slot(set, rank, other)
                                          : prepared(set, other),
                            0});
    Signal* waited = landed[position(rank)] + other * cut.chunks;
    // Flags of a host peer, or of everybody where nothing moves, are ahead of every sequence number.
    if (!runs || !multiply) {
      waited = stage_.flags(rank, cut.chunks);
      WEFT_CUDA(cudaMemset(waited, 0x3f, flag_count));
    }
    reduce.landed.push_back(waited);
    if (!shares()) continue;
    share.outs.push_back(
        {buffers(set, other).out + ownership(1).shard(rank).begin * row_bytes(), 0});
    share.posted.push_back(shared[position(other)] + rank * cut.chunks);
    share.arrived.push_back(shared[position(rank)] + other * cut.chunks);
  }
  const bool reduces = move && meeting_ != Meeting::stay;
  reduce.ctas = cut.ctas;
  reduce.out = {own_sums(set, rank), 0};
  if (!reduces) reduce = Reduce{};
  const Product whole = product(set, rank);
  Workspace& workspace = stage_.workspace(rank);
  if (multiply) {
    const Options how = options(rank, cut, reduces ? cut.margin - cut.ctas : cut.margin);
    program.plan.push_back(meeting_ == Meeting::stay ? plan_gemm_a2a(whole, scatter, how, workspace)
                           : shares() && move
                               ? plan_gemm_ar(whole, scatter, reduce, share, how, workspace)
                               : plan_gemm_rs(whole, scatter, reduce, how, workspace));
    return;
  }
  // The reduction keeps its launch; what tiles would have stored is moved by as many CTAs.
  if (reduces)
    program.plan.push_back(plan_reduce(whole.m, whole.n, scatter, reduce,
                                       shares() ? &share : nullptr, options(rank, cut, 0),
                                       workspace));
  for (int step = 1; step < ranks_; ++step) {
    const int owner = (rank + step) % ranks_;
    const Rows rows = ownership(1).shard(owner);
    if (rows.count() == 0) continue;
    program.steps.push_back(
        {{},
         make_moves(stage_, rank,
                    {{buffers(set, rank).partial + rows.begin * row_bytes(), slot(set, owner, rank),
                      rank, owner, rows.count() * row_bytes()}},
                    cut),
         {}});
  }
}

}  // namespace weft::kernels
