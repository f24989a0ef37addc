// SPDX-License-Identifier: Apache-2.0
// GEMM+RS, GEMM+AR and GEMM+A2A: rows that others own are multiplied first, in rotated order, and
// handed to a slot that the owner keeps for this rank; the own rows come last. Partials of the own rows
// are summed in fp32 (RS) and the sums sent to every rank (AR); or rows stay as they arrive (A2A).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kernels/measure/cut.hpp"
#include "kernels/measure/fork.hpp"
#include "kernels/measure/move.hpp"
#include "kernels/shapes/ownership.hpp"
#include "kernels/sm90/gemm.hpp"

namespace weft::kernels {

/// What becomes of the rows that meet at their owner.
enum class Meeting : std::uint8_t { sum, share, stay };

/// The boundary case of a product whose rows go to the ranks that own them.
class ScatterCase final : public BoundaryCase {
 public:
  using Ownership = shapes::Ownership;
  using Rows = shapes::Rows;

  ScatterCase(Stage& stage, const calibration::Shape& shape, const GemmChoice& choice,
              Meeting meeting);

  Enqueue compute() override { return steps(Cut{}, 1, true, false, true); }
  Enqueue collective(const Cut& cut) override {
    if (cut.mover == Mover::library) return by_library();
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

  double check(const Enqueue& work) override;

 private:
  struct Buffers {
    std::byte* x = nullptr;
    std::byte* w = nullptr;
    std::byte* partial = nullptr;   ///< [m, n], this rank's product
    std::byte* incoming = nullptr;  ///< what was fetched from host peers, by rotated peer
    std::byte* out = nullptr;       ///< the sums: of all rows where they are shared
  };
  struct Step {
    std::function<void(cudaStream_t)> multiply;
    std::function<void(cudaStream_t)> push;  ///< after `multiply`
    std::function<void(cudaStream_t)> pull;  ///< at any time
  };
  /// What follows once every partial of some own rows is here.
  struct Tail {
    std::function<void(cudaStream_t)> sum;
    std::vector<std::function<void(cudaStream_t)>> pushes;  ///< of the sums, after `sum`
    std::vector<std::function<void(cudaStream_t)>> pulls;   ///< of host peers' sums, likewise
  };
  struct Program {
    std::vector<Step> steps;
    std::vector<Tail> tails;
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
  bool shares() const { return meeting_ == Meeting::share; }
  /// The tiles of own rows add what others send.
  bool adds_in_epilogue(const Cut& cut) const {
    return cut.sums_in_epilogue && meeting_ != Meeting::stay;
  }
  /// Where the sums of the own rows of `rank` lie.
  std::byte* own_sums(int set, int rank) const {
    const int first = shares() ? ownership(1).shard(rank).begin : 0;
    return buffers(set, rank).out + first * row_bytes();
  }

  /// Where the partial of `source` for the rows of `rank` lies when everything has arrived.
  std::byte* arrived(int set, int rank, int source) const {
    if (source == rank)
      return buffers(set, rank).partial + ownership(1).shard(rank).begin * row_bytes();
    if (stage_.memory().runs(source)) return slot(set, rank, source);
    const int step = (source - rank + ranks_) % ranks_;
    return buffers(set, rank).incoming + (step - 1) * shard_bytes();
  }

  Multiplier multiplier(int set, int rank, Rows rows, int margin);

  /// The sum of some of the own rows, counted from the first of them.
  std::function<void(cudaStream_t)> sum_of(int set, int rank, Rows rows);
  /// Sums, and the sending of sums, of a cut.
  std::vector<Tail> tails_of(int set, int rank, const Cut& cut);

  /// Pushes and pulls of CTAs that run at the same time share the CTAs of the cut.
  Cut half(const Cut& cut) const {
    Cut part = cut;
    if (!all_run()) part.ctas = std::max(1, cut.ctas / 2);
    return part;
  }
  bool all_run() const { return static_cast<int>(stage_.running().size()) == ranks_; }
  /// Tiles go straight to peers that run; towards a host peer CTAs of their own carry them, at a pace.
  bool landing_at_peers(const Cut& cut) const { return cut.mover == Mover::ctas && all_run(); }

  /// The pull of one chunk of what a host peer adds to our rows, which then raises `flag` if any; nothing where
  /// the peer runs.
  std::function<void(cudaStream_t)> pull_of(int set, int rank, int peer, int chunk, const Cut& cut,
                                            Signal* flag = nullptr);

  /// One program a rank: a product, a push and a pull a chunk, own rows last, then the sum.
  Enqueue steps(const Cut& cut, int chunks, bool multiply, bool move, bool whole);

  /// The collective by NCCL, from partial products to sums.
  Enqueue by_library();

  void run(const std::vector<Program>& programs, int set, cudaStream_t timed);

  Enqueue flagged(const Cut& cut, bool multiply, bool move);

  Options options(int rank, const Cut& cut, int margin) const;
  Product product(int set, int rank) const;

  /// Tiles stay on this rank and post the flag of their chunk; copy engines take the chunks away.
  /// `landed` has the flags of each rank: by owner those of its own chunks, then those of what arrives.
  void plan_outside(int set, int rank, const Cut& cut, bool multiply, bool move,
                    const std::vector<Signal*>& landed, Program& program);

  /// One launch waits for the flag of each chunk and carries it away; another fetches what host peers add.
  void carry_by_ctas(int set, int rank, const Cut& cut, bool multiply, Signal* landed,
                     Program& program);

  /// Flags that are ahead of every sequence number.
  Signal* satisfied(int rank, std::int64_t count);
  /// The partials of own rows as the epilogue adds them, behind `flags` by the distance of their source.
  Reduce epilogue_sums(int set, int rank, int chunks, Signal* flags);
  /// Where chunk `chunk` of the own sums goes at `peer`, and whence that of a host peer comes.
  Move push_of_sums(int set, int rank, int peer, int chunk, int chunks);
  Move pull_of_sums(int set, int rank, int peer, int chunk, int chunks);
  /// Steps that carry the sums of the epilogue away as their flags rise, by copy engine.
  void carry_sums(int set, int rank, const Cut& cut, bool multiply, Signal* flags,
                  Program& program);

  /// Tiles go straight to their owner's slot; CTAs of the same launch sum what arrives for this rank.
  void plan_inside(int set, int rank, const Cut& cut, bool multiply, bool move,
                   const std::vector<Signal*>& landed, const std::vector<Signal*>& shared,
                   Program& program);

  void check_rank(int rank);
  void check_shared(int rank);
  void check_library(int rank);

  Stage& stage_;
  calibration::Shape shape_;
  GemmChoice choice_;
  Meeting meeting_;
  Joints joints_;
  int ranks_;
  int sets_ = 1;
  Signal sequence_ = 0;
  bool met_by_library_ = false;             ///< how partials met in what was enqueued last
  std::vector<Region> prepared_;            ///< by set: host peers' partials of our rows
  std::vector<std::vector<Region>> slots_;  ///< by set, then by running source
  std::vector<Region> peer_sums_;           ///< by set: host peers' sums of their rows
  std::vector<std::vector<Region>> sinks_;  ///< by set, then by source: its sums at host peers
  std::vector<Buffers> buffers_;            ///< by set, then by running rank
};

}  // namespace weft::kernels
