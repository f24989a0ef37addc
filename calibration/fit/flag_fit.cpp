// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/flag_fit.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "sim/units/integer.hpp"

namespace weft::calibration {

namespace {

/// Fewer say nothing.
constexpr std::size_t least_products = 5;

std::string product_name(const Case& what) {
  const Shape& s = *what.shape;
  return fmt::format("{} {} {} {} {}", what.library, what.operation, s.m, s.n, s.k);
}

std::int64_t waves_of(const Shape& shape, const Kernel& kernel) {
  const std::int64_t tiles =
      divide_up(shape.m, kernel.tile[0]) * divide_up(shape.n, kernel.tile[1]);
  return divide_up(tiles * kernel.split_k, kernel.grid);
}

}  // namespace

model::Profile fit_tile_flags(model::Profile profile, const std::vector<Observation>& samples) {
  std::map<std::string, const Observation*> alone;
  const auto is_of = [](const Observation& seen, const char* figure) {
    const Case& what = seen.what();
    return !seen.published && what.figure == figure && what.operation == "gemm_rs" &&
           what.backend == "host_link" && what.shape && !what.pass && what.ranks == 2;
  };
  for (const Observation& seen : samples) {
    if (is_of(seen, "A")) alone[product_name(seen.what())] = &seen;
  }
  std::vector<Duration> a_wave;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (!is_of(seen, "A_s") || what.schedule != "device_flag" || what.transport != "copy_engine" ||
        what.chunks != 1)
      continue;
    const auto found = alone.find(product_name(what));
    const Kernel& kernel = seen.sample->kernel;
    if (found == alone.end() || kernel.tile.size() != 3 || kernel.grid <= 0) continue;
    a_wave.push_back(Duration::from_ps((seen.time() - found->second->time()).ps() /
                                       waves_of(*what.shape, kernel)));
  }
  if (a_wave.size() < least_products) return profile;
  const std::size_t products = a_wave.size();
  profile.control.tile_flag = {
      std::max(Duration(), median(std::move(a_wave))),
      {model::SourceKind::fitted,
       fmt::format("{} reductions whose tiles post flags, over the products alone, a wave",
                   products)}};
  return profile;
}

}  // namespace weft::calibration
