// SPDX-License-Identifier: Apache-2.0
// Which SMs do CTAs land on, and what is left? The state of the SMs of a device or a partition.
//
// SMs of one GPC that hold the same CTAs are interchangeable and form a group, so that placing a
// whole grid costs as many steps as there are GPCs. CTAs go breadth first: to the SMs that hold the
// fewest CTAs, one each, round robin over the GPCs. A cluster goes whole into one GPC. Groups of one
// GPC stand together, in the order of the GPCs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/validate.hpp"
#include "sim/machine.hpp"
#include "sim/program.hpp"

namespace weft::sim::engine {

/// CTAs of one batch on each SM of a group.
struct Resident {
  std::uint32_t batch = 0;
  int ctas = 0;
  friend bool operator==(const Resident&, const Resident&) = default;
};

/// The batches on an SM, ascending, so that equal contents compare equal. A copy is as long as what
/// there is.
class Residents {
 public:
  Residents() = default;
  Residents(const Residents& other) : count_(other.count_) {
    std::copy(other.begin(), other.end(), list_.begin());
  }
  Residents& operator=(const Residents& other) {
    count_ = other.count_;
    std::copy(other.begin(), other.end(), list_.begin());
    return *this;
  }
  ~Residents() = default;
  [[nodiscard]] const Resident* begin() const { return list_.data(); }
  [[nodiscard]] const Resident* end() const { return list_.data() + count_; }
  [[nodiscard]] Resident* begin() { return list_.data(); }
  [[nodiscard]] Resident* end() { return list_.data() + count_; }
  /// Returns the CTAs of a batch; 0 if it has none here.
  [[nodiscard]] int of(std::uint32_t batch) const;
  /// Adds a CTA of a batch.
  void add(std::uint32_t batch);
  /// Takes `ctas` CTAs of a batch out, which must be there.
  void remove(std::uint32_t batch, int ctas);
  friend bool operator==(const Residents& a, const Residents& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::uint32_t count_ = 0;
  std::array<Resident, kMostCtasPerSm> list_;  // [count_, ...) is never read
};

struct SmGroup {
  int gpc = 0;
  int sms = 0;
  int held = 0;  ///< CTAs on each SM
  int threads = 0;
  int registers = 0;
  int slots = 0;
  std::int64_t shared_memory = 0;
  Residents residents;

  /// Returns how many more CTAs each SM of the group can hold.
  [[nodiscard]] int room(const Footprint& footprint) const;
  /// Takes `ctas` CTAs of a batch off each SM of the group.
  void take_off(const Footprint& footprint, std::uint32_t batch, int ctas);
};

class SmPool {
 public:
  using Partition = std::vector<int>;  ///< SMs by GPC

  SmPool() = default;
  /// All SMs idle; `sms_per_gpc` is the partition.
  SmPool(const SmCapacity& per_sm, const std::vector<int>& sms_per_gpc) {
    reset(per_sm, sms_per_gpc);
  }
  /// All SMs idle, as a new pool of this partition.
  void reset(const SmCapacity& per_sm, const std::vector<int>& sms_per_gpc);

  /// Places up to `ctas` CTAs (a multiple of `cluster`) of a batch; returns how many found room.
  int place(const Footprint& footprint, int cluster, int ctas, std::uint32_t batch);
  /// Takes `ctas` CTAs of a batch off their SMs.
  void release(const Footprint& footprint, int cluster, std::uint32_t batch, int ctas);
  /// Gives the CTAs of one batch on SMs with exactly these residents to another batch.
  void rename(const std::vector<Resident>& residents, std::uint32_t from, std::uint32_t to);
  /// Returns whether a CTA of the batch is on any SM.
  [[nodiscard]] bool holds(std::uint32_t batch) const;
  /// Returns how many CTAs could be placed now, at most `ctas`.
  [[nodiscard]] int room(const Footprint& footprint, int cluster, int ctas) const;
  [[nodiscard]] const std::vector<SmGroup>& groups() const { return groups_; }

 private:
  void put(std::size_t group, int sms, const Footprint& footprint, std::uint32_t batch);
  int place_level(const Footprint& footprint, int ctas, std::uint32_t batch, int gpc);
  void deal_singly(int ctas);
  int deal_clusters(int cluster, int ctas);
  bool leave(std::size_t group, int sms, const Footprint& footprint, std::uint32_t batch);
  void room_by_gpc(const Footprint& footprint, std::vector<int>& room) const;
  void merge();

  std::vector<SmGroup> groups_;
  int gpcs_ = 0;
  std::vector<std::size_t> chosen_;  // scratch of a placement: groups
  std::vector<int> room_;            // and by GPC
  std::vector<int> load_;
  std::vector<int> take_;
  std::vector<int> wanted_;
};

}  // namespace weft::sim::engine
