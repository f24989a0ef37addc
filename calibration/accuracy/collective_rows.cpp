// SPDX-License-Identifier: Apache-2.0
// NCCL inside one node, by the library's modelled choice of protocol: tables that others measured, whose
// power-of-four messages may be fitted.
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "calibration/accuracy/rows.hpp"
#include "calibration/fit/fit_profile.hpp"
#include "models/cost/collective.hpp"
#include "models/profile/families.hpp"

namespace weft::calibration {

namespace {

class NcclRow : public ErrorTableRow {
 public:
  NcclRow(const model::families::OfMessages& messages, std::optional<double> median, double p95)
      : claim_{.name = std::string(messages.family), .median = median, .p95 = p95},
        messages_(messages) {}

  ErrorClaim claim() const override { return claim_; }
  bool takes(const Observation& seen) const override {
    const Case& what = seen.what();
    return is_library_collective(seen) && messages_.has(*what.bytes);
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
  model::families::OfMessages messages_;
};

}  // namespace

void add_collective_rows(ErrorRows& rows) {
  const auto& [large, small] = model::families::collectives;
  rows.push_back(std::make_unique<NcclRow>(large, 0.05, 0.15));
  rows.push_back(std::make_unique<NcclRow>(small, std::nullopt, 0.15));
}

}  // namespace weft::calibration
