// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/completion.hpp"

#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft::tool {
namespace {

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

std::string completion_script(const std::string& shell, const CLI::App& app) {
  std::vector<std::string> commands;
  std::string cases;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
    const std::string options =
        fmt::format("{} {}", fmt::join(options_of(*command), " "), fmt::join(options_of(app), " "));
    if (shell == "fish") {
      cases += fmt::format("complete -c weft -n __fish_use_subcommand -a {} -d '{}'\n",
                           command->get_name(), command->get_description());
      for (const std::string& option : options_of(*command)) {
        cases += fmt::format("complete -c weft -n '__fish_seen_subcommand_from {}' -l {}\n",
                             command->get_name(), option.substr(2));
      }
    } else {
      cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), options);
    }
  }
  if (shell == "fish") return cases;
  // zsh runs bash's completion functions.
  const char* prelude = shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
  return fmt::format(
      "{}_weft() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" words=\"\" word\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"$word\" in\n{}    esac\n"
      "  done\n"
      "  [ -n \"$words\" ] || words=\"{} {}\"\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\") $(compgen -f -- \"$current\"))\n"
      "}}\n"
      "complete -o filenames -F _weft weft\n",
      prelude, cases, fmt::join(commands, " "), fmt::join(options_of(app), " "));
}

}  // namespace weft::tool
