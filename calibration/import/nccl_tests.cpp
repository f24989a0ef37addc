// SPDX-License-Identifier: Apache-2.0
// From the runs of a nccl-tests log to samples. With n ranks, busbw / algbw is 2(n-1)/n for
// all-reduce and (n-1)/n for all-gather, reduce-scatter and all-to-all (nccl-tests,
// doc/PERFORMANCE.md): it checks each row, and gives n where no rank is listed. busbw may exceed the
// link's rate: a switch that reduces (NVLS) moves fewer bytes than the definition counts.
#include "calibration/import/nccl_tests.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibration/import/nccl_tests_text.hpp"
#include "configs/reader/foreign_text.hpp"
#include "sim/units/collective.hpp"
#include "sim/units/dtype.hpp"
#include "sim/units/quote.hpp"

namespace weft::calibration {
namespace {

using config::Findings;

constexpr double kRounding = 0.0051;  // bandwidths have two decimals
constexpr double kSlack = 0.02;
constexpr int kMostRanks = 1 << 20;

struct NotNccl {
  std::string_view mark;
  std::string_view what;
};
constexpr NotNccl kNotNccl[] = {
    {"# OSU MPI", "a log of the OSU micro-benchmarks"},
    {"rccl-tests version", "a log of rccl-tests on AMD GPUs"},
    {"BW peak[", "a log of perftest (ib_write_bw and its kin)"},
    {"nvbandwidth Version", "a log of nvbandwidth"},
    {"mscclpp-test", "a log of mscclpp-test"},
};

const NotNccl* not_nccl(std::string_view text) {
  for (const NotNccl& each : kNotNccl) {
    if (text.find(each.mark) != std::string_view::npos) return &each;
  }
  return nullptr;
}

double factor(CollectiveOp op, int ranks) {
  return static_cast<double>(wire_numerator(op, ranks)) / ranks;
}

/// Ranks that a ratio of busbw to algbw means, or nothing.
std::optional<int> ranks_of_ratio(CollectiveOp op, double ratio) {
  const double share = op == CollectiveOp::all_reduce ? ratio / 2 : ratio;
  if (share <= 0.4 || share >= 1) return std::nullopt;
  const double ranks = 1 / (1 - share);
  if (ranks > 4096) return std::nullopt;
  return static_cast<int>(std::lround(ranks));
}

/// The ratio of busbw to algbw in the row with the most bandwidth, where rounding matters least, of
/// those that agree with most rows.
std::optional<double> ratio_of(const NcclRawRun& run) {
  std::vector<std::pair<double, double>> by_rate;
  std::vector<double> ratios;
  for (const NcclRow& row : run.rows) {
    for (const auto* half : {&row.out_of_place, &row.in_place}) {
      if (!*half || (*half)->algbw < 1) continue;
      ratios.push_back((*half)->busbw / (*half)->algbw);
      by_rate.emplace_back((*half)->algbw, ratios.back());
    }
  }
  if (ratios.empty()) return std::nullopt;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  std::optional<std::pair<double, double>> best;
  for (const auto& each : by_rate) {
    if (std::abs(each.second - *middle) <= kSlack && (!best || each.first > best->first))
      best = each;
  }
  return best->second;
}

class RunConverter {
 public:
  RunConverter(const NcclRawRun& run, const std::string& file, Findings& findings)
      : run_(run), file_(file), findings_(findings) {}

  NcclTestsRun convert(SampleSet& set) {
    result_.line = run_.line;
    result_.rows = run_.rows.size();
    for (const auto& [line, text] : run_.failures) {
      findings_.note(line, fmt::format("the run failed: {}", in_quotes(text, 120)));
    }
    result_.operation = operation();
    if (run_.rows.empty()) {
      findings_.note(run_.line, "this run has no rows: it failed, hung or is cut");
      return result_;
    }
    const auto op = collective_op_of(result_.operation);
    find_ranks(op);
    if (!op) {
      findings_.note(
          run_.line,
          result_.operation.empty()
              ? std::string("neither the log, its name nor the bandwidths say "
                            "which collective this is: its rows are left out")
              : fmt::format("{} is not modelled: its rows are left out", result_.operation));
    } else if (result_.ranks < 2) {
      findings_.note(run_.line, "how many ranks ran is not to be found: the rows are left out");
    } else {
      add_samples(*op, set);
    }
    check_summary();
    return result_;
  }

 private:
  std::string operation() {
    if (!run_.operation.empty()) return run_.operation;
    std::string named = collective_in(file_);
    if (named.empty()) {
      for (const auto& [word, operation] :
           {std::pair("all_reduce", "all_reduce"), std::pair("allreduce", "all_reduce"),
            std::pair("all_gather", "all_gather"), std::pair("allgather", "all_gather"),
            std::pair("reduce_scatter", "reduce_scatter"), std::pair("alltoall", "all_to_all")}) {
        if (file_.find(word) != std::string::npos) named = operation;
      }
    }
    if (!named.empty()) {
      findings_.note(
          run_.line,
          fmt::format("which collective it is is taken from the file's name: {}", named));
      return named;
    }
    const auto ratio = ratio_of(run_);
    const bool reduces = !run_.rows.empty() && run_.rows.front().redop != "none";
    if (!ratio || !reduces) return {};
    if (*ratio > 1 + kSlack && *ratio < 2 + kSlack) {
      findings_.note(run_.line, fmt::format("which collective it is is taken from busbw / algbw, "
                                            "{:.3f}: all_reduce, the only one above 1",
                                            *ratio));
      return "all_reduce";
    }
    const int listed = static_cast<int>(run_.ranks.size());
    if (run_.elided || listed < 2) return {};
    for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::reduce_scatter}) {
      if (std::abs(*ratio - factor(op, listed)) > kSlack) continue;
      findings_.note(run_.line,
                     fmt::format("which collective it is is taken from busbw / algbw of {} "
                                 "ranks: {}",
                                 listed, name_of(op)));
      return std::string(name_of(op));
    }
    return {};
  }

  void find_ranks(std::optional<CollectiveOp> op) {
    std::set<std::string> hosts;
    std::set<std::pair<std::string, std::string>> devices;
    for (const auto& [rank, place] : run_.ranks) {
      hosts.insert(place.first);
      if (!devices.insert(place).second) {
        findings_.note(run_.line, fmt::format("two ranks share device {} of {}",
                                              in_quotes(place.second), in_quotes(place.first)));
      }
    }
    result_.hosts = static_cast<int>(hosts.size());
    const bool whole =
        !run_.ranks.empty() && !run_.elided &&
        run_.ranks.rbegin()->first + 1 == static_cast<std::int64_t>(run_.ranks.size());
    if (whole) {
      result_.ranks = static_cast<int>(run_.ranks.size());
      result_.ranks_from = "its rank lines";
    } else if (run_.nranks && *run_.nranks > 0 && *run_.nranks <= kMostRanks) {
      result_.ranks = static_cast<int>(*run_.nranks);
      result_.ranks_from = "nranks";
    }
    const auto ratio = op ? ratio_of(run_) : std::nullopt;
    const auto derived = ratio ? ranks_of_ratio(*op, *ratio) : std::nullopt;
    if (result_.ranks == 0 && derived) {
      result_.ranks = *derived;
      result_.ranks_from = "busbw / algbw";
      findings_.note(run_.line,
                     fmt::format("ranks are {}: busbw / algbw is {:.3f} at the largest rate",
                                 *derived, *ratio));
      if (run_.elided) result_.hosts = 0;
    }
    if (!whole && result_.ranks > static_cast<int>(run_.ranks.size()) && !run_.ranks.empty()) {
      findings_.note(run_.line, fmt::format("{} of {} rank lines are there: the number of hosts is "
                                            "unknown",
                                            run_.ranks.size(), result_.ranks));
      result_.hosts = 0;
    }
  }

  bool consistent(CollectiveOp op, const NcclRow& row, const NcclFigures& f,
                  std::string_view half) {
    const double expected = static_cast<double>(row.bytes) / f.us / 1e3;
    if (std::abs(expected - f.algbw) > kRounding + kSlack * std::max(expected, f.algbw)) {
      findings_.note(row.line,
                     fmt::format("{}: {} bytes in {} us are {:.2f} GB/s, not {}: left out", half,
                                 row.bytes, f.us, expected, f.algbw));
      return false;
    }
    const double times = factor(op, result_.ranks);
    if (std::abs(f.busbw - times * f.algbw) > 2 * kRounding + kSlack * f.busbw) {
      findings_.note(row.line, fmt::format("{}: busbw {} is not {:.3f} times algbw {}: left out",
                                           half, f.busbw, times, f.algbw));
      return false;
    }
    return true;
  }

  void add_samples(CollectiveOp op, SampleSet& set) {
    Run run;
    run.program = run_.version.empty() ? "nccl-tests" : fmt::format("nccl-tests {}", run_.version);
    run.device = run_.device.empty() ? "unknown" : run_.device;
    if (run_.device.empty()) findings_.note(run_.line, "the log does not name the GPUs: unknown");
    run.devices = result_.ranks;
    run.nccl = run_.library;
    const std::size_t before = set.samples.size();
    for (const NcclRow& row : run_.rows) {
      add_half(op, row, row.out_of_place, "out_of_place", set);
      add_half(op, row, row.in_place, "in_place", set);
    }
    result_.samples = set.samples.size() - before;
    if (result_.samples != 0) set.runs.push_back(std::move(run));
    flag_shape();
  }

  void add_half(CollectiveOp op, const NcclRow& row, const std::optional<NcclFigures>& figures,
                std::string_view half, SampleSet& set) {
    if (!figures) return;
    if (figures->wrong) {
      findings_.note(row.line, fmt::format("{}: the result was wrong: left out", half));
      return;
    }
    if (!consistent(op, row, *figures, half)) return;
    Sample sample;
    sample.what.suite = "nccl-tests";
    sample.what.operation = name_of(op);
    sample.what.figure = "time";
    if (const auto dtype = dtype_of(row.dtype)) sample.what.dtype = name_of(*dtype);
    sample.what.library = "nccl";
    sample.what.backend = "nccl";
    sample.what.transport = "library";
    sample.what.variant =
        result_.hosts > 1 ? fmt::format("{}, {} hosts", half, result_.hosts) : std::string(half);
    sample.what.ranks = result_.ranks;
    sample.what.bytes = row.bytes;
    sample.times.push_back(Duration::from_ps(std::llround(figures->us * 1e6)));
    sample.run = static_cast<int>(set.runs.size());
    result_.best_busbw = std::max(result_.best_busbw, figures->busbw);
    set.samples.push_back(std::move(sample));
  }

  /// Names rows that a curve should not have: slower than both neighbours, or a rate that collapses.
  void flag_shape() {
    std::vector<const NcclRow*> rows;
    for (const NcclRow& row : run_.rows) {
      if (row.out_of_place && !row.out_of_place->wrong) rows.push_back(&row);
    }
    double peak = 0;
    bool collapsed = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const NcclFigures& own = *rows[i]->out_of_place;
      if (i > 0 && i + 1 < rows.size() && rows[i]->bytes > rows[i - 1]->bytes &&
          rows[i + 1]->bytes > rows[i]->bytes && own.us > 2 * rows[i - 1]->out_of_place->us &&
          own.us > 1.5 * rows[i + 1]->out_of_place->us) {
        findings_.note(rows[i]->line,
                       fmt::format("outlier: {} bytes take {} us, more than {} bytes do",
                                   rows[i]->bytes, own.us, rows[i + 1]->bytes));
      } else if (!collapsed && own.busbw < 0.7 * peak && rows[i]->bytes >= 1 << 20) {
        collapsed = true;
        findings_.note(rows[i]->line,
                       fmt::format("collapse: busbw falls from {} to {} GB/s at {} bytes", peak,
                                   own.busbw, rows[i]->bytes));
      } else {
        peak = std::max(peak, own.busbw);
      }
    }
  }

  void check_summary() {
    if (!run_.average) {
      findings_.note(run_.rows.back().line, "the log ends before the average: it is cut here");
      return;
    }
    double sum = 0;
    std::size_t count = 0;
    for (const NcclRow& row : run_.rows) {
      for (const auto* half : {&row.out_of_place, &row.in_place}) {
        if (!*half) continue;
        sum += (*half)->busbw;
        ++count;
      }
    }
    const double mean = count == 0 ? 0 : sum / static_cast<double>(count);
    if (std::abs(mean - *run_.average) > kRounding + kSlack * std::max(mean, *run_.average)) {
      findings_.note(run_.line,
                     fmt::format("the log's average busbw is {}, that of its rows {:.2f}: "
                                 "rows are missing",
                                 *run_.average, mean));
    }
  }

  const NcclRawRun& run_;
  const std::string& file_;
  Findings& findings_;
  NcclTestsRun result_;
};

}  // namespace

bool looks_like_nccl_tests(std::string_view text) {
  if (not_nccl(text) != nullptr) return true;
  for (const std::string_view sign : {"nThread", "nccl-tests version", "busbw", "Avg bus bandwidth",
                                      "_perf -b", "NCCL version "}) {
    if (text.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

NcclTestsLog read_nccl_tests(std::string_view text, const std::string& name) {
  Findings findings(name);
  if (const NotNccl* other = not_nccl(text)) {
    findings.error(0, fmt::format("this is {}", other->what), "logs of nccl-tests are read");
    findings.throw_errors();
  }
  NcclTestsLog log;
  for (const NcclRawRun& run : read_nccl_runs(text, findings)) {
    log.runs.push_back(RunConverter(run, name, findings).convert(log.samples));
  }
  if (log.runs.empty()) {
    findings.error(0, "no table of nccl-tests is in this text");
    findings.throw_errors();
  }
  log.notes = findings.take_notes();
  return log;
}

}  // namespace weft::calibration
