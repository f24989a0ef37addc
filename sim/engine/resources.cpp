// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/resources.hpp"

#include <algorithm>

#include "sim/solver/wide.hpp"
#include "sim/units/check.hpp"
#include "sim/units/integer.hpp"

namespace weft::sim::engine {

namespace {

std::uint64_t rate_of(Bandwidth bandwidth) {
  return static_cast<std::uint64_t>(bandwidth.bytes_per_second());
}

bool slower(const ProgressRate& a, const ProgressRate& b) {
  return UInt128{a.numerator} * b.denominator < UInt128{b.numerator} * a.denominator;
}

}  // namespace

void list_resources(const Machine& machine, const Effects& effects, Compiled& compiled) {
  using Kind = SharedResource::Kind;
  compiled.memories = static_cast<std::uint32_t>(machine.memories.size());
  auto add = [&](Kind kind, std::size_t index, std::uint64_t capacity, bool shared) {
    compiled.resources.push_back({kind, static_cast<std::uint32_t>(index), capacity, shared});
  };
  for (std::size_t i = 0; i < machine.memories.size(); ++i) {
    add(Kind::memory, i, rate_of(machine.memories[i].bandwidth), effects.hbm_share);
  }
  for (std::size_t i = 0; i < machine.devices.size(); ++i) {
    add(Kind::l2, i, rate_of(machine.devices[i].l2), effects.hbm_share);
  }
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    const Link& link = machine.links[i];
    std::uint64_t capacity = rate_of(link.capacity_per_direction);
    WEFT_CHECK(capacity > 0, "link {} \"{}\" has no capacity", i, link.name);
    if (effects.imbalance) {
      WEFT_CHECK(link.speed_permille > 0, "link {} \"{}\" has a speed of {} / 1000", i, link.name,
                 link.speed_permille);
      capacity = static_cast<std::uint64_t>(narrow(Int128{capacity} * link.speed_permille / 1000));
    }
    add(Kind::link, i, std::max<std::uint64_t>(capacity, 1), effects.link_share);
  }
  for (std::size_t i = 0; i < machine.switches.size(); ++i) {
    const std::optional<Bandwidth>& capacity = machine.switches[i].capacity;
    add(Kind::fabric_switch, i, capacity ? rate_of(*capacity) : 0, effects.link_share);
  }
}

void UseCollector::clear(std::uint64_t denominator) {
  list_ = {};
  list_.first = static_cast<std::uint32_t>(compiled_.uses.size());
  list_.denominator = denominator;
}

void UseCollector::limit(const ProgressRate& rate) {
  if (!list_.cap || slower(rate, *list_.cap)) list_.cap = rate;
}

void UseCollector::charge(std::uint32_t index, std::uint64_t amount) {
  const SharedResource& resource = compiled_.resources[index];
  if (resource.capacity == 0 || amount == 0) return;
  const auto begin = compiled_.uses.begin() + list_.first;
  const auto same = std::find_if(begin, compiled_.uses.end(), [&](const ResourceUse& use) {
    return use.resource.value() == index;
  });
  if (same != compiled_.uses.end()) {
    same->amount += amount;
  } else {
    compiled_.uses.push_back({ResourceId(index), amount});
  }
}

void UseCollector::memory(MemoryId memory, std::uint64_t amount) {
  WEFT_CHECK(memory.value() < machine_.memories.size(), "there is no memory {}", memory.value());
  charge(memory.value(), amount);
}

void UseCollector::link(std::uint32_t link, std::uint64_t amount) {
  WEFT_CHECK(link < machine_.links.size(), "there is no link {}", link);
  const auto before = machine_.memories.size() + machine_.devices.size();
  charge(static_cast<std::uint32_t>(before) + link, amount);
}

void UseCollector::fabric_switch(std::uint32_t fabric_switch, std::uint64_t amount) {
  WEFT_CHECK(fabric_switch < machine_.switches.size(), "there is no switch {}", fabric_switch);
  const auto before = machine_.memories.size() + machine_.devices.size() + machine_.links.size();
  charge(static_cast<std::uint32_t>(before) + fabric_switch, amount);
}

void UseCollector::route(const Route& route, std::uint64_t bytes) {
  if (!effects_.transport) return;
  const auto denominator = static_cast<std::uint64_t>(route.denominator);
  WEFT_CHECK(list_.denominator % denominator == 0, "route \"{}\" is striped over {}, not over {}",
             route.name, denominator, list_.denominator);
  for (const MemoryId source : route.sources) memory(source, bytes * list_.denominator);
  for (const MemoryId target : route.targets) memory(target, bytes * list_.denominator);
  const std::uint64_t scale = list_.denominator / denominator;
  for (const RouteShare& share : route.shares) {
    const std::uint64_t amount = bytes * scale * static_cast<std::uint64_t>(share.numerator);
    if (share.on == RouteShare::On::link) {
      link(share.index, amount);
    } else {
      fabric_switch(share.index, amount);
    }
  }
}

// In a folded machine a use counts on the first of its orbit, for all images of the activity.
const Orbit* UseCollector::orbit_of(std::uint32_t resource) const {
  using Kind = SharedResource::Kind;
  const SharedResource& its = compiled_.resources[resource];
  const auto among = [&](const std::vector<Orbit>& orbits) {
    return orbits.empty() ? nullptr : &orbits[its.index];
  };
  switch (its.kind) {
    case Kind::memory:
      return among(machine_.memory_orbits);
    case Kind::link:
      return among(machine_.link_orbits);
    case Kind::fabric_switch:
      return among(machine_.switch_orbits);
    case Kind::l2:
      break;
  }
  return nullptr;
}

// Moves what was collected to the firsts of the orbits; of all that `parts` members use together.
void UseCollector::fold(std::uint64_t parts) {
  const auto first = compiled_.uses.begin() + list_.first;
  const std::vector<ResourceUse> collected(first, compiled_.uses.end());
  compiled_.uses.erase(first, compiled_.uses.end());
  for (const ResourceUse& use : collected) {
    const std::uint32_t number = use.resource.value();
    const Orbit* const orbit = orbit_of(number);
    if (orbit == nullptr) {
      charge(number, use.amount);
    } else {
      charge(number - compiled_.resources[number].index + orbit->first, use.amount * orbit->images);
    }
  }
  for (std::size_t i = list_.first; i < compiled_.uses.size(); ++i) {
    std::uint64_t& amount = compiled_.uses[i].amount;
    WEFT_CHECK(amount % parts == 0, "{} members of a folded gang use {} together", parts, amount);
    amount /= parts;
  }
}

UseList UseCollector::finish(std::uint64_t members_folded) {
  // What is not shared in this run leaves the list and becomes a cap.
  std::size_t kept = list_.first;
  for (std::size_t i = list_.first; i < compiled_.uses.size(); ++i) {
    const ResourceUse use = compiled_.uses[i];
    const SharedResource& resource = compiled_.resources[use.resource.value()];
    if (resource.shared) {
      compiled_.uses[kept++] = use;
    } else {
      limit({static_cast<std::uint64_t>(narrow(Int128{resource.capacity} * list_.denominator)),
             use.amount});
    }
  }
  compiled_.uses.erase(compiled_.uses.begin() + static_cast<std::ptrdiff_t>(kept),
                       compiled_.uses.end());
  if (!machine_.memory_orbits.empty()) fold(members_folded);
  list_.count = static_cast<std::uint32_t>(compiled_.uses.size() - list_.first);
  return list_;
}

}  // namespace weft::sim::engine
