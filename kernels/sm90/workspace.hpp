// SPDX-License-Identifier: Apache-2.0
// The device memory that a kernel keeps its counters in, and the record that a wait which ran out
// of its budget leaves for the host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/sm90/options.hpp"

namespace weft::kernels {

/// Which wait of a kernel gave up.
enum class WaitKind : std::uint32_t {
  none,
  gathered_chunk,  ///< a GEMM producer, for a chunk of X
  peer_shard,      ///< a communication CTA, for a peer's rows to be ready
  partial,         ///< whoever adds, for a partial product from a peer
  result,          ///< whoever ends a launch, for a peer's reduced rows
  part_of_depth,   ///< a consumer, for the sums of another part of K
};

/// A wait that expired: who waited for what, and what was there instead.
struct WaitError {
  WaitKind kind = WaitKind::none;
  int rank = 0;
  int cta = 0;
  int source = 0;  ///< the rank that should have posted
  int chunk = 0;
  Signal expected = 0;
  Signal seen = 0;
  std::int64_t waited_ns = 0;

  /// Returns one line that names rank, CTA, chunk, expected and seen value.
  std::string text() const;
};

/// Counters, phase and error record of one rank; kernels that share one must not run at the same
/// time.
class Workspace {
 public:
  /// Allocates on the current device for a rank of a group.
  explicit Workspace(int rank = 0);
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;

  /// Returns the rank it was made for.
  int rank() const;
  /// Returns the first wait that expired since the last clear, without waiting for the device.
  std::optional<WaitError> error() const;
  /// Forgets the error so that later launches wait and post again; the device must be idle.
  void clear();
  /// Returns the device word that is added to every launch's sequence number, so that a replayed
  /// graph can move on: each kernel planned with `advance_phase` raises it by one when it ends.
  Signal* phase() const;

  /// The device addresses, for the kernels of this room.
  struct Device;
  /// Returns the device addresses.
  const Device& device() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::kernels
