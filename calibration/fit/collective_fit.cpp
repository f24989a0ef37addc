// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/collective_fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include <fmt/core.h>

#include "calibration/fit/error_summary.hpp"
#include "calibration/fit/microseconds.hpp"
#include "calibration/fit/split.hpp"
#include "models/cost/nccl_tuner.hpp"
#include "models/profile/families.hpp"

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
  /// A time that has `more` beside what the others have.
  Sourced<Duration> microseconds(const std::string& name, const std::string& more) const {
    return {Duration::from_ps(std::llround((value(name) + value(more)) * 1e6)), source(name)};
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
  p.add("ll wide base", 5, 0.5, 60);
  p.add("ll wide hop", 1.2, 0.05, 60);
  p.add("ll wide rate", 0.45 * link, 0.01 * link, link);
  p.add("ll wide slack", 40, 0.01, 2000);
  p.add("simple base", 15, 0.5, 200);
  p.add("simple hop", 1.2, 0.05, 200);
  p.add("simple rate", 0.75 * link, 0.02 * link, link);
  p.add("full more base", 60, 0.5, 5000);
  p.add("all_gather local", 0.6, 1e-3, 4);
  p.add("reduce_scatter local", 0.6, 1e-3, 4);
  p.add("all_reduce local", 0.5, 1e-3, 4);
  p.add("direct ll base", 7, 0.5, 60);
  p.add("direct ll peer", 0.015 * link, 1e-4 * link, link);
  p.add("direct base", 13, 0.5, 200);
  p.add("direct hop", 0.3, 0.01, 100);
  p.add("direct slack", form.host_bridge ? 300 : 900, 0.01, 8000);
  p.add("direct rate", 0.55 * link, 0.02 * link, link);
  p.add("direct full base", 30, 0.5, 2000);
  p.add("direct full rate", 0.7 * link, 0.02 * link, link);
  p.add("direct peer", 0.64 * link, 0.01 * link, link);
  if (!form.host_bridge) {
    p.add("ll gather hop", 0.2, 1e-3, 20);
    p.add("simple gather base", 4, 1e-2, 100);
    p.add("ll128 rate", 0.75 * link, 0.01 * link, link);
  }
  if (form.switch_reduces) {
    p.add("nvls base", 25, 0.5, 200);
    p.add("nvls copies", 0.75, 1e-3, 20);
  }
  if (form.host_bridge) {
    p.add("ll wide gather local", 1, 1e-3, 4);
    p.add("ll wide reduce local", 0.5, 1e-3, 4);
    p.add("bridge ll", 0.3 * link, 1e-3 * link, 8 * link);
    p.add("bridge ll wide", 0.5 * link, 1e-3 * link, 8 * link);
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

constexpr std::string_view kTuner = "NVIDIA/nccl src/graph/tuning.cc at 5067397 (2.30.7)";

const Sourced<double> kNoCopy{0.0, {SourceKind::assumed, "no copy of its own"}};
const Sourced<Bytes> kNoSlack{Bytes{}, {SourceKind::assumed, "all channels from the start"}};

/// A ring's ways to hand bytes over. A step of an all-gather stores what it passes on twice, for the next rank and in
/// the result, so that its hops under LL and its start under Simple are longer.
std::vector<ProtocolCosts> ring_of(CollectiveOp op, const Constants& c,
                                   const CollectiveForm& form) {
  // Over PCI Express the wire hides what the device does beside it.
  const bool gathers = op == CollectiveOp::all_gather && !form.host_bridge;
  std::vector<ProtocolCosts> list;
  ProtocolCosts costs;
  costs.op = op;
  costs.algorithm = CollectiveAlgorithm::ring;
  costs.ctas = library_ctas(costs.algorithm, form);
  costs.protocol = CollectiveProtocol::ll;
  costs.base = c.microseconds("ll base");
  costs.hop = c.microseconds("ll hop");
  costs.slack = kNoSlack;
  costs.rate = c.gigabytes("ll rate");
  costs.local_steps = kNoCopy;
  list.push_back(costs);
  costs.base = c.microseconds("ll wide base");
  costs.hop =
      gathers ? c.microseconds("ll wide hop", "ll gather hop") : c.microseconds("ll wide hop");
  costs.slack = c.kilobytes("ll wide slack");
  costs.rate = c.gigabytes("ll wide rate");
  if (form.host_bridge) {
    costs.local_steps =
        c.plain(op == CollectiveOp::all_reduce ? "ll wide reduce local" : "ll wide gather local");
  } else {
    costs.local_steps = {1.0,
                         {SourceKind::assumed, "a rank takes one turn more than there are hops"}};
  }
  list.push_back(costs);
  costs.slack = kNoSlack;
  if (!form.host_bridge) {
    costs.protocol = CollectiveProtocol::ll128;
    // Few rows of a table go by it: NCCL's own figures.
    const model::NcclRingLatency own = model::nccl_ring_latency(costs.protocol, true);
    const Source tuner{SourceKind::published, std::string(kTuner)};
    costs.base = {from_microseconds(own.base), tuner};
    costs.hop = {from_microseconds(own.hop), tuner};
    costs.rate = c.gigabytes("ll128 rate");
    costs.local_steps = kNoCopy;
    list.push_back(costs);
  }
  costs.local_steps = c.plain(std::string(name_of(op)) + " local");
  costs.protocol = CollectiveProtocol::simple;
  costs.base =
      gathers ? c.microseconds("simple base", "simple gather base") : c.microseconds("simple base");
  costs.hop = c.microseconds("simple hop");
  costs.rate = c.gigabytes("simple rate");
  list.push_back(costs);
  costs.protocol = CollectiveProtocol::simple_full;
  costs.base.value = costs.base.value + c.microseconds("full more base").value;
  costs.base.source = c.microseconds("full more base").source;
  costs.local_steps = {0.0, {SourceKind::assumed, "a chunk is copied while the next is moved"}};
  list.push_back(costs);
  return list;
}

/// All peers at once; each takes its own send and receive.
std::vector<ProtocolCosts> direct_of(const Constants& c, const CollectiveForm& form) {
  std::vector<ProtocolCosts> list;
  ProtocolCosts direct;
  direct.op = CollectiveOp::all_to_all;
  direct.algorithm = CollectiveAlgorithm::direct;
  direct.ctas = library_ctas(direct.algorithm, form);
  direct.protocol = CollectiveProtocol::ll;
  direct.base = c.microseconds("direct ll base");
  direct.hop = form.host_bridge
                   ? Sourced<Duration>{Duration{}, {SourceKind::assumed, "part of the base"}}
                   : c.microseconds("direct hop");
  direct.slack = kNoSlack;
  direct.rate = c.gigabytes("direct full rate");
  direct.local_steps = kNoCopy;
  direct.per_peer = c.gigabytes("direct ll peer");
  list.push_back(direct);
  direct.hop = c.microseconds("direct hop");
  direct.per_peer = c.gigabytes("direct peer");
  direct.slack = c.kilobytes("direct slack");
  for (const bool full : {false, true}) {
    direct.protocol = full ? CollectiveProtocol::simple_full : CollectiveProtocol::simple;
    direct.base = c.microseconds(full ? "direct full base" : "direct base");
    direct.rate = c.gigabytes(full ? "direct full rate" : "direct rate");
    list.push_back(direct);
  }
  return list;
}

/// Unregistered buffers: every rank copies its message to where the switch reads it, and the sum back.
ProtocolCosts nvls_of(const Constants& c, const CollectiveForm& form,
                      const Sourced<Bandwidth>& link) {
  ProtocolCosts nvls;
  nvls.op = CollectiveOp::all_reduce;
  nvls.algorithm = CollectiveAlgorithm::nvls;
  nvls.protocol = CollectiveProtocol::simple;
  nvls.min_ranks = 3;
  nvls.base = c.microseconds("nvls base");
  nvls.hop = {Duration{}, {SourceKind::assumed, "part of the base"}};
  nvls.slack = kNoSlack;
  nvls.rate = {link.value, {link.source.kind, "the port's own: the copies set the rate"}};
  nvls.local_steps = c.plain("nvls copies");
  nvls.ctas = library_ctas(nvls.algorithm, form);
  return nvls;
}

/// What all ranks share of the host: LL of all channels is the second of a ring's ways.
std::string bridge_of(const ProtocolCosts& costs) {
  if (costs.protocol != CollectiveProtocol::ll) return "bridge simple";
  return costs.slack.value == Bytes() ? "bridge ll" : "bridge ll wide";
}

std::vector<ProtocolCosts> constants_of(const Constants& c, const CollectiveForm& form,
                                        const Sourced<Bandwidth>& link) {
  std::vector<ProtocolCosts> list;
  for (const CollectiveOp op :
       {CollectiveOp::all_gather, CollectiveOp::reduce_scatter, CollectiveOp::all_reduce}) {
    for (ProtocolCosts& costs : ring_of(op, c, form)) list.push_back(std::move(costs));
  }
  for (ProtocolCosts& costs : direct_of(c, form)) list.push_back(std::move(costs));
  if (form.switch_reduces) list.push_back(nvls_of(c, form, link));
  if (form.host_bridge) {
    // A pair talks through one PCIe switch; more ranks also through the host, which all of them share.
    const std::size_t pairs = list.size();
    for (std::size_t i = 0; i < pairs; ++i) {
      ProtocolCosts group = list[i];
      list[i].max_ranks = 2;
      group.min_ranks = 3;
      group.shared = c.gigabytes(bridge_of(group));
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

/// A row that is slower by a quarter than one of more bytes says nothing of its own size.
constexpr double kNoisy = 1.25;

bool same_kind(const CollectiveSample& a, const CollectiveSample& b) {
  return a.op == b.op && a.ranks == b.ranks;
}
bool same_question(const CollectiveSample& a, const CollectiveSample& b) {
  return same_kind(a, b) && a.message == b.message;
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

std::vector<CollectiveSample> noisy_rows(const std::vector<CollectiveSample>& samples) {
  std::vector<CollectiveSample> noisy;
  for (const CollectiveSample& row : samples) {
    if (!is_fit_row(row)) continue;
    const bool slower = std::any_of(samples.begin(), samples.end(), [&](const auto& other) {
      return is_fit_row(other) && same_kind(row, other) && other.message > row.message &&
             ratio(row.time, other.time) > kNoisy;
    });
    if (slower) noisy.push_back(row);
  }
  return noisy;
}

CollectiveFit fit_collectives(const model::Profile& profile,
                              const std::vector<CollectiveSample>& samples,
                              const CollectiveForm& form, const std::string& table) {
  CollectiveFit fit;
  fit.noisy = noisy_rows(samples);
  std::vector<CollectiveSample> rows;
  for (const CollectiveSample& sample : samples) {
    const bool noisy = std::any_of(fit.noisy.begin(), fit.noisy.end(),
                                   [&](const auto& row) { return same_question(row, sample); });
    if (is_fit_row(sample) && !noisy) rows.push_back(sample);
  }
  const Sourced<Bandwidth>& port = profile.gpu.link_per_direction;
  const Parameters parameters =
      parameters_of(form, static_cast<double>(port.value.bytes_per_second()) / 1e9);

  LeastSquaresProblem problem;
  problem.parameters = parameters.list();
  for (const CollectiveSample& row : rows) problem.weights.push_back(weight_of(row));
  problem.residuals = [&](std::span<const double> values) {
    model::Profile trial = profile;
    trial.collectives = constants_of(Constants(parameters, values), form, port);
    const model::Fabric fabric = fabric_of(trial);
    std::vector<double> residuals;
    residuals.reserve(rows.size());
    for (const CollectiveSample& row : rows) {
      residuals.push_back(std::log(ratio(modelled(trial, fabric, row), row.time)));
    }
    return residuals;
  };

  fit.result = minimise(problem);
  fit.parameters = parameters.list();
  fit.rows = rows.size();
  Constants constants(parameters, fit.result.values);
  constants.explain(fit.result,
                    fmt::format("{}, {} rows of power-of-four sizes", table, rows.size()));
  fit.collectives = constants_of(constants, form, port);
  // A regime that the profile has from elsewhere, because no row of a table reaches it, stays as it is.
  for (const ProtocolCosts& costs : profile.collectives) {
    if (costs.rate.source.kind == SourceKind::published) fit.collectives.push_back(costs);
  }
  return fit;
}

std::string left_out(const std::vector<CollectiveSample>& noisy) {
  std::string text;
  for (const CollectiveSample& row : noisy) {
    text += fmt::format("{}{} of {} over {}",
                        text.empty() ? ", left out for fewer bytes that took longer: " : ", ",
                        name_of(row.op), row.message.count(), row.ranks);
  }
  return text;
}

std::vector<model::FamilyError> collective_errors(const model::Profile& profile,
                                                  const std::vector<CollectiveSample>& samples,
                                                  bool all_rows, const std::string& table) {
  const model::Fabric fabric = fabric_of(profile);
  const auto& families = model::families::table_collectives;
  std::vector<std::vector<Prediction>> rows(std::size(families));
  std::int64_t ranks = 1;
  for (const CollectiveSample& sample : samples) {
    if (!all_rows && is_fit_row(sample)) continue;
    ranks = std::max(ranks, sample.ranks);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (families[i].has(sample.message.count()))
        rows[i].push_back({modelled(profile, fabric, sample), sample.time});
    }
  }
  const Source source{
      SourceKind::measured,
      fmt::format("{}, {}", table, all_rows ? "all rows" : "rows held out of the fit")};
  std::vector<model::FamilyError> errors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    errors.push_back(summarise(std::string(families[i].family), rows[i], source));
    errors.back().ranks = ranks;
  }
  return errors;
}

}  // namespace weft::calibration
