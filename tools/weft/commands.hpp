// SPDX-License-Identifier: Apache-2.0
// The subcommands of `weft`: what each was asked, and the function that answers. Each returns its exit code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/search_path.hpp"
#include "configs/reader/value.hpp"
#include "models/planner/pins.hpp"
#include "models/planner/scenario.hpp"

namespace weft::model {
struct Plan;
}

namespace weft::tool {

/// 0 ok; 1 a check failed or nothing fits; 2 bad input or usage; 3 an error of weft itself.
enum class ExitCode : int { ok = 0, failed = 1, bad_input = 2, internal = 3 };

enum class Format : std::uint8_t { text, json };

/// What every subcommand has.
struct Context {
  std::ostream& out;
  std::ostream& err;
  Format format = Format::text;
  bool colour = false;    ///< of the output
  bool progress = false;  ///< the error stream is a terminal
  config::SearchPath search;
};

/// What is pinned on the command line over what the scenario says.
using Pinned = model::Pins;

struct SimulateOptions {
  std::string scenario;
  Pinned pinned;
  bool timeline = true;
  bool explain = false;
  int ranks = 1;                     ///< drawn
  std::optional<std::string> trace;  ///< file
};
ExitCode simulate(const SimulateOptions& options, Context& context);

struct PlanOptions {
  std::string scenario;
  Pinned pinned;
  bool exhaustive = false;
  bool explain = false;
  unsigned threads = 0;
  int top = 5;
  std::optional<std::string> lock;        ///< file
  std::optional<std::string> emit;        ///< "te-yaml=file"
  std::optional<std::string> against;     ///< settings of Transformer Engine
  std::optional<std::string> break_even;  ///< tokens, hidden or tp
};
ExitCode plan(const PlanOptions& options, Context& context);

struct CompareOptions {
  std::string scenario;
  std::vector<std::string> schedules;
  std::optional<std::string> svg;  ///< file
};
ExitCode compare(const CompareOptions& options, Context& context);

/// Where the verdict of a boundary's or model's scenario flips along an axis.
ExitCode break_even(const model::Scenario& scenario, const std::string& axis, Context& context);

struct CheckOptions {
  std::string lock;
  std::optional<std::string> junit;  ///< file
  unsigned threads = 0;
};
ExitCode check(const CheckOptions& options, Context& context);

struct SchedulesOptions {
  std::optional<std::string> name;
};
ExitCode schedules(const SchedulesOptions& options, Context& context);

struct MachinesOptions {
  std::optional<std::string> name;  ///< or a file
};
ExitCode machines(const MachinesOptions& options, Context& context);

struct FitOptions {
  std::vector<std::string> samples;  ///< files or folders
  std::string output;                ///< file
  std::string start = "h200-sxm";
  std::string machine = "h200x8";  ///< whose GPUs and links were measured
  bool errors = true;              ///< also leave folds out and state the errors
};
ExitCode fit(const FitOptions& options, Context& context);

struct AccuracyOptions {
  std::vector<std::string> samples;  ///< files or folders
  std::string profile = "h200-sxm";
  std::string machine = "h200x8";
  bool against = false;
  bool final = false;
  bool recorded = false;           ///< print the recorded final report, read no sample
  std::optional<std::string> svg;  ///< file
  std::string results = "calibration/results";
  std::vector<std::string> only;
  int worst = 0;  ///< single predictions and picks of each row to list, the worst first
};
ExitCode accuracy(const AccuracyOptions& options, Context& context);

struct SchemaOptions {
  std::optional<std::string> name;
};
ExitCode schema(const SchemaOptions& options, Context& context);

/// What `weft import` was asked.
struct ImportOptions {
  std::string file;                     ///< or "-"
  std::optional<std::string> as;        ///< format, where it is not to be told from the text
  std::optional<std::string> complete;  ///< machine that fills in what a dump does not say
  std::optional<std::string> out;       ///< file
  std::optional<std::string> with;      ///< a second file that belongs to it
  std::optional<std::string> network;   ///< of ASTRA-sim, to run a Chakra trace on
};
ExitCode import_file(const ImportOptions& options, Context& context);

/// What `weft export` was asked.
struct ExportOptions {
  std::string file;  ///< a scenario, or settings of Transformer Engine
  std::string to;
  Pinned pinned;
  std::optional<std::string> out;
};
ExitCode export_file(const ExportOptions& options, Context& context);
/// Writes a plan that has a layout in another system's words, and returns whether there was a word for any
/// pick; throws UsageError for an unknown format.
bool emit_plan(const model::Plan& plan, const std::string& format,
               const std::optional<std::string>& file, Context& context);

/// What `weft doctor` was asked.
struct DoctorOptions {
  std::vector<std::string> files;
  std::optional<std::string> machine;
};
ExitCode doctor(const DoctorOptions& options, Context& context);

/// What `weft diff` was asked.
struct DiffOptions {
  std::string trace;
  std::string scenario;
  Pinned pinned;
  std::optional<double> steps;  ///< that the trace holds, or layers for a boundary's scenario
};
ExitCode diff(const DiffOptions& options, Context& context);

/// What `weft published` was asked.
struct PublishedOptions {
  std::optional<std::string> markdown;  ///< file
  std::string only;                     ///< rows whose name contains this
};
/// Predictions beside published figures.
ExitCode published(const PublishedOptions& options, Context& context);

ExitCode version(Context& context);

/// Files of a kind ("machines", "profiles") by name, from every folder that is searched; the first of a name counts.
[[nodiscard]] std::map<std::string, std::filesystem::path> config_files(std::string_view kind,
                                                                        const Context& context);
/// The file of that kind by name or path; throws UsageError with the names there are.
[[nodiscard]] std::filesystem::path config_file(std::string_view kind, const std::string& name,
                                                const Context& context);

/// What exactly is running, as an object: version, commit, dirty, compiler, build_type.
[[nodiscard]] config::Value build_value();
/// The last line of a run: what it ran on, and by which weft.
[[nodiscard]] std::string run_line(const std::string& config_hash);

/// Reads a scenario and applies what was pinned; throws config::ConfigErrors, or model::PinError.
[[nodiscard]] model::Scenario load_scenario(const std::string& file, const Pinned& pinned,
                                            const Context& context);

/// A wrong word on the command line; what() says what and what would be right.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weft::tool
