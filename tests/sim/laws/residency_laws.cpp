// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "tests/sim/laws/calls.hpp"
#include "tests/sim/laws/laws.hpp"

namespace weft::sim::laws {

namespace {

using Lane = std::pair<CommandRef, std::uint32_t>;  // a role of a command
using Changes = std::map<TimePoint, std::int64_t>;

void add(Changes& changes, TimePoint start, TimePoint end, std::int64_t amount) {
  changes[start] += amount;
  changes[end] -= amount;
}

void check_lanes(const RecordedRun& run, Breaches& breaches) {
  std::map<Lane, Changes> uncovered;  // residency minus what tiles it
  for (const ResidencySpan& span : run.records.residencies) {
    add(uncovered[{span.command, span.role}], span.start, span.end, span.ctas);
  }
  for (const CohortSpan& span : run.records.cohorts) {
    add(uncovered[{span.command, span.role}], span.start, span.end, -span.ctas);
  }
  for (const Stall& stall : run.records.stalls) {
    if (stall.ctas == 0 || stall.reason == StallReason::no_sm) continue;
    add(uncovered[{stall.command, stall.role}], stall.start, stall.end, -stall.ctas);
  }
  for (const auto& [lane, changes] : uncovered) {
    std::int64_t open = 0;
    for (const auto& [time, change] : changes) {
      open += change;
      if (open == 0) continue;
      breaches.push_back(fmt::format("{} role {}: at {} ps {} CTAs are resident and untold",
                                     name(lane.first), lane.second, time.ps(), open));
      break;
    }
  }
}

std::int64_t tiles_of(const Program& program, const Role& role) {
  std::int64_t tiles = 0;
  for (std::uint32_t i = 0; i < role.ranges.count; ++i) {
    tiles += program.ranges[role.ranges.first + i].tiles;
  }
  return tiles;
}

std::int64_t ctas_of(const Program& program, const Kernel& kernel) {
  if (kernel.ctas > 0) return kernel.ctas;
  std::int64_t ctas = 0;
  for (std::uint32_t i = 0; i < kernel.roles.count; ++i) {
    const Role& role = program.roles[kernel.roles.first + i];
    if (role.scope != Role::Scope::ctas) continue;
    ctas += role.order == TileOrder::one_cta_per_tile ? tiles_of(program, role) : role.ctas;
  }
  return ctas;
}

// Each role's CTAs are resident once, and each of its tiles is done once.
void check_grids(const RecordedRun& run, Breaches& breaches) {
  const Program& program = run.program;
  std::map<Lane, std::int64_t> resident;
  for (const ResidencySpan& span : run.records.residencies) {
    resident[{span.command, span.role}] += span.ctas;
  }
  std::map<Lane, std::int64_t> tiles;  // by range
  for (const CohortSpan& span : run.records.cohorts) {
    tiles[{span.command, span.range}] += span.tiles_per_cta * span.ctas;
  }
  for (std::uint32_t t = 0; t < program.threads.size(); ++t) {
    for (const NamedCall& call : calls_of(program, t)) {
      const auto* launch = std::get_if<Launch>(&call.command->call);
      if (launch == nullptr) continue;
      const Kernel& kernel = program.kernels[launch->kernel.value()];
      const std::int64_t grid = ctas_of(program, kernel);
      if (kernel.gang) {
        const std::uint32_t member =
            program.gangs[kernel.gang->value()].members.first + kernel.gang_member;
        if (resident[{call.ref, member}] != grid) {
          breaches.push_back(fmt::format("{}: {} CTAs of a gang's member were resident, not {}",
                                         name(call.ref), resident[{call.ref, member}], grid));
        }
        continue;
      }
      for (std::uint32_t i = 0; i < kernel.roles.count; ++i) {
        const std::uint32_t index = kernel.roles.first + i;
        const Role& role = program.roles[index];
        std::int64_t expected = grid;
        if (role.scope == Role::Scope::ctas) {
          expected =
              role.order == TileOrder::one_cta_per_tile ? tiles_of(program, role) : role.ctas;
        }
        // Without chunks a grid counts as the part of it that an idle device holds.
        const std::int64_t told = resident[{call.ref, index}];
        if (run.options.effects.chunking ? told != expected : told > expected) {
          breaches.push_back(fmt::format("{} role {}: {} CTAs were resident, not {}",
                                         name(call.ref), index, resident[{call.ref, index}],
                                         expected));
        }
        for (std::uint32_t k = 0; k < role.ranges.count; ++k) {
          const std::uint32_t range = role.ranges.first + k;
          const std::int64_t done = tiles[{call.ref, range}];
          if (run.options.effects.chunking && done != program.ranges[range].tiles) {
            breaches.push_back(fmt::format("{} range {}: {} tiles were done of {}", name(call.ref),
                                           range, done, program.ranges[range].tiles));
          }
        }
      }
    }
  }
}

// What a pool of SMs holds never passes its capacity.
void check_pools(const RecordedRun& run, Breaches& breaches) {
  if (!run.options.effects.residency || run.options.effects.exclusive_engines) return;
  const Program& program = run.program;
  std::map<CommandRef, const Kernel*> kernels;
  for (std::uint32_t t = 0; t < program.threads.size(); ++t) {
    for (const NamedCall& call : calls_of(program, t)) {
      if (const auto* launch = std::get_if<Launch>(&call.command->call)) {
        kernels[call.ref] = &program.kernels[launch->kernel.value()];
      }
    }
  }
  struct Held {
    Changes slots, threads, registers, shared_memory;
  };
  // Ranks with a partition have a pool of their own, the others of a device one together.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Held> pools;
  for (const ResidencySpan& span : run.records.residencies) {
    const Kernel& kernel = *kernels.at(span.command);
    if (!kernel.gang) {
      // A CTA that walks several roles is counted with the first.
      const Role& role = program.roles[span.role];
      const Role& first = program.roles[kernel.roles.first];
      const bool counted =
          role.scope == Role::Scope::ctas ||
          (first.scope == Role::Scope::warp_group && span.role == kernel.roles.first);
      if (!counted) continue;
    }
    const Rank& rank = run.machine.rank(span.rank);
    const bool whole = rank.sms_per_gpc.empty();
    Held& held = pools[{rank.device.value(), whole ? UINT32_MAX : span.rank.value()}];
    add(held.slots, span.start, span.end, span.ctas);
    add(held.threads, span.start, span.end, std::int64_t{span.ctas} * kernel.footprint.threads);
    add(held.registers, span.start, span.end, std::int64_t{span.ctas} * kernel.footprint.registers);
    add(held.shared_memory, span.start, span.end,
        span.ctas * kernel.footprint.shared_memory.count());
  }
  for (const auto& [pool, held] : pools) {
    const Device& device = run.machine.devices[pool.first];
    const bool whole = pool.second == UINT32_MAX;
    const std::int64_t sms =
        total_sms(whole ? device.sms.sms_per_gpc : run.machine.ranks[pool.second].sms_per_gpc);
    const SmCapacity& per_sm = device.sms.per_sm;
    const auto check = [&](const Changes& changes, std::int64_t most, const char* what) {
      std::int64_t level = 0;
      for (const auto& [time, change] : changes) {
        level += change;
        if (level <= most) continue;
        breaches.push_back(fmt::format("device {} holds {} {} of {} at {} ps", pool.first, level,
                                       what, most, time.ps()));
        return;
      }
    };
    check(held.slots, sms * per_sm.cta_slots, "CTAs");
    check(held.threads, sms * per_sm.threads, "threads");
    check(held.registers, sms * per_sm.registers, "registers");
    check(held.shared_memory, sms * per_sm.shared_memory.count(), "bytes of shared memory");
  }
}

}  // namespace

Breaches residency_is_tiled(const RecordedRun& run) {
  Breaches breaches;
  check_lanes(run, breaches);
  check_grids(run, breaches);
  check_pools(run, breaches);
  return breaches;
}

}  // namespace weft::sim::laws
