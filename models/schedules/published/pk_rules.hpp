// SPDX-License-Identifier: Apache-2.0
// What the ParallelKittens kernels share: they are compiled for 8 GPUs of one NVSwitch node of Hopper.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/schedules/flagged_product.hpp"
#include "models/schedules/pair_schedule.hpp"

namespace weft::model {

inline constexpr std::string_view pk_citation =
    "HazyResearch/ThunderKittens at 0b55588: kernels/parallel; arXiv 2511.13940";

/// NUM_DEVICES = 8, a switch that multicasts, Hopper, and M, N and K that are whole numbers of blocks: M of `rows`.
void pk_rules(const FusedView& view, const Site& site, std::int64_t rows, Rules& broken);

/// Their one tile: 128 x 256 in steps of 64 of K.
inline constexpr std::int64_t pk_tile_rows = 128, pk_ranks = 8;

/// What the product costs with that tile on all SMs but a margin; and the time that its tiles cannot be done in.
[[nodiscard]] GemmCost pk_cost(const FusedView& view, const Site& site, int margin = 0,
                               int rank = 0);
[[nodiscard]] Duration pk_work(const FusedView& view, const Site& site, int margin = 0);

/// A kernel whose grid is num_comm_sms CTAs that communicate through the switch, and the product's.
class PkSwitchKernel : public PairSchedule {
 protected:
  /// Its one knob: what the CTAs do, the counts to try and the usual one.
  [[nodiscard]] static KnobSpec comm_sms(std::string meaning, std::vector<KnobValue> counts,
                                         std::int64_t usual);
  [[nodiscard]] static int senders(const Knobs& knobs);
  /// What M must divide by.
  [[nodiscard]] virtual std::int64_t rows_divide_by() const = 0;

  [[nodiscard]] std::int64_t sms_left_free(const Knobs& knobs, const Site&) const override;
  void rules(const FusedView& view, const Knobs& knobs, const Site& site,
             Rules& broken) const override;
  [[nodiscard]] std::vector<Transfer> moves(const FusedView& view, const Knobs& knobs,
                                            const Site& site) const override;
  [[nodiscard]] Duration compute_bound(const FusedView& view, const Knobs& knobs,
                                       const Site& site) const override;
  /// The kernel without a role.
  [[nodiscard]] static sim::KernelWriter begin(GraphWriter& graph, std::string_view label,
                                               const GemmCost& cost, int senders);
  /// Adds the CTAs that multiply.
  static void multiply(GraphWriter& graph, int rank, const GemmCost& cost,
                       const std::vector<ProductPart>& parts, sim::KernelWriter& kernel);
};

/// SM time of a communicating CTA for so many bytes: the rate of one copying CTA.
[[nodiscard]] Duration pk_move_time(const Site& site, Bytes bytes);

}  // namespace weft::model
