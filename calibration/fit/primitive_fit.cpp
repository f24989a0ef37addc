// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/primitive_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include "calibration/accuracy/quantile.hpp"
#include "calibration/fit/least_squares.hpp"

namespace weft::calibration {

namespace {

using model::CopyPath;
using model::Source;
using model::SourceKind;

using Rows = std::vector<Observation>;

constexpr const char* kHostSuite = "primitives";
constexpr const char* kPeerSuite = "peer-primitives";
/// Of what another GPU posts or records: what happens on a device itself wakes its waits at other times, too.
constexpr const char* kWaitSuite = "peer-waits";
/// Of what happens on a device itself.
constexpr const char* kOwnWaitSuite = "waits";

Rows where(const Rows& all, const std::string& suite,
           const std::function<bool(const Case&)>& wanted) {
  Rows rows;
  for (const Observation& seen : all) {
    if (seen.what().suite == suite && wanted(seen.what())) rows.push_back(seen);
  }
  return rows;
}

/// The median of the medians of an operation.
std::optional<Duration> typical(const Rows& all, const std::string& suite,
                                const std::string& operation) {
  std::vector<Duration> times;
  for (const Observation& seen :
       where(all, suite, [&](const Case& what) { return what.operation == operation; })) {
    times.push_back(seen.time());
  }
  if (times.empty()) return std::nullopt;
  return median(times);
}

/// A stream that did not find what it waits for, and looks again after a fixed time, goes on anywhere between at once and
/// that time later: nine tenths of it lie between the 5th and the 95th percentile.
std::optional<Duration> time_between_looks(const Rows& all) {
  std::vector<Duration> periods;
  for (const Observation& seen :
       where(all, kWaitSuite, [](const Case& what) { return what.variant == "late"; })) {
    std::vector<double> times;
    for (const Duration time : seen.sample->times) times.push_back(static_cast<double>(time.ps()));
    std::sort(times.begin(), times.end());
    const double spread = quantile(times, 0.95) - quantile(times, 0.05);
    periods.push_back(Duration::from_ps(std::llround(spread / 0.9)));
  }
  if (periods.empty()) return std::nullopt;
  return median(periods);
}

/// What a stream takes longer that waits for a signal which is there, nothing moving beside it, over one that does not wait:
/// the median over what follows.
std::optional<Duration> look_at_what_is_there(const Rows& all) {
  std::map<std::string, Duration> none;
  const auto of = [&](const char* variant) {
    return where(all, kOwnWaitSuite, [&](const Case& what) {
      return what.operation == "stream_wait" && what.variant == variant && what.direction.empty();
    });
  };
  for (const Observation& seen : of("none")) none[seen.what().transport] = seen.time();
  std::vector<Duration> looks;
  for (const Observation& seen : of("there")) {
    const auto found = none.find(seen.what().transport);
    if (found != none.end() && seen.time() > found->second)
      looks.push_back(seen.time() - found->second);
  }
  if (looks.empty()) return std::nullopt;
  return median(looks);
}

/// Where a path's copies are measured. Between GPUs the peer stands where the host does.
struct MeasuredPath {
  CopyPath path;
  const char* suite;
  const char* direction;
};
constexpr MeasuredPath kPaths[] = {{CopyPath::from_host, kHostSuite, "to_device"},
                                   {CopyPath::to_host, kHostSuite, "to_host"},
                                   {CopyPath::same_device, kHostSuite, "device"},
                                   {CopyPath::from_peer, kPeerSuite, "to_device"},
                                   {CopyPath::to_peer, kPeerSuite, "to_host"}};

/// One GPU has no peers to measure: a profile keeps what it says of them.
bool any_of_suite(const Rows& all, const std::string& suite) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Observation& seen) { return seen.what().suite == suite; });
}

struct Line {
  double start_us = 0, gigabytes = 0;
  double start_error = 0, rate_error = 0;
};

/// start + bytes / rate through the rows; none if fewer than three sizes.
std::optional<Line> line_through(const Rows& rows) {
  if (rows.size() < 3) return std::nullopt;
  LeastSquaresProblem problem;
  problem.parameters = {{"start", 3, 0.01, 1e3}, {"rate", 50, 0.01, 1e5}};
  problem.knee = 0.05;
  problem.residuals = [&](std::span<const double> v) {
    std::vector<double> residuals;
    for (const Observation& seen : rows) {
      const double us = v[0] + static_cast<double>(*seen.what().bytes) / v[1] * 1e-3;
      residuals.push_back(std::log(us / (static_cast<double>(seen.time().ps()) * 1e-6)));
    }
    return residuals;
  };
  const LeastSquaresResult fit = minimise(problem);
  return Line{fit.values[0], fit.values[1], fit.relative_errors[0], fit.relative_errors[1]};
}

Bandwidth rate_of(double gigabytes) {
  return Bandwidth::from_bytes_per_second(std::llround(gigabytes * 1e3) * 1'000'000);
}
Duration us(double value) {
  return Duration::from_ps(std::llround(value * 1e3) * 1000);
}

/// The rate of the largest copies: payload over time.
std::optional<Bandwidth> largest_rate(const Rows& rows) {
  const auto largest = std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return *a.what().bytes < *b.what().bytes;
  });
  if (largest == rows.end()) return std::nullopt;
  return rate_of(static_cast<double>(*largest->what().bytes) /
                 static_cast<double>(largest->time().ps()) * 1e3);
}

Source fitted(const std::string& reference, std::size_t rows, double error) {
  return {SourceKind::fitted,
          fmt::format("{}, {} primitives, +-{:.1f} %", reference, rows, 100 * error)};
}

template <class Costs>
Costs& entry_of(std::vector<Costs>& list, CopyPath path) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const Costs& costs) { return costs.path == path; });
  if (found != list.end()) return *found;
  list.emplace_back();
  list.back().path = path;
  return list.back();
}

void fit_control(model::ControlCosts& control, const Rows& all, const std::string& reference,
                 std::vector<Gap>& gaps) {
  const Source measured{SourceKind::measured, reference + ", primitives"};
  if (const auto flag = typical(all, kHostSuite, "flag")) {
    control.signal_same_device = {*flag, measured};
  } else {
    gaps.push_back({"flags between SMs", "primitives"});
  }
  if (const auto launch = typical(all, kHostSuite, "launch");
      launch && *launch > control.kernel_drain.value) {
    control.launch = {*launch - control.kernel_drain.value,
                      {SourceKind::measured,
                       reference + ", launches one after the other, less the drain of each"}};
  }
  if (const auto hop = typical(all, kHostSuite, "event_hop")) control.event_hop = {*hop, measured};
  if (const auto flag = typical(all, kPeerSuite, "peer_flag"))
    control.signal_peer = {*flag, measured};
  if (const auto look = look_at_what_is_there(all)) {
    control.stream_wait_there = {
        *look, {SourceKind::measured, reference + ", waits for flags that are there, over none"}};
  }
  if (const auto period = time_between_looks(all)) {
    control.stream_poll = {
        *period, {SourceKind::measured, reference + ", waits for another GPU that come first"}};
  }
  std::vector<double> apart;
  for (const Observation& seen :
       where(all, kHostSuite, [](const Case& what) { return what.operation == "launch_race"; })) {
    for (const Duration time : seen.sample->times) apart.push_back(static_cast<double>(time.ps()));
  }
  if (apart.empty()) return gaps.push_back({"launch jitter", "primitives"});
  std::sort(apart.begin(), apart.end());
  control.launch_jitter = {Duration::from_ps(std::llround(quantile(apart, 0.95))),
                           {SourceKind::measured, reference + ", launch races, 95th percentile"}};
}

void fit_engines(model::Profile& profile, const Rows& all, const std::string& reference,
                 std::vector<Gap>& gaps) {
  const auto copies = [&](const MeasuredPath& path, const std::string& direction,
                          const std::string& variant) {
    return where(all, path.suite, [&](const Case& what) {
      return what.operation == "copy" && what.direction == direction && what.variant == variant &&
             what.bytes.has_value();
    });
  };
  for (const MeasuredPath& measured : kPaths) {
    if (!any_of_suite(all, measured.suite) && std::string_view(measured.suite) != kHostSuite)
      continue;
    const CopyPath path = measured.path;
    const Rows alone = copies(measured, measured.direction, "chain");
    const auto line = line_through(alone);
    if (!line) {
      gaps.push_back({fmt::format("copy engine, {}", name_of(path)), measured.suite});
      continue;
    }
    model::CopyEngineCosts& costs = entry_of(profile.copy_engines, path);
    costs.start = {us(line->start_us), fitted(reference, alone.size(), line->start_error)};
    costs.rate = {rate_of(line->gigabytes), fitted(reference, alone.size(), line->rate_error)};
    const bool link = path != CopyPath::same_device;
    const auto both = largest_rate(copies(measured, "both", "paired"));
    if (link && both) {
      costs.duplex_rate = {*both, {SourceKind::measured, reference + ", both ways at once"}};
    } else if (!link) {
      // Small copies stay in the L2: the memory's own rate is that of the largest.
      if (const auto memory = largest_rate(alone)) {
        costs.rate = {*memory, {SourceKind::measured, reference + ", the largest copy"}};
      }
      costs.duplex_rate = costs.rate;
    }
    if (const auto paired = largest_rate(copies(measured, measured.direction, "paired"))) {
      costs.paired_rate = {*paired, {SourceKind::measured, reference + ", two copies at once"}};
    }
  }
}

struct SmRates {
  Bandwidth per_cta, cap;
};

/// One CTA's rate, and the most that any number of unpaced CTAs reached.
std::optional<SmRates> sm_rates(const Rows& rows) {
  std::optional<SmRates> rates;
  for (const Observation& seen : rows) {
    const Case& what = seen.what();
    if (what.pace_bytes_per_second.value_or(0) != 0 || what.in_flight_bytes.value_or(0) != 0) {
      continue;
    }
    const double gigabytes =
        static_cast<double>(*what.bytes) / static_cast<double>(seen.time().ps()) * 1e3;
    if (!rates) rates.emplace();
    if (*what.ctas == 1) rates->per_cta = std::max(rates->per_cta, rate_of(gigabytes));
    rates->cap = std::max(rates->cap, rate_of(gigabytes));
  }
  if (rates && rates->per_cta == Bandwidth()) return std::nullopt;
  return rates;
}

void fit_sm_copies(model::Profile& profile, const Rows& all, const std::string& reference,
                   std::vector<Gap>& gaps) {
  for (const auto& [path, suite, direction] : kPaths) {
    if (!any_of_suite(all, suite) && std::string_view(suite) != kHostSuite) continue;
    const auto of = [&, suite = suite, direction = direction](const char* operation) {
      return sm_rates(where(all, suite, [&](const Case& what) {
        return what.operation == operation && what.direction == direction && what.bytes &&
               what.ctas;
      }));
    };
    const Source measured{SourceKind::measured, reference + ", primitives"};
    if (const auto rates = of("sm_copy")) {
      model::SmCopyCosts& costs = entry_of(profile.sm_copies, path);
      costs.per_cta = {rates->per_cta, measured};
      costs.cap = {rates->cap, measured};
      if (costs.threads.value == 0) costs.threads = {512, measured};
      if (const auto sums = of("sm_sum")) {
        costs.sum_per_cta = {sums->per_cta, measured};
        costs.sum_cap = {sums->cap, measured};
      }
    } else {
      gaps.push_back({fmt::format("copies by SMs, {}", name_of(path)), suite});
    }
  }
}

}  // namespace

std::vector<Gap> fit_primitives(model::Profile& profile, const std::vector<Observation>& samples,
                                const std::string& reference) {
  std::vector<Gap> gaps;
  fit_control(profile.control, samples, reference, gaps);
  fit_engines(profile, samples, reference, gaps);
  fit_sm_copies(profile, samples, reference, gaps);
  return gaps;
}

}  // namespace weft::calibration
