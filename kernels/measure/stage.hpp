// SPDX-License-Identifier: Apache-2.0
// What the cases of one group of ranks share: its memory, arenas of random inputs and of scratch that
// are allocated once, a timer, the library, and a workspace for each rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "kernels/baseline/cublaslt.hpp"
#include "kernels/baseline/nccl.hpp"
#include "kernels/collectives/transfer.hpp"
#include "kernels/measure/fill.hpp"
#include "kernels/measure/timer.hpp"
#include "kernels/memory/streams.hpp"
#include "kernels/memory/symmetric_memory.hpp"
#include "kernels/sm90/workspace.hpp"

namespace weft::kernels {

/// Bytes of each arena, on every rank that runs (local) and on every rank (shared).
struct StageSize {
  std::size_t local_random = 0;
  std::size_t local_scratch = 0;
  std::size_t shared_random = 0;
  std::size_t shared_scratch = 0;
};

/// A stage; pieces of its arenas are handed out until `reset`.
class Stage {
 public:
  Stage(std::unique_ptr<SymmetricMemory> memory, const StageSize& size, const CublasLt* library,
        const Nccl* nccl);
  /// The same for one rank of processes that `joined` holds together; it must outlive the stage.
  Stage(std::unique_ptr<SymmetricMemory> memory, const StageSize& size, const CublasLt* library,
        const NcclGroup& joined);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  SymmetricMemory& memory() const { return *memory_; }
  Timer& timer() { return *timer_; }
  /// The library, or a refusal by name where it is not here.
  const CublasLt& library() const;
  /// NCCL between the ranks, each on a device or in a process of its own, or a refusal by name.
  const NcclGroup& nccl_group();
  /// A proposal of the library and the kernel that it runs; looked up once for a problem.
  struct Proposal {
    std::shared_ptr<const CublasLt::Gemm> gemm;
    LibraryKernel kernel;
  };
  /// The library's proposal of rank `proposal` (0: its first) for a problem, or its last.
  const Proposal& propose(int rank, const LibraryProblem& problem, int proposal, const void* x,
                          const void* w, void* y);
  /// The ranks whose kernels this process launches.
  const std::vector<int>& running() const { return running_; }
  Workspace& workspace(int rank);

  /// Takes every piece back; pointers of earlier cases are stale then.
  void reset();
  /// Random bf16 in the rank's device memory, not to be written.
  std::byte* random(int rank, std::int64_t bytes);
  /// Device memory of a rank that cases write.
  std::byte* scratch(int rank, std::int64_t bytes);
  /// Random bf16 at the same place of every rank, not to be written; what another process holds is made
  /// here once more, to check against.
  Region shared_random(std::int64_t bytes);
  /// Memory of every rank that cases write.
  Region shared_scratch(std::int64_t bytes);
  /// Flags in the rank's device memory.
  Signal* flags(int rank, std::int64_t count);
  /// A sequence number that no flag has seen.
  Signal next_sequence() { return ++sequence_; }

  /// A launch of communication CTAs on `rank` with its list on the device.
  TransferLaunch transfer(int rank, const std::vector<TransferPiece>& pieces);
  /// The first wait of a communication CTA that gave up; cleared when read.
  std::optional<TransferError> take_transfer_error();
  /// Where checks report, in device memory of the first running rank.
  CheckResult* check_result() { return check_; }
  /// Reads what the checks found, and clears it.
  CheckResult take_check_result();
  /// Throws std::runtime_error where a wait gave up since the last call; clears its record.
  void refuse_wait_errors();

 private:
  void fill_inputs(const StageSize& size);

  struct Arena {
    Region region;
    std::size_t used = 0;
    std::size_t alignment = 1024;
    std::size_t take(std::int64_t bytes, const char* what);
  };

  std::unique_ptr<SymmetricMemory> memory_;
  const CublasLt* library_;
  const Nccl* nccl_ = nullptr;
  const NcclGroup* joined_ = nullptr;
  std::unique_ptr<NcclGroup> nccl_group_;
  std::vector<int> running_;
  Allocations own_;
  Arena shared_random_;
  Arena shared_scratch_;
  std::vector<Arena> local_random_;
  std::vector<Arena> local_scratch_;
  std::vector<Arena> small_;  ///< lists, counters and flags
  std::vector<Workspace> workspaces_;
  std::unique_ptr<Timer> timer_;
  TransferError* error_ = nullptr;
  CheckResult* check_ = nullptr;
  Signal sequence_ = 0;
  using ProposalKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, int, int>;
  std::map<ProposalKey, Proposal> proposals_;
};

/// The worst error over its tolerance; throws std::runtime_error where that is over 1 or something was
/// not written.
double verdict(const CheckResult& result);

}  // namespace weft::kernels
