// SPDX-License-Identifier: Apache-2.0
// The GEMM family for Hopper, bf16 in and out with fp32 accumulation: plain, and fused with the
// movement of its operands or results between ranks. A plan is made once and launched many times.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/sm90/options.hpp"
#include "kernels/sm90/workspace.hpp"

namespace weft::kernels {

/// A kernel with its operands and launch parameters fixed; copies share them.
class Plan {
 public:
  struct State;
  explicit Plan(std::shared_ptr<const State> state);

  /// Launches on `stream`; waits expect, and posts write, `sequence` plus the workspace's phase
  /// word.
  void launch(Stream stream, Signal sequence = 1) const;
  /// Returns the index of its tile in shapes::tiles.
  int tile() const;
  /// Returns the CTAs of its grid, communication CTAs included.
  int grid() const;
  /// Returns the kernel's name, `<arch>_<dtype>_<op>`.
  std::string_view name() const;

 private:
  std::shared_ptr<const State> state_;
};

/// Where a matrix of bf16 rows lies; the stride is in elements (0 = tight).
struct Matrix {
  void* data = nullptr;
  std::int64_t stride = 0;
};

/// Returns the plan of out = X W^T.
Plan plan_gemm(const Product& product, const Matrix& out, const Options& options,
               const Workspace& workspace);

/// The gathering side of ag_gemm: Product::x is the whole gathered X, in which the own shard lies
/// already.
struct Gather {
  int rank = 0;
  int ranks = 1;
  int chunks_per_shard = 1;
  /// Flags in this rank's memory, one for each chunk of shapes::Ownership; null: X is complete.
  Signal* ready = nullptr;
  /// Communication CTAs of the same launch, a multiple of the tile's cluster; 0: somebody else
  /// moves the chunks.
  int ctas = 0;
  /// For communication CTAs: by rank, the first row of its shard, with X's stride.
  std::vector<const void*> shards;
  /// For communication CTAs: by rank, a flag that says its shard may be read; null: it may.
  std::vector<const Signal*> shard_ready;
  /// The shards lie in other GPUs: communication CTAs then keep many loads under way, and go on into the next
  /// chunk (`fetching.cuh`). Few CTAs without that fill a host link, where what else is under way queues.
  bool far = false;
};

/// Returns the plan of out = gathered(X) W^T, own shard first, each tile as soon as its chunks are
/// there.
Plan plan_ag_gemm(const Product& product, const Matrix& out, const Gather& gather,
                  const Options& options, const Workspace& workspace);

/// How partial products meet: each in a slot of its source, or added where they land.
enum class Landing : std::uint8_t { slot, reduce_add };

/// The sending side of gemm_rs, gemm_ar and gemm_a2a: where this rank's rows go, by owner.
struct Scatter {
  int rank = 0;
  int ranks = 1;
  int chunks_per_shard = 1;
  Landing landing = Landing::slot;
  /// The first rows of every owner, then the next ones of each, so that what is summed is whole early; where
  /// shards are whole groups of tiles. Otherwise one owner after another, the own rows last.
  bool owners_in_turns = false;
  /// By owner: row 0 of the owner's rows, in the slot that it keeps for this rank (or in its sum).
  std::vector<Matrix> slots;
  /// By owner: chunks_per_shard flags at the owner that say this rank's chunk has landed; null:
  /// none.
  std::vector<Signal*> landed;
};

/// Where the partials of a rank's own rows are added: by CTAs that read all of them, or by the tiles of those
/// rows, which are the last ones, as they round out their own sums.
enum class Adding : std::uint8_t { pass, epilogue };

/// The receiving side of gemm_rs and gemm_ar: partials of this rank's rows, by source.
struct Reduce {
  /// In the epilogue no rank's own partial is stored or rounded; the others' are added to it in rank order.
  /// Owners' rows then begin tiles of their own, and `Scatter::landed` of this rank says that its sums are there.
  Adding adding = Adding::pass;
  /// Communication CTAs of the same launch that add the partials in fp32, in rank order; a multiple
  /// of the tile's cluster. 0: plan_reduce does it in a launch of its own, or the epilogue does.
  int ctas = 0;
  /// By source: row 0 of this rank's rows in the slot of that source; its own is not read in the epilogue.
  std::vector<Matrix> slots;
  /// By source: chunks_per_shard flags in this rank's memory.
  std::vector<const Signal*> landed;
  /// Row 0 of this rank's rows of the sum.
  Matrix out;
};

/// The gathering side of gemm_ar: reduced rows go to every rank.
struct Share {
  /// By rank: row 0 of this rank's rows in that rank's whole result.
  std::vector<Matrix> outs;
  /// By rank: chunks_per_shard flags there that say this rank's rows have arrived.
  std::vector<Signal*> posted;
  /// By rank: chunks_per_shard flags here that say that rank's rows have arrived; null: not waited
  /// for.
  std::vector<const Signal*> arrived;
};

/// Returns the plan of a GEMM whose partial rows are handed to their owners and, with Reduce::ctas,
/// added.
Plan plan_gemm_rs(const Product& product, const Scatter& scatter, const Reduce& reduce,
                  const Options& options, const Workspace& workspace);

/// Returns the plan of gemm_rs followed by gathering; needs Reduce::ctas, or sums in the epilogue.
Plan plan_gemm_ar(const Product& product, const Scatter& scatter, const Reduce& reduce,
                  const Share& share, const Options& options, const Workspace& workspace);

/// The one-shot form for small M: every rank receives every partial, whole, and adds for itself.
struct OneShot {
  int rank = 0;
  int ranks = 1;
  std::vector<Matrix> slots;     ///< by receiver: row 0 of the slot that it keeps for this rank
  std::vector<Signal*> landed;   ///< by receiver: one flag there
  std::vector<Matrix> incoming;  ///< by source: row 0 of the slot kept here
  std::vector<const Signal*> arrived;  ///< by source: one flag here
  int ctas = 0;                        ///< communication CTAs that add, as in Reduce
  Matrix out;                          ///< the whole sum
};

/// Returns the plan of a one-shot gemm_ar.
Plan plan_gemm_ar(const Product& product, const OneShot& one_shot, const Options& options,
                  const Workspace& workspace);

/// Returns the plan of a GEMM whose rows go to the rank that owns them, in its slot for this
/// source.
Plan plan_gemm_a2a(const Product& product, const Scatter& scatter, const Options& options,
                   const Workspace& workspace);

/// Returns the plan of the reduction (and, with `share`, the gathering) alone, by Reduce::ctas
/// CTAs.
Plan plan_reduce(int rows_of_all, int n, const Scatter& scatter, const Reduce& reduce,
                 const Share* share, const Options& options, const Workspace& workspace);

}  // namespace weft::kernels
