// SPDX-License-Identifier: Apache-2.0
// Profiles as JSON, schema "weft.profile/1": every number is {value, source}, quantities are text with a unit.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "configs/reader/document.hpp"
#include "configs/reader/schema.hpp"
#include "configs/reader/spot.hpp"
#include "configs/reader/value.hpp"
#include "models/profile/profile.hpp"

namespace weft::model {

/// Reads a profile; throws config::ConfigErrors with everything that is wrong in the file.
[[nodiscard]] Profile read_profile(const config::Document& document);
[[nodiscard]] Profile load_profile(const std::filesystem::path& file);

/// The numbers of a profile file that nobody measured, fitted or published.
[[nodiscard]] std::vector<config::SourcedUse> assumed_numbers(const config::Document& document);

/// The profile as a JSON value; reading it back gives an equal profile.
[[nodiscard]] config::Value to_value(const Profile& profile);

/// The keys of the format, for `weft schema`.
[[nodiscard]] config::TypeDescription describe_profile();

}  // namespace weft::model
