// SPDX-License-Identifier: Apache-2.0
// `weft fit`: samples to a profile.
#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "calibration/accuracy/report.hpp"
#include "calibration/accuracy/residuals.hpp"
#include "calibration/fit/fit_profile.hpp"
#include "calibration/fit/refit.hpp"
#include "configs/reader/atomic_file.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/profile/json.hpp"
#include "tools/weft/commands.hpp"
#include "topologies/read_machine.hpp"

namespace weft::tool {

namespace {

using calibration::FittedNumber;
using calibration::FittedProfile;

std::string text_of(const FittedProfile& fit, const std::string& reference) {
  std::string text = "fitted to " + reference + "\n";
  for (const std::string& group : fit.groups) text += "  " + group + "\n";
  for (const FittedNumber& number : fit.numbers) {
    const std::string band = number.determined
                                 ? fmt::format("+-{:.1f} %", 164.5 * number.relative_error)
                                 : std::string("not determined, kept");
    text += fmt::format("    {:<12} {:<24} {:>12.5g}  {}{}\n", number.group, number.name,
                        number.value, band, number.at_bound ? ", at the limit of its search" : "");
  }
  if (!fit.outliers.empty()) text += "  further off than 10 %, kept with a bounded weight:\n";
  for (const calibration::Outlier& outlier : fit.outliers) {
    text += fmt::format("    {:+.0f} %  {}\n", 100 * outlier.off, outlier.label);
  }
  if (!fit.throttled.empty()) text += "  left out, the device throttled:\n";
  for (const std::string& label : fit.throttled) text += "    " + label + "\n";
  for (const calibration::Gap& gap : fit.gaps) {
    text += fmt::format("  not determined, kept as it was: {} (weft-measure {})\n", gap.what,
                        gap.suite);
  }
  return text;
}

/// The folder among the samples that has a GPU's tables.
std::filesystem::path table_folder(const std::vector<std::string>& samples,
                                   const std::string& gpu) {
  for (const std::string& name : samples) {
    const std::filesystem::path place(name);
    const std::filesystem::path folder =
        std::filesystem::is_directory(place) ? place : place.parent_path();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      if (file.ends_with(".csv") && calibration::gpu_name(file) == gpu) {
        return entry.path().parent_path();
      }
    }
  }
  throw UsageError("there is no table of " + gpu);
}

}  // namespace

ExitCode fit(const FitOptions& options, Context& context) {
  const model::Profile start = model::load_profile(config_file("profiles", options.start, context));
  const calibration::Evidence evidence =
      calibration::Evidence::load({options.samples.begin(), options.samples.end()});
  const std::string gpu = calibration::gpu_name(start.name);
  std::vector<calibration::Observation> rows;
  bool own = false;
  for (const calibration::Observation& seen : evidence.of_gpu(gpu)) {
    if (part_of(seen.what(), seen.published) != calibration::Part::fit) continue;
    rows.push_back(seen);
    own = own || !seen.published;
  }
  if (rows.empty()) {
    throw UsageError(fmt::format("there is no sample of {} that may be fitted (samples are of {})",
                                 gpu, fmt::join(evidence.gpus(), ", ")));
  }
  const std::string reference = "sample set " + evidence.hash_of(gpu);
  FittedProfile fitted;
  if (own) {
    fitted = calibration::fit_samples(start, rows, reference);
    if (options.errors) {
      const auto machine =
          topology::read_machine(config_file("machines", options.machine, context), context.search);
      calibration::add_residuals(fitted.profile, evidence, machine.spec, reference);
    }
  } else {
    fitted = calibration::fit_tables(start, table_folder(options.samples, gpu));
  }
  if (fitted.groups.empty()) {
    context.err << text_of(fitted, reference);
    return ExitCode::failed;
  }
  config::write_file(options.output, config::to_json(model::to_value(fitted.profile)));
  context.out << text_of(fitted, reference);
  return ExitCode::ok;
}

}  // namespace weft::tool
