// SPDX-License-Identifier: Apache-2.0
// A kernel of communication CTAs under construction: each moves its part of every piece, in order, waits for the
// flags that guard it and posts the flags that it satisfies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/cost/collective.hpp"
#include "models/schedules/knobs.hpp"
#include "models/schedules/layer_program.hpp"

namespace weft::model {

class CommunicationKernel {
 public:
  /// CTAs of `rank`, paced or free as the knobs say.
  CommunicationKernel(LayerProgram& program, int rank, const Knobs& knobs, std::string_view label);
  /// `ctas` of them that move bytes this way.
  CommunicationKernel(LayerProgram& program, int rank, const Knobs& knobs, std::string_view label,
                      CopyPath path, std::int64_t ctas);

  /// Makes its CTAs those of a product's own launch: they hold what the product's hold, and come in its clusters.
  CommunicationKernel& in_launch_of(const GemmCost& product);
  /// Says that as much moves the other way meanwhile.
  CommunicationKernel& both_ways();
  /// Waits that the next move makes first.
  CommunicationKernel& after(sim::SignalId signal, std::uint64_t at_least);
  /// Posts that the next move makes once all of its bytes have arrived.
  CommunicationKernel& then(const sim::SignalPost& post);
  /// Moves bytes over a route; `writes`: stores that nobody waits for, else loads.
  void move(sim::RouteId route, Bytes bytes, bool writes);
  /// Reads and writes this rank's own memory: the addition of slots.
  void local(Bytes bytes);

  /// Launches it on the communication stream; the compute stream goes on once all of its CTAs are resident.
  void launch_first();
  /// Launches it on a stream.
  void launch(sim::StreamId stream);

 private:
  void parts(Bytes bytes, bool local, sim::RouteId route, bool writes);
  [[nodiscard]] Duration time_of(Bytes bytes_per_cta, bool local, Duration start) const;

  LayerProgram& program_;
  int rank_;
  std::int64_t ctas_;
  std::optional<Bandwidth> pace_;
  SmCopyCosts costs_;
  sim::KernelWriter kernel_;
  std::vector<sim::SignalWait> waits_;
  std::vector<sim::SignalPost> posts_;
  std::string label_;
  std::optional<Duration> start_;  ///< of a piece
  bool first_ = true;              ///< nothing was moved over a route yet
};

}  // namespace weft::model
