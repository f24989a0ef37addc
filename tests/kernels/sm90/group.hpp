// SPDX-License-Identifier: Apache-2.0
// Several ranks on one device: each has buffers, flags, a workspace and a stream of its own, and so
// few SMs that all of them are resident together.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/shapes/ownership.hpp"
#include "kernels/sm90/gemm.hpp"
#include "tests/kernels/sm90/device.hpp"

namespace weft::kernels::test {

enum class Operation {
  ag_gemm,
  ag_gemm_far,  ///< by the loads that rows in another GPU ask for
  gemm_rs,
  gemm_rs_apart,
  gemm_rs_add,
  gemm_rs_epilogue,  ///< sums in the epilogue of the own tiles
  gemm_ar,
  gemm_ar_epilogue,
  gemm_ar_one_shot,
  gemm_a2a
};

/// The operation's name, of letters and underscores.
const char* name(Operation operation);
/// Returns whether the operation gathers X.
bool gathers(Operation operation);

/// The problem of a group.
struct GroupProblem {
  Operation operation = Operation::ag_gemm;
  int ranks = 2;
  int chunks_per_shard = 1;
  int m = 0;
  int n = 0;
  int k = 0;
  int communication_ctas = 2;
  bool owners_in_turns = false;
  int slot_padding = 0;      ///< elements between the rows of a slot; a multiple of 8
  int x_padding = 0;         ///< likewise of X
  bool shards_ready = true;  ///< otherwise a gather waits for a flag of each that nobody sets
  Options options{};         ///< of every rank; sms is divided among them
};

/// Ranks that compute one problem over and over, with operands and slots that alternate by the
/// parity of the sequence number.
class Group {
 public:
  Group(const GroupProblem& problem, std::uint32_t seed);
  ~Group();

  /// Replaces rank r's plan by one whose options `change` has altered.
  void alter(int rank, const std::function<void(Options&)>& change);
  /// Fills all operands anew and works out what the results should be.
  void draw(std::uint32_t seed);
  /// Poisons everything that the ranks are to write.
  void poison();
  /// Launches the ranks in `order` (all in turn if empty) with this sequence number, without
  /// waiting.
  void launch(Signal sequence, const std::vector<int>& order = {}) {
    launch(sequence, order, static_cast<int>(sequence % 2));
  }
  /// As above, with the operands and slots of `parity`.
  void launch(Signal sequence, const std::vector<int>& order, int parity);
  /// Waits for every rank.
  void finish();
  /// Returns the largest relative difference of any rank's result from what launch(sequence) should
  /// have left, NaN if anything was not written.
  double difference(Signal sequence) const;
  /// Returns the bits of all that a rank's result may hold.
  std::vector<std::uint16_t> result(int rank) const;
  /// Returns a rank's workspace, stream or flags.
  Workspace& workspace(int rank);
  cudaStream_t stream(int rank) const;
  /// Sets all flags to `value`, as if every rank had come so far.
  void set_flags(Signal value);

 private:
  struct Rank;
  void plan(int rank);
  void plan(int rank, int parity);
  GroupProblem problem_;
  shapes::Ownership ownership_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace weft::kernels::test
