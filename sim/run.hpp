// SPDX-License-Identifier: Apache-2.0
// Runs a program on a machine: the discrete-event engine's front door.
//
// Same machine, program and options give the same records byte for byte, on any thread count and
// however the program was assembled: ties break by (time, phase, device, stream priority, stream,
// command, range).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/machine.hpp"
#include "sim/program.hpp"
#include "sim/record.hpp"

namespace weft::sim {

/// ideal: durations as given, one compute and one communication engine a rank, nothing shared.
/// alpha_beta: cost models and latencies, exclusive engines. contended: everything.
enum class Fidelity : std::uint8_t { ideal, alpha_beta, contended };

/// Each effect can be switched alone; a fidelity is a set of them.
struct Effects {
  bool chunking = true;   ///< off: a range takes its fluid_time, no wave quantisation
  bool residency = true;  ///< off: every CTA finds room at once
  bool sm_share = true;   ///< off: co-resident CTAs do not slow each other
  bool hbm_share = true;
  bool link_share = true;       ///< off: each flow has its links to itself
  bool transport = true;        ///< off: bytes take no time
  bool launch_and_sync = true;  ///< off: launches, hops and signals take no time
  bool imbalance = true;        ///< off: overrides that slow one rank or link are ignored
  /// On at ideal and alpha_beta: each rank has one compute and one communication engine, and the
  /// kernels of one purpose go one at a time, whatever SMs they would need.
  bool exclusive_engines = false;
  friend bool operator==(const Effects&, const Effects&) = default;
};
[[nodiscard]] Effects effects_of(Fidelity fidelity);

/// Two kernels that became ready within the launch jitter of each other and cannot both be
/// resident; by their labels, so that the same pair on another rank or chunk is the same kind.
struct RaceKind {
  LabelId first;  ///< the one that goes first by the tie-break
  LabelId second;
  friend auto operator<=>(const RaceKind&, const RaceKind&) = default;
};
struct RaceChoice {
  RaceKind kind;
  bool swapped = false;  ///< the second goes first, in every race of this kind
  friend bool operator==(const RaceChoice&, const RaceChoice&) = default;
};

struct RunOptions {
  Effects effects{};
  std::vector<RaceChoice> races{};  ///< kinds not named here go by the tie-break
};

/// A kind that a run met, and how far apart the two were ready where it met it first.
struct RaceMet {
  RaceKind kind;
  Duration gap{};
  friend bool operator==(const RaceMet&, const RaceMet&) = default;
};

struct RunResult {
  TimePoint end;
  std::uint64_t activities = 0;  ///< commands and cohorts completed
  std::uint64_t events = 0;
  std::vector<RaceMet> races{};  ///< kinds met, sorted; those of RunOptions::races included
};

/// Nothing can run and a command waits. `what()` prints the cycle, who holds what, and the margin
/// that breaks it.
class DeadlockError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace engine {
class Simulation;
struct RunState;
}  // namespace engine

/// Memory that one run leaves to the next: for threads that make many. Nothing else of a run is in
/// it. One run at a time.
class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;

 private:
  friend RunResult run(const Machine&, const Program&, const RunOptions&,
                       std::span<RecordSink* const>, Workspace*);
  std::unique_ptr<engine::RunState> state_;
};

/// A run that is taken moment by moment. Machine, program and sinks must outlive it; any number of
/// engines may live side by side.
class Engine {
 public:
  /// Throws CheckFailure for a program that refers to what the machine does not have.
  Engine(const Machine& machine, const Program& program, const RunOptions& options = {},
         std::span<RecordSink* const> sinks = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Goes to the next moment at which something happens; false when nothing is left.
  bool step();
  /// Returns the moment that the run has come to.
  [[nodiscard]] TimePoint now() const;
  /// Returns the result once step() has returned false; throws DeadlockError if a command waits.
  [[nodiscard]] RunResult result();

 private:
  std::unique_ptr<engine::Simulation> simulation_;
};

/// Throws DeadlockError, or CheckFailure for a program that refers to what the machine does not
/// have.
RunResult run(const Machine& machine, const Program& program, const RunOptions& options = {},
              std::span<RecordSink* const> sinks = {}, Workspace* workspace = nullptr);

/// One outcome of a program whose races can go either way.
struct Mode {
  RunResult result;
  std::vector<RaceChoice> choices{};
  double share = 1;  ///< of runs expected to go this way
};
struct ModesResult {
  std::vector<Mode> modes{};         ///< at least one; sorted by end
  std::size_t unresolved_kinds = 0;  ///< kinds beyond two: only all-first and all-second were run
  [[nodiscard]] const Mode& worst() const { return modes.back(); }
};
/// Runs every combination of up to two race kinds; beyond that all first and all second.
ModesResult run_modes(const Machine& machine, const Program& program,
                      const RunOptions& options = {}, Workspace* workspace = nullptr);

}  // namespace weft::sim
