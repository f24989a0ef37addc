// SPDX-License-Identifier: Apache-2.0
// `weft schema`: what each file format accepts, as its reader declares it.
#include "configs/reader/schema.hpp"

#include <map>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/json_writer.hpp"
#include "models/planner/lock.hpp"
#include "models/planner/read_scenario.hpp"
#include "models/profile/json.hpp"
#include "tools/weft/commands.hpp"
#include "topologies/read_machine.hpp"

namespace weft::tool {

ExitCode schema(const SchemaOptions& options, Context& context) {
  const std::map<std::string, config::TypeDescription (*)()> formats = {
      {"scenario", model::describe_scenario},
      {"machine", topology::describe_machine},
      {"device", topology::describe_device},
      {"profile", model::describe_profile},
      {"lock", model::describe_lock}};
  if (!options.name) {
    for (const auto& [name, describe] : formats) context.out << fmt::format("weft.{}/1\n", name);
    context.out << "\n`weft schema NAME` prints the keys of one.\n";
    return ExitCode::ok;
  }
  const auto found = formats.find(*options.name);
  if (found == formats.end()) {
    std::vector<std::string> names;
    for (const auto& [name, describe] : formats) names.push_back(name);
    throw UsageError(fmt::format("there is no format \"{}\" (formats: {})", *options.name,
                                 fmt::join(names, ", ")));
  }
  const config::TypeDescription description = found->second();
  context.out << (context.format == Format::json ? config::to_json(config::to_value(description))
                                                 : config::to_text(description));
  return ExitCode::ok;
}

}  // namespace weft::tool
