// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sm_pool.hpp"

#include <algorithm>
#include <limits>

#include "sim/units/check.hpp"

namespace weft::sim::engine {

namespace {

constexpr int kAnyGpc = std::numeric_limits<int>::max();
/// A group of so many SMs is a TPC that stands alone: no cluster of more than two reaches it.
constexpr int kLoneSms = 2;

bool same_content(const SmGroup& a, const SmGroup& b) {
  return a.gpc == b.gpc && a.held == b.held && a.residents == b.residents;
}

// The least integer in [low, high] for which `holds`, which stays true once it is.
template <class Holds>
int least(int low, int high, const Holds& holds) {
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

int Residents::of(std::uint32_t batch) const {
  for (const Resident& resident : *this) {
    if (resident.batch == batch) return resident.ctas;
  }
  return 0;
}

void Residents::add(std::uint32_t batch) {
  Resident* at = begin();
  while (at != end() && at->batch < batch) ++at;
  if (at == end() || at->batch != batch) {
    std::move_backward(at, end(), end() + 1);
    *at = {.batch = batch, .ctas = 0};
    ++count_;
  }
  ++at->ctas;
}

void Residents::remove(std::uint32_t batch, int ctas) {
  Resident* at = begin();
  while (at->batch != batch) ++at;
  if ((at->ctas -= ctas) > 0) return;
  std::move(at + 1, end(), at);
  --count_;
}

void SmGroup::take_off(const Footprint& footprint, std::uint32_t batch, int ctas) {
  threads += footprint.threads * ctas;
  registers += footprint.registers * ctas;
  shared_memory += footprint.shared_memory.count() * ctas;
  slots += ctas;
  held -= ctas;
  residents.remove(batch, ctas);
}

int SmGroup::room(const Footprint& footprint) const {
  int room = slots;
  if (footprint.threads > 0) room = std::min(room, threads / footprint.threads);
  if (footprint.registers > 0) room = std::min(room, registers / footprint.registers);
  if (footprint.shared_memory.count() > 0) {
    room = static_cast<int>(
        std::min<std::int64_t>(room, shared_memory / footprint.shared_memory.count()));
  }
  return room;
}

void SmPool::reset(const SmCapacity& per_sm, const std::vector<int>& sms_per_gpc) {
  gpcs_ = static_cast<int>(sms_per_gpc.size());
  groups_.clear();
  for (int gpc = 0; gpc < gpcs_; ++gpc) {
    const int sms = sms_per_gpc[static_cast<std::size_t>(gpc)];
    if (sms == 0) continue;
    SmGroup group;
    group.gpc = gpc;
    group.sms = sms;
    group.threads = per_sm.threads;
    group.registers = per_sm.registers;
    group.slots = per_sm.cta_slots;
    group.shared_memory = per_sm.shared_memory.count();
    groups_.push_back(group);
  }
}

// Adds a CTA to `sms` SMs of the group; the others stay a group of their own.
void SmPool::put(std::size_t index, int sms, const Footprint& footprint, std::uint32_t batch) {
  if (sms < groups_[index].sms) {
    SmGroup rest = groups_[index];
    rest.sms -= sms;
    groups_[index].sms = sms;
    groups_.insert(groups_.begin() + static_cast<std::ptrdiff_t>(index) + 1, rest);
  }
  SmGroup& group = groups_[index];
  group.threads -= footprint.threads;
  group.registers -= footprint.registers;
  group.shared_memory -= footprint.shared_memory.count();
  --group.slots;
  ++group.held;
  group.residents.add(batch);
}

// One CTA more on the least loaded SMs (of one GPC or of all) that have room; returns how many.
int SmPool::place_level(const Footprint& footprint, int ctas, std::uint32_t batch, int gpc) {
  int level = std::numeric_limits<int>::max();
  int total = 0;
  chosen_.clear();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const SmGroup& group = groups_[i];
    if (gpc != kAnyGpc && group.gpc != gpc) continue;
    if (group.held > level || group.room(footprint) == 0) continue;
    if (group.held < level) {
      level = group.held;
      total = 0;
      chosen_.clear();
    }
    chosen_.push_back(i);
    total += group.sms;
  }
  const int placed = std::min(ctas, total);
  const bool all = placed == total;
  if (!all && gpc == kAnyGpc) deal_singly(placed);
  int left = placed;
  std::size_t splits = 0;
  for (const std::size_t index : chosen_) {
    const SmGroup& group = groups_[index + splits];
    int sms = group.sms;
    if (!all) {
      int& want = gpc == kAnyGpc ? take_[static_cast<std::size_t>(group.gpc)] : left;
      sms = std::min(want, sms);
      want -= sms;
      if (sms == 0) continue;
    }
    const bool split = sms < group.sms;
    put(index + splits, sms, footprint, batch);
    splits += split ? 1 : 0;
  }
  if (groups_.size() > 4 * static_cast<std::size_t>(gpcs_)) merge();
  return placed;
}

// How many of the chosen groups' SMs each GPC gives: first SMs that no cluster of more than two reaches, then one at
// a time from the GPC that holds the fewest CTAs, the first among equals (seen on H200: 8 CTAs fill four TPCs that
// stand alone, the next 8 lie in 8 GPCs).
void SmPool::deal_singly(int ctas) {
  const auto gpcs = static_cast<std::size_t>(gpcs_);
  room_.assign(gpcs, 0);
  load_.assign(gpcs, 0);
  wanted_.assign(gpcs, 0);
  take_.assign(gpcs, 0);
  for (const std::size_t index : chosen_) {
    room_[static_cast<std::size_t>(groups_[index].gpc)] += groups_[index].sms;
  }
  for (const SmGroup& group : groups_) {
    load_[static_cast<std::size_t>(group.gpc)] += group.held * group.sms;
    wanted_[static_cast<std::size_t>(group.gpc)] += group.sms;
  }
  for (const bool lone : {true, false}) {
    const auto given = [&](std::size_t g, int level) {
      const bool dealt = (wanted_[g] <= kLoneSms) == lone;
      return dealt ? std::clamp(level - load_[g], 0, room_[g]) : 0;
    };
    const auto up_to = [&](int level) {
      int sum = 0;
      for (std::size_t g = 0; g < gpcs; ++g) sum += given(g, level);
      return sum;
    };
    int highest = 0;
    for (std::size_t g = 0; g < gpcs; ++g) highest = std::max(highest, load_[g] + room_[g]);
    const int level = least(0, highest, [&](int l) { return up_to(l + 1) > ctas; });
    int rest = std::min(ctas, up_to(highest)) - up_to(level);
    ctas -= up_to(level) + rest;
    for (std::size_t g = 0; g < gpcs; ++g) {
      const bool more = rest > 0 && given(g, level + 1) > given(g, level);
      take_[g] += given(g, level) + (more ? 1 : 0);
      rest -= more ? 1 : 0;
    }
  }
}

// How many CTAs each GPC gets, in `wanted_`: a cluster at a time to the GPC with the most room, the
// first among equals; returns how many in all. A GPC of r room offers r, r - cluster, ...: the
// greatest of all offers are taken.
int SmPool::deal_clusters(int cluster, int ctas) {
  const auto above = [&](int border) {
    int sum = 0;
    for (const int room : room_) sum += room > border ? (room - border - 1) / cluster + 1 : 0;
    return sum;
  };
  const int clusters = std::min((ctas + cluster - 1) / cluster, above(cluster - 1));
  const int most = std::max(cluster - 1, *std::max_element(room_.begin(), room_.end()));
  const int border = least(cluster - 1, most, [&](int b) { return above(b) <= clusters; });
  int rest = clusters - above(border);
  wanted_.resize(room_.size());
  for (std::size_t g = 0; g < room_.size(); ++g) {
    const bool more = rest > 0 && room_[g] >= border && (room_[g] - border) % cluster == 0;
    const int taken = room_[g] > border ? (room_[g] - border - 1) / cluster + 1 : 0;
    wanted_[g] = (taken + (more ? 1 : 0)) * cluster;
    rest -= more ? 1 : 0;
  }
  return clusters * cluster;
}

int SmPool::place(const Footprint& footprint, int cluster, int ctas, std::uint32_t batch) {
  if (cluster == 1) {
    int placed = 0;
    while (placed < ctas) {
      const int now = place_level(footprint, ctas - placed, batch, kAnyGpc);
      if (now == 0) break;
      placed += now;
    }
    return placed;
  }
  if (gpcs_ == 0) return 0;
  room_by_gpc(footprint, room_);
  const int placed = deal_clusters(cluster, ctas);
  for (int gpc = 0; gpc < gpcs_; ++gpc) {
    int left = wanted_[static_cast<std::size_t>(gpc)];
    while (left > 0) left -= place_level(footprint, left, batch, gpc);
  }
  merge();
  return placed;
}

void SmPool::room_by_gpc(const Footprint& footprint, std::vector<int>& room) const {
  room.assign(static_cast<std::size_t>(gpcs_), 0);
  for (const SmGroup& group : groups_) {
    room[static_cast<std::size_t>(group.gpc)] += group.sms * group.room(footprint);
  }
}

bool SmPool::holds(std::uint32_t batch) const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const SmGroup& group) { return group.residents.of(batch) > 0; });
}

int SmPool::room(const Footprint& footprint, int cluster, int ctas) const {
  int total = 0;
  for (std::size_t i = 0; i < groups_.size();) {
    const int gpc = groups_[i].gpc;
    int room = 0;
    for (; i < groups_.size() && groups_[i].gpc == gpc; ++i) {
      room += groups_[i].sms * groups_[i].room(footprint);
    }
    total += room / cluster * cluster;
  }
  return std::min(total, ctas);
}

// Takes one CTA of the batch off each of `sms` SMs of the group; returns whether it was split.
bool SmPool::leave(std::size_t index, int sms, const Footprint& footprint, std::uint32_t batch) {
  const bool split = sms < groups_[index].sms;
  if (split) {
    SmGroup rest = groups_[index];
    rest.sms -= sms;
    groups_[index].sms = sms;
    groups_.insert(groups_.begin() + static_cast<std::ptrdiff_t>(index) + 1, rest);
  }
  groups_[index].take_off(footprint, batch, 1);
  return split;
}

void SmPool::release(const Footprint& footprint, int cluster, std::uint32_t batch, int ctas) {
  while (ctas > 0) {
    int holders = 0;
    int held = 0;
    for (const SmGroup& group : groups_) {
      const int here = group.residents.of(batch);
      holders += here > 0 ? group.sms : 0;
      held += here * group.sms;
    }
    WEFT_CHECK(holders > 0, "{} CTAs to release are on no SM", ctas);
    if (held == ctas) {
      for (SmGroup& group : groups_) {
        const int here = group.residents.of(batch);
        if (here > 0) group.take_off(footprint, batch, here);
      }
      break;
    }
    int left = std::min(ctas, holders);
    ctas -= left;
    for (std::size_t i = 0; i < groups_.size() && left > 0; ++i) {
      if (groups_[i].residents.of(batch) == 0) continue;
      const int sms = groups_[i].sms;
      // Clusters leave GPC by GPC; single CTAs leave evenly, as they came.
      const int share = cluster > 1
                            ? std::min(left, sms)
                            : static_cast<int>((std::int64_t{left} * sms + holders - 1) / holders);
      holders -= sms;
      left -= share;
      if (leave(i, share, footprint, batch)) ++i;
    }
  }
  merge();
}

void SmPool::rename(const std::vector<Resident>& residents, std::uint32_t from, std::uint32_t to) {
  for (SmGroup& group : groups_) {
    Residents& here = group.residents;
    if (!std::equal(here.begin(), here.end(), residents.begin(), residents.end())) continue;
    for (Resident& resident : here) {
      if (resident.batch == from) resident.batch = to;
    }
    std::sort(here.begin(), here.end(),
              [](const Resident& a, const Resident& b) { return a.batch < b.batch; });
  }
}

void SmPool::merge() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    bool merged = false;
    for (std::size_t k = kept; k-- > 0 && groups_[k].gpc == groups_[i].gpc;) {
      if (!same_content(groups_[k], groups_[i])) continue;
      groups_[k].sms += groups_[i].sms;
      merged = true;
      break;
    }
    if (merged) continue;
    if (kept != i) groups_[kept] = groups_[i];
    ++kept;
  }
  groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(kept), groups_.end());
}

}  // namespace weft::sim::engine
