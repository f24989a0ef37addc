// SPDX-License-Identifier: Apache-2.0
// What a program sends over each rank's port, counted from its copies, tiles and gangs: by another way than the
// schedules' own account of their transfers.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/schedules/delivery.hpp"
#include "models/schedules/site.hpp"
#include "sim/program.hpp"
#include "sim/units/integer.hpp"

namespace weft::model {

class MovedBytes {
 public:
  MovedBytes(const sim::Machine& machine, const sim::Program& program)
      : machine_(machine), program_(program), links_(machine.links.size()) {
    for (const sim::HostThread& thread : program.threads) add(thread.commands);
  }

  /// Bytes over the links that leave each rank's device, and over those that enter it.
  [[nodiscard]] std::vector<PortBytes> ports() const {
    std::vector<PortBytes> ports;
    for (const sim::Rank& rank : machine_.ranks) {
      const std::string& device = machine_.device(rank.device).name;
      ports.push_back(
          {over([&](const std::string& link) { return link.starts_with(device + "->"); }),
           over([&](const std::string& link) { return link.ends_with("->" + device); })});
    }
    return ports;
  }

 private:
  // Bytes over what they are counted in: routes split them, and shares need not be whole.
  struct Amount {
    Int128 whole = 0;
    std::int64_t denominator = 1;
  };

  void add(const std::vector<sim::Command>& commands) {
    for (const sim::Command& command : commands) {
      if (const auto* copy = std::get_if<sim::Copy>(&command.call)) {
        route(copy->route.value(), copy->bytes.count());
      } else if (const auto* message = std::get_if<sim::Message>(&command.call)) {
        route(message->route.value(), message->bytes.count());
      } else if (const auto* launch = std::get_if<sim::Launch>(&command.call)) {
        kernel(program_.kernels.at(launch->kernel.value()));
      } else if (const auto* graph = std::get_if<sim::GraphLaunch>(&command.call)) {
        add(program_.graphs.at(graph->graph.value()).commands);
      }
    }
  }

  void kernel(const sim::Kernel& kernel) {
    if (kernel.gang && kernel.gang_member == 0) gang(program_.gangs.at(kernel.gang->value()));
    for (std::uint32_t r = 0; r < kernel.roles.count; ++r) {
      const sim::Role& role = program_.roles.at(kernel.roles.first + r);
      for (std::uint32_t i = 0; i < role.ranges.count; ++i) {
        const sim::TileRange& range = program_.ranges.at(role.ranges.first + i);
        for (std::uint32_t t = 0; t < range.traffic.count; ++t) {
          const sim::Traffic& traffic = program_.traffic.at(range.traffic.first + t);
          if (traffic.on == sim::Traffic::On::route)
            route(traffic.index, range.tiles * traffic.bytes.count());
        }
      }
    }
  }

  void gang(const sim::Gang& gang) {
    for (std::uint32_t m = 0; m < gang.members.count; ++m) {
      const sim::GangMember& member = program_.gang_members.at(gang.members.first + m);
      for (std::uint32_t u = 0; u < member.uses.count; ++u) {
        const sim::GangUse& use = program_.gang_uses.at(member.uses.first + u);
        if (use.on == sim::GangUse::On::link)
          add(use.index, Int128{gang.bytes.count()} * use.numerator, gang.denominator);
      }
    }
  }

  void route(std::size_t index, std::int64_t bytes) {
    const sim::Route& route = machine_.routes.at(index);
    for (const sim::RouteShare& share : route.shares) {
      if (share.on == sim::RouteShare::On::link)
        add(share.index, Int128{bytes} * share.numerator, route.denominator);
    }
  }

  void add(std::size_t link, Int128 numerator, std::int64_t denominator) {
    Amount& amount = links_.at(link);
    amount.whole = amount.whole * denominator + numerator * amount.denominator;
    amount.denominator = checked_multiply(amount.denominator, denominator);
    if (amount.whole % amount.denominator == 0) {
      amount.whole /= amount.denominator;
      amount.denominator = 1;
    }
  }

  template <class Of>
  Bytes over(Of&& of) const {
    Bytes sum;
    for (std::size_t link = 0; link < links_.size(); ++link) {
      if (of(machine_.links[link].name))
        sum += Bytes::from(narrow(links_[link].whole / links_[link].denominator));
    }
    return sum;
  }

  const sim::Machine& machine_;
  const sim::Program& program_;
  std::vector<Amount> links_;
};

}  // namespace weft::model
