// SPDX-License-Identifier: Apache-2.0
// A machine file made of a survey. What the dump does not say is null, which the reader of machine
// files points at; only on request it is taken from a machine that the user names, and each number
// so taken says that.
#pragma once

#include <string>
#include <vector>

#include "configs/reader/error.hpp"
#include "configs/reader/value.hpp"
#include "topologies/import/survey.hpp"
#include "topologies/machine_spec.hpp"

namespace weft::topology {

/// A machine to complete a draft from.
struct Completion {
  std::string name;    ///< as the user gave it
  std::string device;  ///< file of its device, as the draft shall name it
  MachineSpec spec;
};

struct MachineDraft {
  config::Value machine;               ///< weft.machine/1, null where unknown
  std::vector<std::string> unknown;    ///< what is null, in words
  std::vector<std::string> completed;  ///< what came from the completion
};

/// Returns the machine that the survey describes.
[[nodiscard]] MachineDraft draft_machine(const Survey& survey,
                                         const Completion* completion = nullptr);

/// Returns what the survey says in a few lines: GPUs with their NVLinks, NUMA node and nearest NICs.
[[nodiscard]] std::string describe(const Survey& survey);

}  // namespace weft::topology
