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
    landed.push_back(stage_.flags(rank, std::int64_t{2 * ranks_} * cut.chunks));
    shared.push_back(stage_.flags(rank, std::int64_t{ranks_} * cut.chunks));
  }
  for (int set = 0; set < sets_; ++set)
    for (const int rank : stage_.running()) {
      Program& program = (*made)[index(set, rank)];
      stage_.memory().enter(rank);
      if (landing_at_peers(cut))
        plan_inside(set, rank, cut, multiply, move, landed, shared, program);
      else
        plan_outside(set, rank, cut, multiply, move, landed, program);
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

Signal* ScatterCase::satisfied(int rank, std::int64_t count) {
  Signal* flags = stage_.flags(rank, count);
  WEFT_CUDA(cudaMemset(flags, 0x3f, static_cast<std::size_t>(count) * sizeof(Signal)));
  return flags;
}

Reduce ScatterCase::epilogue_sums(int set, int rank, int chunks, Signal* flags) {
  Reduce reduce;
  reduce.adding = Adding::epilogue;
  reduce.out = {own_sums(set, rank), 0};
  for (int source = 0; source < ranks_; ++source) {
    const int distance = (source - rank + ranks_) % ranks_;
    reduce.slots.push_back({arrived(set, rank, source), 0});
    reduce.landed.push_back(flags + distance * chunks);
  }
  return reduce;
}

void ScatterCase::plan_outside(int set, int rank, const Cut& cut, bool multiply, bool move,
                               const std::vector<Signal*>& all_landed, Program& program) {
  const Ownership rows = ownership(cut.chunks);
  Signal* landed = all_landed[position(rank)];
  // Behind the flags of this rank's own chunks, by the distance of their source, those of what arrives.
  const auto arrivals_at = [&](int owner, int source) {
    const int distance = (source - owner + ranks_) % ranks_;
    return all_landed[position(owner)] + (ranks_ + distance) * cut.chunks;
  };
  const bool epilogue = adds_in_epilogue(cut);
  Scatter scatter;
  scatter.rank = rank;
  scatter.ranks = ranks_;
  scatter.chunks_per_shard = cut.chunks;
  for (int owner = 0; owner < ranks_; ++owner) {
    scatter.slots.push_back(
        {buffers(set, rank).partial + rows.shard(owner).begin * row_bytes(), 0});
    // What says that sums are there follows the flags of what goes away.
    scatter.landed.push_back(landed + (epilogue && owner == rank ? ranks_ : owner) * cut.chunks);
  }
  Reduce reduce;
  if (epilogue && multiply)
    reduce = epilogue_sums(
        set, rank, cut.chunks,
        move ? arrivals_at(rank, rank) : satisfied(rank, std::int64_t{ranks_} * cut.chunks));
  if (multiply)
    program.plan.push_back(plan_gemm_rs(product(set, rank), scatter, reduce,
                                        options(rank, cut, cut.margin), stage_.workspace(rank)));
  if (!move) return;
  if (!epilogue) program.tails = tails_of(set, rank, cut);
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
        Signal* there =
            epilogue && stage_.memory().runs(owner) ? arrivals_at(owner, rank) + c : nullptr;
        one.push = make_moves(
            stage_, rank,
            {{buffers(set, rank).partial + chunk.begin * row_bytes(),
              slot(set, owner, rank) + offset, rank, owner, chunk.count() * row_bytes()}},
            cut, there, &sequence_);
      }
      one.pull =
          pull_of(set, rank, owner, c, cut, epilogue ? arrivals_at(rank, owner) + c : nullptr);
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
  if (epilogue && shares())
    carry_sums(set, rank, cut, multiply, landed + ranks_ * cut.chunks, program);
}

void ScatterCase::carry_sums(int set, int rank, const Cut& cut, bool multiply, Signal* flags,
                             Program& program) {
  for (int c = 0; c < cut.chunks; ++c)
    for (int step = 1; step < ranks_; ++step) {
      const int peer = (rank + step) % ranks_;
      Step one;
      const Move push = push_of_sums(set, rank, peer, c, cut.chunks);
      const Move pull = pull_of_sums(set, rank, peer, c, cut.chunks);
      SymmetricMemory* memory = &stage_.memory();
      Signal* flag = flags + c;
      const auto wait = [this, memory, flag, multiply, first = step == 1](cudaStream_t stream) {
        if (!multiply && first) memory->post(flag, sequence_, stream);
        memory->wait(flag, sequence_, stream);
      };
      if (push.bytes > 0) one.push = make_moves(stage_, rank, {push}, cut);
      // A host peer's sums are as far as this rank's; the pulls of nothing but transfers need no word.
      if (pull.bytes > 0) {
        const auto moved = make_moves(stage_, rank, {pull}, cut);
        const bool waits = multiply && push.bytes > 0;
        one.pull = [wait, moved, waits](cudaStream_t stream) {
          if (waits) wait(stream);
          moved(stream);
        };
      }
      program.steps.push_back(one);
      program.waits.emplace_back(wait);
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
  if (!multiply) waits = satisfied(rank, std::int64_t{ranks_} * cut.chunks);
  // Those of what arrives likewise, behind as many of the own chunks.
  Signal* posts = adds_in_epilogue(cut) ? landed + (ranks_ + 1) * cut.chunks : nullptr;
  program.steps.push_back({{},
                           make_moves(stage_, rank, pushes, half(cut), nullptr, &sequence_, waits),
                           make_moves(stage_, rank, pulls, half(cut), posts, &sequence_)});
  for (int step = 1; posts != nullptr && shares() && step < ranks_; ++step) {
    pushes.clear();
    pulls.clear();
    for (int c = 0; c < cut.chunks; ++c) {
      const int peer = (rank + step) % ranks_;
      pushes.push_back(push_of_sums(set, rank, peer, c, cut.chunks));
      pulls.push_back(pull_of_sums(set, rank, peer, c, cut.chunks));
    }
    Signal* summed = multiply ? landed + ranks_ * cut.chunks : waits;
    program.steps.push_back(
        {{},
         make_moves(stage_, rank, pushes, half(cut), nullptr, &sequence_, summed),
         make_moves(stage_, rank, pulls, half(cut))});
  }
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
  const bool epilogue = adds_in_epilogue(cut);
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
    if (!runs || !multiply || (epilogue && !move)) waited = satisfied(rank, cut.chunks);
    reduce.landed.push_back(waited);
    if (!shares()) continue;
    share.outs.push_back(
        {buffers(set, other).out + ownership(1).shard(rank).begin * row_bytes(), 0});
    share.posted.push_back(shared[position(other)] + rank * cut.chunks);
    share.arrived.push_back(shared[position(rank)] + other * cut.chunks);
  }
  const bool reduces = move && meeting_ != Meeting::stay;
  reduce.ctas = epilogue ? 0 : cut.ctas;
  reduce.adding = epilogue ? Adding::epilogue : Adding::pass;
  reduce.out = {own_sums(set, rank), 0};
  if (!reduces && !epilogue) reduce = Reduce{};
  const Product whole = product(set, rank);
  Workspace& workspace = stage_.workspace(rank);
  if (multiply) {
    const Options how = options(rank, cut, cut.margin - reduce.ctas);
    program.plan.push_back(meeting_ == Meeting::stay ? plan_gemm_a2a(whole, scatter, how, workspace)
                           : shares() && move
                               ? plan_gemm_ar(whole, scatter, reduce, share, how, workspace)
                               : plan_gemm_rs(whole, scatter, reduce, how, workspace));
    return;
  }
  // The reduction keeps its launch; what tiles would have stored is moved by as many CTAs, or by all where
  // tiles store sums too.
  Cut stores = cut;
  if (epilogue) stores.ctas = stage_.memory().sms(rank);
  if (reduces && !epilogue)
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
                    stores),
         {}});
  }
  for (int step = 1; epilogue && shares() && step < ranks_; ++step)
    if (const Move sums = push_of_sums(set, rank, (rank + step) % ranks_, 0, 1); sums.bytes > 0)
      program.steps.push_back({{}, make_moves(stage_, rank, {sums}, stores), {}});
}

}  // namespace weft::kernels
