// SPDX-License-Identifier: Apache-2.0
// Interference that is not sharing: SMs that push traffic over a link hold back the device.
//
// While n CTAs of a device are held back by a link or a switch that is full, or send without being
// held back, as a term says, every other CTA of the device runs at 1000 / slowdown(n) of its speed, and a launch
// takes the term's delay longer (copies: not a launch, but what behind_host_reads says); slowdown is interpolated linearly between the points of
// the machine, from 1000 at no CTA, and stays at the last point's beyond it. Of several terms the
// strongest counts. It follows the rates of the moment before it: one pass.
#include <algorithm>
#include <numeric>

#include "sim/engine/simulation.hpp"
#include "sim/units/integer.hpp"

namespace weft::sim::engine {

namespace {

std::int64_t slowdown_at(const Interference& term, std::int64_t ctas) {
  std::int64_t below = 0;
  std::int64_t slow_below = 1000;
  for (const Interference::Point& point : term.points) {
    if (ctas <= point.ctas) {
      const std::int64_t width = point.ctas - below;
      if (width == 0) return point.slowdown_milli;
      return slow_below + (point.slowdown_milli - slow_below) * (ctas - below) / width;
    }
    below = point.ctas;
    slow_below = point.slowdown_milli;
  }
  return slow_below;
}

// 1000 / slowdown of a rate, within the solver's range of fractions.
ProgressRate slower(const ProgressRate& rate, std::int64_t slowdown) {
  UInt128 numerator = UInt128{rate.numerator} * 1000;
  UInt128 denominator = UInt128{rate.denominator} * static_cast<std::uint64_t>(slowdown);
  const auto whole = [](UInt128 value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t common =
      std::gcd(rate.numerator * (1000 / std::gcd<std::uint64_t>(1000, rate.denominator)),
               whole(denominator));
  if (numerator % common == 0 && denominator % common == 0) {
    numerator /= common;
    denominator /= common;
  }
  while (bit_length(numerator) > 61 || bit_length(denominator) > 47) {
    numerator >>= 1;
    denominator >>= 1;
  }
  return {whole(numerator), std::max<std::uint64_t>(1, whole(denominator))};
}

}  // namespace

// Which devices' SMs can be held back: those with a term whose kind of traffic the program has.
void Simulation::find_interference() {
  slowdown_.assign(machine_.devices.size(), 1000);
  launch_delay_.assign(machine_.devices.size(), Duration());
  has_terms_.assign(machine_.devices.size(), false);
  host_reads_.assign(machine_.devices.size(), 0);
  if (!options_.effects.sm_share || !options_.effects.transport) return;
  bool posted = false;
  bool read = false;
  const bool copies =
      std::any_of(compiled_.commands.begin(), compiled_.commands.end(),
                  [](const CompiledCommand& command) { return command.op == Op::copy; });
  for (const Traffic& traffic : program_.traffic) {
    if (traffic.on != Traffic::On::route) continue;
    (traffic.posted_write ? posted : read) = true;
  }
  for (const CompiledStream& stream : compiled_.streams) {
    const std::uint32_t d = stream.device;
    if (has_terms_[d]) continue;
    for (const Interference& term : machine_.devices[d].interference) {
      const bool acts = term.access == Interference::Access::posted_write ? posted
                        : term.access == Interference::Access::read       ? read
                                                                          : copies;
      if (acts) {
        has_terms_[d] = true;
        any_terms_ = true;
      }
    }
  }
}

// What a round trip to host memory takes longer for a device just now: it stands behind what a copy engine reads from
// there.
std::int64_t Simulation::behind_host_reads(std::uint32_t device) const {
  if (host_reads_[device] == 0) return 0;
  Duration longest;
  for (const Interference& term : machine_.devices[device].interference)
    longest = std::max(longest, term.round_trip);
  return sync(longest);
}

bool Simulation::may_slow(const KernelRun& run) const {
  return shares_sms_ || has_terms_[compiled_.streams[run.stream].device];
}

// Whether the crew's tiles send by this kind of access, over a way that is full or not.
bool Simulation::pushes(const Crew& crew, const Interference& term) const {
  if (crew.state != Crew::State::working || crew.flow == kNone) return false;
  const std::optional<StallReason> limit = limit_of(flows_[crew.flow].activity);
  const bool full = limit == StallReason::link_share || limit == StallReason::fabric_switch;
  if (full != term.full_link) return false;
  const Slice& traffic = range_of(roles_[crew.role_run], crew.range).traffic;
  for (std::uint32_t i = 0; i < traffic.count; ++i) {
    const Traffic& its = program_.traffic[traffic.first + i];
    if (its.on != Traffic::On::route) continue;
    if (its.posted_write == (term.access == Interference::Access::posted_write)) return true;
  }
  return false;
}

// What acts by a term on a device: CTAs that send, or copies that have begun.
std::int64_t Simulation::pushing(std::uint32_t device, const Interference& term) const {
  std::int64_t count = 0;
  if (term.access == Interference::Access::engine_copy) {
    for (const std::uint32_t index : flow_of_) {
      if (index == kNone || flows_[index].owner != Flow::Owner::transfer) continue;
      const CompiledCommand& command = compiled_.commands[transfers_[flows_[index].of].command];
      if (command.op == Op::copy && compiled_.streams[command.stream].device == device) ++count;
    }
    return count;
  }
  for (std::uint32_t index = 0; index < crews_.size(); ++index) {
    const Crew& crew = crews_[index];
    if (crew.state != Crew::State::working || device_of(crew) != device) continue;
    if (pushes(crew, term)) count += crew.ctas;
  }
  return count;
}

// Finds the slowdown of each device from the rates; says whether any crew's cap has changed.
bool Simulation::update_slowdowns() {
  bool changed = false;
  for (std::uint32_t d = 0; d < machine_.devices.size(); ++d) {
    if (!has_terms_[d]) continue;
    std::int64_t slowdown = 1000;
    launch_delay_[d] = Duration();
    for (const Interference& term : machine_.devices[d].interference) {
      const std::int64_t ctas = pushing(d, term);
      slowdown = std::max(slowdown, slowdown_at(term, ctas));
      if (ctas > 0) launch_delay_[d] = std::max(launch_delay_[d], term.launch);
    }
    if (slowdown == slowdown_[d]) continue;
    slowdown_[d] = slowdown;
    for (std::uint32_t index = 0; index < crews_.size(); ++index) {
      const Crew& crew = crews_[index];
      if (crew.state == Crew::State::working && crew.flow != kNone && device_of(crew) == d) {
        apply_slowdown(index);
        changed = true;
      }
    }
  }
  return changed;
}

std::uint32_t Simulation::device_of(const Crew& crew) const {
  return compiled_.streams[runs_[roles_[crew.role_run].run].stream].device;
}

bool Simulation::sends(const Crew& crew) const {
  const Slice& traffic = range_of(roles_[crew.role_run], crew.range).traffic;
  for (std::uint32_t i = 0; i < traffic.count; ++i) {
    if (program_.traffic[traffic.first + i].on == Traffic::On::route) return true;
  }
  return false;
}

// Sets the cap that the crew has under its device's slowdown and, chunking off, its residency.
void Simulation::apply_slowdown(std::uint32_t index, bool again) {
  Crew& crew = crews_[index];
  if (crew.flow == kNone) return;
  const bool fluid = !options_.effects.chunking;
  const bool partial = fluid && crew.ctas < roles_[crew.role_run].ctas;
  const std::int64_t slowdown = sends(crew) ? 1000 : slowdown_[device_of(crew)];
  if (!again && !partial && slowdown == crew.slowdown) return;
  crew.slowdown = slowdown;
  std::optional<ProgressRate> cap = crew_demand(crew).cap;
  if (!cap) return;
  if (fluid) cap = fluid_cap(crew, crew.ctas);
  shares_.set_cap(flows_[crew.flow].activity, slower(*cap, slowdown));
  shares_touched_ = true;
}

}  // namespace weft::sim::engine
