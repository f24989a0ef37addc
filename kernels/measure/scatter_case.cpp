// SPDX-License-Identifier: Apache-2.0
// The many-launch forms, the collective alone, and the check of what came out.
#include "kernels/measure/scatter_case.hpp"

#include "kernels/memory/check.hpp"

namespace weft::kernels {

using calibration::Shape;

ScatterCase::ScatterCase(Stage& stage, const Shape& shape, const GemmChoice& choice,
                         Meeting meeting)
    : stage_(stage),
      shape_(shape),
      choice_(choice),
      meeting_(meeting),
      joints_(stage),
      ranks_(stage.memory().ranks()) {
  sets_ = rotating_sets(2 * (shape.m * shape.k + shape.n * shape.k + shape.m * shape.n));
  const std::int64_t shard = ownership(1).shard_rows() * row_bytes();
  for (int set = 0; set < sets_; ++set) {
    // What a host peer adds to our rows is there beforehand; who runs computes it.
    prepared_.push_back(stage.shared_random(shard));
    std::vector<Region> from;
    for (std::size_t source = 0; source < stage.running().size(); ++source)
      from.push_back(stage.shared_scratch(shard));
    slots_.push_back(std::move(from));
    std::vector<Region> sinks;
    if (shares()) {
      peer_sums_.push_back(stage.shared_random(shard));
      for (std::size_t source = 0; source < stage.running().size(); ++source)
        sinks.push_back(all_run() ? Region{} : stage.shared_scratch(shard));
    }
    sinks_.push_back(std::move(sinks));
    for (const int rank : stage.running()) {
      Buffers buffers;
      buffers.x = stage.random(rank, 2 * shape.m * shape.k);
      buffers.w = stage.random(rank, 2 * shape.n * shape.k);
      buffers.partial = stage.scratch(rank, shape.m * row_bytes());
      buffers.incoming = stage.scratch(rank, shard * (ranks_ - 1));
      buffers.out = stage.scratch(rank, shares() ? shape.m * row_bytes() : shard);
      buffers_.push_back(buffers);
    }
  }
  const std::int64_t own = ownership(1).shard(stage.running().front()).count();
  bytes_out_ = (shape.m - own) * row_bytes();
  bytes_in_ = (ranks_ - 1) * own * row_bytes();
  if (!shares()) return;
  bytes_in_ += (shape.m - own) * row_bytes();
  bytes_out_ += (ranks_ - 1) * own * row_bytes();
}

double ScatterCase::check(const Enqueue& work) {
  for (const int rank : stage_.running()) {
    stage_.memory().enter(rank);
    cudaStream_t stream = stage_.memory().stream(rank, StreamRole::compute);
    const Buffers& at = buffers(0, rank);
    fill_poison(at.partial, static_cast<std::size_t>(shape_.m * row_bytes()), stream);
    fill_poison(at.incoming, static_cast<std::size_t>(shard_bytes() * (ranks_ - 1)), stream);
    const std::int64_t sums = shares() ? shape_.m * row_bytes() : shard_bytes();
    fill_poison(at.out, static_cast<std::size_t>(sums), stream);
    for (int owner = 0; owner < ranks_; ++owner)
      fill_poison(slot(0, owner, rank), static_cast<std::size_t>(shard_bytes()), stream);
  }
  stage_.memory().barrier();
  stage_.timer().once(work);
  stage_.memory().barrier();
  stage_.refuse_wait_errors();
  for (const int rank : stage_.running()) {
    if (met_by_library_) {
      check_library(rank);
      continue;
    }
    check_rank(rank);
    if (shares()) check_shared(rank);
  }
  return verdict(stage_.take_check_result());
}

Multiplier ScatterCase::multiplier(int set, int rank, Rows rows, int margin) {
  GemmChoice choice = choice_;
  choice.margin += margin;
  const Buffers& at = buffers(set, rank);
  Multiplier made =
      make_multiplier(stage_, rank,
                      {rows.count(), shape_.n, shape_.k, at.x + rows.begin * 2 * shape_.k, at.w,
                       at.partial + rows.begin * row_bytes()},
                      choice);
  if (!made.kernel.name.empty()) kernel_ = made.kernel;
  return made;
}

std::function<void(cudaStream_t)> ScatterCase::pull_of(int set, int rank, int peer, int chunk,
                                                       const Cut& cut, Signal* flag) {
  if (stage_.memory().runs(peer)) return {};
  const Ownership rows = ownership(cut.chunks);
  const Rows own = rows.chunk(rank * cut.chunks + chunk);
  if (own.count() == 0) return {};
  const std::int64_t offset = (own.begin - rows.shard(rank).begin) * row_bytes();
  return make_moves(stage_, rank,
                    {{prepared(set, peer) + offset, arrived(set, rank, peer) + offset, peer, rank,
                      own.count() * row_bytes()}},
                    half(cut), flag, &sequence_);
}

std::function<void(cudaStream_t)> ScatterCase::sum_of(int set, int rank, Rows rows) {
  std::vector<const std::byte*> addends;
  const std::int64_t offset = rows.begin * row_bytes();
  for (int source = 0; source < ranks_; ++source)
    addends.push_back(arrived(set, rank, source) + offset);
  return make_sum(stage_, rank, addends, own_sums(set, rank) + offset, rows.count() * row_bytes(),
                  stage_.memory().sms(rank));
}

Move ScatterCase::push_of_sums(int set, int rank, int peer, int chunk, int chunks) {
  const Ownership rows = ownership(chunks);
  const int own = rows.shard(rank).begin;
  const Rows mine = rows.chunk(rank * chunks + chunk);
  const std::int64_t offset = (mine.begin - own) * row_bytes();
  std::byte* there = stage_.memory().runs(peer)
                         ? buffers(set, peer).out + own * row_bytes()
                         : sinks_[static_cast<std::size_t>(set)][position(rank)].at.at(
                               static_cast<std::size_t>(peer));
  return {own_sums(set, rank) + offset, there + offset, rank, peer, mine.count() * row_bytes()};
}

Move ScatterCase::pull_of_sums(int set, int rank, int peer, int chunk, int chunks) {
  if (stage_.memory().runs(peer)) return {};
  const Ownership rows = ownership(chunks);
  const Rows theirs = rows.chunk(peer * chunks + chunk);
  const std::int64_t at = (theirs.begin - rows.shard(peer).begin) * row_bytes();
  return {peer_sums_[static_cast<std::size_t>(set)].at.at(static_cast<std::size_t>(peer)) + at,
          buffers(set, rank).out + theirs.begin * row_bytes(), peer, rank,
          theirs.count() * row_bytes()};
}

std::vector<ScatterCase::Tail> ScatterCase::tails_of(int set, int rank, const Cut& cut) {
  std::vector<Tail> tails;
  if (meeting_ == Meeting::stay) return tails;
  const int own = ownership(1).shard(rank).begin;
  if (!shares()) {
    tails.push_back({sum_of(set, rank, {0, ownership(1).shard(rank).count()}), {}, {}});
    return tails;
  }
  const Ownership rows = ownership(cut.chunks);
  for (int c = 0; c < cut.chunks; ++c) {
    Tail tail;
    const Rows mine = rows.chunk(rank * cut.chunks + c);
    if (mine.count() > 0) tail.sum = sum_of(set, rank, {mine.begin - own, mine.end - own});
    for (int step = 1; step < ranks_; ++step) {
      const int peer = (rank + step) % ranks_;
      if (mine.count() > 0)
        tail.pushes.push_back(
            make_moves(stage_, rank, {push_of_sums(set, rank, peer, c, cut.chunks)}, half(cut)));
      if (const Move pull = pull_of_sums(set, rank, peer, c, cut.chunks); pull.bytes > 0)
        tail.pulls.push_back(make_moves(stage_, rank, {pull}, half(cut)));
    }
    tails.push_back(std::move(tail));
  }
  return tails;
}

Enqueue ScatterCase::steps(const Cut& cut, int chunks, bool multiply, bool move, bool whole) {
  auto made = std::make_shared<std::vector<Program>>(buffers_.size());
  const Ownership rows = ownership(chunks);
  for (int set = 0; set < sets_; ++set)
    for (const int rank : stage_.running()) {
      Program& program = (*made)[index(set, rank)];
      if (whole) {
        program.steps.push_back(
            {multiplier(set, rank, {0, static_cast<int>(shape_.m)}, 0).run, {}, {}});
        continue;
      }
      for (int step = 1; step < ranks_; ++step) {
        const int owner = (rank + step) % ranks_;
        for (int c = 0; c < chunks; ++c) {
          const Rows chunk = rows.chunk(owner * chunks + c);
          Step one;
          if (multiply && chunk.count() > 0)
            one.multiply = multiplier(set, rank, chunk, cut.margin).run;
          if (move && chunk.count() > 0) {
            const std::int64_t offset = (chunk.begin - rows.shard(owner).begin) * row_bytes();
            one.push = make_moves(
                stage_, rank,
                {{buffers(set, rank).partial + chunk.begin * row_bytes(),
                  slot(set, owner, rank) + offset, rank, owner, chunk.count() * row_bytes()}},
                cut);
          }
          if (move) one.pull = pull_of(set, rank, owner, c, cut);
          program.steps.push_back(one);
        }
      }
      if (multiply)
        program.steps.push_back({multiplier(set, rank, rows.shard(rank), cut.margin).run, {}, {}});
      if (move) program.tails = tails_of(set, rank, cut);
    }
  return
      [this, made](int repetition, cudaStream_t timed) { run(*made, set_of(repetition), timed); };
}

void ScatterCase::run(const std::vector<Program>& programs, int set, cudaStream_t timed) {
  SymmetricMemory& memory = stage_.memory();
  met_by_library_ = false;
  joints_.fork(timed);
  for (const int rank : stage_.running()) {
    memory.enter(rank);
    cudaStream_t compute = memory.stream(rank, StreamRole::compute);
    cudaStream_t pushing = memory.stream(rank, StreamRole::communication);
    cudaStream_t pulling = memory.stream(rank, StreamRole::copy);
    const Program& program = programs[index(set, rank)];
    for (const Plan& plan : program.plan) plan.launch(compute, sequence_);
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const Step& step = program.steps[i];
      if (step.pull) step.pull(pulling);
      if (step.multiply) step.multiply(compute);
      if (!step.push) continue;
      if (i < program.waits.size()) program.waits[i](pushing);
      if (step.multiply) joints_.join(rank, compute, rank, pushing);
      memory.enter(rank);
      step.push(pushing);
    }
  }
  for (const int rank : stage_.running()) {
    const Program& program = programs[index(set, rank)];
    if (program.tails.empty()) continue;
    cudaStream_t compute = memory.stream(rank, StreamRole::compute);
    for (const int source : stage_.running())
      joints_.join(source, memory.stream(source, StreamRole::communication), rank, compute);
    joints_.join(rank, memory.stream(rank, StreamRole::copy), rank, compute);
  }
  for (const int rank : stage_.running()) {
    cudaStream_t compute = memory.stream(rank, StreamRole::compute);
    cudaStream_t pushing = memory.stream(rank, StreamRole::communication);
    cudaStream_t pulling = memory.stream(rank, StreamRole::copy);
    for (const Tail& tail : programs[index(set, rank)].tails) {
      memory.enter(rank);
      if (tail.sum) tail.sum(compute);
      if (!tail.pushes.empty()) joints_.join(rank, compute, rank, pushing);
      if (!tail.pulls.empty()) joints_.join(rank, compute, rank, pulling);
      memory.enter(rank);
      for (const auto& push : tail.pushes) push(pushing);
      for (const auto& pull : tail.pulls) pull(pulling);
    }
  }
  joints_.merge(timed);
}

Enqueue ScatterCase::by_library() {
  const NcclGroup& group = stage_.nccl_group();
  if (meeting_ == Meeting::stay || shape_.m % ranks_ != 0)
    throw std::invalid_argument("NCCL sums rows that divide into the ranks");
  return [this, &group](int repetition, cudaStream_t timed) {
    const int set = set_of(repetition);
    joints_.fork(timed);
    std::vector<NcclGroup::Share> parts;
    for (const int rank : stage_.running())
      parts.push_back({buffers(set, rank).partial, buffers(set, rank).out,
                       stage_.memory().stream(rank, StreamRole::communication)});
    group.enqueue(shares() ? NcclOperation::all_reduce : NcclOperation::reduce_scatter,
                  shape_.m * row_bytes(), parts);
    joints_.merge(timed);
    met_by_library_ = true;
  };
}

void ScatterCase::check_library(int rank) {
  stage_.memory().enter(rank);
  const Rows own = ownership(1).shard(rank);
  const Buffers& at = buffers(0, rank);
  ProductCheck product{.x = at.x + own.begin * 2 * shape_.k, .w = at.w, .out = own_sums(0, rank)};
  product.m = own.count();
  product.n = shape_.n;
  product.k = shape_.k;
  for (const int peer : stage_.running())
    if (peer != rank)
      product.addends[product.addend_count++] = buffers(0, peer).partial + own.begin * row_bytes();
  cudaStream_t stream = stage_.memory().stream(rank, StreamRole::compute);
  check_product(product, stage_.check_result(), stream);
  if (!shares()) return;
  for (const int peer : stage_.running()) {
    const Rows theirs = ownership(1).shard(peer);
    check_equal(at.out + theirs.begin * row_bytes(), own_sums(0, peer),
                static_cast<std::size_t>(theirs.count() * row_bytes()), stage_.check_result(),
                stream);
  }
}

void ScatterCase::check_rank(int rank) {
  stage_.memory().enter(rank);
  cudaStream_t stream = stage_.memory().stream(rank, StreamRole::compute);
  const Buffers& at = buffers(0, rank);
  for (int owner = 0; owner < ranks_; ++owner) {
    const Rows rows = ownership(1).shard(owner);
    if (rows.count() == 0) continue;
    ProductCheck product{.x = at.x + rows.begin * 2 * shape_.k, .w = at.w};
    product.m = rows.count();
    product.n = shape_.n;
    product.k = shape_.k;
    product.out = owner == rank ? own_sums(0, rank) : slot(0, owner, rank);
    if (owner == rank && meeting_ == Meeting::stay) {
      product.out = at.partial + rows.begin * row_bytes();
      for (int peer = 0; peer < ranks_; ++peer)
        if (!stage_.memory().runs(peer))
          check_equal(arrived(0, rank, peer), prepared(0, peer),
                      static_cast<std::size_t>(rows.count() * row_bytes()), stage_.check_result(),
                      stream);
    } else if (owner == rank) {
      for (int peer = 0; peer < ranks_; ++peer)
        if (peer != rank)
          product.addends[product.addend_count++] =
              stage_.memory().runs(peer) ? slot(0, rank, peer) : prepared(0, peer);
    }
    check_product(product, stage_.check_result(), stream);
  }
}

void ScatterCase::check_shared(int rank) {
  stage_.memory().enter(rank);
  cudaStream_t stream = stage_.memory().stream(rank, StreamRole::compute);
  for (int peer = 0; peer < ranks_; ++peer) {
    const Rows rows = ownership(1).shard(peer);
    if (peer == rank || rows.count() == 0) continue;
    const bool runs = stage_.memory().runs(peer);
    const std::byte* theirs =
        runs ? own_sums(0, peer) : peer_sums_[0].at.at(static_cast<std::size_t>(peer));
    check_equal(buffers(0, rank).out + rows.begin * row_bytes(), theirs,
                static_cast<std::size_t>(rows.count() * row_bytes()), stage_.check_result(),
                stream);
    if (!runs && ownership(1).shard(rank).count() > 0)
      check_equal(sinks_[0][position(rank)].at.at(static_cast<std::size_t>(peer)),
                  own_sums(0, rank),
                  static_cast<std::size_t>(ownership(1).shard(rank).count() * row_bytes()),
                  stage_.check_result(), stream);
  }
}

std::unique_ptr<BoundaryCase> make_scatter_case(Stage& stage, const Shape& shape,
                                                const GemmChoice& choice,
                                                const std::string& operation) {
  const Meeting meeting = operation == "gemm_ar"    ? Meeting::share
                          : operation == "gemm_a2a" ? Meeting::stay
                                                    : Meeting::sum;
  return std::make_unique<ScatterCase>(stage, shape, choice, meeting);
}

}  // namespace weft::kernels
