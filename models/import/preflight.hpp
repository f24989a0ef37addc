// SPDX-License-Identifier: Apache-2.0
// The rules that people learn the hard way, checked before a job starts: what contradicts itself,
// what a system will refuse, and what will cost time or memory, each with its place and its price.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/import/launch_args.hpp"
#include "models/import/megatron.hpp"
#include "models/import/tp_overlap.hpp"
#include "sim/units/rates.hpp"
#include "topologies/import/survey.hpp"
#include "topologies/machine_spec.hpp"

namespace weft::model {

/// What the rules need of a machine; absent: not known, and the rules that need it say nothing.
struct PreflightMachine {
  std::string name;
  std::optional<std::int64_t> gpus_per_node;
  std::optional<std::int64_t> nvlink_domain;  ///< GPUs that NVLink joins; 1: none
  std::optional<std::int64_t> sms;
  std::optional<Bandwidth> nvlink_per_direction;   ///< of a GPU
  std::optional<Bandwidth> network_per_direction;  ///< of a NIC
};
[[nodiscard]] PreflightMachine preflight_machine(const topology::MachineSpec& spec);
[[nodiscard]] PreflightMachine preflight_machine(const topology::Survey& survey);

/// What there is to check; null where the user gave no such file.
struct PreflightInput {
  const LaunchArguments* arguments = nullptr;
  const MegatronJob* job = nullptr;
  const TpOverlap* overlap = nullptr;
  const topology::Survey* survey = nullptr;
  const PreflightMachine* machine = nullptr;
};

struct PreflightFinding {
  std::string rule;  ///< "tp-over-nodes"
  std::string file;
  std::uint32_t line = 0;
  std::string what;
  std::string cost;  ///< in time, memory or a refusal
};

/// A rule by name, and what it looks for.
struct PreflightRule {
  std::string_view name;
  std::string_view about;
};
[[nodiscard]] const std::vector<PreflightRule>& preflight_rules();

/// Returns what the rules find, in the order of the rules.
[[nodiscard]] std::vector<PreflightFinding> preflight(const PreflightInput& input);

}  // namespace weft::model
