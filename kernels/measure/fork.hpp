// SPDX-License-Identifier: Apache-2.0
// Joins the streams of a group to the stream that is timed, by events.
#pragma once

#include <vector>

#include "kernels/measure/stage.hpp"

namespace weft::kernels {

/// A pool of events without timing, on the devices of a group.
class Joints {
 public:
  explicit Joints(Stage& stage) : stage_(stage) {}
  ~Joints();
  Joints(const Joints&) = delete;
  Joints& operator=(const Joints&) = delete;

  /// Makes `to` wait for what `from` holds now; both streams may be of different devices.
  void join(int from_rank, cudaStream_t from, int to_rank, cudaStream_t to);
  /// Records what `from` holds now, for any number of waits.
  cudaEvent_t record(int rank, cudaStream_t from);
  /// Starts every stream of every running rank behind `timed`, a stream of the first.
  void fork(cudaStream_t timed);
  /// Ends `timed` behind every stream of every running rank.
  void merge(cudaStream_t timed);

 private:
  Stage& stage_;
  std::vector<std::vector<cudaEvent_t>> events_;
  std::vector<std::size_t> next_;
};

}  // namespace weft::kernels
