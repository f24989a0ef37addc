// SPDX-License-Identifier: Apache-2.0
// Products alone on the device, by the model of models/cost: our kernels; the library's between measured rows
// of the same N, K and SM count; the library's where N and K were never measured, with the kernel that the model
// chooses and with the one that ran. The kernel choice itself is a row of the decisions.
#include <algorithm>

#include <fmt/core.h>

#include "calibration/accuracy/rows.hpp"
#include "calibration/fit/product_sample.hpp"
#include "models/cost/gemm.hpp"
#include "models/profile/families.hpp"

namespace weft::calibration {

namespace {

constexpr std::string_view kSustained = "gemm-sustained";

/// Products of a library by its own choice of kernel, without those that were measured back to back.
bool is_choice_of(const Observation& seen, std::string_view library) {
  const Case& what = seen.what();
  return is_product(seen) && what.library == library && what.suite != kSustained &&
         what.variant != "best";
}

std::string label_of(const Sample& sample) {
  const Case& what = sample.what;
  const Shape& s = *what.shape;
  if (!what.backend.empty()) {
    return fmt::format("{} {}x{}x{} on one of {} parts, {}", what.library, s.m, s.n, s.k,
                       what.ranks.value_or(1), sample.kernel.name);
  }
  return fmt::format("{} {}x{}x{} on {} SMs, {}", what.library, s.m, s.n, s.k,
                     what.sms ? std::to_string(*what.sms) : std::string("all"), what.suite);
}

Point point_of(const Observation& seen, const model::GemmCost& cost) {
  return {label_of(*seen.sample), cost.time, seen.time(), seen.held};
}

bool has_grid(const model::Profile& profile, const Observation& seen) {
  const Shape& s = *seen.what().shape;
  const std::int64_t sms = seen.what().sms.value_or(static_cast<int>(profile.gpu.sms.value));
  const auto& grids = profile.gemm->measured;
  return std::any_of(grids.begin(), grids.end(), [&](const model::MeasuredProducts& grid) {
    return grid.n == s.n && grid.k == s.k && grid.sms == sms && grid.rows.size() >= 2 &&
           grid.rows.front().m <= 2 * s.m && 2 * grid.rows.back().m >= s.m;
  });
}

bool knows_weights(const model::Profile& profile, const Shape& shape) {
  const auto& grids = profile.gemm->measured;
  return std::any_of(grids.begin(), grids.end(), [&](const model::MeasuredProducts& grid) {
    return grid.n == shape.n && grid.k == shape.k;
  });
}

enum class Kind {
  own,
  own_sustained,
  library_grid,
  library_new,
  library_kernel,
  library_sustained,
  own_on_part,
  library_on_part,
  library_kernel_on_part
};

bool is_on_part(Kind kind) {
  return kind == Kind::own_on_part || kind == Kind::library_on_part ||
         kind == Kind::library_kernel_on_part;
}

/// Takes a mechanism out of a profile; none: nothing.
using Strip = void (*)(model::GemmConstants&);

class ProductRow : public ErrorTableRow {
 public:
  ProductRow(Kind kind, ErrorClaim claim, Strip strip)
      : kind_(kind), claim_(std::move(claim)), strip_(strip) {}

  ErrorClaim claim() const override { return claim_; }
  Grouping grouping() const override {
    return kind_ == Kind::library_grid ? Grouping::by_shape : Grouping::by_weights;
  }
  bool takes(const Observation& seen) const override {
    const bool own =
        kind_ == Kind::own || kind_ == Kind::own_sustained || kind_ == Kind::own_on_part;
    const char* library = own ? "weft" : "cublaslt";
    if (kind_ == Kind::own_sustained || kind_ == Kind::library_sustained) {
      return is_product(seen) && seen.what().suite == kSustained &&
             seen.what().library == library && seen.what().variant != "best";
    }
    if (is_on_part(kind_)) {
      return is_product_on_part(seen) && seen.what().library == library &&
             seen.what().variant != "best";
    }
    return is_choice_of(seen, library);
  }
  std::vector<Point> predict(const Knowledge& knowledge,
                             const std::vector<Observation>& asked) const override {
    std::vector<Point> points;
    model::Profile stripped;
    if (strip_ != nullptr) {
      stripped = knowledge.profile;
      strip_(*stripped.gemm);
    }
    const model::Profile& profile = strip_ != nullptr ? stripped : knowledge.profile;
    for (const Observation& seen : asked) {
      const bool fresh = !knows_weights(profile, *seen.what().shape);
      if (kind_ == Kind::library_grid && !has_grid(profile, seen)) continue;
      if ((kind_ == Kind::library_new || kind_ == Kind::library_kernel) && !fresh) continue;
      const bool true_kernel =
          kind_ == Kind::library_kernel || kind_ == Kind::library_kernel_on_part;
      points.push_back(point_of(seen, product_cost(profile, *seen.sample, true_kernel)));
    }
    return points;
  }

 private:
  Kind kind_;
  ErrorClaim claim_;
  Strip strip_ = nullptr;
};

/// How often the model picks the kernel that the library picks, where N and K were never measured.
class KernelChoice : public DecisionTableRow {
 public:
  DecisionClaim claim() const override {
    DecisionClaim claim;
    claim.name = "cuBLASLt's kernel, N and K never measured (exact: hit rate; regret: modelled)";
    return claim;
  }
  bool takes(const Observation& seen) const override { return is_choice_of(seen, "cublaslt"); }
  std::vector<Decision> decide(const Knowledge& knowledge,
                               const std::vector<Observation>& asked) const override {
    std::vector<Decision> decisions;
    for (const Observation& seen : asked) {
      if (knows_weights(knowledge.profile, *seen.what().shape)) continue;
      const model::GemmCost ours = product_cost(knowledge.profile, *seen.sample, false);
      const model::GemmCost theirs = product_cost(knowledge.profile, *seen.sample, true);
      const bool same = ours.kernel.tile_m == theirs.kernel.tile_m &&
                        ours.kernel.tile_n == theirs.kernel.tile_n &&
                        ours.split_k == theirs.split_k;
      const double apart = std::abs(ratio(ours.time, theirs.time) - 1);
      decisions.push_back({label_of(*seen.sample), same ? 0 : std::max(apart, 1e-9), 0, {}});
    }
    return decisions;
  }
};

void add(ErrorRows& rows, Kind kind, ErrorClaim claim, Strip strip = nullptr) {
  rows.push_back(std::make_unique<ProductRow>(kind, std::move(claim), strip));
}

/// What each mechanism is worth: the same products with it switched off.
void add_products_without(ErrorRows& rows) {
  const std::pair<const char*, Strip> mechanisms[] = {
      {"the answer of the power controller", [](model::GemmConstants& g) { g.answer.reset(); }},
      {"a load of its own for that answer",
       [](model::GemmConstants& g) {
         if (g.answer) g.answer->exponent.reset();
       }},
      {"the store of the last tile", [](model::GemmConstants& g) { g.drain.reset(); }},
      {"rows beyond the edge", [](model::GemmConstants& g) { g.overhang_row.value = Duration(); }},
      {"corrections of kernels", [](model::GemmConstants& g) { g.corrections.clear(); }}};
  for (const auto& [name, strip] : mechanisms) {
    ErrorClaim claim{
        .name = fmt::format("GEMM, our kernels, without {}", name), .median = {}, .p95 = {}};
    claim.baseline = true;
    add(rows, Kind::own, std::move(claim), strip);
  }
}

}  // namespace

void add_gemm_rows(ErrorRows& rows) {
  add(rows, Kind::own, {.name = "GEMM, our kernels, any SM count", .median = 0.015, .p95 = 0.04});
  add(rows, Kind::library_grid,
      {.name = "GEMM, cuBLASLt, from a measured grid of rows", .median = 0.025, .p95 = 0.08});
  add(rows, Kind::library_new,
      {.name = std::string(model::families::new_library_products), .median = 0.04, .p95 = 0.12});
  add(rows, Kind::library_kernel,
      {.name = "GEMM, cuBLASLt, N and K never measured, kernel known", .median = {}, .p95 = {}});
  add(rows, Kind::own_sustained,
      {.name = "GEMM, our kernels, back to back", .median = {}, .p95 = {}});
  add(rows, Kind::library_sustained,
      {.name = "GEMM, cuBLASLt, back to back", .median = {}, .p95 = {}});
  add(rows, Kind::own_on_part,
      {.name = "GEMM on a part of the SMs, our kernels", .median = {}, .p95 = {}});
  add(rows, Kind::library_on_part,
      {.name = "GEMM on a part of the SMs, cuBLASLt", .median = {}, .p95 = {}});
  add(rows, Kind::library_kernel_on_part,
      {.name = "GEMM on a part of the SMs, cuBLASLt, kernel known", .median = {}, .p95 = {}});
  add_products_without(rows);
}

void add_kernel_choice(DecisionRows& rows) {
  rows.push_back(std::make_unique<KernelChoice>());
}

}  // namespace weft::calibration
