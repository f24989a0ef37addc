// SPDX-License-Identifier: Apache-2.0
// Readable summaries of layers, for tests.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "models/workloads/workload.hpp"

namespace weft::model::test {

inline WorkloadSpec spec_of(Phase phase, std::int64_t sequences, std::int64_t new_tokens,
                            std::int64_t context = 0) {
  WorkloadSpec spec;
  spec.phase = phase;
  spec.sequences = sequences;
  spec.new_tokens = new_tokens;
  spec.context_tokens = context;
  return spec;
}

inline const Layer& layer_of(const Workload& workload, const std::string& name) {
  for (const Layer& layer : workload.layers) {
    if (layer.name == name) return layer;
  }
  throw std::out_of_range(name);
}

inline const Operator& op_of(const Layer& layer, const std::string& name) {
  for (const Operator* op : operators_of(layer)) {
    if (op->name == name) return *op;
  }
  throw std::out_of_range(name);
}

/// One line a collective: "fc1: all_gather, fc1 consumes".
inline std::vector<std::string> story(const Layer& layer) {
  std::vector<std::string> lines;
  for (const Boundary* boundary : boundaries_of(layer)) {
    for (std::size_t c = 0; c < boundary->collectives.size(); ++c) {
      std::string line = boundary->name + ": ";
      line += name_of(boundary->collectives[c].op);
      for (std::size_t o = 0; o < boundary->operators.size(); ++o) {
        line += ", " + boundary->operators[o].name + " ";
        line += name_of(relation_of(*boundary, c, o));
      }
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace weft::model::test
