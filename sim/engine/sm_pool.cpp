// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sm_pool.hpp"

#include <algorithm>
#include <limits>

#include "sim/units/check.hpp"

namespace weft::sim::engine {

namespace {

constexpr int kAnyGpc = std::numeric_limits<int>::max();

bool same_content(const SmGroup& a, const SmGroup& b) {
  if (a.gpc != b.gpc || a.residents != b.residents || a.held != b.held) return false;
  for (int i = 0; i < a.residents; ++i) {
    const Resident& x = a.resident[static_cast<std::size_t>(i)];
    const Resident& y = b.resident[static_cast<std::size_t>(i)];
    if (x.batch != y.batch || x.ctas != y.ctas) return false;
  }
  return true;
}

void add_resident(SmGroup& group, std::uint32_t batch) {
  // Ascending in batch, so that equal contents compare equal.
  auto* const begin = group.resident.data();
  auto* const end = begin + group.residents;
  auto* at = std::lower_bound(begin, end, batch,
                              [](const Resident& r, std::uint32_t b) { return r.batch < b; });
  if (at == end || at->batch != batch) {
    std::move_backward(at, end, end + 1);
    *at = {.batch = batch, .ctas = 0};
    ++group.residents;
  }
  ++at->ctas;
}

bool holds(const SmGroup& group, std::uint32_t batch) {
  for (int i = 0; i < group.residents; ++i) {
    if (group.resident[static_cast<std::size_t>(i)].batch == batch) return true;
  }
  return false;
}

void remove_resident(SmGroup& group, std::uint32_t batch) {
  auto* const begin = group.resident.data();
  auto* const end = begin + group.residents;
  auto* const at =
      std::find_if(begin, end, [batch](const Resident& r) { return r.batch == batch; });
  if (--at->ctas > 0) return;
  std::move(at + 1, end, at);
  --group.residents;
}

}  // namespace

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

SmPool::SmPool(const SmCapacity& per_sm, const std::vector<int>& sms_per_gpc)
    : gpcs_(static_cast<int>(sms_per_gpc.size())) {
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
  add_resident(group, batch);
}

// One CTA more on the least loaded SMs (of one GPC or of all) that have room; returns how many.
int SmPool::place_level(const Footprint& footprint, int ctas, std::uint32_t batch, int gpc) {
  int level = std::numeric_limits<int>::max();
  for (const SmGroup& group : groups_) {
    if (gpc != kAnyGpc && group.gpc != gpc) continue;
    if (group.held < level && group.room(footprint) > 0) level = group.held;
  }
  if (level == std::numeric_limits<int>::max()) return 0;
  std::vector<int>& free = free_;
  free.assign(static_cast<std::size_t>(gpcs_), 0);
  int total = 0;
  for (const SmGroup& group : groups_) {
    if ((gpc != kAnyGpc && group.gpc != gpc) || group.held != level) continue;
    if (group.room(footprint) == 0) continue;
    free[static_cast<std::size_t>(group.gpc)] += group.sms;
    total += group.sms;
  }
  std::vector<int>& take = take_;
  take.assign(free.size(), 0);
  int left = std::min(ctas, total);
  const int placed = left;
  if (left == total) {
    take = free;
  } else {
    // Round robin over the GPCs with the most SMs left first.
    while (left > 0) {
      int most = 0;
      for (std::size_t g = 0; g < free.size(); ++g) most = std::max(most, free[g] - take[g]);
      for (std::size_t g = 0; g < free.size() && left > 0; ++g) {
        if (free[g] - take[g] != most) continue;
        ++take[g];
        --left;
      }
    }
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const SmGroup& group = groups_[i];
    int& want = take[static_cast<std::size_t>(group.gpc)];
    if (want == 0 || group.held != level || (gpc != kAnyGpc && group.gpc != gpc)) continue;
    if (group.room(footprint) == 0) continue;
    const int sms = std::min(want, group.sms);
    want -= sms;
    const bool split = sms < group.sms;
    put(i, sms, footprint, batch);
    if (split) ++i;
  }
  if (groups_.size() > 4 * free.size()) merge();
  return placed;
}

int SmPool::place(const Footprint& footprint, int cluster, int ctas, std::uint32_t batch) {
  int placed = 0;
  if (cluster == 1) {
    while (placed < ctas) {
      const int now = place_level(footprint, ctas - placed, batch, kAnyGpc);
      if (now == 0) break;
      placed += now;
    }
    return placed;
  }
  // The GPC with the most room takes the next cluster. A CTA takes one from its GPC's room, so that who takes how
  // many is known before the first is placed.
  room_by_gpc(footprint, room_);
  wanted_.assign(static_cast<std::size_t>(gpcs_), 0);
  while (placed < ctas) {
    const auto best = std::max_element(room_.begin(), room_.end());
    if (best == room_.end() || *best < cluster) break;
    *best -= cluster;
    wanted_[static_cast<std::size_t>(best - room_.begin())] += cluster;
    placed += cluster;
  }
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

int SmPool::room(const Footprint& footprint, int cluster, int ctas) const {
  std::vector<int> room;
  room_by_gpc(footprint, room);
  int total = 0;
  for (const int r : room) total += r / cluster * cluster;
  return std::min(total, ctas);
}

// Takes one CTA of the batch off each of `sms` SMs of the group; returns whether it was split.
bool SmPool::take_off(std::size_t index, int sms, const Footprint& footprint, std::uint32_t batch) {
  const bool split = sms < groups_[index].sms;
  if (split) {
    SmGroup rest = groups_[index];
    rest.sms -= sms;
    groups_[index].sms = sms;
    groups_.insert(groups_.begin() + static_cast<std::ptrdiff_t>(index) + 1, rest);
  }
  SmGroup& group = groups_[index];
  group.threads += footprint.threads;
  group.registers += footprint.registers;
  group.shared_memory += footprint.shared_memory.count();
  ++group.slots;
  --group.held;
  remove_resident(group, batch);
  return split;
}

void SmPool::release(const Footprint& footprint, int cluster, std::uint32_t batch, int ctas) {
  while (ctas > 0) {
    int holders = 0;
    for (const SmGroup& group : groups_) holders += holds(group, batch) ? group.sms : 0;
    WEFT_CHECK(holders > 0, "{} CTAs to release are on no SM", ctas);
    int left = std::min(ctas, holders);
    ctas -= left;
    for (std::size_t i = 0; i < groups_.size() && left > 0; ++i) {
      if (!holds(groups_[i], batch)) continue;
      const int sms = groups_[i].sms;
      // Clusters leave GPC by GPC; single CTAs leave evenly, as they came.
      const int share = cluster > 1
                            ? std::min(left, sms)
                            : static_cast<int>((std::int64_t{left} * sms + holders - 1) / holders);
      holders -= sms;
      left -= share;
      if (take_off(i, share, footprint, batch)) ++i;
    }
  }
  merge();
}

void SmPool::rename(const std::vector<Resident>& residents, std::uint32_t from, std::uint32_t to) {
  for (SmGroup& group : groups_) {
    auto* const begin = group.resident.data();
    auto* const end = begin + group.residents;
    if (!std::equal(begin, end, residents.begin(), residents.end())) continue;
    for (auto* at = begin; at != end; ++at) {
      if (at->batch == from) at->batch = to;
    }
    std::sort(begin, end, [](const Resident& a, const Resident& b) { return a.batch < b.batch; });
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
