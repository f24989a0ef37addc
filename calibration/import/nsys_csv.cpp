// SPDX-License-Identifier: Apache-2.0
// A table of `nsys stats`: lines of progress first, then a header that names units in parentheses,
// then a row an activity. Columns go by the header; a device is "NVIDIA H100 80GB HBM3 (0)".
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "calibration/import/nsys.hpp"
#include "configs/reader/foreign_text.hpp"
#include "sim/units/quote.hpp"

namespace weft::calibration {
namespace {

using config::Findings;
using config::TextLine;

/// The cells of a line, quotes taken off.
std::vector<std::string> comma_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

/// The factor from a column's unit, "Start (ns)", to nanoseconds; 0 if it has none.
double to_nanoseconds(std::string_view title) {
  if (title.find("(ns)") != title.npos) return 1;
  if (title.find("(us)") != title.npos || title.find("(μs)") != title.npos) return 1e3;
  if (title.find("(ms)") != title.npos) return 1e6;
  if (title.find("(s)") != title.npos) return 1e9;
  return 0;
}

class CsvReader {
 public:
  CsvReader(GpuTrace& trace, Findings& findings)
      : trace_(trace), findings_(findings), index_(trace) {}

  void read(const TextLine& line) {
    if (line.text.find("Total Time") != std::string::npos &&
        line.text.find("Instances") != std::string::npos) {
      sums_ = true;
    }
    if (header_.empty()) {
      if (line.text.find("Start (") != std::string::npos &&
          line.text.find("Duration (") != std::string::npos) {
        read_header(line);
      }
      return;
    }
    const std::vector<std::string> cells = comma_cells(line.text);
    if (cells.size() == 1) return;  // blank, or the next report's progress
    if (cells.size() < header_.size()) {
      trace_.cut = true;
      findings_.note(line.number,
                     fmt::format("the row is cut: {} of {} columns", cells.size(), header_.size()));
      return;
    }
    read_row(line, cells);
  }

  bool sums() const { return sums_; }

 private:
  void read_header(const TextLine& line) {
    header_ = comma_cells(line.text);
    for (std::size_t i = 0; i < header_.size(); ++i) {
      const std::string& title = header_[i];
      if (title.starts_with("Start")) start_ = i;
      if (title.starts_with("Duration")) duration_ = i;
      if (title == "Device") device_ = i;
      if (title == "Name") name_ = i;
    }
    start_unit_ = to_nanoseconds(header_[start_]);
    duration_unit_ = to_nanoseconds(header_[duration_]);
    if (header_.size() == 1) {
      findings_.error(line.number, "this is the table that nsys prints for people, without commas",
                      "nsys stats --report cuda_gpu_trace --format csv");
    } else if (name_ == kNone || start_unit_ == 0 || duration_unit_ == 0) {
      findings_.error(line.number, "the table has no Name, or no unit of Start and Duration");
    }
    if (device_ == kNone)
      findings_.note(line.number, "no column says Device: all is taken as of device 0");
  }

  void read_row(const TextLine& line, const std::vector<std::string>& cells) {
    if (name_ == kNone) return;
    const auto start = config::real_number(cells[start_]);
    const auto duration = config::real_number(cells[duration_]);
    if (!start || !duration || *start < 0 || *duration < 0 || *start * start_unit_ > 1e18 ||
        *duration * duration_unit_ > 1e14) {
      findings_.note(line.number,
                     fmt::format("{} and {} are no times: the row is ignored",
                                 in_quotes(cells[start_]), in_quotes(cells[duration_])));
      return;
    }
    const std::int64_t begin = std::llround(*start * start_unit_);
    trace_.activities.push_back({begin, begin + std::llround(*duration * duration_unit_),
                                 index_.of(operation(cells[name_])), device(cells)});
  }

  static Operation operation(const std::string& name) {
    Operation operation;
    operation.name = "compute";
    if (name.starts_with("[CUDA mem")) {
      const bool peer =
          name.find("Peer") != std::string::npos || name.find("PtoP") != std::string::npos;
      operation.kind = peer ? ActivityKind::communication : ActivityKind::memory;
      operation.name = peer ? "peer copy" : "memory";
    } else if (auto collective = communication_of(name)) {
      operation.kind = ActivityKind::communication;
      operation.name = std::move(*collective);
    }
    return operation;
  }

  std::int32_t device(const std::vector<std::string>& cells) {
    if (device_ == kNone) return 0;
    const std::string& text = cells[device_];
    const std::size_t open = text.rfind('(');
    if (open == std::string::npos || !text.ends_with(')')) return 0;
    const auto number =
        config::whole_number(std::string_view(text).substr(open + 1, text.size() - open - 2));
    if (!number || *number < 0 || *number > 4096) return 0;
    const auto id = static_cast<std::int32_t>(*number);
    trace_.devices.emplace(id, config::trimmed(std::string_view(text).substr(0, open)));
    return id;
  }

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  GpuTrace& trace_;
  Findings& findings_;
  OperationIndex index_;
  std::vector<std::string> header_;
  std::size_t start_ = 0, duration_ = 0, device_ = kNone, name_ = kNone;
  double start_unit_ = 0, duration_unit_ = 0;
  bool sums_ = false;
};

}  // namespace

bool looks_like_nsys_csv(std::string_view head) {
  const bool trace = head.find("Start (") != head.npos && head.find("Duration (") != head.npos;
  const bool sums = head.find("Total Time") != head.npos && head.find("Instances") != head.npos;
  return trace || sums;
}

GpuTrace parse_nsys_csv(std::string_view text, const std::string& name) {
  Findings findings(name);
  GpuTrace trace;
  trace.source = "Nsight Systems";
  CsvReader reader(trace, findings);
  for (const TextLine& line : config::text_lines(text)) reader.read(line);
  if (findings.good() && trace.activities.empty()) {
    findings.error(0,
                   reader.sums() ? "these are sums over kernels (cuda_gpu_kern_sum): which of them "
                                   "overlapped cannot be told from sums"
                                 : "no row of a cuda_gpu_trace table is in this text",
                   "nsys stats --report cuda_gpu_trace --format csv");
  }
  findings.throw_errors();
  if (!trace.cut && !text.ends_with('\n')) {
    trace.cut = true;
    findings.note(0, "the text ends within a line: its last row may be cut");
  }
  findings.note(0, "groups and message sizes of collectives are not in this table");
  trace.notes = findings.take_notes();
  return trace;
}

}  // namespace weft::calibration
