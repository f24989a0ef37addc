// SPDX-License-Identifier: Apache-2.0
// `weft import` of a topology dump: a machine file, complete only where the user names a machine to
// complete it from.
#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "configs/reader/document.hpp"
#include "configs/reader/json_writer.hpp"
#include "configs/reader/search_path.hpp"
#include "tools/weft/import_formats.hpp"
#include "topologies/import/draft.hpp"
#include "topologies/import/nccl_xml.hpp"
#include "topologies/import/topo_matrix.hpp"
#include "topologies/read_machine.hpp"

namespace weft::tool {
namespace {

namespace fs = std::filesystem;

/// The device file of a machine, as a file at `out` names it.
std::string device_of(const fs::path& machine, const std::optional<std::string>& out,
                      const Context& context) {
  const config::Document document = config::Document::load(machine);
  const config::Value* device = document.root().find("device");
  if (device == nullptr || !device->is_string()) return {};
  const config::Resolution found = config::resolve(device->as_string(), machine, context.search);
  if (!found.file) return device->as_string();
  const fs::path folder = out ? fs::path(*out).parent_path() : fs::path();
  return fs::proximate(*found.file, folder.empty() ? fs::current_path() : fs::absolute(folder))
      .generic_string();
}

ExitCode import_survey(const topology::Survey& survey, const ImportInput& input, Context& context) {
  print_notes(survey.notes, context);
  context.err << topology::describe(survey);
  std::optional<topology::Completion> completion;
  if (input.options.complete) {
    const fs::path file = config_file("machines", *input.options.complete, context);
    completion =
        topology::Completion{*input.options.complete, device_of(file, input.options.out, context),
                             topology::read_machine(file, context.search).spec};
  }
  const topology::MachineDraft draft =
      topology::draft_machine(survey, completion ? &*completion : nullptr);
  for (const std::string& each : draft.completed) {
    context.err << fmt::format("from {}: {}\n", *input.options.complete, each);
  }
  for (const std::string& each : draft.unknown) context.err << fmt::format("unknown: {}\n", each);
  deliver(config::to_json(draft.machine), input, context);
  if (!draft.unknown.empty()) {
    context.err << fmt::format(
        "{} things are unknown and null in the file; --complete-from MACHINE takes them from a "
        "machine like this one\n",
        draft.unknown.size());
  }
  return ExitCode::ok;
}

}  // namespace

ExitCode import_topo_matrix(const ImportInput& input, Context& context) {
  return import_survey(topology::read_topo_matrix(input.text, input.name), input, context);
}

ExitCode import_nccl_xml(const ImportInput& input, Context& context) {
  return import_survey(topology::read_nccl_xml(input.text, input.name), input, context);
}

}  // namespace weft::tool
