// SPDX-License-Identifier: Apache-2.0
// Fits every group of a profile that the published tables of its GPU can determine, and says how far the result
// is off on the rows that were held out.
#pragma once

#include <filesystem>
#include <string>

#include "calibration/fit/fit_profile.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// Which tables belong to a profile, by GPU; an empty name: none.
struct PublishedTables {
  std::filesystem::path folder;  ///< calibration/samples/published
  std::string collectives_fit;   ///< whose power-of-four rows the constants come from
  std::string
      collectives_test;  ///< whose rows they are tested on: all of them if it is another GPU
  std::string gemm;
  std::string attention;
};

/// The profile with the groups that the tables determine fitted anew, and its errors. Everything else, the
/// library's tiles among it, is kept. Groups whose table is not there keep their constants.
[[nodiscard]] model::Profile refit(model::Profile profile, const PublishedTables& tables);

/// The same of a shipped profile's own tables, and what was fitted.
[[nodiscard]] FittedProfile fit_tables(const model::Profile& start,
                                       const std::filesystem::path& folder);

/// The tables of a shipped profile, by its name; throws std::domain_error with the names that have any.
[[nodiscard]] PublishedTables tables_of(const std::string& profile_name,
                                        const std::filesystem::path& folder);

}  // namespace weft::calibration
