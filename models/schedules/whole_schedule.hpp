// SPDX-License-Identifier: Apache-2.0
// A schedule whose collectives go whole: what such schedules share. Each says how it carries one collective; whether
// anything runs beside them is its choice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/schedules/beside.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/schedule.hpp"

namespace weft::model {

class WholeSchedule : public Schedule {
 public:
  [[nodiscard]] std::vector<std::string> refusals(const Boundary& boundary, const Knobs& knobs,
                                                  const Site& site) const final;
  [[nodiscard]] std::vector<std::vector<Transfer>> transfers(const Boundary& boundary,
                                                             const Knobs& knobs,
                                                             const Site& site) const final;
  /// By default nothing stands beside the collectives: one stream.
  [[nodiscard]] bool overlaps(const Boundary&, const Knobs&, const Site&) const override {
    return false;
  }
  void expand(const Boundary& boundary, const Knobs& knobs, const Site& site,
              LayerProgram& program) const override;
  /// By default the messages, in memory that peers see.
  [[nodiscard]] Bytes buffer_bytes(const Boundary& boundary, const Knobs& knobs,
                                   const Site& site) const override;
  [[nodiscard]] Knobs normalised(const Boundary&, const Knobs& knobs, const Site&) const override {
    return knobs;
  }

 protected:
  /// How the system carries one collective with these knobs; none where it cannot, with `why` saying by which rule.
  [[nodiscard]] virtual std::optional<CollectiveCost> carry(const BoundaryCollective& collective,
                                                            const Knobs& knobs, const Site& site,
                                                            std::string& why) const = 0;
  /// Rules on the whole boundary.
  virtual void rules(const Boundary& boundary, const Knobs& knobs, const Site& site,
                     Rules& broken) const;
  /// Whether it runs on this architecture.
  [[nodiscard]] virtual bool runs_on(std::string_view architecture) const;
  /// What is moved; by default what the carrier's algorithm makes.
  [[nodiscard]] virtual std::vector<Transfer> moves(const BoundaryCollective& collective,
                                                    const Knobs& knobs, const Site& site) const;
  [[nodiscard]] virtual bool resident_first(const Knobs&) const { return false; }
  [[nodiscard]] virtual int margin(const Knobs&) const { return 0; }
  /// Launches one collective; by default as one gang of all ranks with the carrier's CTAs.
  virtual void launch(const BoundaryCollective& collective, const Knobs& knobs,
                      const std::vector<sim::StreamId>& streams,
                      const std::vector<sim::EventId>& resident, LayerProgram& program) const;
};

}  // namespace weft::model
