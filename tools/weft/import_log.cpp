// SPDX-License-Identifier: Apache-2.0
// `weft import` of what was measured: logs become samples, traces become figures.
#include <ostream>

#include <fmt/format.h>

#include "calibration/import/exposed.hpp"
#include "calibration/import/kineto.hpp"
#include "calibration/import/nccl_tests.hpp"
#include "calibration/import/nsys.hpp"
#include "calibration/sample/sample_file.hpp"
#include "calibration/sample/sample_json.hpp"
#include "configs/reader/json_writer.hpp"
#include "tools/views/exposure_view.hpp"
#include "tools/weft/import_formats.hpp"

namespace weft::tool {
namespace {

std::string lines_of(const calibration::SampleSet& set) {
  std::string lines;
  for (std::size_t run = 0; run < set.runs.size(); ++run) {
    lines += to_line(set.runs[run]) + "\n";
    for (const calibration::Sample& sample : set.samples) {
      if (sample.run == static_cast<int>(run)) lines += to_line(sample) + "\n";
    }
  }
  return lines;
}

ExitCode show_trace(const calibration::GpuTrace& trace, const ImportInput& input,
                    Context& context) {
  print_notes(trace.notes, context);
  const calibration::ExposureReport report = calibration::exposure_of(trace);
  const bool json = context.format == Format::json || input.options.out;
  deliver(json ? config::to_json(to_value(trace, report)) : describe(trace, report), input,
          context);
  return ExitCode::ok;
}

}  // namespace

ExitCode import_nccl_tests(const ImportInput& input, Context& context) {
  const calibration::NcclTestsLog log = calibration::read_nccl_tests(input.text, input.name);
  print_notes(log.notes, context);
  for (const calibration::NcclTestsRun& run : log.runs) {
    context.err << fmt::format("{} at line {}: {} rows, {} samples",
                               run.operation.empty() ? "unknown" : run.operation, run.line,
                               run.rows, run.samples);
    if (run.ranks > 0) context.err << fmt::format(", {} ranks ({})", run.ranks, run.ranks_from);
    if (run.hosts > 0) context.err << fmt::format(" on {} host(s)", run.hosts);
    if (run.samples > 0) context.err << fmt::format(", up to {} GB/s busbw", run.best_busbw);
    context.err << '\n';
  }
  if (log.samples.samples.empty()) {
    context.err << "no sample came of this log\n";
    return ExitCode::failed;
  }
  const bool compressed = input.options.out && input.options.out->ends_with(".gz");
  const std::string lines = lines_of(log.samples);
  deliver(compressed ? calibration::compress(lines) : lines, input, context);
  return ExitCode::ok;
}

ExitCode import_kineto(const ImportInput& input, Context& context) {
  return show_trace(calibration::read_kineto(input.name), input, context);
}

ExitCode import_nsys_sqlite(const ImportInput& input, Context& context) {
  return show_trace(calibration::read_nsys_sqlite(input.name), input, context);
}

ExitCode import_nsys_csv(const ImportInput& input, Context& context) {
  return show_trace(calibration::parse_nsys_csv(input.text, input.name), input, context);
}

}  // namespace weft::tool
