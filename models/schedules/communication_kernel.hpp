// SPDX-License-Identifier: Apache-2.0
// A kernel of communication CTAs under construction: each moves its part of every piece, in order, waits for the
// flags that guard it and posts the flags that it satisfies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/cost/collective.hpp"
#include "models/schedules/knobs.hpp"
#include "models/schedules/layer_program.hpp"

namespace weft::model {

/// What CTAs of a product's own launch take to add a piece of `all` bytes, read and written, each CTA its part; where
/// nothing is known of them, they move what an SM can. `last`: nothing of them follows.
[[nodiscard]] Duration sum_time(const Profile& profile, Bytes bytes_per_cta, Bytes all, bool last);

class CommunicationKernel {
 public:
  /// CTAs of `rank`, paced or free as the knobs say.
  CommunicationKernel(LayerProgram& program, int rank, const Knobs& knobs, std::string_view label);
  /// `ctas` of them that move bytes this way.
  CommunicationKernel(LayerProgram& program, int rank, const Knobs& knobs, std::string_view label,
                      CopyPath path, std::int64_t ctas);

  /// `ctas` of them in a product's own launch: they come first, hold what the product's hold, and come in its clusters.
  CommunicationKernel(LayerProgram& program, int rank, const Knobs& knobs, std::string_view label,
                      CopyPath path, std::int64_t ctas, const GemmCost& product);

  /// Says that as much moves the other way meanwhile.
  CommunicationKernel& both_ways();
  /// Waits that the next move makes first.
  CommunicationKernel& after(sim::SignalId signal, std::uint64_t at_least);
  /// Posts that the next move makes once all of its bytes have arrived.
  CommunicationKernel& then(const sim::SignalPost& post);
  /// Moves bytes over a route; `writes`: stores that nobody waits for, else loads.
  void move(sim::RouteId route, Bytes bytes, bool writes);
  /// Adds partials in this rank's own memory, `bytes` read and written, and sends sums on as they come; `last`: nothing
  /// is left to come.
  void sum(Bytes bytes, const std::vector<std::pair<sim::RouteId, Bytes>>& sends = {},
           bool last = false);
  /// Makes the waits that were asked for, and moves nothing.
  void await();
  /// Follows its CTAs by those of the product whose launch they are in, for the caller to fill.
  [[nodiscard]] sim::KernelWriter product(const GemmCost& product);

  /// Launches it on the communication stream; the compute stream goes on once all of its CTAs are resident.
  void launch_first();
  /// Launches it on a stream.
  void launch(sim::StreamId stream);

 private:
  void flags(bool first, bool last);
  [[nodiscard]] Duration time_of(Bytes bytes_per_cta, Duration start) const;

  LayerProgram& program_;
  int rank_;
  std::int64_t ctas_;
  std::optional<Bandwidth> pace_;
  SmCopyCosts costs_;
  sim::KernelWriter kernel_;
  std::vector<sim::SignalWait> waits_;
  std::vector<sim::SignalPost> posts_;
  std::string label_;
  bool shares_launch_ = false;     ///< with a product
  std::optional<Duration> start_;  ///< of a piece
  bool first_ = true;              ///< nothing was moved over a route yet
};

}  // namespace weft::model
