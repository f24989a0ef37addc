// SPDX-License-Identifier: Apache-2.0
// Products alone on the device, by the model of models/cost: our kernels, and the library's.
#include <fmt/core.h>

#include "calibration/accuracy/rows.hpp"
#include "models/cost/gemm.hpp"

namespace weft::calibration {

namespace {

bool is_product_of(const Observation& seen, const char* library) {
  const Case& what = seen.what();
  return !seen.published && what.operation == "gemm" && what.figure == "time" &&
         what.library == library && what.shape.has_value();
}

std::string label_of(const Case& what) {
  const Shape& s = *what.shape;
  return fmt::format("{} {}x{}x{} on {} {}", what.library, s.m, s.n, s.k,
                     what.sms ? std::to_string(*what.sms) : std::string("all"), what.variant);
}

Duration modelled(const model::Profile& profile, const Case& what) {
  const Shape& s = *what.shape;
  const auto library =
      what.library == "weft" ? model::GemmLibrary::ours : model::GemmLibrary::cublaslt;
  const auto sms = what.sms.value_or(static_cast<int>(profile.gpu.sms.value));
  return gemm_cost(profile, {.m = s.m, .n = s.n, .k = s.k, .library = library},
                   model::SmBudget::of(sms))
      .time;
}

class OwnRow : public ErrorTableRow {
 public:
  ErrorClaim claim() const override {
    return {.name = "GEMM, our kernels, any SM count", .median = 0.015, .p95 = 0.04};
  }
  bool takes(const Observation& seen) const override {
    return is_product_of(seen, "weft") && seen.what().variant == "static";
  }
  std::vector<Point> predict(const Knowledge& knowledge,
                             const std::vector<Observation>& asked) const override {
    std::vector<Point> points;
    for (const Observation& seen : asked) {
      points.push_back({label_of(seen.what()), modelled(knowledge.profile, seen.what()),
                        seen.time(), seen.held});
    }
    return points;
  }
};

}  // namespace

void add_gemm_rows(ErrorRows& rows) {
  rows.push_back(std::make_unique<OwnRow>());
}

}  // namespace weft::calibration
