// SPDX-License-Identifier: Apache-2.0
// Does a renumbering of the ranks turn a machine and a program into themselves?
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/machine.hpp"
#include "sim/program.hpp"

namespace weft::sim::fold_detail {

inline constexpr std::uint32_t kUnmapped = UINT32_MAX;

/// A map of ids that is learnt pair by pair and stays one to one.
class IdMap {
 public:
  explicit IdMap(std::size_t size) : image_(size, kUnmapped), source_(size, kUnmapped) {}
  /// Adds `from` -> `to`; false if that contradicts what is known. `fresh`: it was not known.
  bool learn(std::uint32_t from, std::uint32_t to, bool& fresh) {
    fresh = image_[from] == kUnmapped;
    if (!fresh) return image_[from] == to;
    if (source_[to] != kUnmapped) return false;
    image_[from] = to;
    source_[to] = from;
    return true;
  }
  [[nodiscard]] bool knows(std::uint32_t from) const { return image_[from] != kUnmapped; }
  [[nodiscard]] bool is_image(std::uint32_t to) const { return source_[to] != kUnmapped; }
  /// What is not known stays where it is.
  [[nodiscard]] std::uint32_t operator()(std::uint32_t from) const {
    return knows(from) ? image_[from] : from;
  }

 private:
  std::vector<std::uint32_t> image_;
  std::vector<std::uint32_t> source_;
};

/// Which rank each stream and host thread serves: only then can ranks be told apart.
struct RankView {
  std::vector<RankId> ranks;                        ///< used ones, ascending
  std::vector<std::uint32_t> thread_of;             ///< by index in `ranks`
  std::vector<std::vector<std::uint32_t>> streams;  ///< by index in `ranks`
  std::string refused;
};
[[nodiscard]] RankView view_ranks(const Machine& machine, const Program& program);

/// Which routes lead where, and which of a route's links are near which of its ends.
class RouteIndex {
 public:
  explicit RouteIndex(const Machine& machine);
  /// Returns the first unicast route between two memories; kUnmapped if there is none.
  [[nodiscard]] std::uint32_t between(MemoryId from, MemoryId to) const {
    return between_[from.value() * memories_ + to.value()];
  }
  /// Returns a unicast route's shares so that those of alike routes stand in the same places: on
  /// links that serve one source, then on those that serve one target, then on the others.
  [[nodiscard]] const std::vector<RouteShare>& shares(RouteId id) const;

 private:
  const Machine& machine_;
  mutable std::vector<std::vector<RouteShare>> ordered_;  // by route, from the first question on
  std::size_t memories_;
  std::vector<std::uint32_t> between_;
  std::vector<std::uint32_t> source_of_;  // by link: its only one, or kSeveral
  std::vector<std::uint32_t> target_of_;
};

/// A renumbering: rank number i (of RankView::ranks) becomes number map[i].
using Renumbering = std::vector<std::uint32_t>;

/// The images of everything under one renumbering.
class Symmetry {
 public:
  Symmetry(const Machine& machine, const Program& program, const RankView& view,
           const RouteIndex& index, const Renumbering& ranks);

  /// Returns why the renumbering changes machine or program; none if it does not.
  [[nodiscard]] std::optional<std::string> check();

  [[nodiscard]] const IdMap& memories() const { return memories_; }
  [[nodiscard]] const IdMap& links() const { return links_; }
  [[nodiscard]] const IdMap& switches() const { return switches_; }
  [[nodiscard]] const IdMap& gangs() const { return gangs_; }

 private:
  bool fail(std::string why);
  bool ranks_agree();
  bool devices_agree(std::uint32_t from, std::uint32_t to);
  bool threads_agree(std::uint32_t from, std::uint32_t to);
  bool calls_agree(const std::vector<Command>& a, const std::vector<Command>& b);
  bool agree(const Launch& a, const Launch& b);
  bool agree(const Copy& a, const Copy& b);
  bool agree(const Record& a, const Record& b);
  bool agree(const WaitEvent& a, const WaitEvent& b);
  bool agree(const WaitSignal& a, const WaitSignal& b);
  bool agree(const Post& a, const Post& b);
  bool agree(const Message& a, const Message& b);
  bool agree(const HostWait& a, const HostWait& b);
  bool agree(const HostDelay& a, const HostDelay& b);
  bool agree(const GraphLaunch& a, const GraphLaunch& b);
  bool memory(MemoryId a, MemoryId b);
  bool link(std::uint32_t a, std::uint32_t b);
  bool fabric_switch(std::uint32_t a, std::uint32_t b);
  bool route(RouteId a, RouteId b);
  bool signal(SignalId a, SignalId b);
  bool post(const SignalPost& a, const SignalPost& b);
  bool kernel(KernelId a, KernelId b);
  bool roles(const Kernel& a, const Kernel& b);
  bool range(const TileRange& a, const TileRange& b);
  bool gang(GangId a, GangId b);
  [[nodiscard]] std::vector<std::array<std::int64_t, 3>> gang_uses(const GangMember& member,
                                                                   bool mapped) const;
  bool gang_posts_agree(GangId a, GangId b);
  bool ways_agree(const std::vector<Command>& commands);
  void list_ways();
  bool way_agrees(const SignalPost& post);
  bool ways_of_posts_agree(const Slice& posts);
  bool ways_of_kernel_agree(KernelId id);
  void learn_links(const Route& route);
  void learn_links_of_ranks();

  const Machine& machine_;
  const Program& program_;
  const RankView& view_;
  const RouteIndex& index_;
  const Renumbering& ranks_;
  IdMap devices_;
  IdMap memories_;
  IdMap links_;
  IdMap switches_;
  IdMap nics_;
  IdMap routes_;
  IdMap streams_;
  IdMap events_;
  IdMap signals_;
  IdMap kernels_;
  IdMap gangs_;
  IdMap graphs_;
  std::vector<std::optional<Duration>> ways_;  // [from][to] memory
  std::uint32_t from_ = 0;                     // the rank's number whose calls are looked at
  std::vector<std::uint32_t> looked_at_;       // the rank, by kernel: its posts' ways were
  bool learnt_links_ = false;                  // of all routes between ranks
  std::optional<std::string> why_;
};

}  // namespace weft::sim::fold_detail
