// SPDX-License-Identifier: Apache-2.0
// The calls of a program one by one, graphs unrolled, as the records name them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/program.hpp"
#include "sim/record.hpp"

namespace weft::sim::laws {

struct NamedCall {
  CommandRef ref;
  const Command* command = nullptr;
  std::optional<StreamId> stream;  ///< none: a call of the host alone
};

inline std::optional<StreamId> stream_of(const Call& call) {
  return std::visit(
      [](const auto& c) -> std::optional<StreamId> {
        if constexpr (requires { c.stream; }) {
          return c.stream;
        } else {
          return std::nullopt;
        }
      },
      call);
}

/// All calls of a thread in issue order; a graph's commands count from 1 in `in_graph`.
inline std::vector<NamedCall> calls_of(const Program& program, std::uint32_t thread) {
  std::vector<NamedCall> calls;
  const std::vector<Command>& commands = program.threads[thread].commands;
  for (std::uint32_t i = 0; i < commands.size(); ++i) {
    const CommandRef ref{.thread = thread, .index = i};
    calls.push_back({ref, &commands[i], stream_of(commands[i].call)});
    const auto* launch = std::get_if<GraphLaunch>(&commands[i].call);
    if (launch == nullptr) continue;
    const std::vector<Command>& inner = program.graphs[launch->graph.value()].commands;
    for (std::uint32_t k = 0; k < inner.size(); ++k) {
      calls.push_back(
          {{.thread = thread, .index = i, .in_graph = k + 1}, &inner[k], stream_of(inner[k].call)});
    }
  }
  return calls;
}

inline std::string name(const CommandRef& ref) {
  return fmt::format("command {}.{}.{}", ref.thread, ref.index, ref.in_graph);
}

}  // namespace weft::sim::laws
