// SPDX-License-Identifier: Apache-2.0
// `weft doctor`: the pre-flight rules over whatever files of a job there are.
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "configs/reader/document.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/export/asked.hpp"
#include "models/import/preflight.hpp"
#include "tools/views/asked_view.hpp"
#include "tools/weft/import_formats.hpp"
#include "tools/weft/planning.hpp"
#include "topologies/import/nccl_xml.hpp"
#include "topologies/import/topo_matrix.hpp"
#include "topologies/read_machine.hpp"

namespace weft::tool {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr Bytes kLargestInput = Bytes::from(std::int64_t{256} << 20);

/// The files of a job, each read as what it is.
struct Job {
  std::optional<model::LaunchArguments> arguments;
  std::optional<model::MegatronJob> job;
  std::optional<model::TpOverlap> overlap;
  std::optional<topology::Survey> survey;
  std::optional<model::PreflightMachine> machine;
  std::optional<std::string> scenario;  ///< file
};

template <class T>
void only_one(const std::optional<T>& there, const std::string& file, std::string_view what) {
  if (there) throw UsageError(fmt::format("{} is a second {}", file, what));
}

void read_overlap(const std::string& text, const std::string& file, Job& job, Context& context) {
  only_one(job.overlap, file, "overlap configuration");
  job.overlap = model::read_tp_overlap(text, file);
  print_notes(job.overlap->notes, context);
}

/// Files whose rules are all their reader's: prints its notes; throws what the reader refuses.
void read_alone(const ImportFormat& format, const std::string& file, Context& context) {
  std::ostringstream unread;
  Context quiet{unread, context.err, Format::text, false, false, context.search};
  const ImportOptions options{file, {}, {}, {}, {}, {}};
  const std::string text = format.streams ? "" : config::read_text(file, kLargestInput);
  static_cast<void>(format.run({file, text, options}, quiet));
  context.err << fmt::format("note: {}: {}, read and legal; no rule looks further into it\n", file,
                             format.name);
}

void read_into(const std::string& file, Job& job, Context& context) {
  const std::string head = head_of(file);
  if (head.find("\"weft.scenario/1\"") != head.npos) {
    only_one(job.scenario, file, "scenario");
    job.scenario = file;
    return;
  }
  const ImportFormat* format = format_like(head);
  if (format == nullptr) {
    throw UsageError(
        fmt::format("{} is no scenario and none of the formats that `weft import` reads", file));
  }
  if (format->name == "tp-overlap") {
    read_overlap(config::read_text(file, kLargestInput), file, job, context);
  } else if (format->name == "nccl-xml" || format->name == "topo-m") {
    only_one(job.survey, file, "topology");
    const std::string text = config::read_text(file, kLargestInput);
    job.survey = format->name == "topo-m" ? topology::read_topo_matrix(text, file)
                                          : topology::read_nccl_xml(text, file);
    print_notes(job.survey->notes, context);
  } else if (format->name == "job") {
    only_one(job.arguments, file, "job");
    job.arguments = model::read_launch_arguments(config::read_text(file, kLargestInput), file);
    job.job = model::megatron_job(*job.arguments);
    print_notes(job.arguments->notes, context);
    print_notes(job.job->notes, context);
  } else {
    read_alone(*format, file, context);
  }
}

/// The overlap configuration that the arguments name, where it is beside them.
void follow_config(Job& job, Context& context) {
  if (job.overlap || !job.job || !job.job->overlap_config) return;
  const fs::path file = fs::path(job.arguments->file).parent_path() / *job.job->overlap_config;
  if (fs::is_regular_file(file)) {
    read_overlap(config::read_text(file, kLargestInput), file.string(), job, context);
  } else {
    context.err << fmt::format("note: {}: {} is not there: its rules are not checked\n",
                               job.arguments->file, *job.job->overlap_config);
  }
}

Value to_json_value(const std::vector<model::PreflightFinding>& findings) {
  Value all = Value::array();
  for (const model::PreflightFinding& each : findings) {
    all.push(Value::object({{"rule", each.rule},
                            {"file", each.file},
                            {"line", each.line},
                            {"what", each.what},
                            {"cost", each.cost}}));
  }
  return all;
}

/// The scenario under the overlap settings of the job: those of a file, or the defaults of a switch.
std::optional<model::AskedPlan> run_scenario(const Job& job, Context& context) {
  if (!job.scenario || !(job.overlap || (job.job && job.job->overlap))) return std::nullopt;
  const model::Plan plan = run_plan(load_scenario(*job.scenario, {}, context), {}, context);
  model::TpOverlap defaults;
  if (!job.overlap) defaults.file = job.arguments->file;
  return model::run_as_asked(plan, job.overlap ? *job.overlap : defaults);
}

}  // namespace

ExitCode doctor(const DoctorOptions& options, Context& context) {
  if (options.files.empty()) {
    for (const model::PreflightRule& rule : model::preflight_rules()) {
      context.out << fmt::format("{:<22} {}\n", rule.name, rule.about);
    }
    return ExitCode::ok;
  }
  Job job;
  for (const std::string& file : options.files) read_into(file, job, context);
  follow_config(job, context);
  if (options.machine) {
    job.machine = model::preflight_machine(
        topology::read_machine(config_file("machines", *options.machine, context), context.search)
            .spec);
  } else if (job.survey) {
    job.machine = model::preflight_machine(*job.survey);
  }
  model::PreflightInput input;
  if (job.arguments) input.arguments = &*job.arguments;
  if (job.job) input.job = &*job.job;
  if (job.overlap) input.overlap = &*job.overlap;
  if (job.survey) input.survey = &*job.survey;
  if (job.machine) input.machine = &*job.machine;
  std::vector<model::PreflightFinding> findings = model::preflight(input);
  const std::optional<model::AskedPlan> asked = run_scenario(job, context);
  if (asked) {
    const std::vector<model::PreflightFinding> ran = model::preflight(*asked);
    findings.insert(findings.end(), ran.begin(), ran.end());
  }
  if (context.format == Format::json) {
    context.out << config::to_json(to_json_value(findings));
  } else {
    for (const model::PreflightFinding& each : findings) {
      context.out << fmt::format("{}{}: {}: {}\n    costs: {}\n", each.file,
                                 each.line == 0 ? "" : fmt::format(":{}", each.line), each.rule,
                                 each.what, each.cost);
    }
    if (asked) context.out << describe(*asked);
    if (!job.machine) context.out << "no machine is named: rules that need one were not checked\n";
    std::set<std::string_view> broken;
    for (const model::PreflightFinding& each : findings) broken.insert(each.rule);
    context.out << fmt::format("{} of {} rules are broken\n", broken.size(),
                               model::preflight_rules().size());
  }
  return findings.empty() ? ExitCode::ok : ExitCode::failed;
}

}  // namespace weft::tool
