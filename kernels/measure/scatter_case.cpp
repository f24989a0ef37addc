// SPDX-License-Identifier: Apache-2.0
// The many-launch forms, the collective alone, and the check of what came out.
#include "kernels/measure/scatter_case.hpp"

#include "kernels/memory/check.hpp"

namespace weft::kernels {

using calibration::Shape;

ScatterCase::ScatterCase(Stage& stage, const Shape& shape, const GemmChoice& choice)
    : stage_(stage),
      shape_(shape),
      choice_(choice),
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
    for (const int rank : stage.running()) {
      Buffers buffers;
      buffers.x = stage.random(rank, 2 * shape.m * shape.k);
      buffers.w = stage.random(rank, 2 * shape.n * shape.k);
      buffers.partial = stage.scratch(rank, shape.m * row_bytes());
      buffers.incoming = stage.scratch(rank, shard * (ranks_ - 1));
      buffers.out = stage.scratch(rank, shard);
      buffers_.push_back(buffers);
    }
  }
  const std::int64_t own = ownership(1).shard(stage.running().front()).count();
  bytes_out_ = (shape.m - own) * row_bytes();
  bytes_in_ = (ranks_ - 1) * own * row_bytes();
}

double ScatterCase::check(const Enqueue& work) {
  for (const int rank : stage_.running()) {
    stage_.memory().enter(rank);
    cudaStream_t stream = stage_.memory().stream(rank, StreamRole::compute);
    const Buffers& at = buffers(0, rank);
    fill_poison(at.partial, static_cast<std::size_t>(shape_.m * row_bytes()), stream);
    fill_poison(at.incoming, static_cast<std::size_t>(shard_bytes() * (ranks_ - 1)), stream);
    fill_poison(at.out, static_cast<std::size_t>(shard_bytes()), stream);
    for (int owner = 0; owner < ranks_; ++owner)
      fill_poison(slot(0, owner, rank), static_cast<std::size_t>(shard_bytes()), stream);
  }
  stage_.memory().barrier();
  stage_.timer().once(work);
  stage_.memory().barrier();
  stage_.refuse_wait_errors();
  for (const int rank : stage_.running()) check_rank(rank);
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
                                                       const Cut& cut) {
  if (stage_.memory().runs(peer)) return {};
  const Ownership rows = ownership(cut.chunks);
  const Rows own = rows.chunk(rank * cut.chunks + chunk);
  if (own.count() == 0) return {};
  const std::int64_t offset = (own.begin - rows.shard(rank).begin) * row_bytes();
  return make_moves(stage_, rank,
                    {{prepared(set, peer) + offset, arrived(set, rank, peer) + offset, peer, rank,
                      own.count() * row_bytes()}},
                    half(cut));
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
      if (move) program.sum = sum_of(set, rank);
    }
  return
      [this, made](int repetition, cudaStream_t timed) { run(*made, set_of(repetition), timed); };
}

void ScatterCase::run(const std::vector<Program>& programs, int set, cudaStream_t timed) {
  SymmetricMemory& memory = stage_.memory();
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
    if (!program.sum) continue;
    cudaStream_t compute = memory.stream(rank, StreamRole::compute);
    for (const int source : stage_.running())
      joints_.join(source, memory.stream(source, StreamRole::communication), rank, compute);
    joints_.join(rank, memory.stream(rank, StreamRole::copy), rank, compute);
    memory.enter(rank);
    program.sum(compute);
  }
  joints_.merge(timed);
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
    product.out = owner == rank ? at.out : slot(0, owner, rank);
    if (owner == rank) {
      for (int peer = 0; peer < ranks_; ++peer)
        if (peer != rank)
          product.addends[product.addend_count++] =
              stage_.memory().runs(peer) ? slot(0, rank, peer) : prepared(0, peer);
    }
    check_product(product, stage_.check_result(), stream);
  }
}

std::unique_ptr<BoundaryCase> make_scatter_case(Stage& stage, const Shape& shape,
                                                const GemmChoice& choice) {
  return std::make_unique<ScatterCase>(stage, shape, choice);
}

}  // namespace weft::kernels
