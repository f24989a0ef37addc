// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/gang_uses.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <utility>

#include "sim/units/integer.hpp"

namespace weft::model {
namespace {

struct Peers {
  std::vector<int> inside;
  std::vector<int> outside;
};

const sim::Route& route(const topology::Built& built, std::size_t from, int to) {
  return built.machine.routes.at(built.unicast[from][static_cast<std::size_t>(to)].value());
}

// Whether a rank has links of its own to each of these: there are as many rings as links then, and every peer is the
// next one of some.
bool links_apart(const topology::Built& built, std::size_t rank, const std::vector<int>& peers) {
  std::set<std::uint32_t> taken;
  for (const int peer : peers) {
    for (const sim::RouteShare& share : route(built, rank, peer).shares) {
      if (share.on == sim::RouteShare::On::link && !taken.insert(share.index).second) return false;
    }
  }
  return true;
}

std::vector<Peers> peers_of(const topology::Built& built, CollectiveAlgorithm algorithm) {
  const auto ranks = static_cast<int>(built.node_of_rank.size());
  const auto node = [&](int rank) { return built.node_of_rank[static_cast<std::size_t>(rank)]; };
  std::map<std::int64_t, int> met;
  std::vector<int> place;
  for (int rank = 0; rank < ranks; ++rank) place.push_back(met[node(rank)]++);
  std::vector<Peers> all;
  for (int rank = 0; rank < ranks; ++rank) {
    Peers& peers = all.emplace_back();
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      if (node(peer) == node(rank)) {
        peers.inside.push_back(peer);
      } else if (place[static_cast<std::size_t>(peer)] == place[static_cast<std::size_t>(rank)]) {
        peers.outside.push_back(peer);
      }
    }
    const int next = (rank + 1) % ranks;
    if (algorithm == CollectiveAlgorithm::ring && !peers.inside.empty() &&
        !links_apart(built, static_cast<std::size_t>(rank), peers.inside))
      peers.inside = {node(next) == node(rank) ? next : peers.inside.front()};
  }
  return all;
}

GangUses uses_of(const CollectiveCost& cost, const topology::Built& built) {
  const std::vector<Peers> peers = peers_of(built, cost.algorithm);
  std::int64_t common = 1;
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    for (const auto* group : {&peers[rank].inside, &peers[rank].outside}) {
      for (const int peer : *group) {
        common = std::lcm(common, checked_multiply(route(built, rank, peer).denominator,
                                                   static_cast<std::int64_t>(group->size())));
      }
    }
  }
  const bool by_trees = cost.algorithm == CollectiveAlgorithm::nvls && !built.reduce.empty();
  if (by_trees) {
    for (const auto* trees : {&built.reduce, &built.multicast}) {
      for (const sim::RouteId id : *trees)
        common = std::lcm(common, built.machine.routes.at(id.value()).denominator);
    }
  }
  GangUses uses;
  uses.denominator = checked_multiply(cost.denominator, common);
  const PerByte& bytes = cost.per_byte;
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    std::vector<sim::GangUse>& own = uses.of_rank.emplace_back();
    own.push_back({sim::GangUse::On::memory, built.memories[rank].device.value(),
                   checked_multiply(bytes.hbm_read + bytes.hbm_write, common)});
    std::map<std::pair<bool, std::uint32_t>, std::int64_t> shares;
    const auto spread = [&](const std::vector<int>& group, std::int64_t numerator) {
      for (const int peer : group) {
        const sim::Route& way = route(built, rank, peer);
        const std::int64_t part = checked_multiply(numerator, common) /
                                  static_cast<std::int64_t>(group.size()) / way.denominator;
        for (const sim::RouteShare& share : way.shares) {
          shares[{share.on == sim::RouteShare::On::link, share.index}] +=
              checked_multiply(part, share.numerator);
        }
      }
    };
    // A switch that adds or multicasts takes from a port what it sends out of others: the two ways differ. A crossbar
    // counts what comes in.
    const auto through_switch = [&](sim::RouteId id, std::int64_t numerator) {
      const sim::Route& tree = built.machine.routes.at(id.value());
      const bool out = tree.kind == sim::Route::Kind::reduce;
      const sim::LinkEnd port{sim::LinkEnd::Of::memory, built.memories[rank].device.value()};
      const std::int64_t part = checked_multiply(numerator, common) / tree.denominator;
      for (const sim::RouteShare& share : tree.shares) {
        const bool is_link = share.on == sim::RouteShare::On::link;
        const bool passed = is_link ? (out ? built.machine.links.at(share.index).from
                                           : built.machine.links.at(share.index).to) == port
                                    : out;
        if (passed) shares[{is_link, share.index}] += checked_multiply(part, share.numerator);
      }
    };
    if (by_trees) {
      through_switch(built.reduce[rank], bytes.egress);
      through_switch(built.multicast[rank], bytes.ingress);
    } else {
      spread(peers[rank].inside, bytes.egress);
      spread(peers[rank].outside, bytes.nic_egress);
    }
    for (const auto& [on, numerator] : shares) {
      if (numerator == 0) continue;
      if (on.first) {
        own.push_back({sim::GangUse::On::link, on.second, numerator});
      } else if (built.machine.switches.at(on.second).capacity) {
        own.push_back({sim::GangUse::On::fabric_switch, on.second, numerator});
      }
    }
  }
  return uses;
}

}  // namespace

struct GangUseTable::Entries {
  struct Entry {
    CollectiveAlgorithm algorithm;
    std::int64_t denominator;
    PerByte per_byte;
    GangUses uses;
  };
  std::mutex mutex;
  std::list<Entry> list;  // one a kind of collective: a handful
};

GangUseTable::GangUseTable() : entries_(std::make_unique<Entries>()) {}

GangUseTable::~GangUseTable() = default;

const GangUses& GangUseTable::of(const CollectiveCost& cost, const topology::Built& built) {
  const std::lock_guard lock(entries_->mutex);
  for (const Entries::Entry& entry : entries_->list) {
    if (entry.algorithm == cost.algorithm && entry.denominator == cost.denominator &&
        entry.per_byte == cost.per_byte) {
      return entry.uses;
    }
  }
  entries_->list.push_back({cost.algorithm, cost.denominator, cost.per_byte, uses_of(cost, built)});
  return entries_->list.back().uses;
}

}  // namespace weft::model
