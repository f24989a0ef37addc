// SPDX-License-Identifier: Apache-2.0
// `weft accuracy`: how far a profile's predictions and picks are from samples.
#include <chrono>
#include <ostream>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "calibration/accuracy/report.hpp"
#include "calibration/accuracy/results.hpp"
#include "calibration/fit/fit_profile.hpp"
#include "configs/reader/atomic_file.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/profile/json.hpp"
#include "tools/views/accuracy_view.hpp"
#include "tools/weft/build_info.hpp"
#include "tools/weft/commands.hpp"
#include "topologies/read_machine.hpp"

namespace weft::tool {

namespace {

calibration::Occasion now() {
  const std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  const BuildInfo build = build_info();
  return {.date = fmt::format("{:%FT%TZ}", fmt::gmtime(time)),
          .commit = build.commit + (build.dirty ? "-dirty" : "")};
}

}  // namespace

ExitCode accuracy(const AccuracyOptions& options, Context& context) {
  if (options.recorded) {
    context.out << calibration::markdown(calibration::load_final(options.results));
    return ExitCode::ok;
  }
  if (options.final && !options.only.empty())
    throw UsageError("--final is recorded whole: it goes without --only");
  if (options.samples.empty()) throw UsageError("accuracy needs samples: files or folders");
  const model::Profile profile =
      model::load_profile(config_file("profiles", options.profile, context));
  const calibration::Evidence evidence =
      calibration::Evidence::load({options.samples.begin(), options.samples.end()});
  if (evidence.gpus().empty()) {
    throw UsageError("there is no sample there: files end in .jsonl, .jsonl.gz or .csv");
  }
  const calibration::ReportOptions asked{
      .split = options.final ? calibration::Split::final : calibration::Split::loo,
      .against = options.against,
      .only = options.only,
      .machine =
          topology::read_machine(config_file("machines", options.machine, context), context.search)
              .spec};
  const calibration::Report report =
      calibration::make_report(profile, evidence, calibration::fit_profile, asked);
  if (report.errors.empty() && report.decisions.empty())
    throw UsageError("no row has any of these in its name; without --only all are printed");
  if (options.final) calibration::record_final(options.results, report, now());
  if (options.svg) config::write_file(*options.svg, accuracy_plot(report));
  context.out << (context.format == Format::json ? config::to_json(calibration::to_value(report))
                                                 : accuracy_text(report, options.worst));
  return ExitCode::ok;
}

}  // namespace weft::tool
