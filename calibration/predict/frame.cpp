// SPDX-License-Identifier: Apache-2.0
#include "calibration/predict/frame.hpp"

#include <algorithm>

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
  std::map<std::pair<std::string, std::string>, std::vector<Duration>> beyond;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (what.figure != "A" || !usable(seen)) continue;
    const auto found = alone.find(name_of_product(*seen.sample));
    if (found != alone.end())
      beyond[{what.backend, what.library}].push_back(seen.time() - found->second);
  }
  Frames frames;
  for (auto& [key, times] : beyond) {
    // Ranks that share a device share its SMs: their products are others. Their events are those of one device.
    if (times.size() < least_products || key.first == "virtual_ranks") continue;
    frames[key] = std::max(Duration(), median(std::move(times)));
    if (key.first == "host_link") frames[{"virtual_ranks", key.second}] = frames[key];
  }
  return frames;
}

}  // namespace weft::calibration
