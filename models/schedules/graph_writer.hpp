// SPDX-License-Identifier: Apache-2.0
// The calls that published graphs are made of: streams, events, signals, barriers of all ranks, copies by a
// device's engine, one-warp kernels that spin, kernels that copy, and parts of the product.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/schedules/communication_kernel.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/layer_program.hpp"

namespace weft::model {

/// A part of the rank's product: rows of it (0: none) and columns (0: all), on a stream.
struct ProductCall {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int margin = 0;
  GemmLibrary library = GemmLibrary::cublaslt;
};

/// One signal of each rank, by rank.
using RankSignals = std::vector<sim::SignalId>;

class GraphWriter {
 public:
  GraphWriter(const FusedView& view, std::string_view label, LayerProgram& program);
  /// For a collective that goes whole: there is no product.
  GraphWriter(const BoundaryCollective& collective, LayerProgram& program);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] LayerProgram& program() { return program_; }
  [[nodiscard]] const FusedView& view() const { return *view_; }
  [[nodiscard]] sim::StreamId compute(int rank) const { return program_.compute(rank); }
  [[nodiscard]] sim::StreamId communication(int rank) const { return program_.communication(rank); }
  /// Rank `rank + by` of the ring.
  [[nodiscard]] int peer(int rank, int by) const {
    return ((rank + by) % ranks_ + ranks_) % ranks_;
  }

  /// A new signal in each rank's memory.
  [[nodiscard]] RankSignals signals();
  /// Makes a stream wait for all that another was given so far.
  void join(int rank, sim::StreamId waiter, sim::StreamId producer, int chunk = 0);

  /// Tells every peer and waits until each has told this rank. Each call of a rank needs fresh signals.
  void barrier(int rank, sim::StreamId stream, const RankSignals& signals, int chunk = 0);
  /// Stream memory operations on a signal.
  void post(int rank, sim::StreamId stream, sim::SignalId signal, int chunk = 0);
  void wait(int rank, sim::StreamId stream, sim::SignalId signal, std::uint64_t at_least,
            int chunk = 0);
  /// A kernel of one warp that adds one to a signal, or spins until it has come to a value.
  void post_kernel(int rank, sim::StreamId stream, sim::SignalId signal, int chunk = 0);
  void wait_kernel(int rank, sim::StreamId stream, sim::SignalId signal, std::uint64_t at_least,
                   int chunk = 0);

  /// A kernel of one warp that does nothing: what its launch takes holds back what follows it.
  void pause(int rank, sim::StreamId stream, int chunk = 0);

  /// Copies bytes between two ranks by an engine of `rank`, which is one of them; of this kind, where the device has
  /// such a one.
  void copy(int rank, sim::StreamId stream, int from, int to, Bytes bytes, int chunk,
            std::optional<sim::EngineKind> kind = std::nullopt);
  /// A kernel of `ctas` CTAs under construction, and its launch.
  [[nodiscard]] CommunicationKernel copies(int rank, int ctas);
  void launch(int rank, sim::StreamId stream, CommunicationKernel& kernel, int chunk);

  /// Launches a part of the product.
  void product(int rank, sim::StreamId stream, const ProductCall& call, int chunk);
  /// Adds up slots: so many bytes of the rank's memory read and written.
  void add(int rank, sim::StreamId stream, Bytes bytes, int chunk,
           sim::Purpose purpose = sim::Purpose::communication);

  /// Bytes of an owner's rows, all of their columns; and the rows.
  [[nodiscard]] Bytes shard_bytes(int owner) const;
  [[nodiscard]] std::int64_t shard_rows(int owner) const;
  [[nodiscard]] sim::RouteId route(int from, int to) const;

 private:
  const FusedView* view_;
  const BoundaryCollective& collective_;
  std::string label_;
  LayerProgram& program_;
  int ranks_;
};

/// Knobs that say so many free-running CTAs.
[[nodiscard]] Knobs cta_knobs(std::int64_t ctas);

}  // namespace weft::model
