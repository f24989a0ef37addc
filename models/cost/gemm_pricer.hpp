// SPDX-License-Identifier: Apache-2.0
// The equation of gemm.hpp, for one problem on one device: prices kernels in plain numbers, and makes a
// GemmCost of the one that was taken.
#pragma once

#include <limits>
#include <string>

#include "models/cost/gemm.hpp"

namespace weft::model {

/// A candidate in seconds and bytes.
struct PricedGemm {
  GemmTile kernel;
  std::int64_t split = 1, tiles = 0, resident = 0, launched = 0, waves = 0, steps = 0;
  double prologue = 0, main_loop = 0, epilogue = 0, reduction = 0, start = 0;
  double clock = 1, hbm_bytes = 0, l2_bytes = 0, time = std::numeric_limits<double>::infinity();
};

/// How a product's tiles are walked: bands of rows one after the other, so many columns of a band at once.
struct RowBands {
  double rows = 0, columns = 0;
  std::int64_t split = 1;  ///< parts of K
  double sharers = 1;      ///< of the device's L2
};

/// Bytes that HBM sees. A band of A stays in the L2 while it is walked if it fills no more than half of it, or of a
/// rank's part of it; A and B are read once if both fit.
[[nodiscard]] double hbm_bytes_walked(const Profile& profile, const GemmProblem& problem,
                                      const RowBands& walk);

/// Seconds that an SM takes to store so many bytes at its share of the rate that products reach at the HBM.
[[nodiscard]] double store_seconds(const Profile& profile, double bytes);

/// What of the last tile's store, of so many bytes, a launch shows: no tile follows it. Nothing where a profile does
/// not say.
[[nodiscard]] double drain_seconds(const Profile& profile, double bytes);

class GemmPricer {
 public:
  /// Throws MissingConstant if the profile has no GEMM constants.
  GemmPricer(const Profile& profile, const GemmProblem& problem, const SmBudget& budget);

  /// The time is infinite where no cluster of the kernel fits.
  [[nodiscard]] PricedGemm price(const GemmTile& kernel, std::int64_t split) const;
  /// The same with its work stretched or shrunk so that the whole takes `seconds`.
  [[nodiscard]] PricedGemm stretched(PricedGemm priced, double seconds) const;
  [[nodiscard]] GemmCost finish(const PricedGemm& priced, std::string choice) const;

 private:
  [[nodiscard]] std::int64_t launched(std::int64_t cluster, std::int64_t resident) const;
  /// How long `work`, which is its time at boost clock, takes with `busy`, from 0 to 1, of the matrix units' time spent.
  [[nodiscard]] double at_its_clock(double work, double busy) const;
  [[nodiscard]] double beyond_the_edge(const GemmTile& kernel, std::int64_t waves) const;
  /// Whether the L2 still has W from the product before: it does where it holds all that passes through it, since what
  /// was used longest ago goes first.
  [[nodiscard]] bool keeps_weights() const;
  [[nodiscard]] double hbm_bytes(const GemmTile& kernel, const PricedGemm& p) const;
  [[nodiscard]] const KernelCorrection* correction(const GemmTile& kernel,
                                                   std::int64_t split) const;

  const Profile& profile_;
  const GemmProblem& problem_;
  const SmBudget& budget_;
  double sm_rate_ = 1, hbm_rate_ = 1, l2_rate_ = 1, in_ = 2, out_ = 2;
  double sharers_ = 1;  ///< of the device: partitions multiply and load at the same time
};

}  // namespace weft::model
