// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/refit.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include <fmt/core.h>

#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/gemm_fit.hpp"
#include "models/cost/collective.hpp"

namespace weft::calibration {

namespace {

/// Which published tables speak of which shipped profile. H200 has the links and the NCCL of H100, and takes
/// H100's constants: its own rows stay unseen, and test them.
struct Entry {
  std::string_view profile, collectives_fit, collectives_test, gemm, attention;
};
constexpr Entry kEntries[] = {{"h100-sxm", "h100_sxm", "h100_sxm", "h100_sxm", ""},
                              {"h200-sxm", "h100_sxm", "h200_sxm", "h200_sxm", "h200_sxm"},
                              {"a100-sxm", "a100_sxm", "a100_sxm", "a100_sxm", ""},
                              {"b200-sxm", "b200_sxm", "b200_sxm", "b200_sxm", ""},
                              {"gb200", "gb200", "gb200", "", ""},
                              {"l40s", "l40s", "l40s", "", ""}};

std::string file_name(std::string_view gpu, std::string_view table) {
  return fmt::format("{}__{}.csv", gpu, table);
}

}  // namespace

PublishedTables tables_of(const std::string& profile_name, const std::filesystem::path& folder) {
  std::string known;
  for (const Entry& entry : kEntries) {
    if (entry.profile == profile_name) {
      return {.folder = folder,
              .collectives_fit = std::string(entry.collectives_fit),
              .collectives_test = std::string(entry.collectives_test),
              .gemm = std::string(entry.gemm),
              .attention = std::string(entry.attention)};
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.profile);
  }
  throw std::domain_error(fmt::format(
      "no published table speaks of profile \"{}\" (there are tables of {})", profile_name, known));
}

model::Profile refit(model::Profile profile, const PublishedTables& tables) {
  profile.errors.clear();
  const auto keep = [&](const model::FamilyError& error) { profile.errors.push_back(error); };

  const std::string fit_table = file_name(tables.collectives_fit, "nccl");
  const auto fit_rows = read_collective_table(tables.folder / fit_table);
  const CollectiveFit fit = fit_collectives(profile, fit_rows, collective_form(profile), fit_table);
  profile.collectives = fit.collectives;
  const bool other_gpu = tables.collectives_test != tables.collectives_fit;
  const std::string test_table = file_name(tables.collectives_test, "nccl");
  const auto test_rows = read_collective_table(tables.folder / test_table);
  for (const auto& error : collective_errors(profile, test_rows, other_gpu, test_table))
    keep(error);

  if (!tables.gemm.empty()) {
    const std::string table = file_name(tables.gemm, "gemm");
    const auto shapes = read_gemm_table(tables.folder / table);
    profile.gemm = fit_gemm(profile, shapes, table).constants;
    keep(gemm_error(profile, shapes, table));
  }
  if (!tables.attention.empty()) {
    const std::string table = file_name(tables.attention, "context_attention");
    const auto shapes = read_attention_table(tables.folder / table);
    profile.attention = fit_attention(profile, shapes, table).constants;
    keep(attention_error(profile, shapes, table));
  }
  return profile;
}

FittedProfile fit_tables(const model::Profile& start, const std::filesystem::path& folder) {
  const PublishedTables tables = tables_of(start.name, folder);
  FittedProfile fit;
  fit.profile = refit(start, tables);
  const std::string table = file_name(tables.collectives_fit, "nccl");
  fit.groups.push_back("collectives: the rows of " + table +
                       left_out(noisy_rows(read_collective_table(folder / table))));
  if (tables.gemm.empty()) {
    fit.gaps.push_back({"GEMM constants", "gemm"});
  } else {
    fit.groups.push_back("GEMM: the rows of " + file_name(tables.gemm, "gemm"));
  }
  if (tables.attention.empty()) {
    fit.gaps.push_back({"attention", "a table of prefill attention"});
  } else {
    fit.groups.push_back("attention: the rows of " +
                         file_name(tables.attention, "context_attention"));
  }
  fit.gaps.push_back({"control paths, copies and interference", "all suites"});
  return fit;
}

}  // namespace weft::calibration
