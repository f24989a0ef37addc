// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/fit_profile.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "calibration/fit/behind_fit.hpp"
#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/copies_fit.hpp"
#include "calibration/fit/flag_fit.hpp"
#include "calibration/fit/gemm_fit.hpp"
#include "calibration/fit/interference_fit.hpp"
#include "calibration/fit/launch_fit.hpp"
#include "calibration/fit/library_tiles.hpp"
#include "calibration/fit/link_fit.hpp"
#include "calibration/fit/measured_grid.hpp"
#include "calibration/fit/peer_fit.hpp"
#include "calibration/fit/peer_traffic_fit.hpp"
#include "calibration/fit/sum_fit.hpp"
#include "calibration/fit/undetermined.hpp"
#include "calibration/fit/unmeasured.hpp"

namespace weft::calibration {

namespace {

std::vector<CollectiveSample> collectives_in(const std::vector<Observation>& samples) {
  std::vector<CollectiveSample> rows;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    const auto op = collective_op_of(what.operation);
    if (!is_library_collective(seen) || !op || !what.ranks) continue;
    rows.push_back({.op = *op,
                    .dtype = dtype_of(what.dtype).value_or(DType::fp16),
                    .ranks = *what.ranks,
                    .message = Bytes::from(*what.bytes),
                    .time = seen.time()});
  }
  return rows;
}

std::vector<GemmSample> published_products_in(const std::vector<Observation>& samples) {
  std::vector<GemmSample> rows;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (!seen.published || what.operation != "gemm" || !what.shape) continue;
    rows.push_back({.dtype = dtype_of(what.dtype).value_or(DType::bf16),
                    .m = what.shape->m,
                    .n = what.shape->n,
                    .k = what.shape->k,
                    .time = seen.time()});
  }
  return rows;
}

/// The table that a kind of published row is from.
std::string table_of(const std::vector<Observation>& samples, const std::string& library) {
  for (const Observation& seen : samples) {
    if (seen.published && seen.what().library == library) return seen.run->program;
  }
  return {};
}

void note(FittedProfile& fit, const std::string& group, const std::vector<FitParameter>& parameters,
          const LeastSquaresResult& result) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    fit.numbers.push_back({group, parameters[i].name, result.values[i], result.relative_errors[i],
                           result.determined[i], result.at_bound[i]});
  }
}

/// The GPU whose published table a profile's collectives are from; none: not from a table.
std::optional<std::string> table_gpu(const model::Profile& profile) {
  if (profile.collectives.empty()) return std::nullopt;
  const std::string& from = profile.collectives.front().base.source.reference;
  if (from.find("__nccl") == std::string::npos) return std::nullopt;
  return gpu_name(from);
}

void fit_library_collectives(FittedProfile& fit, const std::vector<Observation>& samples) {
  // A profile that takes its collectives from another GPU keeps them: its own rows test them.
  const auto borrowed = table_gpu(fit.profile);
  if (borrowed && *borrowed != gpu_name(fit.profile.name)) {
    fit.groups.push_back("collectives: kept, they are those of " + *borrowed);
    return;
  }
  const std::vector<CollectiveSample> rows = collectives_in(samples);
  if (rows.size() < 20) {
    if (!fit.profile.collectives.empty()) {
      fit.gaps.push_back({"the collective library's constants", "peer-collectives, or a table"});
    }
    return;
  }
  const CollectiveFit collectives =
      fit_collectives(fit.profile, rows, collective_form(fit.profile), table_of(samples, "nccl"));
  fit.profile.collectives = collectives.collectives;
  fit.groups.push_back(
      fmt::format("collectives: {} rows{}", collectives.rows, left_out(collectives.noisy)));
  note(fit, "collectives", collectives.parameters, collectives.result);
}

void fit_gemm_constants(FittedProfile& fit, const std::vector<Observation>& samples,
                        const std::string& reference) {
  if (!fit.profile.gemm) return;
  try {
    ProductFit products = fit_products(fit.profile, samples, reference);
    fit.profile.gemm = products.constants;
    fit.profile.gemm->measured = measured_grids(samples, reference);
    auto on_parts = measured_on_parts(samples, fit.profile.gpu, reference);
    if (!on_parts.empty()) fit.profile.gemm->measured_on_parts = std::move(on_parts);
    auto tiles = library_tiles(samples, fit.profile.gemm->tiles);
    if (!tiles.empty()) fit.profile.gemm->tiles = std::move(tiles);
    fit.groups.push_back(fmt::format("GEMM: {} rows", products.rows));
    note(fit, "GEMM", products.parameters, products.result);
    fit.outliers = std::move(products.outliers);
    fit.throttled = std::move(products.throttled);
    return;
  } catch (const UndeterminedFit&) {
    const std::vector<GemmSample> table = published_products_in(samples);
    if (table.size() < 100) {
      fit.gaps.push_back({"GEMM constants of both libraries", "gemm"});
      return;
    }
    const GemmFit gemm = fit_gemm(fit.profile, table, table_of(samples, "cublaslt"));
    fit.profile.gemm = gemm.constants;
    fit.groups.push_back(fmt::format("GEMM: {} published rows", gemm.rows));
    note(fit, "GEMM", gemm.parameters, gemm.result);
  }
}

}  // namespace

bool is_library_collective(const Observation& seen) {
  const Case& what = seen.what();
  return what.library == "nccl" && what.backend == "nccl" && what.bytes;
}

FittedProfile fit_samples(const model::Profile& start, const std::vector<Observation>& samples,
                          const std::string& reference) {
  FittedProfile fit;
  fit.profile = start;
  fit.gaps = fit_primitives(fit.profile, samples, reference);
  fit_gemm_constants(fit, samples, reference);
  fit.profile = fit_behind(std::move(fit.profile), samples);
  fit_library_collectives(fit, samples);
  // A transfer's line holds the launches of its pieces, which are delayed by what is in flight.
  fit.profile = fit_launch_delay(fit_interference(std::move(fit.profile), samples), samples);
  fit.profile = fit_traffic_of_peers(fit_copies_beside(std::move(fit.profile), samples), samples);
  fit.profile = fit_tile_flags(fit_host_link(std::move(fit.profile), samples), samples);
  fit.profile = fit_sums(fit_peer_links(std::move(fit.profile), samples), samples);
  for (Gap& gap : unmeasured(samples)) fit.gaps.push_back(std::move(gap));
  return fit;
}

model::Profile fit_profile(const model::Profile& start, const std::vector<Observation>& samples) {
  return fit_samples(start, samples, "samples").profile;
}

}  // namespace weft::calibration
