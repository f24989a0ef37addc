// SPDX-License-Identifier: Apache-2.0
// A layer's program under construction: every rank's host thread and streams, and what schedules append to them.
//
// Each process has one host thread, each rank a compute stream and a communication stream of higher priority.
// Boundaries follow one another on these streams, so that the tail of one may run under the head of the next
// where their edges allow it; every schedule ends with the compute stream waiting for what its consumers need.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "models/schedules/site.hpp"
#include "models/workloads/boundary.hpp"
#include "models/workloads/operator.hpp"
#include "sim/program_builder.hpp"

namespace weft::model {

/// Which product, on how many rows of it, and how.
struct GemmCall {
  const MatmulWork* work = nullptr;
  std::int64_t rows = 0;  ///< of the rank's M
  GemmLibrary library = GemmLibrary::cublaslt;
  int margin = 0;  ///< SMs left to others
  std::string_view label;
  std::int64_t columns = 0;  ///< of the rank's N; 0: all
};

class LayerProgram {
 public:
  /// In the memory of a program that is no longer needed, if there is one.
  explicit LayerProgram(const Site& site, sim::Program spent = {});

  [[nodiscard]] const Site& site() const { return site_; }
  /// Ranks of the group; those that run are the first ones and have host threads and streams.
  [[nodiscard]] int ranks() const { return site_.ranks(); }
  [[nodiscard]] int running() const { return site_.running(); }
  [[nodiscard]] sim::ProgramBuilder& builder() { return builder_; }

  /// The rank's host thread. Calls are tagged with the boundary that is being written.
  [[nodiscard]] sim::CallWriter& host(int rank) { return hosts_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] sim::StreamId compute(int rank) const {
    return streams_[static_cast<std::size_t>(rank)].compute;
  }
  [[nodiscard]] sim::StreamId communication(int rank) const {
    return streams_[static_cast<std::size_t>(rank)].communication;
  }
  /// A third stream, for what a rank fetches of peers that do not run while it pushes to them.
  [[nodiscard]] sim::StreamId fetch(int rank);
  /// A further stream of the rank, made at its first use; one that communicates goes before the others.
  [[nodiscard]] sim::StreamId stream(int rank, std::string_view name, bool communicates);
  [[nodiscard]] sim::MemoryId memory(int rank) const {
    return site_.built.memories[static_cast<std::size_t>(rank)].device;
  }

  /// Starts a boundary: what follows is tagged with its name.
  void begin(std::string_view boundary);
  /// Tags the calls that follow on a rank with the chunk and purpose.
  void tag(int rank, int chunk, sim::Purpose purpose);

  /// Makes one stream wait for all that another has been given so far.
  void join(int rank, sim::StreamId waiter, sim::StreamId producer);

  /// Launches a product (a part of its rows) on a stream.
  void gemm(int rank, sim::StreamId stream, const GemmCall& call);
  /// What the product costs under the call's library and margin.
  [[nodiscard]] const GemmCost& gemm_cost(int rank, const GemmCall& call) const;
  /// The share of the unchunked library product that these rows are, without launch: fluid time.
  [[nodiscard]] Duration gemm_fluid(int rank, const MatmulWork& work, std::int64_t rows) const;

  /// Launches an operator whole on a stream, with the library's kernels.
  void operate(int rank, sim::StreamId stream, const Operator& op);

  /// Launches a kernel that moves this many bytes in the rank's memory (a reduction of slots, say).
  void memory_kernel(int rank, sim::StreamId stream, std::string_view label, Bytes bytes,
                     sim::Purpose purpose);

  /// Launches a kernel of one warp that adds one to each of these signals: one host call, whatever their number;
  /// `resident`: an event that is recorded once it has its place.
  void post_all(int rank, sim::StreamId stream, std::string_view label,
                const std::vector<sim::SignalId>& signals,
                std::optional<sim::EventId> resident = std::nullopt);

  /// Launches one collective of all ranks, on each rank's given stream; `resident`: events, by rank, that are
  /// recorded once all of its CTAs are. Each member's CTAs come in clusters of `cluster`, or as a
  /// collective library launches them.
  void collective(const CollectiveCost& cost, Bytes message, std::string_view label,
                  const std::vector<sim::StreamId>& streams,
                  const std::vector<sim::EventId>& resident = {},
                  std::optional<int> cluster = std::nullopt);

  /// Index of the rank's transport engine that serves this direction; none if the device has no such engine.
  [[nodiscard]] std::optional<std::uint32_t> engine(int rank, sim::EngineDirection direction) const;

  /// The start latency that a kernel adds to what the engine charges every launch.
  [[nodiscard]] Duration beyond_launch(Duration start) const;

  [[nodiscard]] sim::Program finish() { return builder_.finish(); }

 private:
  struct Streams {
    sim::StreamId compute;
    sim::StreamId communication;
    std::optional<sim::StreamId> fetch;
  };
  /// What a stream has before a launch: no kernel, one, or one and an event that it waits for.
  enum class Before : std::uint8_t { nothing, kernel, kernel_and_wait };
  using GemmKey = std::tuple<Before, int, std::int64_t, std::int64_t, std::int64_t, GemmLibrary,
                             int, std::string>;
  using StreamKey = std::pair<int, std::string>;

  /// What a product's tile asks of the rank's HBM: no more than a wave of them, alone, is given in its time, which is
  /// the mean wave's; its price has counted all bytes, and at the rate of reads, which is above that of copies.
  [[nodiscard]] Bytes hbm_asked(int rank, const GemmCost& cost) const;
  /// The start of a product behind another kernel of its stream: products are timed alone, from one event to another,
  /// and there is no event to wait for.
  [[nodiscard]] Duration start_behind(GemmLibrary library, const GemmCost& cost,
                                      Before before) const;
  sim::KernelId gemm_kernel(int rank, const GemmCall& call, Before before);
  /// What the stream was given last; events behind it aside.
  [[nodiscard]] Before last_of(int rank, sim::StreamId stream);

  const Site& site_;
  sim::ProgramBuilder builder_;
  std::vector<sim::CallWriter> hosts_;
  std::vector<Streams> streams_;
  std::map<GemmKey, sim::KernelId> gemms_;
  std::map<StreamKey, sim::StreamId> named_streams_;
  std::string boundary_;
};

}  // namespace weft::model
