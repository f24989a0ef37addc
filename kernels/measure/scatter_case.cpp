// SPDX-License-Identifier: Apache-2.0
// GEMM+RS: rows that others own are multiplied first, in rotated order, and handed to a slot that the
// owner keeps for this rank; the own rows come last. Partials of the own rows are summed in fp32.
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

class ScatterCase final : public BoundaryCase {
 public:
  ScatterCase(Stage& stage, const Shape& shape, const GemmChoice& choice)
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

  Enqueue compute() override { return steps(Cut{}, 1, true, false, true); }
  Enqueue collective(const Cut& cut) override {
    Cut whole = cut;
    whole.chunks = 1;
    whole.margin = 0;
    return steps(whole, 1, false, true, false);
  }
  Enqueue serial(const Cut& cut) override {
    Enqueue multiplied = compute();
    Enqueue moved = collective(cut);
    return [multiplied, moved](int repetition, cudaStream_t stream) {
      multiplied(repetition, stream);
      moved(repetition, stream);
    };
  }
  Enqueue chunked(const Cut& cut) override { return steps(cut, cut.chunks, true, true, false); }
  Enqueue chunked_compute(const Cut& cut) override {
    return steps(cut, cut.chunks, true, false, false);
  }
  Enqueue chunked_transfers(const Cut& cut) override {
    return steps(cut, cut.chunks, false, true, false);
  }
  Enqueue device_flag(const Cut& cut) override { return flagged(cut, true, true); }
  Enqueue device_flag_compute(const Cut& cut) override { return flagged(cut, true, false); }
  Enqueue device_flag_transfers(const Cut& cut) override { return flagged(cut, false, true); }

  double check(const Enqueue& work) override {
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

 private:
  struct Buffers {
    std::byte* x = nullptr;
    std::byte* w = nullptr;
    std::byte* partial = nullptr;   ///< [m, n], this rank's product
    std::byte* incoming = nullptr;  ///< what was fetched from host peers, by rotated peer
    std::byte* out = nullptr;
  };
  struct Step {
    std::function<void(cudaStream_t)> multiply;
    std::function<void(cudaStream_t)> push;  ///< after `multiply`
    std::function<void(cudaStream_t)> pull;  ///< at any time
  };
  struct Program {
    std::vector<Step> steps;
    std::function<void(cudaStream_t)> sum;
    std::vector<Plan> plan;
    std::vector<std::function<void(cudaStream_t)>> waits;
  };

  std::int64_t row_bytes() const { return 2 * shape_.n; }
  std::int64_t shard_bytes() const { return ownership(1).shard_rows() * row_bytes(); }
  Ownership ownership(int chunks) const { return {static_cast<int>(shape_.m), ranks_, chunks}; }
  std::size_t position(int rank) const {
    std::size_t at = 0;
    while (stage_.running()[at] != rank) ++at;
    return at;
  }
  std::size_t index(int set, int rank) const {
    return static_cast<std::size_t>(set) * stage_.running().size() + position(rank);
  }
  const Buffers& buffers(int set, int rank) const { return buffers_[index(set, rank)]; }
  /// The slot that `owner` keeps for the rows which `source`, a running rank, hands it.
  std::byte* slot(int set, int owner, int source) const {
    return slots_[static_cast<std::size_t>(set)][position(source)].at.at(
        static_cast<std::size_t>(owner));
  }
  std::byte* prepared(int set, int peer) const {
    return prepared_[static_cast<std::size_t>(set)].at.at(static_cast<std::size_t>(peer));
  }
  int set_of(int repetition) const { return repetition % sets_; }

  /// Where the partial of `source` for the rows of `rank` lies when everything has arrived.
  std::byte* arrived(int set, int rank, int source) const {
    if (source == rank)
      return buffers(set, rank).partial + ownership(1).shard(rank).begin * row_bytes();
    if (stage_.memory().runs(source)) return slot(set, rank, source);
    const int step = (source - rank + ranks_) % ranks_;
    return buffers(set, rank).incoming + (step - 1) * shard_bytes();
  }

  Multiplier multiplier(int set, int rank, Rows rows, int margin) {
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

  std::function<void(cudaStream_t)> sum_of(int set, int rank) {
    std::vector<const std::byte*> addends;
    for (int source = 0; source < ranks_; ++source) addends.push_back(arrived(set, rank, source));
    const std::int64_t bytes = ownership(1).shard(rank).count() * row_bytes();
    return make_sum(stage_, rank, addends, buffers(set, rank).out, bytes,
                    stage_.memory().sms(rank));
  }

  /// Pushes and pulls of CTAs that run at the same time share the CTAs of the cut.
  Cut half(const Cut& cut) const {
    Cut part = cut;
    if (!all_run()) part.ctas = std::max(1, cut.ctas / 2);
    return part;
  }
  bool all_run() const { return static_cast<int>(stage_.running().size()) == ranks_; }
  /// Tiles go straight to peers that run; towards a host peer CTAs of their own carry them, at a pace.
  bool landing_at_peers(const Cut& cut) const { return cut.mover == Mover::ctas && all_run(); }

  /// The pull of one chunk of what a host peer adds to our rows; nothing where the peer runs.
  std::function<void(cudaStream_t)> pull_of(int set, int rank, int peer, int chunk,
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

  /// One program a rank: a product, a push and a pull a chunk, own rows last, then the sum.
  Enqueue steps(const Cut& cut, int chunks, bool multiply, bool move, bool whole) {
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
          program.steps.push_back(
              {multiplier(set, rank, rows.shard(rank), cut.margin).run, {}, {}});
        if (move) program.sum = sum_of(set, rank);
      }
    return
        [this, made](int repetition, cudaStream_t timed) { run(*made, set_of(repetition), timed); };
  }

  void run(const std::vector<Program>& programs, int set, cudaStream_t timed) {
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

  Enqueue flagged(const Cut& cut, bool multiply, bool move) {
    if (choice_.library != "weft")
      throw std::invalid_argument("only kernels of our own post flags from a tile");
    auto made = std::make_shared<std::vector<Program>>(buffers_.size());
    std::vector<Signal*> landed;
    for (const int rank : stage_.running())
      landed.push_back(stage_.flags(rank, std::int64_t{ranks_} * cut.chunks));
    for (int set = 0; set < sets_; ++set)
      for (const int rank : stage_.running()) {
        Program& program = (*made)[index(set, rank)];
        stage_.memory().enter(rank);
        if (landing_at_peers(cut))
          plan_inside(set, rank, cut, multiply, move, landed, program);
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

  Options options(int rank, const Cut& cut, int margin) const {
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
  Product product(int set, int rank) const {
    return {static_cast<int>(shape_.m),
            static_cast<int>(shape_.n),
            static_cast<int>(shape_.k),
            buffers(set, rank).x,
            0,
            buffers(set, rank).w,
            0};
  }

  /// Tiles stay on this rank and post the flag of their chunk; copy engines take the chunks away.
  void plan_outside(int set, int rank, const Cut& cut, bool multiply, bool move, Signal* landed,
                    Program& program) {
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
    program.sum = sum_of(set, rank);
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

  /// One launch waits for the flag of each chunk and carries it away; another fetches what host peers add.
  void carry_by_ctas(int set, int rank, const Cut& cut, bool multiply, Signal* landed, Program& program) {
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

  /// Tiles go straight to their owner's slot; CTAs of the same launch sum what arrives for this rank.
  void plan_inside(int set, int rank, const Cut& cut, bool multiply, bool move,
                   const std::vector<Signal*>& landed, Program& program) {
    Scatter scatter;
    Reduce reduce;
    scatter.rank = rank;
    scatter.ranks = ranks_;
    scatter.chunks_per_shard = cut.chunks;
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
    }
    reduce.ctas = cut.ctas;
    reduce.out = {buffers(set, rank).out, 0};
    if (!move) reduce = Reduce{};
    if (multiply) {
      program.plan.push_back(plan_gemm_rs(
          product(set, rank), scatter, reduce,
          options(rank, cut, move ? cut.margin - cut.ctas : cut.margin), stage_.workspace(rank)));
      return;
    }
    // The reduction keeps its launch; what tiles would have stored is moved by as many CTAs.
    program.plan.push_back(plan_reduce(static_cast<int>(shape_.m), static_cast<int>(shape_.n),
                                       scatter, reduce, nullptr, options(rank, cut, 0),
                                       stage_.workspace(rank)));
    for (int step = 1; step < ranks_; ++step) {
      const int owner = (rank + step) % ranks_;
      const Rows rows = ownership(1).shard(owner);
      if (rows.count() == 0) continue;
      program.steps.push_back(
          {{},
           make_moves(stage_, rank,
                      {{buffers(set, rank).partial + rows.begin * row_bytes(),
                        slot(set, owner, rank), rank, owner, rows.count() * row_bytes()}},
                      cut),
           {}});
    }
  }

  void check_rank(int rank) {
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

  Stage& stage_;
  Shape shape_;
  GemmChoice choice_;
  Joints joints_;
  int ranks_;
  int sets_ = 1;
  Signal sequence_ = 0;
  std::vector<Region> prepared_;            ///< by set: host peers' partials of our rows
  std::vector<std::vector<Region>> slots_;  ///< by set, then by running source
  std::vector<Buffers> buffers_;            ///< by set, then by running rank
};

}  // namespace

std::unique_ptr<BoundaryCase> make_scatter_case(Stage& stage, const Shape& shape,
                                                const GemmChoice& choice) {
  return std::make_unique<ScatterCase>(stage, shape, choice);
}

}  // namespace weft::kernels
