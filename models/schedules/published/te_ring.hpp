// SPDX-License-Identifier: Apache-2.0
// Transformer Engine's ring exchange, which `te.ring_exchange` and `te.external` both run.
#pragma once

#include "models/schedules/published/te_rules.hpp"

namespace weft::model {

/// aggregate, use_ce, num_sm and set_sm_margin, with Transformer Engine's names and defaults.
[[nodiscard]] std::vector<KnobSpec> te_ring_knobs();

/// A schedule whose product runs as the ring exchange.
class WithRing : public PairSchedule {
 public:
  [[nodiscard]] Knobs normalised(const Boundary&, const Knobs& knobs, const Site&) const final;

 protected:
  void rules(const FusedView& view, const Knobs& knobs, const Site& site,
             Rules& broken) const final;
  [[nodiscard]] std::int64_t sms_left_free(const Knobs& knobs, const Site& site) const final;
  [[nodiscard]] std::vector<Transfer> moves(const FusedView& view, const Knobs& knobs,
                                            const Site& site) const final;
  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const final;
  [[nodiscard]] Duration compute_bound(const FusedView& view, const Knobs& knobs,
                                       const Site& site) const final;
  [[nodiscard]] Bytes buffers(const FusedView& view, const Knobs& knobs,
                              const Site& site) const final;
};

}  // namespace weft::model
