// SPDX-License-Identifier: Apache-2.0
// Columns go by the words of the header line, because layouts differ: before 2.13 without root and
// with `error`, later with `#wrong`, from 2.17 on with more at the end. A row is found wherever in a
// line its size, count and type stand, because launchers write before it and ranks inside it.
#include "calibration/import/nccl_tests_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/units/quote.hpp"

namespace weft::calibration {
namespace {

using config::Findings;
using config::TextLine;
using config::whole_number;
using config::words_of;
using Words = std::vector<std::string_view>;

constexpr std::string_view kTypes[] = {"int8",   "uint8",  "int32",    "uint32",  "int64",
                                       "uint64", "half",   "float",    "double",  "bfloat16",
                                       "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"};

constexpr std::pair<std::string_view, std::string_view> kPrograms[] = {
    {"all_reduce_perf", "all_reduce"},
    {"all_gather_perf", "all_gather"},
    {"reduce_scatter_perf", "reduce_scatter"},
    {"alltoall_perf", "all_to_all"},
    {"broadcast_perf", "broadcast"},
    {"sendrecv_perf", "send and receive"},
    {"gather_perf", "gather"},
    {"scatter_perf", "scatter"},
    {"hypercube_perf", "hypercube"},
    {"reduce_perf", "reduce"},
    // As NCCL-tests 2.17 names them in "Collective test starting".
    {"AllReduce", "all_reduce"},
    {"AllGather", "all_gather"},
    {"ReduceScatter", "reduce_scatter"},
    {"AlltoAll", "all_to_all"},
};

bool is_type(std::string_view word) {
  return std::find(std::begin(kTypes), std::end(kTypes), word) != std::end(kTypes);
}

/// "[0]", "[1,0]<stdout>:", "[1,0]": what launchers put between.
bool is_tag(std::string_view word) {
  return word.starts_with('[') && (word.ends_with(']') || word.ends_with(">:"));
}

/// The words of a row from its size on; empty if the line is none.
Words row_of(std::string_view line) {
  if (const std::size_t mark = line.rfind(">:"); mark != std::string_view::npos) {
    line.remove_prefix(mark + 2);
  }
  Words words = words_of(line);
  std::erase_if(words, is_tag);
  for (std::size_t i = 0; i + 3 < words.size() && i < 8; ++i) {
    if (whole_number(words[i]) && whole_number(words[i + 1]) && is_type(words[i + 2])) {
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
      return words;
    }
  }
  return {};
}

/// The column names of a header line; empty if the line is none.
Words header_of_row(std::string_view line) {
  const Words words = words_of(line);
  const auto size = std::find(words.begin(), words.end(), "size");
  if (size == words.end() || std::find(size, words.end(), "time") == words.end() ||
      std::find(size, words.end(), "busbw") == words.end()) {
    return {};
  }
  return {size, words.end()};
}

/// What a column is called in which half of the table.
std::size_t column(const std::vector<std::string>& header, std::string_view name, int half) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] == name && half-- == 0) return i;
  }
  return header.size();
}

class LogReader {
 public:
  explicit LogReader(Findings& findings) : findings_(findings) {}

  void read(const TextLine& line) {
    const std::string_view text = line.text;
    read_run_marks(line);
    if (const Words header = header_of_row(text); !header.empty()) {
      if (!run_.rows.empty()) flush(true);
      header_.assign(header.begin(), header.end());
      mark(line);
    } else if (const Words row = row_of(text); !row.empty()) {
      read_row(line, row);
    } else if (text.find(" Rank ") != text.npos && text.find(" on ") != text.npos) {
      read_rank(line);
    } else if (const std::size_t at = text.find("Avg bus bandwidth"); at != text.npos) {
      const std::size_t colon = text.find(':', at);
      if (colon != text.npos)
        run_.average = config::real_number(config::trimmed(text.substr(colon + 1)));
    } else if (!run_.ranks.empty() && run_.rows.empty() && text.find("...") != text.npos) {
      run_.elided = true;
    } else {
      read_failure(line);
    }
  }

  std::vector<NcclRawRun> finish() {
    flush(false);
    return std::move(runs_);
  }

 private:
  void mark(const TextLine& line) {
    if (run_.line == 0) run_.line = line.number;
  }

  bool begun() const { return !run_.rows.empty() || !run_.ranks.empty() || !header_.empty(); }

  void read_run_marks(const TextLine& line) {
    const std::string_view text = line.text;
    const bool begins =
        text.find("nThread") != text.npos || text.find("nccl-tests version") != text.npos;
    if (begins && begun()) flush(false);
    if (begins) mark(line);
    if (const auto at = text.find("nccl-tests version"); at != text.npos) {
      const Words words = words_of(text.substr(at));
      if (words.size() > 2) version_ = words[2];
      for (const std::string_view word : words) {
        if (word.starts_with("nccl-library=")) library_ = word.substr(13);
      }
    }
    if (const auto at = text.find("NCCL version "); at != text.npos) {
      const Words words = words_of(text.substr(at));
      if (words.size() > 2) library_ = words[2];
    }
    if (const auto at = text.find("nranks "); at != text.npos) {
      const Words words = words_of(text.substr(at));
      if (const auto ranks = words.size() > 1 ? whole_number(words[1]) : std::nullopt)
        run_.nranks = ranks;
    }
    if (const std::string operation = collective_in(text); !operation.empty()) {
      if (operation != operation_ ? begun() : run_.average.has_value()) flush(false);
      operation_ = operation;
    }
  }

  /// "#  Rank  0 Group  0 Pid  77 on  host device  0 [0x1b] NVIDIA H100"
  void read_rank(const TextLine& line) {
    const Words words = words_of(line.text);
    const auto at = std::find(words.begin(), words.end(), "Rank");
    const auto on = std::find(at, words.end(), "on");
    if (words.end() - at < 2 || words.end() - on < 4) return;
    const auto rank = whole_number(at[1]);
    if (!rank || *rank < 0 || *rank > 1 << 20 || on[2] != "device") return;
    mark(line);
    std::string device(on[3]);
    if (words.end() - on > 4) device += on[4];
    run_.ranks.emplace(*rank, std::pair(std::string(on[1]), device));
    if (const std::size_t bracket =
            line.text.find("] ", static_cast<std::size_t>(on->data() - line.text.data()));
        bracket != std::string::npos) {
      run_.device = config::trimmed(std::string_view(line.text).substr(bracket + 2));
    }
  }

  void read_row(const TextLine& line, const Words& words) {
    mark(line);
    if (header_.empty()) assume_header(line, words.size());
    if (header_.empty()) return;
    NcclRow row{line.number, *whole_number(words[0]), std::string(words[2]), {}, {}, {}};
    if (row.bytes <= 0) return;
    const std::size_t redop = column(header_, "redop", 0);
    if (redop < words.size()) row.redop = words[redop];
    row.out_of_place = figures(words, 0);
    row.in_place = figures(words, 1);
    if (words.size() < header_.size()) {
      findings_.note(line.number,
                     fmt::format("the row is cut: {} of {} columns", words.size(), header_.size()));
    }
    run_.rows.push_back(std::move(row));
  }

  void assume_header(const TextLine& line, std::size_t words) {
    if (words == 13) {
      header_ = {"size",  "count",  "type", "redop", "root",  "time",  "algbw",
                 "busbw", "#wrong", "time", "algbw", "busbw", "#wrong"};
    } else if (words == 12) {
      header_ = {"size",  "count", "type", "redop", "time",  "algbw",
                 "busbw", "error", "time", "algbw", "busbw", "error"};
    } else {
      findings_.note(line.number, "a row without a line of column names is ignored");
      return;
    }
    findings_.note(
        line.number,
        fmt::format("no line names the columns: taken as those of nccl-tests with {}", words));
  }

  std::optional<NcclFigures> figures(const Words& words, int half) const {
    const auto number = [&](std::string_view name) -> std::optional<double> {
      const std::size_t at = column(header_, name, half);
      return at < words.size() ? config::real_number(words[at]) : std::nullopt;
    };
    const auto time = number("time"), algbw = number("algbw"), busbw = number("busbw");
    if (!time || !algbw || !busbw || *time <= 0 || *time > 1e12 || *algbw < 0 || *busbw < 0) {
      return std::nullopt;
    }
    NcclFigures figures{*time, *algbw, *busbw, false};
    const auto wrong = number("#wrong");
    const auto error = number("error");
    figures.wrong = (wrong && *wrong > 0) || (error && *error > 1e-2);
    return figures;
  }

  void read_failure(const TextLine& line) {
    for (const std::string_view sign :
         {"Test NCCL failure", "Test CUDA failure", "NCCL failure", "unhandled cuda error",
          "unhandled system error", "out of memory", "Segmentation fault", "CANCELLED",
          "DUE TO TIME LIMIT", "Watchdog", "MPI_ABORT", "Aborted", "exited on signal"}) {
      if (line.text.find(sign) == std::string::npos) continue;
      run_.failures.emplace_back(line.number, std::string(config::trimmed(line.text)));
      mark(line);
      return;
    }
  }

  /// Ends a run; a second table of the same program has the ranks of the first.
  void flush(bool same_program) {
    run_.operation = operation_;
    run_.version = version_;
    run_.library = library_;
    const NcclRawRun before = run_;
    if (begun() || !run_.failures.empty()) runs_.push_back(std::move(run_));
    run_ = {};
    header_.clear();
    if (!same_program) return;
    run_.ranks = before.ranks;
    run_.device = before.device;
    run_.elided = before.elided;
    run_.nranks = before.nranks;
  }

  Findings& findings_;
  std::vector<NcclRawRun> runs_;
  NcclRawRun run_;
  std::vector<std::string> header_;
  std::string operation_, version_, library_;
};

}  // namespace

std::string collective_in(std::string_view text) {
  for (const auto& [program, operation] : kPrograms) {
    const std::size_t at = text.find(program);
    if (at == std::string_view::npos) continue;
    const bool camel = program.front() < 'a';
    if (!camel || text.find("Collective test starting") != text.npos) return std::string(operation);
  }
  return {};
}

std::vector<NcclRawRun> read_nccl_runs(std::string_view text, Findings& findings) {
  LogReader reader(findings);
  for (const TextLine& line : config::text_lines(text)) reader.read(line);
  return reader.finish();
}

}  // namespace weft::calibration
