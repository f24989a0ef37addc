// SPDX-License-Identifier: Apache-2.0
// NCCL inside one node, by the library's modelled choice of protocol: tables that others measured, whose
// power-of-four messages may be fitted.
#include <fmt/core.h>

#include "calibration/accuracy/rows.hpp"
#include "calibration/fit/fit_profile.hpp"
#include "models/cost/collective.hpp"

namespace weft::calibration {

namespace {

class NcclRow : public ErrorTableRow {
 public:
  NcclRow(ErrorClaim claim, std::int64_t from, std::int64_t below)
      : claim_(std::move(claim)), from_(from), below_(below) {}

  ErrorClaim claim() const override { return claim_; }
  bool takes(const Observation& seen) const override {
    const Case& what = seen.what();
    return is_library_collective(seen) && *what.bytes >= from_ && *what.bytes < below_;
  }
  std::vector<Point> predict(const Knowledge& knowledge,
                             const std::vector<Observation>& asked) const override {
    const model::Fabric fabric = fabric_of(knowledge.profile);
    std::vector<Point> points;
    for (const Observation& seen : asked) {
      const Case& what = seen.what();
      const auto op = collective_op_of(what.operation);
      if (!op) continue;
      const Bytes message = Bytes::from(*what.bytes);
      const auto problem = model::CollectiveProblem::in_node(*op, *what.ranks);
      const Duration time =
          choose_collective(knowledge.profile, fabric, problem, message).time(message);
      points.push_back({fmt::format("{} of {} over {}", what.operation, *what.bytes, *what.ranks),
                        time, seen.time(), seen.held});
    }
    return points;
  }

 private:
  ErrorClaim claim_;
  std::int64_t from_, below_;
};

constexpr std::int64_t kSmall = 8 << 10, kLarge = 64 << 10;
constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;

}  // namespace

void add_collective_rows(ErrorRows& rows) {
  rows.push_back(std::make_unique<NcclRow>(
      ErrorClaim{.name = "NCCL on NVLink, 2..8 GPUs, >= 64 KiB", .median = 0.05, .p95 = 0.15},
      kLarge, kNoLimit));
  rows.push_back(std::make_unique<NcclRow>(
      ErrorClaim{.name = "NCCL on NVLink, 2..8 GPUs, 8 to 32 KiB", .median = {}, .p95 = 0.15},
      kSmall, kLarge));
}

}  // namespace weft::calibration
