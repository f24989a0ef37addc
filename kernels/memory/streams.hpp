// SPDX-License-Identifier: Apache-2.0
// Streams and allocations with an owner.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <cuda_runtime.h>

#include "kernels/memory/symmetric_memory.hpp"

namespace weft::kernels {

/// The three streams of a rank, by role.
class RankStreams {
 public:
  /// Streams of the current device.
  RankStreams();
  /// Takes over streams that were made elsewhere, in the order of StreamRole.
  explicit RankStreams(std::array<cudaStream_t, 3> made) : streams_(made) {}
  ~RankStreams();
  RankStreams(RankStreams&& other) noexcept;
  RankStreams(const RankStreams&) = delete;
  RankStreams& operator=(const RankStreams&) = delete;
  RankStreams& operator=(RankStreams&&) = delete;

  cudaStream_t get(StreamRole role) const { return streams_[static_cast<std::size_t>(role)]; }
  /// Waits for all three.
  void synchronize() const;

 private:
  std::array<cudaStream_t, 3> streams_{};
};

/// Device or pinned host allocations that are freed together.
class Allocations {
 public:
  Allocations() = default;
  ~Allocations();
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  /// Zeroed bytes of the current device.
  std::byte* on_device(std::size_t bytes);
  /// Zeroed pinned host bytes, mapped into every device.
  std::byte* on_host(std::size_t bytes);

 private:
  std::vector<void*> device_;
  std::vector<void*> host_;
};

}  // namespace weft::kernels
