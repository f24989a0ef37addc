// SPDX-License-Identifier: Apache-2.0
#include "tools/views/lanes.hpp"

#include <algorithm>
#include <variant>

namespace weft::tool {

std::string engine_name(const sim::TransportEngine& engine) {
  const char* kind = engine.kind == sim::EngineKind::copy_engine ? "copy engine"
                     : engine.kind == sim::EngineKind::sdma      ? "SDMA"
                                                                 : "CCU";
  const char* direction = engine.direction == sim::EngineDirection::inbound    ? " in"
                          : engine.direction == sim::EngineDirection::outbound ? " out"
                          : engine.direction == sim::EngineDirection::local    ? " local"
                                                                               : "";
  return std::string(kind) + direction;
}

LaneSink::LaneSink(const sim::Machine& machine, const sim::Program& program)
    : machine_(machine), program_(program) {}

const sim::Command& LaneSink::command(const sim::CommandRef& ref) const {
  const sim::Command& call = program_.threads.at(ref.thread).commands.at(ref.index);
  const auto* graph = std::get_if<sim::GraphLaunch>(&call.call);
  return graph == nullptr ? call
                          : program_.graphs.at(graph->graph.value()).commands.at(ref.in_graph);
}

LaneSpan LaneSink::span_of(const sim::CommandRef& ref, TimePoint start, TimePoint end) const {
  const sim::Command& call = command(ref);
  const sim::Tag& tag = program_.tags.at(call.tag.value());
  return {start, end, program_.labels.at(call.label.value()), tag.boundary, tag.chunk, 0, ref};
}

void LaneSink::on(const sim::CommandSpan& span) {
  end_ = std::max(end_, span.end);
  if (!span.stream) return;
  const sim::RankId rank = program_.streams.at(span.stream->value()).rank;
  const sim::Command& call = command(span.command);
  if (const auto* copy = std::get_if<sim::Copy>(&call.call)) {
    lanes_[{rank.value(), LaneKind::engine, copy->engine}].push_back(
        span_of(span.command, span.start, span.end));
  } else if (const auto* message = std::get_if<sim::Message>(&call.call)) {
    const auto nic = machine_.routes.at(message->route.value()).nic;
    lanes_[{rank.value(), LaneKind::nic, nic ? nic->value() : 0}].push_back(
        span_of(span.command, span.start, span.end));
  } else if (const auto* launch = std::get_if<sim::Launch>(&call.call)) {
    const sim::Kernel& kernel = program_.kernels.at(launch->kernel.value());
    if (kernel.gang) {
      LaneSpan lane = span_of(span.command, span.start, span.end);
      lane.ctas = kernel.ctas;
      lanes_[{rank.value(), LaneKind::communication, 0}].push_back(std::move(lane));
    }
  }
}

void LaneSink::on(const sim::CohortSpan& span) {
  if (span.tiles_per_cta == 0) return;
  const sim::Purpose purpose = program_.roles.at(span.role).purpose;
  const LaneKind kind =
      purpose == sim::Purpose::compute ? LaneKind::compute : LaneKind::communication;
  LaneSpan lane = span_of(span.command, span.start, span.end);
  lane.ctas = span.ctas;
  lanes_[{span.rank.value(), kind, 0}].push_back(std::move(lane));
}

// The rank whose stream a command is on; none for host calls.
std::optional<sim::RankId> LaneSink::rank_of(const sim::CommandRef& ref) const {
  return std::visit(
      [&](const auto& call) -> std::optional<sim::RankId> {
        if constexpr (requires { call.stream; }) {
          return program_.streams.at(call.stream.value()).rank;
        } else {
          return std::nullopt;
        }
      },
      command(ref).call);
}

void LaneSink::on(const sim::SignalPosted& posted) {
  posted_.insert_or_assign({posted.by, posted.signal}, posted.at);
}

void LaneSink::on(const sim::SignalSeen& seen) {
  if (!seen.by) return;
  const auto post = posted_.find({*seen.by, seen.signal});
  const auto from = rank_of(*seen.by), to = rank_of(seen.waiter);
  if (post == posted_.end() || !from || !to) return;
  const sim::LabelId label = command(*seen.by).label;
  arrows_.push_back({*from, *to, post->second, seen.at, program_.labels.at(label.value()), *seen.by,
                     seen.waiter});
}

void LaneSink::on(const sim::RateChange& change) {
  Rate now{change.units_per_second, std::nullopt};
  if (change.ctas > 0) {
    now.units_per_second *= change.ctas;
    now.range = change.range;
  }
  Rate& before = rates_[{change.command, change.activity}];
  if (before.range == now.range) {
    add(change.command, {now.units_per_second - before.units_per_second, now.range}, change.at);
  } else {
    add(change.command, {-before.units_per_second, before.range}, change.at);
    add(change.command, now, change.at);
  }
  before = now;
}

void LaneSink::add(const sim::CommandRef& ref, const Rate& change, TimePoint at) {
  if (change.units_per_second == 0) return;
  if (!change.range) return add_to_links(command(ref), at, change.units_per_second);
  const sim::TileRange& range = program_.ranges.at(*change.range);
  for (std::uint32_t i = 0; i < range.traffic.count; ++i) {
    const sim::Traffic& traffic = program_.traffic.at(range.traffic.first + i);
    if (traffic.on != sim::Traffic::On::route) continue;
    add_route(sim::RouteId(traffic.index), at,
              change.units_per_second * static_cast<double>(traffic.bytes.count()));
  }
}

void LaneSink::add_route(sim::RouteId id, TimePoint at, double change) {
  const sim::Route& route = machine_.routes.at(id.value());
  for (const sim::RouteShare& share : route.shares) {
    if (share.on != sim::RouteShare::On::link) continue;
    link_changes_[share.index].emplace_back(
        at, change * static_cast<double>(share.numerator) / static_cast<double>(route.denominator));
  }
}

void LaneSink::add_to_links(const sim::Command& call, TimePoint at, double change) {
  if (const auto* copy = std::get_if<sim::Copy>(&call.call)) {
    add_route(copy->route, at, change);
  } else if (const auto* message = std::get_if<sim::Message>(&call.call)) {
    add_route(message->route, at, change);
  } else if (const auto* launch = std::get_if<sim::Launch>(&call.call)) {
    const sim::Kernel& kernel = program_.kernels.at(launch->kernel.value());
    if (!kernel.gang) return;
    const sim::Gang& gang = program_.gangs.at(kernel.gang->value());
    const sim::GangMember& member =
        program_.gang_members.at(gang.members.first + kernel.gang_member);
    for (std::uint32_t i = 0; i < member.uses.count; ++i) {
      const sim::GangUse& use = program_.gang_uses.at(member.uses.first + i);
      if (use.on != sim::GangUse::On::link) continue;
      link_changes_[use.index].emplace_back(
          at, change * static_cast<double>(use.numerator) / static_cast<double>(gang.denominator));
    }
  }
}

std::vector<RankLanes> LaneSink::ranks() const {
  std::map<std::uint32_t, RankLanes> ranks;
  for (const auto& [key, spans] : lanes_) {
    RankLanes& rank =
        ranks.try_emplace(key.rank, RankLanes{sim::RankId(key.rank), {}}).first->second;
    Lane lane;
    lane.kind = key.kind;
    lane.spans = spans;
    std::stable_sort(lane.spans.begin(), lane.spans.end(),
                     [](const LaneSpan& a, const LaneSpan& b) { return a.start < b.start; });
    switch (key.kind) {
      case LaneKind::compute:
        lane.name = "SMs compute";
        break;
      case LaneKind::communication:
        lane.name = "SMs communicate";
        break;
      case LaneKind::engine:
        lane.name = engine_name(
            machine_.device(machine_.rank(sim::RankId(key.rank)).device).engines.at(key.index));
        break;
      case LaneKind::nic:
        lane.name = machine_.nics.empty() ? "NIC" : machine_.nics.at(key.index).name;
        break;
      case LaneKind::link:
        break;
    }
    rank.lanes.push_back(std::move(lane));
  }
  std::vector<RankLanes> result;
  for (auto& [id, rank] : ranks) result.push_back(std::move(rank));
  return result;
}

std::vector<LinkLane> LaneSink::links() const {
  std::vector<LinkLane> lanes;
  for (const auto& [index, changes] : link_changes_) {
    const sim::Link& link = machine_.links.at(index);
    LinkLane lane{
        link.name, static_cast<double>(link.capacity_per_direction.bytes_per_second()), {}};
    auto sorted = changes;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    double load = 0;
    for (const auto& [at, change] : sorted) {
      load = std::max(0.0, load + change);
      if (!lane.loads.empty() && lane.loads.back().at == at) {
        lane.loads.back().bytes_per_second = load;
      } else {
        lane.loads.push_back({at, load});
      }
    }
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

std::optional<LinkLane> busiest_link(const LaneSink& sink) {
  const auto full_for = [](const LinkLane& link) {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < link.loads.size(); ++i) {
      sum += link.loads[i].bytes_per_second *
             static_cast<double>((link.loads[i + 1].at - link.loads[i].at).ps()) / link.capacity;
    }
    return sum;
  };
  const std::vector<LinkLane> links = sink.links();
  const auto busiest = std::max_element(
      links.begin(), links.end(),
      [&](const LinkLane& a, const LinkLane& b) { return full_for(a) < full_for(b); });
  if (busiest == links.end()) return std::nullopt;
  return *busiest;
}

}  // namespace weft::tool
