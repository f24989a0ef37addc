// SPDX-License-Identifier: Apache-2.0
#include "tools/views/exposure_view.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/units/format.hpp"
#include "tools/views/figures_view.hpp"

namespace weft::tool {
namespace {

using calibration::CollectiveExposure;
using calibration::DeviceExposure;
using calibration::ExposureReport;
using config::Value;

constexpr std::size_t kRowsShown = 20;

// Beyond 2^53 picoseconds a trace is weeks long.
Duration of_ns(std::int64_t ns) {
  return Duration::from_ps(std::min<std::int64_t>(ns, std::int64_t{1} << 53) * 1000);
}

std::string time(std::int64_t ns) {
  return fmt::format("{}", of_ns(ns));
}

std::optional<double> covered(const DeviceExposure& device) {
  if (device.communication_ns == 0) return std::nullopt;
  return static_cast<double>(device.hidden_ns) / static_cast<double>(device.communication_ns);
}

DeviceExposure mean_of(const ExposureReport& report) {
  DeviceExposure sum;
  for (const DeviceExposure& each : report.devices) {
    sum.span_ns += each.span_ns;
    sum.compute_ns += each.compute_ns;
    sum.communication_ns += each.communication_ns;
    sum.hidden_ns += each.hidden_ns;
    sum.exposed_ns += each.exposed_ns;
  }
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(report.devices.size(), 1));
  for (std::int64_t* each :
       {&sum.span_ns, &sum.compute_ns, &sum.communication_ns, &sum.hidden_ns, &sum.exposed_ns}) {
    *each /= count;
  }
  return sum;
}

}  // namespace

std::string describe(const calibration::GpuTrace& trace, const ExposureReport& report) {
  std::string text = fmt::format("{}: {} GPU activities", trace.source, trace.activities.size());
  if (trace.rank) text += fmt::format(", rank {}", *trace.rank);
  if (trace.world) text += fmt::format(" of {}", *trace.world);
  text +=
      "\n\ndevice        span    compute  communic.     hidden    exposed       idle  covered\n";
  for (const DeviceExposure& d : report.devices) {
    text +=
        fmt::format("{:<6} {:>11} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8}", d.device,
                    time(d.span_ns), time(d.compute_ns), time(d.communication_ns),
                    time(d.hidden_ns), time(d.exposed_ns), time(d.idle_ns), percent(covered(d)));
    text += d.name.empty() ? "\n" : fmt::format("  {}\n", d.name);
    if (d.communication_sum_ns > d.communication_ns) {
      text +=
          fmt::format("       adding kernels up would give {} of communication: some run at once\n",
                      time(d.communication_sum_ns));
    }
  }
  if (report.collectives.empty()) return text + "\nno kernel communicates\n";
  text += "\ncollective      ranks     message    calls     median      total    exposed\n";
  for (std::size_t i = 0; i < std::min(report.collectives.size(), kRowsShown); ++i) {
    const CollectiveExposure& c = report.collectives[i];
    text += fmt::format("{:<14} {:>6} {:>11} {:>8} {:>10} {:>10} {:>10}\n", c.what.name,
                        c.what.group == 0 ? "-" : std::to_string(c.what.group),
                        c.what.bytes == 0 ? "-" : fmt::format("{}", Bytes::from(c.what.bytes)),
                        c.calls, time(c.median_ns), time(c.total_ns), time(c.exposed_ns));
  }
  if (report.collectives.size() > kRowsShown) {
    text += fmt::format("and {} more kinds, less exposed; --format json has all\n",
                        report.collectives.size() - kRowsShown);
  }
  return text;
}

Value to_value(const calibration::GpuTrace& trace, const ExposureReport& report) {
  Value devices = Value::array(), collectives = Value::array();
  for (const DeviceExposure& d : report.devices) {
    devices.push(Value::object({{"device", d.device},
                                {"name", d.name},
                                {"span_ns", d.span_ns},
                                {"compute_ns", d.compute_ns},
                                {"communication_ns", d.communication_ns},
                                {"hidden_ns", d.hidden_ns},
                                {"exposed_ns", d.exposed_ns},
                                {"idle_ns", d.idle_ns}}));
  }
  for (const CollectiveExposure& c : report.collectives) {
    collectives.push(Value::object({{"name", c.what.name},
                                    {"ranks", c.what.group},
                                    {"bytes", c.what.bytes},
                                    {"calls", c.calls},
                                    {"median_ns", c.median_ns},
                                    {"total_ns", c.total_ns},
                                    {"exposed_ns", c.exposed_ns}}));
  }
  return Value::object({{"source", trace.source},
                        {"activities", static_cast<std::int64_t>(trace.activities.size())},
                        {"cut", trace.cut},
                        {"devices", std::move(devices)},
                        {"collectives", std::move(collectives)}});
}

std::vector<Compared> compare(const ExposureReport& report, const model::Figures& figures,
                              std::optional<double> runs) {
  const DeviceExposure mean = mean_of(report);
  std::vector<Compared> rows;
  const auto fraction = [](std::int64_t part, std::int64_t whole) -> std::optional<double> {
    if (whole == 0) return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  const auto row_of_ratios = [&](std::string name, std::optional<double> measured,
                                 std::optional<double> predicted) {
    std::optional<double> ratio;
    if (measured && predicted && *predicted != 0) ratio = *measured / *predicted;
    rows.push_back({std::move(name), percent(measured), percent(predicted), ratio});
  };
  row_of_ratios("communication under compute", covered(mean), figures.covered_ratio);
  row_of_ratios(
      "communication over compute", fraction(mean.communication_ns, mean.compute_ns),
      fraction(figures.schedule_communication_only.ps(), figures.schedule_compute_only.ps()));
  if (!runs) return rows;
  const auto row_of_times = [&](std::string name, std::int64_t measured_ns, Duration predicted) {
    const auto per_run = Duration::from_ps(
        static_cast<std::int64_t>(static_cast<double>(of_ns(measured_ns).ps()) / *runs));
    rows.push_back({std::move(name), fmt::format("{}", per_run), fmt::format("{}", predicted),
                    fraction(per_run.ps(), predicted.ps())});
  };
  row_of_times("a run, whole", mean.span_ns, figures.overlapped);
  row_of_times("compute (A_s)", mean.compute_ns, figures.schedule_compute_only);
  row_of_times("communication (B_s)", mean.communication_ns, figures.schedule_communication_only);
  row_of_times("exposed (D - A)", mean.exposed_ns, figures.exposed());
  return rows;
}

std::string describe(const std::vector<Compared>& rows) {
  std::string text = fmt::format("{:<30} {:>12} {:>12} {:>8}\n", "", "trace", "predicted", "ratio");
  for (const Compared& row : rows) {
    text += fmt::format("{:<30} {:>12} {:>12} {:>8}\n", row.figure, row.measured, row.predicted,
                        row.ratio ? fmt::format("{:.2f}", *row.ratio) : "-");
  }
  return text;
}

Value to_value(const std::vector<Compared>& rows) {
  Value all = Value::array();
  for (const Compared& row : rows) {
    Value object = Value::object(
        {{"figure", row.figure}, {"trace", row.measured}, {"predicted", row.predicted}});
    if (row.ratio) object.set("ratio", *row.ratio);
    all.push(std::move(object));
  }
  return all;
}

}  // namespace weft::tool
