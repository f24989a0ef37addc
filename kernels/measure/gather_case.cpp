// SPDX-License-Identifier: Apache-2.0
// AG+GEMM: X is gathered by pulling each peer's shard in rotated order; the own shard comes first and
// is in place. Chunk c of shard r is the same for every form (shapes::Ownership).
#include <memory>
#include <stdexcept>

#include "kernels/measure/cut.hpp"
#include "kernels/measure/fork.hpp"
#include "kernels/measure/move.hpp"
#include "kernels/memory/check.hpp"
#include "kernels/shapes/ownership.hpp"
#include "kernels/sm90/gemm.hpp"

namespace weft::kernels {
namespace {

using calibration::Shape;
using shapes::Ownership;
using shapes::Rows;

class GatherCase final : public BoundaryCase {
 public:
  GatherCase(Stage& stage, const Shape& shape, const GemmChoice& choice)
      : stage_(stage),
        shape_(shape),
        choice_(choice),
        joints_(stage),
        ranks_(stage.memory().ranks()) {
    const std::int64_t bytes = 2 * (shape.m * shape.k + shape.n * shape.k + shape.m * shape.n);
    sets_ = rotating_sets(bytes);
    const Ownership whole = ownership(1);
    for (int set = 0; set < sets_; ++set) {
      shards_.push_back(stage.shared_random(whole.shard_rows() * row_bytes()));
      for (const int rank : stage.running()) {
        Buffers buffers;
        buffers.x = stage.scratch(rank, shape.m * row_bytes());
        buffers.w = stage.random(rank, 2 * shape.n * shape.k);
        buffers.y = stage.scratch(rank, 2 * shape.m * shape.n);
        const Rows own = whole.shard(rank);
        stage.memory().enter(rank);
        WEFT_CUDA(cudaMemcpy(buffers.x + own.begin * row_bytes(), shard(set, rank),
                             static_cast<std::size_t>(own.count() * row_bytes()),
                             cudaMemcpyDefault));
        buffers_.push_back(buffers);
      }
    }
    const int first = stage.running().front();
    bytes_in_ = (shape.m - whole.shard(first).count()) * row_bytes();
  }

  Enqueue compute() override {
    auto made = std::make_shared<std::vector<Multiplier>>(buffers_.size());
    for (int set = 0; set < sets_; ++set)
      for (const int rank : stage_.running())
        (*made)[index(set, rank)] = multiplier(set, rank, {0, static_cast<int>(shape_.m)}, 0);
    return [this, made](int repetition, cudaStream_t timed) {
      joints_.fork(timed);
      for (const int rank : stage_.running()) {
        stage_.memory().enter(rank);
        (*made)[index(set_of(repetition), rank)].run(
            stage_.memory().stream(rank, StreamRole::compute));
      }
      joints_.merge(timed);
    };
  }
  Enqueue collective(const Cut& cut) override {
    Cut whole = cut;
    whole.chunks = 1;
    return cut.mover == Mover::library ? by_library() : transfers(whole, false);
  }
  Enqueue serial(const Cut& cut) override {
    Enqueue moved = collective(cut);
    Enqueue multiplied = compute();
    return [moved, multiplied](int repetition, cudaStream_t stream) {
      moved(repetition, stream);
      multiplied(repetition, stream);
    };
  }
  Enqueue chunked(const Cut& cut) override { return chunked(cut, true, true); }
  Enqueue chunked_compute(const Cut& cut) override { return chunked(cut, true, false); }
  Enqueue chunked_transfers(const Cut& cut) override { return chunked(cut, false, true); }
  Enqueue device_flag(const Cut& cut) override { return flagged(cut, true, true); }
  Enqueue device_flag_compute(const Cut& cut) override { return flagged(cut, true, false); }
  Enqueue device_flag_transfers(const Cut& cut) override { return transfers(cut, true); }

  double check(const Enqueue& work) override {
    const Ownership whole = ownership(1);
    for (const int rank : stage_.running()) {
      stage_.memory().enter(rank);
      cudaStream_t stream = stage_.memory().stream(rank, StreamRole::compute);
      const Buffers& at = buffers(0, rank);
      for (int peer = 0; peer < ranks_; ++peer)
        if (const Rows rows = whole.shard(peer); peer != rank && rows.count() > 0)
          fill_poison(at.x + rows.begin * row_bytes(),
                      static_cast<std::size_t>(rows.count() * row_bytes()), stream);
      fill_poison(at.y, static_cast<std::size_t>(2 * shape_.m * shape_.n), stream);
    }
    stage_.memory().barrier();
    stage_.timer().once(work);
    stage_.memory().barrier();
    stage_.refuse_wait_errors();
    for (const int rank : stage_.running()) {
      stage_.memory().enter(rank);
      cudaStream_t stream = stage_.memory().stream(rank, StreamRole::compute);
      const Buffers& at = buffers(0, rank);
      for (int peer = 0; peer < ranks_; ++peer)
        if (const Rows rows = whole.shard(peer); rows.count() > 0)
          check_equal(at.x + rows.begin * row_bytes(), shard(0, peer),
                      static_cast<std::size_t>(rows.count() * row_bytes()), stage_.check_result(),
                      stream);
      ProductCheck product{.x = at.x, .w = at.w, .out = at.y};
      product.m = shape_.m;
      product.n = shape_.n;
      product.k = shape_.k;
      check_product(product, stage_.check_result(), stream);
    }
    return verdict(stage_.take_check_result());
  }

 private:
  struct Buffers {
    std::byte* x = nullptr;
    std::byte* w = nullptr;
    std::byte* y = nullptr;
  };
  /// What one rank does in one repetition.
  struct Step {
    std::function<void(cudaStream_t)> move;
    std::function<void(cudaStream_t)> multiply;
  };

  std::int64_t row_bytes() const { return 2 * shape_.k; }
  Ownership ownership(int chunks) const { return {static_cast<int>(shape_.m), ranks_, chunks}; }
  std::size_t index(int set, int rank) const {
    std::size_t at = 0;
    while (stage_.running()[at] != rank) ++at;
    return static_cast<std::size_t>(set) * stage_.running().size() + at;
  }
  const Buffers& buffers(int set, int rank) const { return buffers_[index(set, rank)]; }
  std::byte* shard(int set, int rank) const {
    return shards_[static_cast<std::size_t>(set)].at.at(static_cast<std::size_t>(rank));
  }
  int set_of(int repetition) const { return repetition % sets_; }

  Multiplier multiplier(int set, int rank, Rows rows, int margin) {
    GemmChoice choice = choice_;
    choice.margin += margin;
    const Buffers& at = buffers(set, rank);
    Multiplier made =
        make_multiplier(stage_, rank,
                        {rows.count(), shape_.n, shape_.k, at.x + rows.begin * row_bytes(), at.w,
                         at.y + rows.begin * 2 * shape_.n},
                        choice);
    if (!made.kernel.name.empty()) kernel_ = made.kernel;
    return made;
  }

  /// The pulls of a rank in the order in which its tiles want them; one a chunk.
  std::vector<Move> moves(int set, int rank, int chunks) const {
    std::vector<Move> list;
    const Ownership cut = ownership(chunks);
    for (int step = 1; step < ranks_; ++step) {
      const int peer = (rank + step) % ranks_;
      for (int c = 0; c < chunks; ++c) {
        const Rows rows = cut.chunk(peer * chunks + c);
        list.push_back({shard(set, peer) + (rows.begin - cut.shard(peer).begin) * row_bytes(),
                        buffers(set, rank).x + rows.begin * row_bytes(), peer, rank,
                        rows.count() * row_bytes()});
      }
    }
    return list;
  }

  /// The collective by NCCL: every shard, the own one too, to its rows of X.
  Enqueue by_library() {
    const NcclGroup& group = stage_.nccl_group();
    if (shape_.m % ranks_ != 0)
      throw std::invalid_argument("NCCL gathers rows that divide into the ranks");
    return [this, &group](int repetition, cudaStream_t timed) {
      const int set = set_of(repetition);
      joints_.fork(timed);
      std::vector<NcclGroup::Share> shares;
      for (const int rank : stage_.running())
        shares.push_back({shard(set, rank), buffers(set, rank).x,
                          stage_.memory().stream(rank, StreamRole::communication)});
      group.enqueue(NcclOperation::all_gather, shape_.m * row_bytes(), shares);
      joints_.merge(timed);
    };
  }

  Enqueue transfers(const Cut& cut, bool posts) {
    auto made = std::make_shared<std::vector<std::function<void(cudaStream_t)>>>(buffers_.size());
    for (int set = 0; set < sets_; ++set)
      for (const int rank : stage_.running())
        (*made)[index(set, rank)] =
            make_moves(stage_, rank, moves(set, rank, cut.chunks), cut,
                       posts ? stage_.flags(rank, ranks_ * cut.chunks) : nullptr, &sequence_);
    return [this, made](int repetition, cudaStream_t timed) {
      sequence_ = stage_.next_sequence();
      joints_.fork(timed);
      for (const int rank : stage_.running()) {
        stage_.memory().enter(rank);
        (*made)[index(set_of(repetition), rank)](
            stage_.memory().stream(rank, StreamRole::communication));
      }
      joints_.merge(timed);
    };
  }

  Enqueue chunked(const Cut& cut, bool multiply, bool move) {
    const Ownership rows = ownership(cut.chunks);
    auto made = std::make_shared<std::vector<std::vector<Step>>>(buffers_.size());
    for (int set = 0; set < sets_; ++set)
      for (const int rank : stage_.running()) {
        std::vector<Step>& steps = (*made)[index(set, rank)];
        Step own;
        if (multiply) own.multiply = multiplier(set, rank, rows.shard(rank), cut.margin).run;
        steps.push_back(own);
        const std::vector<Move> pulls = moves(set, rank, cut.chunks);
        for (std::size_t i = 0; i < pulls.size(); ++i) {
          if (pulls[i].bytes == 0) continue;
          Step step;
          const int begin =
              static_cast<int>((pulls[i].target - buffers(set, rank).x) / row_bytes());
          const int count = static_cast<int>(pulls[i].bytes / row_bytes());
          if (move) step.move = make_moves(stage_, rank, {pulls[i]}, cut);
          if (multiply)
            step.multiply = multiplier(set, rank, {begin, begin + count}, cut.margin).run;
          steps.push_back(step);
        }
      }
    return [this, made](int repetition, cudaStream_t timed) {
      joints_.fork(timed);
      for (const int rank : stage_.running()) {
        stage_.memory().enter(rank);
        cudaStream_t compute = stage_.memory().stream(rank, StreamRole::compute);
        cudaStream_t moving = stage_.memory().stream(rank, StreamRole::communication);
        for (const Step& step : (*made)[index(set_of(repetition), rank)]) {
          if (step.move) {
            step.move(moving);
            joints_.join(rank, moving, rank, compute);
          }
          if (step.multiply) step.multiply(compute);
        }
      }
      joints_.merge(timed);
    };
  }

  Enqueue flagged(const Cut& cut, bool multiply, bool move) {
    if (choice_.library != "weft")
      throw std::invalid_argument("only kernels of our own wait for flags");
    const bool inside = cut.mover == Mover::ctas;
    struct One {
      std::vector<Plan> plan;
      std::function<void(cudaStream_t)> moves;
    };
    auto made = std::make_shared<std::vector<One>>(buffers_.size());
    for (int set = 0; set < sets_; ++set)
      for (const int rank : stage_.running()) {
        const Buffers& at = buffers(set, rank);
        stage_.memory().enter(rank);
        Gather gather;
        gather.rank = rank;
        gather.ranks = ranks_;
        gather.chunks_per_shard = cut.chunks;
        gather.ready = stage_.flags(rank, ranks_ * cut.chunks);
        One& one = (*made)[index(set, rank)];
        if (move && inside) {
          gather.ctas = cut.ctas;
          for (int peer = 0; peer < ranks_; ++peer) gather.shards.push_back(shard(set, peer));
          gather.shard_ready.assign(static_cast<std::size_t>(ranks_), nullptr);
          gather.far = stage_.memory().backend() == Backend::peer_gpus;
        }
        if (move && !inside) one.moves = flagged_moves(set, rank, cut, gather.ready);
        if (!move) {
          // Flags that are ahead of every sequence number of this case.
          WEFT_CUDA(cudaMemset(gather.ready, 0x3f,
                               static_cast<std::size_t>(ranks_ * cut.chunks) * sizeof(Signal)));
        }
        Options options;
        options.tile = choice_.tile;
        options.sms = stage_.memory().sms(rank);
        options.margin = inside && move ? cut.margin - cut.ctas : cut.margin;
        options.scheduler = choice_.scheduler;
        options.wait_budget_ns = kWaitBudgetNs;
        options.pace = {cut.pace_bytes_per_second, cut.in_flight_bytes};
        if (!multiply) continue;
        const Product product{static_cast<int>(shape_.m),
                              static_cast<int>(shape_.n),
                              static_cast<int>(shape_.k),
                              at.x,
                              0,
                              at.w,
                              0};
        one.plan.push_back(
            plan_ag_gemm(product, {at.y, 0}, gather, options, stage_.workspace(rank)));
        kernel_ = describe(one.plan.back().tile(), one.plan.back().grid(), one.plan.back().name(),
                           choice_.scheduler);
      }
    return [this, made](int repetition, cudaStream_t timed) {
      sequence_ = stage_.next_sequence();
      joints_.fork(timed);
      for (const int rank : stage_.running()) {
        stage_.memory().enter(rank);
        const One& one = (*made)[index(set_of(repetition), rank)];
        if (one.moves) one.moves(stage_.memory().stream(rank, StreamRole::communication));
        for (const Plan& plan : one.plan)
          plan.launch(stage_.memory().stream(rank, StreamRole::compute), sequence_);
      }
      joints_.merge(timed);
    };
  }

  /// Copies that each post the flag of their chunk.
  std::function<void(cudaStream_t)> flagged_moves(int set, int rank, const Cut& cut,
                                                  Signal* ready) {
    std::vector<std::function<void(cudaStream_t)>> parts;
    const std::vector<Move> list = moves(set, rank, cut.chunks);
    for (int step = 1; step < ranks_; ++step) {
      const int peer = (rank + step) % ranks_;
      const auto first = list.begin() + (step - 1) * cut.chunks;
      parts.push_back(make_moves(stage_, rank, {first, first + cut.chunks}, cut,
                                 ready + peer * cut.chunks, &sequence_));
    }
    return [parts](cudaStream_t stream) {
      for (const auto& part : parts) part(stream);
    };
  }

  Stage& stage_;
  Shape shape_;
  GemmChoice choice_;
  Joints joints_;
  int ranks_;
  int sets_ = 1;
  Signal sequence_ = 0;
  std::vector<Region> shards_;    ///< by set
  std::vector<Buffers> buffers_;  ///< by set, then by running rank
};

}  // namespace

std::unique_ptr<BoundaryCase> make_gather_case(Stage& stage, const Shape& shape,
                                               const GemmChoice& choice) {
  return std::make_unique<GatherCase>(stage, shape, choice);
}

}  // namespace weft::kernels
