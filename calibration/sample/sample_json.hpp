// SPDX-License-Identifier: Apache-2.0
// Samples and runs as JSON values, and back.
#pragma once

#include <string>
#include <string_view>

#include "calibration/sample/sample.hpp"
#include "configs/reader/value.hpp"

namespace weft::calibration {

/// The schema's name, which every run line carries.
inline constexpr std::string_view kSampleSchema = "weft.sample/1";

/// The members of a case, in a fixed order, without what is empty or absent.
config::Value case_to_value(const Case& what);

/// One line of a file, without its newline.
std::string to_line(const Run& run);
std::string to_line(const Sample& sample);

/// Adds the lines of `text` to `set`; `name` is for messages. Throws config::ConfigErrors with every
/// error of every line.
void read_lines(std::string_view text, const std::string& name, SampleSet& set);

}  // namespace weft::calibration
