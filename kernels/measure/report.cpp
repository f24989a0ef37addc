// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace weft::kernels {
namespace {

using calibration::Case;
using calibration::Sample;

double microseconds(const Sample& sample) {
  return static_cast<double>(calibration::median(sample.times).ps()) * 1e-6;
}

double quantile(std::vector<double> values, double at) {
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(std::lround(at * last))];
}

/// One schedule of one boundary.
struct Cell {
  Case what;
  std::optional<double> d, a_s, b_s;
};

/// One boundary on one transport of ranks, by one library.
struct Boundary {
  Case what;
  std::optional<double> a;
  std::map<std::string, double> b, c;  ///< by transport
  std::map<std::string, Cell> cells;

  double serial() const {
    double best = 0;
    for (const auto& [transport, time] : c)
      if (best == 0 || time < best) best = time;
    return best;
  }
};

std::vector<Boundary> boundaries_in(const calibration::SampleSet& set) {
  std::map<std::string, Boundary> found;
  for (const Sample& sample : set.samples) {
    const Case& what = sample.what;
    const std::string& figure = what.figure;
    if (what.pass.value_or(0) != 0 || !what.shape || !what.ranks) continue;
    if (figure != "A" && figure != "B" && figure != "C" && figure != "D" && figure != "A_s" &&
        figure != "B_s")
      continue;
    Case same = what;
    same.figure = same.schedule = same.transport = same.variant = "";
    same.chunks = same.margin = same.ctas = std::nullopt;
    same.pace_bytes_per_second = same.in_flight_bytes = std::nullopt;
    Boundary& boundary = found[calibration::key(same)];
    boundary.what = same;
    const double time = microseconds(sample);
    if (figure == "A") boundary.a = time;
    if (figure == "B") boundary.b[what.transport] = time;
    if (figure == "C") boundary.c[what.transport] = time;
    if (figure.size() == 1 && figure != "D") continue;
    Case cell = what;
    cell.figure = "";
    Cell& at = boundary.cells[calibration::key(cell)];
    at.what = cell;
    (figure == "D" ? at.d : figure == "A_s" ? at.a_s : at.b_s) = time;
  }
  std::vector<Boundary> all;
  for (auto& [key, boundary] : found)
    if (boundary.a && !boundary.c.empty()) all.push_back(std::move(boundary));
  return all;
}

std::string mover(const Case& what) {
  const std::string sums = what.variant == "epilogue" ? ", sums in the epilogue" : "";
  if (what.transport != "sm") return "copy engine" + sums;
  return (what.ctas ? std::to_string(*what.ctas) + " CTAs" : "tiles") + sums;
}

/// What the cells of one row of a table say.
struct Row {
  std::vector<double> d_c, a, b, max, ideal;
  int lose = 0;
};

/// The order of rows and what they are called.
std::string row_name(const Case& what) {
  return fmt::format("| {} | {} | {} | {} | {} | {} ", what.library, what.operation, what.backend,
                     what.schedule == "device_flag" ? "one launch" : what.schedule, mover(what),
                     what.margin.value_or(0));
}

void where_fusion_loses(const std::vector<Boundary>& all, std::ostream& out) {
  std::map<std::string, Row> rows;
  for (const Boundary& boundary : all)
    for (const auto& [key, cell] : boundary.cells) {
      if (!cell.d || !cell.a_s || !cell.b_s) continue;
      Row& row = rows[row_name(cell.what)];
      const double d_c = *cell.d / boundary.serial();
      row.lose += d_c > 1 ? 1 : 0;
      row.d_c.push_back(d_c);
      row.a.push_back(*cell.a_s / *boundary.a);
      const auto b = boundary.b.find(cell.what.transport);
      if (b != boundary.b.end()) row.b.push_back(*cell.b_s / b->second);
      row.max.push_back(*cell.d / std::max(*cell.a_s, *cell.b_s));
    }
  out << "| library | boundary | ranks over | schedule | moved by | margin | cells | lose | D/C "
         "median | "
         "best | worst | A_s/A | B_s/B | D/max "
         "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& [name, row] : rows)
    out << name
        << fmt::format("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n",
                       row.d_c.size(), row.lose, quantile(row.d_c, 0.5), quantile(row.d_c, 0),
                       quantile(row.d_c, 1), quantile(row.a, 0.5),
                       row.b.empty() ? 0.0 : quantile(row.b, 0.5), quantile(row.max, 0.5));
}

double ideal_of(const Cell& cell) {
  const Case& what = cell.what;
  const int ranks = *what.ranks;
  const int pieces = (ranks - 1) * what.chunks.value_or(1);
  return ideal_pipeline(*cell.a_s, *cell.b_s, pieces, 1.0 / ranks, what.operation == "ag_gemm");
}

std::string over_ideal(const std::vector<double>& over) {
  return fmt::format("| {} | {:+.1f} % | {:+.1f} % | {:+.1f} % |\n", over.size(),
                     100 * quantile(over, 0.5), 100 * quantile(over, 0.95),
                     100 * quantile(over, 1));
}

void against_ideal(const std::vector<Boundary>& all, std::ostream& out) {
  std::map<std::string, std::vector<double>> rows;
  std::map<std::string, std::vector<double>> by_mover;
  for (const Boundary& boundary : all) {
    // The best chunk count of each schedule, mover and margin; and of each kind of mover.
    std::map<std::string, const Cell*> best;
    std::map<std::string, const Cell*> best_moved;
    for (const auto& [key, cell] : boundary.cells) {
      if (!cell.d || !cell.a_s || !cell.b_s) continue;
      // What is shared after it is summed is no pipeline of two stages.
      if (cell.what.operation != "ag_gemm" && cell.what.operation != "gemm_rs") continue;
      const Cell*& at = best[row_name(cell.what)];
      if (at == nullptr || *cell.d < *at->d) at = &cell;
      const bool engine = cell.what.transport != "sm";
      const Cell*& moved = best_moved[engine                             ? "copy engine"
                                      : cell.what.margin.value_or(0) > 0 ? "CTAs, a margin"
                                                                         : "CTAs, none"];
      if (moved == nullptr || *cell.d < *moved->d) moved = &cell;
    }
    for (const auto& [name, cell] : best) rows[name].push_back(*cell->d / ideal_of(*cell) - 1);
    for (const auto& [name, cell] : best_moved)
      by_mover[name].push_back(*cell->d / ideal_of(*cell) - 1);
  }
  out << "| library | boundary | ranks over | schedule | moved by | margin | cases | median | 95th "
         "| "
         "most |\n|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& [name, over] : rows) out << name << over_ideal(over);
  out << "\n| moved by, at the best schedule and chunk count | cases | median | 95th | most |\n"
         "|---|---|---|---|---|\n";
  for (const auto& [name, over] : by_mover) out << "| " << name << " " << over_ideal(over);
}

void one_launch_or_many(const std::vector<Boundary>& all, std::ostream& out) {
  std::map<std::string, std::map<int, std::vector<double>>> rows;
  for (const Boundary& boundary : all)
    for (const auto& [key, cell] : boundary.cells) {
      if (!cell.d || cell.what.schedule != "device_flag") continue;
      Case other = cell.what;
      other.schedule = "chunked";
      other.in_flight_bytes = std::nullopt;  // which one launch alone keeps to
      const auto many = boundary.cells.find(calibration::key(other));
      if (many == boundary.cells.end() || !many->second.d) continue;
      rows[fmt::format("| {} | {} | {} | {} ", cell.what.operation, cell.what.backend,
                       mover(cell.what), cell.what.margin.value_or(0))][*cell.what.chunks]
          .push_back(*many->second.d / *cell.d);
    }
  out << "| boundary | ranks over | moved by | margin | many launches / one, by chunks |\n"
         "|---|---|---|---|---|\n";
  constexpr int from = 16;  // chunks that the bar speaks of
  double all_logs = 0;
  int count = 0;
  std::string exceptions;
  for (const auto& [name, by_chunks] : rows) {
    out << name << "|";
    for (const auto& [chunks, ratios] : by_chunks) {
      double logs = 0;
      for (const double ratio : ratios) logs += std::log(ratio);
      const double mean = std::exp(logs / static_cast<double>(ratios.size()));
      out << fmt::format(" {}: {:.2f}", chunks, mean);
      if (chunks < from) continue;
      all_logs += logs;
      count += static_cast<int>(ratios.size());
      if (mean < 1) exceptions += fmt::format("\n- {}| {}: {:.2f} |", name, chunks, mean);
    }
    out << " |\n";
  }
  if (count == 0) return;
  out << fmt::format("\nFrom {} chunks on: {:.2f} over {} cells; exceptions: {}\n", from,
                     std::exp(all_logs / count), count, exceptions.empty() ? "none" : exceptions);
}

/// The same products on the same ranks, by both libraries.
struct Meeting {
  std::map<std::string, const Boundary*> by_library;
};

std::string best_name(const Case& what) {
  return fmt::format("{}, {}, {}", what.schedule == "device_flag" ? "one launch" : what.schedule,
                     mover(what), what.chunks.value_or(1));
}

const Cell* best_cell(const Boundary* boundary) {
  const Cell* best = nullptr;
  if (boundary != nullptr)
    for (const auto& [key, cell] : boundary->cells)
      if (cell.what.schedule != "serial" && cell.d && (best == nullptr || *cell.d < *best->d))
        best = &cell;
  return best;
}

void best_of_each(const std::vector<Boundary>& all, std::ostream& out) {
  std::map<std::string, Meeting> meetings;
  for (const Boundary& boundary : all) {
    const Case& what = boundary.what;
    meetings[fmt::format("| {} | {} | {} | {} | {} | {} ", what.operation, what.backend,
                         *what.ranks, what.shape->m, what.shape->n, what.shape->k)]
        .by_library[what.library] = &boundary;
  }
  out << "| boundary | ranks over | ranks | M | N | K | A | B | serial | best of ours | D | best "
         "of "
         "the library | D | serial / best | hidden by ours |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& [name, meeting] : meetings) {
    const auto of = [&, &by = meeting.by_library](const char* library) {
      const auto found = by.find(library);
      return found == by.end() ? nullptr : found->second;
    };
    const Boundary* theirs = of("cublaslt");
    const Cell* ours = best_cell(of("weft"));
    const Cell* other = best_cell(theirs);
    if (theirs == nullptr || ours == nullptr || other == nullptr) continue;
    // NCCL where it ran, the best that did where it cannot.
    const auto nccl = theirs->c.find("library");
    const double serial = nccl == theirs->c.end() ? theirs->serial() : nccl->second;
    double b = 0;
    for (const auto& [transport, time] : theirs->b)
      if (transport == "library" || (nccl == theirs->c.end() && (b == 0 || time < b))) b = time;
    std::string hidden = "-";
    if (ours->a_s && ours->b_s) {
      const double apart = *ours->a_s + *ours->b_s;
      hidden = fmt::format("{:.0f} %", 100 * (apart - *ours->d) / (apart - ideal_of(*ours)));
    }
    out << name
        << fmt::format("| {:.0f} | {:.0f} | {:.0f} | {} | {:.0f} | {} | {:.0f} | {:.2f} | {} |\n",
                       *theirs->a, b, serial, best_name(ours->what), *ours->d,
                       best_name(other->what), *other->d, serial / std::min(*ours->d, *other->d),
                       hidden);
  }
}

}  // namespace

double ideal_pipeline(double compute, double transfers, int pieces, double own, bool gathers) {
  const double each_compute = compute * (1 - own) / pieces;
  const double each_transfer = transfers / pieces;
  const double first = gathers ? compute * own : 0;  // beside the first transfers
  double computed = first;
  double moved = 0;
  for (int i = 0; i < pieces; ++i) {
    if (gathers) {
      moved += each_transfer;
      computed = std::max(computed, moved) + each_compute;
    } else {
      computed += each_compute;
      moved = std::max(computed, moved) + each_transfer;
    }
  }
  return gathers ? computed : std::max(moved, computed + compute * own);
}

void report(const calibration::SampleSet& set, std::ostream& out) {
  const std::vector<Boundary> all = boundaries_in(set);
  out << "## Where fusion loses to serial\n\n";
  where_fusion_loses(all, out);
  out << "\n## D over the ideal pipeline of its own A_s and B_s, at the best chunk count\n\n";
  against_ideal(all, out);
  out << "\n## Many launches over one launch, geometric means of D\n\n";
  one_launch_or_many(all, out);
  out << "\n## The best of each boundary, in us\n\n";
  best_of_each(all, out);
}

}  // namespace weft::kernels
