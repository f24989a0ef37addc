// SPDX-License-Identifier: Apache-2.0
#include "calibration/published/report.hpp"

#include <string_view>

#include <fmt/format.h>

namespace weft::calibration {
namespace {

struct Section {
  PublishedGroup group;
  std::string_view title;
};

constexpr Section sections[] = {
    {PublishedGroup::overlap, "Products with their collectives"},
    {PublishedGroup::collective, "Collectives and copies alone"},
    {PublishedGroup::product, "Products alone"},
};

std::string sign_of(const PublishedRow& row) {
  if (!row.sign) return "";
  return *row.sign ? "right" : "**wrong**";
}

void add_section(const PublishedReport& report, const Section& section, std::string& text) {
  text += fmt::format(
      "\n## {}\n\n| figure | published | predicted | error | win or loss | NCCL itself says | "
      "assumed | source |\n"
      "|---|---|---|---|---|---|---|---|\n",
      section.title);
  for (const PublishedRow& row : report.rows) {
    if (row.group != section.group) continue;
    text += fmt::format("| {} | {} | {} | {:+.0f} % | {} | {} | {} | {} |\n", row.what,
                        row.published, row.predicted, 100 * row.error, sign_of(row), row.baseline,
                        row.assumed, row.source);
  }
}

}  // namespace

std::string headline(const PublishedReport& report) {
  return fmt::format(
      "win or loss right: {} of {} rows that differ by more than 5 %, of the {} losses among them "
      "{}; median error {:.0f} %, and {:.0f} % where the machine is fully stated",
      report.right, report.signs, report.losses, report.losses_right, 100 * report.median_error,
      100 * report.median_stated);
}

std::string to_markdown(const PublishedReport& report) {
  std::string text = fmt::format(
      "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
      "# Predictions beside published figures\n\n"
      "Written by `weft published --markdown FILE`; a test writes it again and compares. Machines "
      "and profiles are the\n"
      "shipped ones, the same for every row; no constant is fitted to a row, save that\n"
      "peer copies of the H100, and the rate of an NVLS port from the bus bandwidth at 8 GPUs, are "
      "what its profile was\n"
      "given. A row takes its schedule's best knobs, and its own dtype: bf16 unless it says "
      "another. "
      "Speed-ups are of\n"
      "unfused over fused; of a row with two times both are compared, too.\n\n{}.\n",
      headline(report));
  for (const Section& section : sections) add_section(report, section, text);
  text +=
      "\n## NVLS all-reduce by GPUs of 8 H100, 2 GiB, bus bandwidth in GB/s\n\n"
      "One constant of the profile, the port's rate, is fitted at 8 GPUs: a port passes (p+1)/p of "
      "the message, and bus\n"
      "bandwidth counts 2 (p-1)/p of it. The other counts follow; there is no table by count.\n\n"
      "| GPUs | published | predicted | error | ring |\n|---|---|---|---|---|\n";
  for (const NvlsPoint& point : report.nvls) {
    text +=
        fmt::format("| {} | {:.0f} | {:.0f} | {:+.0f} % | {:.0f} |\n", point.ranks, point.published,
                    point.predicted, 100 * (point.predicted / point.published - 1), point.ring);
  }
  text +=
      "\n## Rows that are not predicted\n\n| row | published | why | source |\n|---|---|---|---|\n";
  for (const PublishedUncovered& row : published_uncovered())
    text += fmt::format("| {} | {} | {} | {} |\n", row.what, row.published, row.why, row.source);
  text += "\n## Rows that contradict each other, or physics\n\n";
  for (const std::string_view line : published_contradictions())
    text += fmt::format("- {}.\n", line);
  return text;
}

}  // namespace weft::calibration
