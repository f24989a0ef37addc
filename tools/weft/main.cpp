// SPDX-License-Identifier: Apache-2.0
// The command line: options and help of every subcommand, and what each failure ends with.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/units/nearest.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/completion.hpp"
#include "tools/weft/failures.hpp"
#include "tools/weft/interrupt.hpp"

namespace {

using namespace weft;
using namespace weft::tool;

// Where an installed weft keeps its configs: beside its own program.
std::optional<std::filesystem::path> installed_share() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return std::nullopt;
  const std::filesystem::path share = self.parent_path().parent_path() / "share" / "weft";
  if (!std::filesystem::is_directory(share, error)) return std::nullopt;
  return share;
}

void add_pins(CLI::App& command, Pinned& pinned) {
  command.add_option("--schedule", pinned.schedule,
                     "Use this schedule instead of what the scenario says");
  command.add_option("--knob", pinned.knobs,
                     "Pin a knob of the schedule: --knob chunks=8 (may be repeated)");
  command.add_option("--layout", pinned.layout,
                     "Fix the layout: tp=8, 'tp=8 sp', 'tp=16 sp scattered', or search");
  command.add_option("--fidelity", pinned.fidelity, "ideal, alpha_beta or contended");
  command.add_option("--cost-model", pinned.cost_model,
                     "Whose numbers price the library's collectives: profile, nccl_tuner, "
                     "nccl_symmetric or flashoverlap");
}

struct Arguments {
  std::string format = "text";
  std::string colour = "auto";
  std::vector<std::string> configs;
  SimulateOptions simulate;
  PlanOptions plan;
  CompareOptions compare;
  CheckOptions check;
  SchedulesOptions schedules;
  MachinesOptions machines;
  AccuracyOptions accuracy;
  FitOptions fit;
  SchemaOptions schema;
  ImportOptions import_file;
  DiffOptions diff;
  ExportOptions export_file;
  DoctorOptions doctor;
  PublishedOptions published;
  std::string shell;
};

void describe(CLI::App& app, Arguments& a) {
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.add_option("--format", a.format, "text, or json for programs")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("--color", a.colour, "auto (only on a terminal), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option("--configs", a.configs,
                 "Folder to look files up in, after that of the file which names them")
      ->check(CLI::ExistingDirectory);
  CLI::App* simulate =
      app.add_subcommand("simulate", "Run one scenario and show its timeline and figures");
  simulate->add_option("scenario", a.simulate.scenario, "A weft.scenario/1 file")->required();
  add_pins(*simulate, a.simulate.pinned);
  simulate->add_option("--trace", a.simulate.trace,
                       "Write a trace for Perfetto or chrome://tracing to this file");
  simulate->add_option("--ranks", a.simulate.ranks, "Ranks that the timeline draws")
      ->check(CLI::Range(1, 65536));
  simulate->add_flag_callback(
      "--no-timeline", [&a] { a.simulate.timeline = false; }, "Figures only");
  simulate->add_flag("--explain", a.simulate.explain, "Say where exposed time comes from");

  CLI::App* plan =
      app.add_subcommand("plan", "Search layouts, schedules and knobs, and say what to overlap");
  plan->add_option("scenario", a.plan.scenario, "A weft.scenario/1 file")->required();
  add_pins(*plan, a.plan.pinned);
  plan->add_flag("--exhaustive", a.plan.exhaustive, "Simulate every point: no bounds");
  plan->add_flag("--explain", a.plan.explain, "Say where exposed time comes from");
  plan->add_option("--threads", a.plan.threads, "Threads; results do not depend on it")
      ->check(CLI::Range(0, 1024));
  plan->add_option("--top", a.plan.top, "Candidates to list for each boundary")
      ->check(CLI::Range(1, 10));
  plan->add_option("--emit", a.plan.emit,
                   "Also write the pick in another system's words: te-yaml=FILE, see weft export");
  plan->add_option(
      "--against", a.plan.against,
      "Also run the layout as these settings of Transformer Engine ask (te.defaults: as "
      "it overlaps untold), and compare");
  plan->add_option("--lock", a.plan.lock, "Write the picks to this file, for `weft check`");

  plan->add_option("--break-even", a.plan.break_even,
                   "Say where along tokens, hidden or tp overlap starts or stops to pay")
      ->check(CLI::IsMember({"tokens", "hidden", "tp"}));

  CLI::App* compare =
      app.add_subcommand("compare", "Draw schedules of one boundary under each other");
  compare->add_option("scenario", a.compare.scenario, "A weft.scenario/1 file with a boundary")
      ->required();
  compare->add_option("schedules", a.compare.schedules, "Schedules to compare")->required();
  compare->add_option("--svg", a.compare.svg, "Draw them to this file, too");

  CLI::App* check =
      app.add_subcommand("check", "Plan again, and fail where a locked pick no longer holds");
  check->add_option("lock", a.check.lock, "A weft.lock/1 file that `weft plan --lock` wrote")
      ->required();
  check->add_option("--junit", a.check.junit, "Also write a JUnit XML report to this file");
  check->add_option("--threads", a.check.threads, "Threads; results do not depend on it")
      ->check(CLI::Range(0, 1024));

  CLI::App* schedules = app.add_subcommand("schedules", "List the schedules, or explain one");
  schedules->add_option("name", a.schedules.name, "A schedule");
  CLI::App* machines = app.add_subcommand("machines", "List the machines, or show one");
  machines->add_option("name", a.machines.name, "A machine, or a weft.machine/1 file");
  CLI::App* fit = app.add_subcommand("fit", "Fit a profile's constants to measured samples");
  fit->add_option("samples", a.fit.samples, "Sample files, published tables, or folders of them")
      ->required();
  fit->add_option("-o,--output", a.fit.output, "Write the fitted profile to this file")->required();
  fit->add_option("--start", a.fit.start,
                  "Profile to begin with; what the samples do not determine is kept from it")
      ->capture_default_str();
  fit->add_option("--machine", a.fit.machine, "Whose GPUs and links were measured")
      ->capture_default_str();
  fit->add_flag("!--no-errors", a.fit.errors,
                "Skip the leave-out errors, which take longer than the fit");
  CLI::App* accuracy = app.add_subcommand(
      "accuracy", "Compare a profile's predictions and picks with measured samples");
  accuracy->add_option("samples", a.accuracy.samples,
                       "Sample files, published tables, or folders of them");
  accuracy->add_option("--profile", a.accuracy.profile, "A profile, or a weft.profile/1 file")
      ->capture_default_str();
  accuracy
      ->add_option("--machine", a.accuracy.machine,
                   "The machine, or weft.machine/1 file, whose first device was measured")
      ->capture_default_str();
  accuracy->add_flag("--against", a.accuracy.against, "Baselines too");
  accuracy->add_flag("--final", a.accuracy.final,
                     "Predict the held-out samples, and record that it was done");
  accuracy->add_flag("--recorded", a.accuracy.recorded,
                     "Print the last recorded --final as Markdown; reads no sample");
  accuracy->add_option("--results", a.accuracy.results, "Folder of that record")
      ->capture_default_str();
  accuracy->add_option("--only", a.accuracy.only, "Only rows whose name contains this");
  accuracy->add_option("--worst", a.accuracy.worst,
                       "List so many predictions and picks of each row, the worst first");
  accuracy->add_option("--svg", a.accuracy.svg,
                       "Plot predicted against measured times to this file");
  CLI::App* schema = app.add_subcommand("schema", "Print what a file format accepts");
  schema->add_option("name", a.schema.name, "scenario, machine, device, profile, lock");
  CLI::App* import_file = app.add_subcommand(
      "import", "Read a topology dump, a benchmark log, a trace or another tool's config");
  import_file->add_option("file", a.import_file.file, "The file, or - for the input stream")
      ->required();
  import_file->add_option("--as", a.import_file.as, "Its format, if the text does not tell");
  import_file->add_option("--complete-from", a.import_file.complete,
                          "Fill in what a topology dump does not say from this machine");
  import_file->add_option(
      "--with", a.import_file.with,
      "A second file that belongs to it: the system layer of an ASTRA-sim network or of a Chakra "
      "trace's; for settings of Transformer Engine the scenario to run them in");
  import_file->add_option("--network", a.import_file.network,
                          "ASTRA-sim network that a Chakra trace is run on");
  import_file->add_option("-o,--output", a.import_file.out, "Write what it becomes to this file");
  CLI::App* export_file =
      app.add_subcommand("export", "Write a plan as the config of the system that runs it");
  export_file
      ->add_option("file", a.export_file.file,
                   "A weft.scenario/1 file, or settings of Transformer Engine to convert")
      ->required();
  export_file
      ->add_option("--to", a.export_file.to,
                   "te-yaml, ub-cfgs, megatron, nemo, nccl-env, flux or vllm")
      ->required();
  add_pins(*export_file, a.export_file.pinned);
  export_file->add_option("-o,--output", a.export_file.out, "Write to this file");
  CLI::App* doctor = app.add_subcommand(
      "doctor",
      "Check a job's files against what people learn the hard way; alone: list the rules");
  doctor->add_option("files", a.doctor.files,
                     "Launch script or arguments, overlap configuration, topology dump, scenario");
  doctor->add_option("--machine", a.doctor.machine, "Machine that the job runs on");
  CLI::App* diff =
      app.add_subcommand("diff", "Set a recorded trace beside what a scenario predicts");
  diff->add_option("trace", a.diff.trace, "Trace of the PyTorch profiler or of Nsight Systems")
      ->required();
  diff->add_option("scenario", a.diff.scenario, "A weft.scenario/1 file")->required();
  add_pins(*diff, a.diff.pinned);
  diff->add_option("--steps", a.diff.steps,
                   "How many runs of the scenario the trace holds: times are compared too")
      ->check(CLI::Range(0.001, 1e6));
  CLI::App* published =
      app.add_subcommand("published", "Set predictions beside figures that others published");
  published->add_option("--markdown", a.published.markdown,
                        "Also write the comparison to this file");
  published->add_option("--only", a.published.only, "Only rows whose name contains this");
  app.add_subcommand("version", "Print version, commit and build");
  CLI::App* completion =
      app.add_subcommand("completion", "Print a completion script: source <(weft completion bash)");
  completion->add_option("shell", a.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

// What to try first; the subcommands are there already, so that each has its own.
void teach(CLI::App& app) {
  app.footer(
      "Start here:\n"
      "  weft simulate configs/scenarios/pipeline-4x3ms-2ms.json     the textbook pipeline, as a "
      "timeline\n"
      "  weft plan configs/scenarios/llama3-70b-tp8-h200.json        what to overlap in a 70B "
      "model, and what not\n"
      "  weft schedules chunked                                      what a schedule does, and its "
      "knobs\n"
      "Exit codes: 0 ok, 1 a check failed or nothing fits, 2 bad input or usage, 3 an error of "
      "weft itself.");
  const std::pair<const char*, const char*> examples[] = {
      {"simulate",
       "  weft simulate configs/scenarios/gemm-rs-chunked.json --knob chunks=8 --explain\n"
       "  weft simulate configs/scenarios/llama3-70b-tp8-h200.json --layout 'tp=8 sp' --trace "
       "t.json"},
      {"plan", "  weft plan configs/scenarios/llama3-70b-tp8-h200.json --lock plan.lock.json"},
      {"check",
       "  weft check plan.lock.json --junit report.xml     exit code 1 where a pick flipped"},
      {"schedules", "  weft schedules device_flag"},
      {"machines", "  weft machines h200x8"},
      {"schema", "  weft schema scenario"},
      {"completion", "  source <(weft completion bash)"}};
  for (const auto& [name, example] : examples) {
    app.get_subcommand(name)->footer(fmt::format(
        "Example:\n{}\nAlso --format, --color and --configs: weft --help says what they "
        "do.",
        example));
  }
}

// What CLI11 calls a missing subcommand is most often a misspelt one.
std::string message_of(const CLI::ParseError& error, const CLI::App& app, int argc, char** argv) {
  if (error.get_name() != "RequiredError" || !app.get_subcommands().empty()) return error.what();
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--") && word.find('=') == std::string_view::npos) ++i;
    if (word.starts_with('-')) continue;
    const auto nearest = nearest_name(word, names);
    return fmt::format("there is no command \"{}\" ({})", word,
                       nearest ? fmt::format("did you mean \"{}\"?", *nearest)
                               : fmt::format("commands: {}", fmt::join(names, ", ")));
  }
  return fmt::format("a command is missing (commands: {})", fmt::join(names, ", "));
}

using OptionalFile = std::optional<std::string>;

// A file that is read must not be what is written.
void keep_apart(const std::vector<std::string>& inputs, const std::vector<OptionalFile>& outputs) {
  for (const std::string& input : inputs) {
    for (const OptionalFile& output : outputs) {
      std::error_code error;
      if (output && std::filesystem::equivalent(input, *output, error)) {
        throw UsageError(fmt::format(
            "{} would be overwritten with what is made of it: name another file", *output));
      }
    }
  }
}

OptionalFile emitted(const OptionalFile& emit) {
  if (!emit || emit->find('=') == std::string::npos) return std::nullopt;
  return emit->substr(emit->find('=') + 1);
}

ExitCode run(const CLI::App& app, const Arguments& a, Context& context) {
  keep_apart({a.simulate.scenario}, {a.simulate.trace});
  keep_apart({a.plan.scenario}, {a.plan.lock, emitted(a.plan.emit)});
  keep_apart({a.compare.scenario}, {a.compare.svg});
  keep_apart({a.check.lock}, {a.check.junit});
  keep_apart(a.accuracy.samples, {a.accuracy.svg});
  keep_apart({a.import_file.file}, {a.import_file.out});
  keep_apart({a.export_file.file}, {a.export_file.out});
  if (app.got_subcommand("simulate")) return simulate(a.simulate, context);
  if (app.got_subcommand("plan")) return plan(a.plan, context);
  if (app.got_subcommand("compare")) return compare(a.compare, context);
  if (app.got_subcommand("check")) return check(a.check, context);
  if (app.got_subcommand("schedules")) return schedules(a.schedules, context);
  if (app.got_subcommand("machines")) return machines(a.machines, context);
  if (app.got_subcommand("fit")) return fit(a.fit, context);
  if (app.got_subcommand("accuracy")) return accuracy(a.accuracy, context);
  if (app.got_subcommand("published")) return published(a.published, context);
  if (app.got_subcommand("schema")) return schema(a.schema, context);
  if (app.got_subcommand("export")) return export_file(a.export_file, context);
  if (app.got_subcommand("doctor")) return doctor(a.doctor, context);
  if (app.got_subcommand("diff")) return diff(a.diff, context);
  if (app.got_subcommand("import")) return import_file(a.import_file, context);
  if (app.got_subcommand("completion")) {
    context.out << completion_script(a.shell, app);
    return ExitCode::ok;
  }
  return version(context);
}

// Half an answer is none: a full disk or a closed output is a failure, whatever was computed.
int ended(ExitCode code) {
  std::cout.flush();
  if (!std::cout && code == ExitCode::ok) {
    std::cerr << "weft: the output could not be written whole\n";
    code = ExitCode::bad_input;
  }
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "weft decides how computation and communication of a large model should be overlapped,\n"
      "before anything is deployed.",
      "weft");
  Arguments arguments;
  describe(app, arguments);
  teach(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error, std::cout, std::cerr);
      return ended(ExitCode::ok);
    }
    std::cerr << "weft: " << message_of(error, app, argc, argv)
              << "\nRun with --help for more information.\n";
    return static_cast<int>(ExitCode::bad_input);
  }
  catch_interrupts();
  Context context{.out = std::cout, .err = std::cerr, .search = {}};
  context.format = arguments.format == "json" ? Format::json : Format::text;
  const bool plain = std::getenv("NO_COLOR") != nullptr;
  context.colour = arguments.colour == "always" ||
                   (arguments.colour == "auto" && isatty(STDOUT_FILENO) != 0 && !plain);
  context.progress = isatty(STDERR_FILENO) != 0;
  context.search.configs.assign(arguments.configs.begin(), arguments.configs.end());
  context.search.installed = installed_share();
  const ExitCode code = guarded([&] { return run(app, arguments, context); }, std::cerr);
  return ended(code);
}
