// SPDX-License-Identifier: Apache-2.0
// What a measured repetition of a boundary takes beside its work. It begins with an event that every stream of every
// rank waits for and ends with one that waits for all of them; where ranks are on several devices, those events cross
// between them. Plans have no such frame, so that it is no constant of a profile: samples say it of themselves, by
//
//   frame = (product alone, measured as a boundary is) - (the same product, measured by itself)
//
// over short products at the full clock, the median for each back end and library: of a suite's own products where they
// are enough, since suites rest longer or less between repetitions, else of all suites that measure whole schedules.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "sim/units/time.hpp"

namespace weft::calibration {

/// By back end, library and suite, an empty one for any; none where nothing was measured both ways.
using Frames = std::map<std::tuple<std::string, std::string, std::string>, Duration>;

/// The frame of a case.
[[nodiscard]] std::optional<Duration> frame_of(const Frames& frames, const Case& what);

[[nodiscard]] Frames frames_of(const std::vector<Observation>& samples);

}  // namespace weft::calibration
