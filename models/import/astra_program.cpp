// SPDX-License-Identifier: Apache-2.0
#include "models/import/astra_program.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "models/import/astra_fabric.hpp"
#include "sim/units/integer.hpp"

namespace weft::model {
namespace {

constexpr Int128 kLongestCompute = Int128{864'000'000'000'000'000};  // 10 days in ps

/// Nodes of every NPU as calls, what they share planned once.
class TraceWriter {
 public:
  TraceWriter(AstraFabric& fabric, const topology::AstraSystem& system,
              const std::vector<ChakraTrace>& traces, AstraTrace& result)
      : fabric_(fabric), system_(system), traces_(traces), result_(result) {}

  void write() {
    for (std::int64_t npu = 0; npu < fabric_.npus(); ++npu) write(npu);
    for (const auto& [key, meeting] : messages_) {
      for (const Message& each : meeting) {
        if (!each.sent || !each.received) {
          throw std::invalid_argument(fmt::format("a message from NPU {} to NPU {} is never {}",
                                                  std::get<0>(key), std::get<1>(key),
                                                  each.sent ? "received" : "sent"));
        }
      }
    }
  }

 private:
  struct Message {
    std::size_t planned = 0;
    std::int64_t bytes = 0;
    bool sent = false, received = false;
  };
  struct Shared {
    const ChakraNode* node = nullptr;  ///< as the first NPU has it
    std::size_t planned = 0;
  };

  void write(std::int64_t npu) {
    const bool one = traces_.size() == 1;
    computed_ = 0;
    const ChakraTrace& trace = traces_[one ? 0 : static_cast<std::size_t>(npu)];
    const sim::RankId rank(static_cast<std::uint32_t>(npu));
    const sim::StreamId compute = fabric_.builder().stream(rank);
    const sim::StreamId host = fabric_.builder().stream(rank);
    std::unordered_map<std::uint64_t, std::vector<sim::EventId>> ends;
    std::map<std::string, std::size_t> turns;
    for (const ChakraNode& node : trace.nodes) {
      std::vector<sim::EventId> after;
      for (const std::uint64_t need : node.needs) {
        const std::vector<sim::EventId>& ended = ends[need];
        after.insert(after.end(), ended.begin(), ended.end());
      }
      std::vector<sim::EventId>& own = ends[node.id];
      switch (node.kind) {
        case ChakraKind::metadata:
          own = std::move(after);
          break;
        case ChakraKind::memory:
          throw std::invalid_argument(fmt::format(
              "{}: node {} is of remote memory, which is not modelled", trace.file, node.id));
        case ChakraKind::compute:
          own = {compute_node(node, trace, npu, node.on_cpu ? host : compute, after)};
          break;
        case ChakraKind::send:
        case ChakraKind::receive:
          if (one && fabric_.npus() > 1) {
            throw std::invalid_argument(fmt::format(
                "{}: node {} sends or receives, and one trace for every NPU has no peer "
                "of its own",
                trace.file, node.id));
          }
          own = fabric_.launch(message(node, npu), npu, after);
          break;
        case ChakraKind::collective:
          own = fabric_.launch(shared(node, trace, turns[node.group]++), npu, after);
          break;
      }
    }
  }

  sim::EventId compute_node(const ChakraNode& node, const ChakraTrace& trace, std::int64_t npu,
                            sim::StreamId stream, const std::vector<sim::EventId>& after) {
    const Duration time = time_of(node, trace);
    computed_ += time.ps();
    if (computed_ > kLongestCompute) {
      throw std::invalid_argument(fmt::format(
          "{}: the compute nodes up to {} take more than 10 days", trace.file, node.id));
    }
    if (npu == 0 && !node.on_cpu) result_.compute += time;
    sim::CallWriter& calls = fabric_.calls();
    for (const sim::EventId event : after) calls.wait(stream, event);
    if (time > Duration()) {
      const sim::KernelId kernel = fabric_.builder()
                                       .kernel("compute", 1)
                                       .footprint({.threads = 32})
                                       .role(sim::Purpose::compute, sim::TileOrder::static_shares)
                                       .range(1, time)
                                       .id();
      calls.launch(stream, kernel);
    }
    const sim::EventId end = fabric_.builder().event();
    calls.record(stream, end);
    return end;
  }

  /// As recorded, or by ASTRA-sim's roofline: the longer of operations and bytes.
  Duration time_of(const ChakraNode& node, const ChakraTrace& trace) const {
    if (node.duration > Duration() || node.operations == 0) return node.duration;
    if (!system_.peak || !system_.memory) {
      throw std::invalid_argument(fmt::format(
          "{}: node {} has operations and no duration: peak-perf and local-mem-bw of the "
          "system layer are needed",
          trace.file, node.id));
    }
    const auto ps = [](double amount, double rate) {
      return static_cast<std::int64_t>(std::min(amount / rate * 1e12, 9e18));
    };
    return Duration::from_ps(std::max(ps(static_cast<double>(node.operations), *system_.peak),
                                      ps(static_cast<double>(node.tensor_bytes), *system_.memory)));
  }

  std::size_t message(const ChakraNode& node, std::int64_t npu) {
    const bool sends = node.kind == ChakraKind::send;
    std::vector<Message>& all =
        messages_[{sends ? npu : node.peer, sends ? node.peer : npu, node.tag}];
    for (Message& each : all) {
      bool& here = sends ? each.sent : each.received;
      if (here) continue;
      here = true;
      if (each.bytes != node.bytes) {
        throw std::invalid_argument(fmt::format("NPU {}: node {} has {} bytes, its other end {}",
                                                npu, node.id, node.bytes, each.bytes));
      }
      return each.planned;
    }
    const std::int64_t from = sends ? npu : node.peer, to = sends ? node.peer : npu;
    all.push_back(
        {fabric_.plan_message(from, to, Bytes::from(node.bytes)), node.bytes, sends, !sends});
    return all.back().planned;
  }

  std::size_t shared(const ChakraNode& node, const ChakraTrace& trace, std::size_t turn) {
    groups_.insert(node.group);
    if (groups_.size() > 1) {
      throw std::invalid_argument(fmt::format(
          "{}: groups {} and {}: which NPUs a group has is in a file of its own, which is "
          "not read",
          trace.file, *groups_.begin(), *groups_.rbegin()));
    }
    std::vector<Shared>& all = collectives_[node.group];
    if (turn == all.size()) {
      all.push_back(
          {&node, fabric_.plan(node.collective, Bytes::from(node.bytes), node.dimensions)});
    }
    const ChakraNode& first = *all[turn].node;
    if (first.collective != node.collective || first.bytes != node.bytes) {
      throw std::invalid_argument(fmt::format(
          "{}: node {} is the {} of {} bytes where another NPU has the {} of {} bytes", trace.file,
          node.id, name_of(node.collective), node.bytes, name_of(first.collective), first.bytes));
    }
    return all[turn].planned;
  }

  AstraFabric& fabric_;
  const topology::AstraSystem& system_;
  const std::vector<ChakraTrace>& traces_;
  AstraTrace& result_;
  std::map<std::string, std::vector<Shared>> collectives_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<Message>> messages_;
  std::set<std::string> groups_;
  Int128 computed_ = 0;  ///< ps of the NPU that is written
};

}  // namespace

AstraCollective astra_collective(const topology::AstraNetwork& network,
                                 const topology::AstraSystem& system, ChakraCollective op,
                                 Bytes bytes) {
  if (bytes.count() <= 0)
    throw std::invalid_argument(fmt::format("{} of {} bytes", name_of(op), bytes.count()));
  AstraFabric fabric(network, system);
  const std::size_t planned = fabric.plan(op, bytes, {});
  for (std::int64_t npu = 0; npu < fabric.npus(); ++npu)
    static_cast<void>(fabric.launch(planned, npu, {}));
  sim::Machine machine = fabric.machine();
  return {std::move(machine), fabric.program()};
}

AstraTrace astra_trace(const topology::AstraNetwork& network, const topology::AstraSystem& system,
                       const std::vector<ChakraTrace>& traces) {
  AstraFabric fabric(network, system);
  const auto count = static_cast<std::int64_t>(traces.size());
  if (count != 1 && count != fabric.npus()) {
    throw std::invalid_argument(
        fmt::format("{} traces for {} NPUs: one for all, or one for each", count, fabric.npus()));
  }
  AstraTrace result;
  if (count == 1) {
    result.notes.push_back(fmt::format("{} is the only trace: all {} NPUs run it",
                                       traces.front().file, fabric.npus()));
  }
  for (const ChakraTrace& trace : traces) {
    if (static_cast<std::int64_t>(trace.nodes.size()) * fabric.npus() > std::int64_t{1} << 20)
      throw std::invalid_argument(
          fmt::format("{} nodes on {} NPUs are too many", trace.nodes.size(), fabric.npus()));
  }
  TraceWriter(fabric, system, traces, result).write();
  result.machine = fabric.machine();
  result.program = fabric.program();
  return result;
}

}  // namespace weft::model
