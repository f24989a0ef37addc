// SPDX-License-Identifier: Apache-2.0
// A scenario (schema weft.scenario/1) as a value: exactly one of a pipeline, a boundary or a model.
// docs/scenarios.md documents the format; models/planner/read_scenario.hpp reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/cost/cost_model.hpp"
#include "models/schedules/knobs.hpp"
#include "models/workloads/boundary.hpp"
#include "models/workloads/memory.hpp"
#include "models/workloads/spec.hpp"
#include "sim/run.hpp"
#include "topologies/build.hpp"

namespace weft::model {

// ---- pipeline: given durations, no machine -----------------------------------------------------------------

/// Published figures of a system, put to the test against the durations of the pipeline, never simulated.
struct Claim {
  std::string system;
  Duration serial;                            ///< published time without overlap
  double serial_communication = 0;            ///< share of it that was communication, 0..1
  Duration fused;                             ///< published time with overlap
  std::optional<double> fused_communication;  ///< share that stayed exposed, at most
  std::optional<double> utilisation_before;   ///< of the matrix units, 0..1
  std::optional<double> utilisation_after;
  std::optional<double> throughput_gain;  ///< 0.73 for "73 % more tokens"
  std::string source;
};

/// What a chunk takes while the other side runs beside it, as measured.
struct PipelineInterference {
  std::optional<Duration> compute;
  std::optional<Duration> communication;
};

struct PipelineScenario {
  enum class Dependency : std::uint8_t { chunked, none } dependency = Dependency::chunked;
  std::int64_t chunks = 1;
  Duration compute;                  ///< of one chunk
  Duration communication;            ///< of one chunk
  bool communication_first = false;  ///< a gather: chunk i is computed after it has arrived
  std::optional<PipelineInterference> interference;
  std::optional<Claim> claim;
};

// ---- boundary: one product and one collective --------------------------------------------------------------

/// Where the ranks sit: in order over the devices, or dealt to the nodes in turn.
enum class RankOrder : std::uint8_t { packed, scattered };

struct BoundaryScenario {
  BoundaryKind kind = BoundaryKind::ag_gemm;
  MatmulShape global;  ///< of the whole group
  TensorFormat format;
  int ranks = 1;
  RankOrder order = RankOrder::packed;
  std::string machine;                  ///< file, resolved
  std::optional<std::string> profile;   ///< file, resolved; else the machine's own
  std::optional<std::string> schedule;  ///< absent: the plan chooses
  Knobs knobs;                          ///< those that are pinned
};

// ---- model: layers of a whole model ------------------------------------------------------------------------

enum class Objective : std::uint8_t { latency, throughput };

/// A layout to use, or the lists that a search goes through.
struct LayoutChoice {
  bool search = true;
  std::vector<int> tp;                  ///< empty: every divisor of the ranks
  std::vector<bool> sequence_parallel;  ///< empty: both
  std::vector<RankOrder> orders;        ///< empty: both where they differ
};

struct ModelScenario {
  std::string model;  ///< config.json, resolved
  /// Another width of the model, as a walk along it asks: its head size and ratios are kept.
  std::optional<std::int64_t> hidden{};
  std::string machine;
  std::optional<std::string> profile;
  int ranks = 1;      ///< GPUs; those that a layout leaves over form replicas
  WorkloadSpec work;  ///< of one replica
  Objective objective = Objective::latency;
  LayoutChoice layout;
  OptimizerSpec optimizer;             ///< in the backward phase
  std::vector<std::string> schedules;  ///< that the search may use; empty: all
};

struct Scenario {
  std::string name;
  std::string file;
  std::variant<PipelineScenario, BoundaryScenario, ModelScenario> what;
  std::vector<topology::Override> overrides;
  sim::Fidelity fidelity = sim::Fidelity::contended;
  CostModel cost_model = CostModel::profile;  ///< of the library's collectives
};

}  // namespace weft::model
