// SPDX-License-Identifier: Apache-2.0
// A trace is an object with traceEvents, or the array of events alone. Times are microseconds, with
// decimals or whole; they pass 2^53 nanoseconds, so they are read digit by digit. What a collective
// moved stands on its kernel in traces of PyTorch 2.3 and later only.
#include "calibration/import/kineto.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "calibration/import/json_scan.hpp"
#include "configs/reader/foreign_text.hpp"

namespace weft::calibration {
namespace {

using Token = JsonScanner::Token;
using config::Findings;

constexpr std::int64_t kLongestNs = std::int64_t{1} << 62;
// A kernel that runs for two days is an error of the trace.
constexpr std::int64_t kLongestKernelNs = std::int64_t{1} << 47;

/// Microseconds as they are written, in nanoseconds; nothing if they are no number.
std::optional<std::int64_t> nanoseconds(std::string_view text) {
  std::int64_t whole = 0;
  std::size_t i = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) ++i;
  const std::size_t first = i;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    if (whole > kLongestNs / 10000) return std::nullopt;
    whole = whole * 10 + (text[i] - '0');
  }
  if (i == first) return std::nullopt;
  std::int64_t fraction = 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    int digits = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      if (digits++ < 3) fraction = fraction * 10 + (text[i] - '0');
    }
    for (; digits < 3; ++digits) fraction *= 10;
  }
  if (i != text.size()) {
    const auto real = config::real_number(text);
    if (!real || std::abs(*real) > 4e15) return std::nullopt;
    return std::llround(*real * 1000);
  }
  const std::int64_t value = whole * 1000 + fraction;
  return negative ? -value : value;
}

/// Bytes of an element by the name that PyTorch's collectives give its type.
std::int64_t element_bytes(std::string_view type) {
  if (type == "BFloat16" || type == "Half" || type == "Short") return 2;
  if (type == "Float" || type == "Int") return 4;
  if (type == "Double" || type == "Long") return 8;
  if (type == "Byte" || type == "Char" || type == "Bool" || type.starts_with("Float8")) return 1;
  return 0;
}

struct Event {
  bool gpu = false;
  bool copy = false;
  bool complete = false;  ///< "ph": "X"
  std::string name;
  std::optional<std::int64_t> begin, duration, device, pid;
  std::int64_t elements_in = 0, elements_out = 0, group = 0;
  std::int64_t element = 0;

  void clear() {
    gpu = copy = complete = false;
    name.clear();
    begin = duration = device = pid = std::nullopt;
    elements_in = elements_out = group = element = 0;
  }
};

class TraceReader {
 public:
  TraceReader(JsonScanner& scan, GpuTrace& trace, Findings& findings)
      : scan_(scan), trace_(trace), findings_(findings), index_(trace) {}

  void read() {
    const Token token = scan_.next();
    if (token == Token::begin_array) {
      events();
    } else if (token == Token::begin_object) {
      root();
    } else {
      broken_ = true;
    }
    if (broken_) {
      trace_.cut = true;
      findings_.note(static_cast<std::uint32_t>(std::min<std::uint64_t>(scan_.line(), 0xFFFFFFFFU)),
                     fmt::format("the trace is cut or broken after {} bytes: {} events of it were "
                                 "read",
                                 scan_.offset(), seen_));
    }
    if (bad_ != 0)
      findings_.note(0, fmt::format("{} GPU events without usable times are ignored", bad_));
    if (waits_) {
      findings_.note(0, "the time of SendRecv kernels is mostly waiting for the other side");
    }
    if (!said_group_ && communicates_) {
      findings_.note(0, "groups and message sizes of collectives are not in this trace");
    }
  }

 private:
  /// Reads the members of an object: member(key) must consume the value.
  template <class Member>
  void members(Member&& member) {
    for (Token token = scan_.next(); token != Token::end_object; token = scan_.next()) {
      if (token != Token::key) {
        broken_ = true;
        return;
      }
      key_.assign(scan_.text());
      member(key_);
      if (broken_) return;
    }
  }

  void root() {
    members([&](const std::string& key) {
      if (key == "traceEvents") {
        if (scan_.next() == Token::begin_array) {
          events();
        } else {
          broken_ = true;
        }
      } else if (key == "distributedInfo") {
        object([&](const std::string& name) {
          const auto value = number();
          if (name == "rank") trace_.rank = value;
          if (name == "world_size") trace_.world = value;
        });
      } else if (key == "deviceProperties") {
        devices();
      } else {
        scan_.skip();
      }
    });
  }

  template <class Member>
  void object(Member&& member) {
    const Token token = scan_.next();
    if (token == Token::begin_object) {
      members(member);
    } else if (token == Token::begin_array) {
      scan_.leave();
    } else if (token == Token::broken) {
      broken_ = true;
    }
  }

  void devices() {
    if (scan_.next() != Token::begin_array) return;
    for (Token token = scan_.next(); token != Token::end_array; token = scan_.next()) {
      if (token == Token::broken || token == Token::end) {
        broken_ = true;
        return;
      }
      if (token == Token::begin_array) scan_.leave();
      if (token != Token::begin_object) continue;
      std::int64_t id = -1;
      std::string name;
      members([&](const std::string& key) {
        if (key == "id") {
          id = number().value_or(-1);
        } else if (key == "name") {
          if (scan_.next() == Token::string) name = scan_.text();
        } else {
          scan_.skip();
        }
      });
      if (broken_) return;
      if (id >= 0 && id < 4096) trace_.devices[static_cast<std::int32_t>(id)] = name;
    }
  }

  std::optional<std::int64_t> number() {
    const Token token = scan_.next();
    if (token == Token::begin_object || token == Token::begin_array) scan_.leave();
    if (token == Token::broken) broken_ = true;
    if (token != Token::number && token != Token::string) return std::nullopt;
    return config::whole_number(scan_.text());
  }

  std::optional<std::int64_t> time() {
    const Token token = scan_.next();
    if (token == Token::begin_object || token == Token::begin_array) scan_.leave();
    if (token == Token::broken) broken_ = true;
    if (token != Token::number && token != Token::string) return std::nullopt;
    return nanoseconds(scan_.text());
  }

  void events() {
    for (Token token = scan_.next(); token != Token::end_array; token = scan_.next()) {
      if (token == Token::begin_object) {
        event_.clear();
        members([&](const std::string& key) { event_member(key); });
        if (broken_) return;
        ++seen_;
        if (event_.gpu && event_.complete) keep();
      } else if (token == Token::begin_array) {
        scan_.leave();
      } else if (token == Token::broken || token == Token::end) {
        broken_ = true;
        return;
      }
    }
  }

  void event_member(const std::string& key) {
    if (key == "ts") {
      event_.begin = time();
    } else if (key == "dur") {
      event_.duration = time();
    } else if (key == "ph") {
      event_.complete = scan_.next() == Token::string && scan_.text() == "X";
    } else if (key == "cat") {
      if (scan_.next() != Token::string) return;
      const std::string_view category = scan_.text();
      event_.copy = category == "gpu_memcpy" || category == "gpu_memset" || category == "Memcpy" ||
                    category == "Memset";
      event_.gpu = event_.copy || category == "kernel" || category == "Kernel";
    } else if (key == "name") {
      if (scan_.next() == Token::string) event_.name.assign(scan_.text());
    } else if (key == "pid") {
      event_.pid = number();
    } else if (key == "args") {
      object([&](const std::string& name) { argument(name); });
    } else {
      scan_.skip();
    }
  }

  void argument(const std::string& name) {
    if (name == "device") {
      event_.device = number();
    } else if (name == "In msg nelems") {
      event_.elements_in = number().value_or(0);
    } else if (name == "Out msg nelems") {
      event_.elements_out = number().value_or(0);
    } else if (name == "Group size") {
      event_.group = number().value_or(0);
    } else if (name == "dtype") {
      if (scan_.next() == Token::string) event_.element = element_bytes(scan_.text());
    } else {
      scan_.skip();
    }
  }

  void keep() {
    const std::int64_t device = event_.device.value_or(event_.pid.value_or(0));
    if (!event_.begin || !event_.duration || *event_.duration < 0 ||
        *event_.begin < -kLongestNs / 2 || *event_.begin > kLongestNs / 2 ||
        *event_.duration > kLongestKernelNs || device < 0 ||
        device > std::numeric_limits<std::int32_t>::max()) {
      ++bad_;
      return;
    }
    Operation operation;
    if (event_.copy) {
      const bool peer = event_.name.find("PtoP") != std::string::npos ||
                        event_.name.find("Peer") != std::string::npos;
      operation.kind = peer ? ActivityKind::communication : ActivityKind::memory;
      operation.name = peer ? "peer copy" : "memory";
    } else if (auto collective = communication_of(event_.name)) {
      communicates_ = true;
      waits_ = waits_ || *collective == "SendRecv";
      operation.kind = ActivityKind::communication;
      operation.name = std::move(*collective);
      if (event_.group > 0 && event_.group <= 1 << 20) operation.group = event_.group;
      const std::int64_t elements = std::max(event_.elements_in, event_.elements_out);
      if (elements > 0 && elements < std::int64_t{1} << 48)
        operation.bytes = elements * event_.element;
      said_group_ = said_group_ || operation.group != 0;
    } else {
      operation.name = "compute";
    }
    trace_.activities.push_back({*event_.begin, *event_.begin + *event_.duration,
                                 index_.of(operation), static_cast<std::int32_t>(device)});
  }

  JsonScanner& scan_;
  GpuTrace& trace_;
  Findings& findings_;
  OperationIndex index_;
  Event event_;
  std::string key_;
  std::uint64_t seen_ = 0, bad_ = 0;
  bool broken_ = false, waits_ = false, said_group_ = false, communicates_ = false;
};

GpuTrace read_from(JsonScanner::Source source, const std::string& name) {
  Findings findings(name);
  GpuTrace trace;
  trace.source = "PyTorch profiler";
  JsonScanner scan(std::move(source));
  TraceReader(scan, trace, findings).read();
  if (trace.activities.empty()) {
    findings.error(0,
                   trace.cut ? "the trace is cut or broken before its first GPU kernel"
                             : "no GPU kernel is in this trace",
                   "record with ProfilerActivity.CUDA; a Chrome trace of another program has no "
                   "category \"kernel\"");
  }
  findings.throw_errors();
  trace.notes = findings.take_notes();
  return trace;
}

}  // namespace

bool looks_like_trace(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return true;
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) return false;
  return head.find("\"traceEvents\"") != head.npos || head.find("\"ph\"") != head.npos ||
         (head.find("\"schemaVersion\"") != head.npos &&
          head.find("\"deviceProperties\"") != head.npos);
}

GpuTrace read_kineto(const std::string& file) {
  return read_from(file_source(file), file);
}

GpuTrace parse_kineto(std::string_view text, const std::string& name) {
  return read_from(text_source(text), name);
}

}  // namespace weft::calibration
