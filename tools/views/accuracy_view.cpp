// SPDX-License-Identifier: Apache-2.0
#include "tools/views/accuracy_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/core.h>

#include "tools/views/xml_text.hpp"

namespace weft::tool {

namespace {

using calibration::DecisionRow;
using calibration::ErrorRow;
using calibration::Report;

/// A percentage with a * behind it where it is over its limit.
std::string held_to(double fraction, const std::optional<double>& limit) {
  if (!limit) return fmt::format("{:7.2f} %       ", 100 * fraction);
  return fmt::format("{:7.2f} % /{:4g}{}", 100 * fraction, 100 * *limit,
                     fraction > *limit ? '*' : ' ');
}
std::string at_least(double fraction, const std::optional<double>& limit) {
  if (!limit) return fmt::format("{:7.1f} %       ", 100 * fraction);
  return fmt::format("{:7.1f} % /{:4g}{}", 100 * fraction, 100 * *limit,
                     fraction < *limit ? '*' : ' ');
}

// More than there are rows in the tables; one more row would share the first one's.
constexpr std::array<std::string_view, 16> kColours = {
    "#1b6ca8", "#d1495b", "#2e8b57", "#8e44ad", "#b8860b", "#008b8b", "#708090", "#c71585",
    "#556b2f", "#a0522d", "#4169e1", "#ff7f50", "#20b2aa", "#9acd32", "#000000", "#da70d6"};

/// Microseconds on a logarithmic axis of a square plot.
struct LogAxis {
  double least, most;
  static constexpr double side = 640, margin = 84;
  [[nodiscard]] double at(double us) const {
    return (std::log10(us) - least) / (most - least) * side;
  }
};

double microseconds(Duration time) {
  return static_cast<double>(time.ps()) * 1e-6;
}

LogAxis axis_of(const Report& report) {
  double least = 1e30, most = 0;
  for (const ErrorRow& row : report.errors) {
    for (const auto& point : row.points) {
      for (const Duration time : {point.measured, point.predicted}) {
        least = std::min(least, microseconds(time));
        most = std::max(most, microseconds(time));
      }
    }
  }
  if (most == 0) return {0, 1};
  return {std::floor(std::log10(least)),
          std::max(std::ceil(std::log10(most)), std::floor(std::log10(least)) + 1)};
}

/// The `count` items of the largest size, the largest first; of equals the earlier.
template <class Item, class Size>
std::vector<Item> largest(std::vector<Item> items, int count, const Size& size) {
  std::stable_sort(items.begin(), items.end(),
                   [&](const Item& a, const Item& b) { return size(a) > size(b); });
  items.resize(std::min(items.size(), static_cast<std::size_t>(std::max(0, count))));
  return items;
}

std::string worst_points(const ErrorRow& row, int count) {
  const auto off = [](const calibration::Point& p) { return ratio(p.predicted, p.measured) - 1; };
  std::string text;
  for (const auto& point :
       largest(row.points, count, [&](const auto& p) { return std::abs(off(p)); })) {
    text += fmt::format("    {:+6.1f} %  {:.1f} us for {:.1f} us: {}\n", 100 * off(point),
                        microseconds(point.predicted), microseconds(point.measured), point.label);
  }
  return text;
}

std::string worst_picks(const DecisionRow& row, int count) {
  std::string text;
  for (const auto& decision :
       largest(row.decisions, count, [](const auto& d) { return d.regret; })) {
    text += fmt::format("    {:6.2f} %  {}{}\n", 100 * decision.regret, decision.label,
                        decision.verdict_right.value_or(true) ? "" : ", wrong verdict");
  }
  return text;
}

}  // namespace

std::string accuracy_text(const Report& report, int worst) {
  const bool loo = report.split == calibration::Split::loo;
  std::string text = fmt::format(
      "profile {}, samples {}: {}\n", report.profile, report.evidence,
      loo ? "rows that may be fitted, each fold of shapes left out in turn" : "held-out rows");
  std::size_t width = 10;
  for (const ErrorRow& row : report.errors) width = std::max(width, row.claim.name.size());
  for (const DecisionRow& row : report.decisions) width = std::max(width, row.claim.name.size());
  text += fmt::format("{:<{}} {:>5}  {:<16} {:<16} {:<9} {:<8} in 90 % interval\n", "errors", width,
                      "n", "median", "95th percentile", "worst", "bias");
  for (const ErrorRow& row : report.errors) {
    text +=
        fmt::format("{:<{}} {:>5} {} {} {:7.2f} % {:+6.2f} % {:6.1f} %\n", row.claim.name, width,
                    row.n, held_to(row.median, row.claim.median), held_to(row.p95, row.claim.p95),
                    100 * row.worst, 100 * row.bias, 100 * row.coverage);
    text += worst_points(row, worst);
  }
  if (report.decisions.empty()) return text;
  text += fmt::format("\n{:<{}} {:>5}  {:<9} {:<16} {:<16} {:<16} {:<16} {:<16} noise\n",
                      "decisions", width, "n", "exact", "within 1 %", "regret mean",
                      "95th percentile", "largest", "verdict right");
  for (const DecisionRow& row : report.decisions) {
    text += fmt::format("{:<{}} {:>5} {:7.1f} % {} {} {} {} {:7.1f} % of {:<3} {:7.2f} %\n",
                        row.claim.name, width, row.n, 100 * row.exact,
                        at_least(row.within_1pct, row.claim.within_1pct),
                        held_to(row.regret_mean, row.claim.regret_mean),
                        held_to(row.regret_p95, row.claim.regret_p95),
                        held_to(row.regret_max, row.claim.regret_max), 100 * row.verdict_right,
                        row.verdicts, 100 * row.noise);
    text += worst_picks(row, worst);
  }
  return text;
}

std::string accuracy_plot(const Report& report) {
  const LogAxis axis = axis_of(report);
  const double side = LogAxis::side, margin = LogAxis::margin;
  const double legend = 18.0 * static_cast<double>(report.errors.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "fill=\"white\"/>\n",
      side + 2 * margin, side + 2 * margin + legend);
  for (double decade = axis.least; decade <= axis.most + 0.5; decade += 1) {
    const double at = axis.at(std::pow(10.0, decade));
    const std::string name = fmt::format("{:g} us", std::pow(10.0, decade));
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}M{1:.1f} {3:.1f}H{2:.1f}\" stroke=\"#ddd\"/>\n"
        "<text x=\"{0:.1f}\" y=\"{4:.1f}\" text-anchor=\"middle\">{5}</text>\n"
        "<text x=\"{6:.1f}\" y=\"{3:.1f}\" text-anchor=\"end\">{5}</text>\n",
        margin + at, margin, margin + side, margin + side - at, margin + side + 18, name,
        margin - 4);
  }
  svg += fmt::format(
      "<path d=\"M{0} {1}L{1} {0}\" stroke=\"black\"/>\n<text x=\"{2}\" y=\"{3}\" "
      "text-anchor=\"middle\">measured</text>\n<text x=\"{0}\" y=\"{4}\">predicted</text>\n",
      margin, margin + side, margin + side / 2, margin + side + 36, margin - 12);
  for (std::size_t i = 0; i < report.errors.size(); ++i) {
    const ErrorRow& row = report.errors[i];
    const std::string_view colour = kColours[i % kColours.size()];
    const double y = side + margin + 56 + 18.0 * static_cast<double>(i);
    svg += fmt::format("<g fill=\"{}\" fill-opacity=\"0.5\">\n", colour);
    for (const auto& point : row.points) {
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"/>\n",
                         margin + axis.at(microseconds(point.measured)),
                         margin + side - axis.at(microseconds(point.predicted)));
    }
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/></g>\n<text x=\"{:.1f}\" "
        "y=\"{:.1f}\">{} ({})</text>\n",
        margin + 6, y - 4, margin + 18, y, xml_text(row.claim.name), row.n);
  }
  return svg + "</svg>\n";
}

}  // namespace weft::tool
