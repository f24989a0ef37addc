// SPDX-License-Identifier: Apache-2.0
#include "calibration/predict/frame.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "calibration/predict/conditions.hpp"

namespace weft::calibration {
namespace {

/// What a longer product varies by hides the frame.
constexpr Duration longest = Duration::from_ps(250'000'000);
/// Of the highest clock seen: a slower one was held back.
constexpr double full_clock = 0.98;
/// Fewer say nothing.
constexpr std::size_t least_products = 5;

/// The same kernel: a library's best of many is another than the one that its boundaries run.
std::string name_of_product(const Sample& sample) {
  const Shape& s = *sample.what.shape;
  return fmt::format("{} {} {} {} {}", sample.what.library, s.m, s.n, s.k, sample.kernel.name);
}

}  // namespace

std::optional<Duration> frame_of(const Frames& frames, const Case& what) {
  for (const std::string& suite : {what.suite, std::string()}) {
    const auto found = frames.find({what.backend, what.library, suite});
    if (found != frames.end()) return found->second;
  }
  return std::nullopt;
}

Frames frames_of(const std::vector<Observation>& samples) {
  const int boost = highest_clock(samples);
  const auto usable = [&](const Observation& seen) {
    return !seen.published && seen.what().shape && !seen.what().pass && seen.time() < longest &&
           seen.sample->conditions.sm_mhz >= full_clock * boost;
  };
  std::map<std::string, Duration> alone;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (what.suite != "gemm" || what.sms || what.variant == "counter" || !usable(seen)) continue;
    const auto [at, fresh] = alone.try_emplace(name_of_product(*seen.sample), seen.time());
    if (!fresh) at->second = std::min(at->second, seen.time());
  }
  std::set<std::string> whole;  // suites that measure whole schedules
  for (const Observation& seen : samples) {
    if (!seen.published && seen.what().figure == "D") whole.insert(seen.what().suite);
  }
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<Duration>> beyond;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (what.figure != "A" || !usable(seen)) continue;
    const auto found = alone.find(name_of_product(*seen.sample));
    if (found == alone.end()) continue;
    const Duration frame = seen.time() - found->second;
    beyond[{what.backend, what.library, what.suite}].push_back(frame);
    if (whole.empty() || whole.contains(what.suite))
      beyond[{what.backend, what.library, ""}].push_back(frame);
  }
  Frames frames;
  for (auto& [key, times] : beyond) {
    // Ranks that share a device share its SMs: their products are others. Their events are those of one device.
    const auto& [backend, library, suite] = key;
    if (times.size() < least_products || backend == "virtual_ranks") continue;
    const Duration frame = std::max(Duration(), median(std::move(times)));
    frames[key] = frame;
    if (backend == "host_link" && suite.empty()) frames[{"virtual_ranks", library, ""}] = frame;
  }
  return frames;
}

}  // namespace weft::calibration
