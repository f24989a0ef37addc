// SPDX-License-Identifier: Apache-2.0
#include "calibration/import/exposed.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/units/integer.hpp"

namespace weft::calibration {
namespace {

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::vector<Span> union_of(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<Span> whole;
  for (const Span& span : spans) {
    if (span.end <= span.begin) continue;
    if (!whole.empty() && span.begin <= whole.back().end) {
      whole.back().end = std::max(whole.back().end, span.end);
    } else {
      whole.push_back(span);
    }
  }
  return whole;
}

std::int64_t length(const std::vector<Span>& spans) {
  std::int64_t sum = 0;
  for (const Span& span : spans) sum += span.end - span.begin;
  return sum;
}

/// What of `spans` lies outside `cover`; both are unions.
std::vector<Span> outside(const std::vector<Span>& spans, const std::vector<Span>& cover) {
  std::vector<Span> rest;
  std::size_t at = 0;
  for (Span span : spans) {
    while (at < cover.size() && cover[at].end <= span.begin) ++at;
    for (std::size_t i = at; i < cover.size() && cover[i].begin < span.end; ++i) {
      if (cover[i].begin > span.begin) rest.push_back({span.begin, cover[i].begin});
      span.begin = std::max(span.begin, cover[i].end);
    }
    if (span.begin < span.end) rest.push_back(span);
  }
  return rest;
}

/// Splits the exposed time among the operations that run in it.
class Splitter {
 public:
  explicit Splitter(std::map<std::uint32_t, std::int64_t>& parts) : parts_(parts) {}

  void split(const std::vector<Activity>& communication, const std::vector<Span>& exposed) {
    std::vector<Change> changes;
    for (const Activity& each : communication) {
      if (each.end_ns <= each.begin_ns) continue;
      changes.push_back({each.begin_ns, 1, each.what});
      changes.push_back({each.end_ns, -1, each.what});
    }
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return std::pair(a.at, a.step) < std::pair(b.at, b.step);
    });
    std::size_t next = 0;
    std::int64_t running = 0;
    for (const Span& span : exposed) {
      while (next < changes.size() && changes[next].at <= span.begin)
        apply(changes[next++], running);
      std::int64_t at = span.begin;
      while (next < changes.size() && changes[next].at < span.end) {
        share(changes[next].at - at, running);
        at = changes[next].at;
        apply(changes[next++], running);
      }
      share(span.end - at, running);
    }
  }

 private:
  struct Change {
    std::int64_t at;
    std::int64_t step;
    std::uint32_t what;
  };

  void apply(const Change& change, std::int64_t& running) {
    running += change.step;
    auto& count = active_[change.what];
    count += change.step;
    if (count == 0) active_.erase(change.what);
  }

  void share(std::int64_t time, std::int64_t running) {
    if (time <= 0 || running <= 0) return;
    std::int64_t given = 0, before = 0;
    for (const auto& [what, count] : active_) {  // parts sum to the time, to the nanosecond
      before += count;
      const auto upto = static_cast<std::int64_t>(Int128{time} * before / running);
      parts_[what] += upto - given;
      given = upto;
    }
  }

  std::map<std::uint32_t, std::int64_t>& parts_;
  std::map<std::uint32_t, std::int64_t> active_;
};

}  // namespace

ExposureReport exposure_of(const GpuTrace& trace) {
  ExposureReport report;
  std::map<std::int32_t, std::vector<const Activity*>> by_device;
  std::map<std::uint32_t, std::vector<std::int64_t>> durations;
  for (const Activity& each : trace.activities) by_device[each.device].push_back(&each);
  std::map<std::uint32_t, std::int64_t> parts;
  for (const auto& [device, activities] : by_device) {
    DeviceExposure figures;
    figures.device = device;
    if (const auto name = trace.devices.find(device); name != trace.devices.end()) {
      figures.name = name->second;
    }
    std::vector<Span> compute, communication, all;
    std::vector<Activity> communicating;
    std::int64_t first = activities.front()->begin_ns, last = activities.front()->end_ns;
    for (const Activity* each : activities) {
      first = std::min(first, each->begin_ns);
      last = std::max(last, each->end_ns);
      const ActivityKind kind = trace.operations[each->what].kind;
      const Span span{each->begin_ns, each->end_ns};
      if (kind == ActivityKind::compute) compute.push_back(span);
      if (kind != ActivityKind::communication) continue;
      communication.push_back(span);
      communicating.push_back(*each);
      figures.communication_sum_ns += span.end - span.begin;
      durations[each->what].push_back(span.end - span.begin);
    }
    all = compute;
    all.insert(all.end(), communication.begin(), communication.end());
    compute = union_of(std::move(compute));
    communication = union_of(std::move(communication));
    const std::vector<Span> exposed = outside(communication, compute);
    figures.span_ns = last - first;
    figures.compute_ns = length(compute);
    figures.communication_ns = length(communication);
    figures.exposed_ns = length(exposed);
    figures.hidden_ns = figures.communication_ns - figures.exposed_ns;
    figures.idle_ns = figures.span_ns - length(union_of(std::move(all)));
    Splitter(parts).split(communicating, exposed);
    report.devices.push_back(std::move(figures));
  }
  for (auto& [what, times] : durations) {
    CollectiveExposure row;
    row.what = trace.operations[what];
    row.calls = static_cast<std::int64_t>(times.size());
    for (const std::int64_t time : times) row.total_ns += time;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
    std::nth_element(times.begin(), middle, times.end());
    row.median_ns = *middle;
    row.exposed_ns = parts[what];
    report.collectives.push_back(row);
  }
  std::stable_sort(report.collectives.begin(), report.collectives.end(),
                   [](const CollectiveExposure& a, const CollectiveExposure& b) {
                     return a.exposed_ns > b.exposed_ns;
                   });
  return report;
}

}  // namespace weft::calibration
