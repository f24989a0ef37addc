// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/collective_fit.hpp"

#include <cmath>
#include <map>

#include <fmt/core.h>

#include "calibration/fit/error_summary.hpp"
#include "calibration/fit/split.hpp"

namespace weft::calibration {

namespace {

using model::CollectiveAlgorithm;
using model::CollectiveProtocol;
using model::ProtocolCosts;
using model::Source;
using model::Sourced;
using model::SourceKind;

/// Names, starts and bounds of the parameters, and the values of one evaluation by name.
class Parameters {
 public:
  void add(const std::string& name, double start, double least, double most) {
    index_[name] = list_.size();
    list_.push_back({name, start, least, most});
  }
  [[nodiscard]] const std::vector<FitParameter>& list() const { return list_; }
  [[nodiscard]] std::size_t index(const std::string& name) const { return index_.at(name); }

 private:
  std::vector<FitParameter> list_;
  std::map<std::string, std::size_t> index_;
};

/// Turns a parameter vector into constants, in microseconds, kilobytes and GB/s.
class Constants {
 public:
  Constants(const Parameters& parameters, std::span<const double> values)
      : parameters_(parameters), values_(values) {}

  void explain(const LeastSquaresResult& result, std::string where) {
    result_ = &result;
    where_ = std::move(where);
  }

  Sourced<Duration> microseconds(const std::string& name) const {
    return {Duration::from_ps(std::llround(value(name) * 1e6)), source(name)};
  }
  Sourced<Bytes> kilobytes(const std::string& name) const {
    return {Bytes::from(std::llround(value(name) * 1e3)), source(name)};
  }
  Sourced<Bandwidth> gigabytes(const std::string& name) const {
    return {Bandwidth::from_bytes_per_second(std::llround(value(name) * 1e9)), source(name)};
  }
  Sourced<double> plain(const std::string& name) const {
    return {std::round(value(name) * 1e4) / 1e4, source(name)};
  }

 private:
  double value(const std::string& name) const { return values_[parameters_.index(name)]; }

  Source source(const std::string& name) const {
    if (result_ == nullptr) return {SourceKind::fitted, {}};
    const std::size_t i = parameters_.index(name);
    if (!result_->determined[i]) {
      return {SourceKind::assumed, fmt::format("the rows of {} do not determine it", where_)};
    }
    if (result_->at_bound[i]) {
      return {SourceKind::assumed, fmt::format("limit of the search on {}", where_)};
    }
    return {SourceKind::fitted,
            fmt::format("{}, +-{:.1f} %", where_, 100 * result_->relative_errors[i])};
  }

  const Parameters& parameters_;
  std::span<const double> values_;
  const LeastSquaresResult* result_ = nullptr;
  std::string where_;
};

Parameters parameters_of(const CollectiveForm& form, double link) {
  Parameters p;
  p.add("ll base", 4.5, 0.5, 40);
  p.add("ll hop", 0.9, 0.05, 40);
  p.add("ll rate", 0.1 * link, 1e-3 * link, link);
  p.add("ll128 base", 5, 0.5, 60);
  p.add("ll128 hop", 1.2, 0.05, 60);
  p.add("ll128 rate", 0.45 * link, 0.01 * link, link);
  p.add("ll128 slack", 40, 0.01, 2000);
  p.add("simple base", 15, 0.5, 200);
  p.add("simple hop", 1.2, 0.05, 200);
  p.add("simple rate", 0.75 * link, 0.02 * link, link);
  p.add("full base", 35, 0.5, 2000);
  p.add("full hop", 3, 0.05, 1000);
  p.add("full rate", 0.82 * link, 0.02 * link, link);
  p.add("gather local ll128", 1, 1e-3, 4);
  p.add("reduce local ll128", 0.5, 1e-3, 4);
  p.add("all_gather local", 0.6, 1e-3, 4);
  p.add("reduce_scatter local", 0.6, 1e-3, 4);
  p.add("all_reduce local", 0.5, 1e-3, 4);
  p.add("direct ll base", 7, 0.5, 60);
  p.add("direct ll peer", 0.015 * link, 1e-4 * link, link);
  p.add("direct base", 13, 0.5, 200);
  p.add("direct hop", 0.3, 0.01, 100);
  p.add("direct slack", 150, 0.01, 2000);
  p.add("direct rate", 0.55 * link, 0.02 * link, link);
  p.add("direct full base", 30, 0.5, 2000);
  p.add("direct full rate", 0.7 * link, 0.02 * link, link);
  p.add("direct peer", 0.64 * link, 0.01 * link, link);
  if (form.switch_reduces) {
    p.add("nvls base", 25, 0.5, 200);
    p.add("nvls rate", 0.6 * link, 0.05 * link, link);
    p.add("nvls slack", 20, 0.01, 2000);
  }
  if (form.host_bridge) {
    p.add("bridge ll", 0.3 * link, 1e-3 * link, 8 * link);
    p.add("bridge ll128", 0.5 * link, 1e-3 * link, 8 * link);
    p.add("bridge simple", 0.8 * link, 1e-3 * link, 8 * link);
  }
  return p;
}

/// CTAs of a ring or NVLS kernel: one a channel (NCCL's ncclTopoGetNvbGpus and channel search give 16 to 24 on
/// NVSwitch machines; NVLS at most 16).
Sourced<std::int64_t> library_ctas(CollectiveAlgorithm algorithm, const CollectiveForm& form) {
  const std::int64_t channels = form.host_bridge                         ? 2
                                : algorithm == CollectiveAlgorithm::nvls ? 16
                                                                         : 24;
  return {channels,
          {SourceKind::assumed, "channels of NCCL at large messages; its log would tell"}};
}

std::vector<ProtocolCosts> constants_of(const Constants& c, const CollectiveForm& form) {
  std::vector<ProtocolCosts> list;
  const Sourced<double> none{0.0, {SourceKind::assumed, "no copy of its own"}};
  const Sourced<Bytes> no_slack{Bytes{}, {SourceKind::assumed, "all channels from the start"}};

  const auto ring = [&](CollectiveOp op) {
    const std::string name(name_of(op));
    const bool reduces_all = op == CollectiveOp::all_reduce;
    ProtocolCosts costs;
    costs.op = op;
    costs.algorithm = CollectiveAlgorithm::ring;
    costs.ctas = library_ctas(costs.algorithm, form);
    costs.protocol = CollectiveProtocol::ll;
    costs.base = c.microseconds("ll base");
    costs.hop = c.microseconds("ll hop");
    costs.slack = no_slack;
    costs.rate = c.gigabytes("ll rate");
    costs.local_steps = none;
    list.push_back(costs);
    costs.protocol = CollectiveProtocol::ll128;
    costs.base = c.microseconds("ll128 base");
    costs.hop = c.microseconds("ll128 hop");
    costs.slack = c.kilobytes("ll128 slack");
    costs.rate = c.gigabytes("ll128 rate");
    costs.local_steps = c.plain(reduces_all ? "reduce local ll128" : "gather local ll128");
    list.push_back(costs);
    costs.slack = no_slack;
    costs.local_steps = c.plain(name + " local");
    for (const bool full : {false, true}) {
      const std::string part = full ? "full" : "simple";
      costs.protocol = full ? CollectiveProtocol::simple_full : CollectiveProtocol::simple;
      costs.base = c.microseconds(part + " base");
      costs.hop = c.microseconds(part + " hop");
      costs.rate = c.gigabytes(part + " rate");
      list.push_back(costs);
    }
  };
  ring(CollectiveOp::all_gather);
  ring(CollectiveOp::reduce_scatter);
  ring(CollectiveOp::all_reduce);

  ProtocolCosts direct;
  direct.op = CollectiveOp::all_to_all;
  direct.algorithm = CollectiveAlgorithm::direct;
  direct.ctas = library_ctas(direct.algorithm, form);
  direct.protocol = CollectiveProtocol::ll;
  direct.base = c.microseconds("direct ll base");
  direct.hop = {Duration{}, {SourceKind::assumed, "peers are addressed at once"}};
  direct.slack = no_slack;
  direct.rate = c.gigabytes("direct full rate");
  direct.local_steps = none;
  direct.per_peer = c.gigabytes("direct ll peer");
  list.push_back(direct);
  direct.per_peer = c.gigabytes("direct peer");
  direct.hop = c.microseconds("direct hop");
  direct.slack = c.kilobytes("direct slack");
  for (const bool full : {false, true}) {
    direct.protocol = full ? CollectiveProtocol::simple_full : CollectiveProtocol::simple;
    direct.base = c.microseconds(full ? "direct full base" : "direct base");
    direct.rate = c.gigabytes(full ? "direct full rate" : "direct rate");
    list.push_back(direct);
  }

  if (form.switch_reduces) {
    ProtocolCosts nvls;
    nvls.op = CollectiveOp::all_reduce;
    nvls.algorithm = CollectiveAlgorithm::nvls;
    nvls.protocol = CollectiveProtocol::simple;
    nvls.min_ranks = 3;
    nvls.base = c.microseconds("nvls base");
    nvls.hop = {Duration{}, {SourceKind::assumed, "part of the base"}};
    nvls.slack = c.kilobytes("nvls slack");
    nvls.rate = c.gigabytes("nvls rate");
    nvls.local_steps = none;
    nvls.ctas = library_ctas(nvls.algorithm, form);
    list.push_back(nvls);
  }

  if (form.host_bridge) {
    // A pair talks through one PCIe switch; more ranks also through the host, which all of them share.
    const std::size_t pairs = list.size();
    for (std::size_t i = 0; i < pairs; ++i) {
      ProtocolCosts group = list[i];
      list[i].max_ranks = 2;
      group.min_ranks = 3;
      group.shared = c.gigabytes(group.protocol == CollectiveProtocol::ll      ? "bridge ll"
                                 : group.protocol == CollectiveProtocol::ll128 ? "bridge ll128"
                                                                               : "bridge simple");
      list.push_back(group);
    }
  }
  return list;
}

/// Rows under 16 KiB are all floor: they count, but not as much as the rows where bytes matter.
double weight_of(const CollectiveSample& sample) {
  return sample.message.count() < 16384 ? 0.3 : 1.0;
}

Duration modelled(const model::Profile& profile, const model::Fabric& fabric,
                  const CollectiveSample& sample) {
  const auto problem = model::CollectiveProblem::in_node(sample.op, sample.ranks);
  return choose_collective(profile, fabric, problem, sample.message).time(sample.message);
}

}  // namespace

CollectiveForm collective_form(const model::Profile& profile) {
  CollectiveForm form;
  for (const ProtocolCosts& costs : profile.collectives) {
    form.switch_reduces = form.switch_reduces || costs.algorithm == CollectiveAlgorithm::nvls;
    form.host_bridge = form.host_bridge || costs.shared.has_value();
  }
  return form;
}

CollectiveFit fit_collectives(const model::Profile& profile,
                              const std::vector<CollectiveSample>& samples,
                              const CollectiveForm& form, const std::string& table) {
  std::vector<CollectiveSample> rows;
  for (const CollectiveSample& sample : samples) {
    if (is_fit_row(sample)) rows.push_back(sample);
  }
  const double link =
      static_cast<double>(profile.gpu.link_per_direction.value.bytes_per_second()) / 1e9;
  const Parameters parameters = parameters_of(form, link);

  LeastSquaresProblem problem;
  problem.parameters = parameters.list();
  for (const CollectiveSample& row : rows) problem.weights.push_back(weight_of(row));
  problem.residuals = [&](std::span<const double> values) {
    model::Profile trial = profile;
    trial.collectives = constants_of(Constants(parameters, values), form);
    const model::Fabric fabric = fabric_of(trial);
    std::vector<double> residuals;
    residuals.reserve(rows.size());
    for (const CollectiveSample& row : rows) {
      residuals.push_back(std::log(ratio(modelled(trial, fabric, row), row.time)));
    }
    return residuals;
  };

  CollectiveFit fit;
  fit.result = minimise(problem);
  fit.parameters = parameters.list();
  fit.rows = rows.size();
  Constants constants(parameters, fit.result.values);
  constants.explain(fit.result,
                    fmt::format("{}, {} rows of power-of-four sizes", table, rows.size()));
  fit.collectives = constants_of(constants, form);
  // A regime that the profile has from elsewhere, because no row of a table reaches it, stays as it is.
  for (const ProtocolCosts& costs : profile.collectives) {
    if (costs.rate.source.kind == SourceKind::published) fit.collectives.push_back(costs);
  }
  return fit;
}

std::vector<model::FamilyError> collective_errors(const model::Profile& profile,
                                                  const std::vector<CollectiveSample>& samples,
                                                  bool all_rows, const std::string& table) {
  const model::Fabric fabric = fabric_of(profile);
  std::vector<Prediction> small, middle, large;
  for (const CollectiveSample& sample : samples) {
    if (!all_rows && is_fit_row(sample)) continue;
    auto& band = sample.message.count() >= (1 << 20)   ? large
                 : sample.message.count() >= (1 << 14) ? middle
                                                       : small;
    band.push_back({modelled(profile, fabric, sample), sample.time});
  }
  const Source source{
      SourceKind::measured,
      fmt::format("{}, {}", table, all_rows ? "all rows" : "rows held out of the fit")};
  return {summarise("collectives below 16 KiB", small, source),
          summarise("collectives 16 KiB to 1 MiB", middle, source),
          summarise("collectives from 1 MiB", large, source)};
}

}  // namespace weft::calibration
