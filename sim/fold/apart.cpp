// SPDX-License-Identifier: Apache-2.0
#include "sim/fold/apart.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>

namespace weft::sim::fold_detail {

namespace {

class Apart {
 public:
  Apart(const Machine& machine, const Program& program, const RankView& view)
      : machine_(machine),
        program_(program),
        view_(view),
        recorded_by_(program.events, kUnmapped) {}

  std::string check() {
    for (rank_ = 0; rank_ < view_.ranks.size(); ++rank_) {
      const std::uint32_t thread = view_.thread_of[rank_];
      if (thread == kUnmapped) continue;
      const std::vector<Command>& commands = program_.threads[thread].commands;
      walk(commands, [&](const Command& command) { note_record(command.call); });
      walk(commands, [&](const Command& command) { look_at(command.call); });
      if (!why_.empty()) return why_;
    }
    return why_;
  }

 private:
  template <class Visit>
  void walk(const std::vector<Command>& commands, const Visit& visit) {
    for (const Command& command : commands) {
      visit(command);
      if (const auto* graph = std::get_if<GraphLaunch>(&command.call)) {
        walk(program_.graphs[graph->graph.value()].commands, visit);
      }
    }
  }

  void note_record(const Call& call) {
    if (const auto* record = std::get_if<Record>(&call)) recorded(record->event);
    const auto* launch = std::get_if<Launch>(&call);
    if (launch != nullptr && launch->launch_completion) recorded(*launch->launch_completion);
  }

  void recorded(EventId event) {
    if (event.value() < recorded_by_.size()) recorded_by_[event.value()] = rank_;
  }

  void look_at(const Call& call) {
    if (const auto* wait = std::get_if<WaitEvent>(&call)) look_at_event(wait->event);
    if (const auto* wait = std::get_if<HostWait>(&call)) look_at_event(wait->event);
    if (const auto* message = std::get_if<Message>(&call)) look_at_pair(*message);
  }

  void look_at_event(EventId event) {
    if (event.value() < recorded_by_.size() && recorded_by_[event.value()] == rank_) return;
    why_ = fmt::format("rank {} waits for event {}, which another rank records",
                       view_.ranks[rank_].value(), event.value());
  }

  void look_at_pair(const Message& message) {
    const std::optional<NicId>& nic = machine_.routes[message.route.value()].nic;
    if (!nic) return;
    const auto [user, added] = pairs_.emplace(std::pair(nic->value(), message.queue_pair), rank_);
    if (added || user->second == rank_) return;
    why_ = fmt::format("ranks {} and {} share queue pair {} of NIC {} \"{}\"",
                       view_.ranks[user->second].value(), view_.ranks[rank_].value(),
                       message.queue_pair, nic->value(), machine_.nics[nic->value()].name);
  }

  const Machine& machine_;
  const Program& program_;
  const RankView& view_;
  std::uint32_t rank_ = 0;
  std::vector<std::uint32_t> recorded_by_;  // the rank, by event
  std::map<std::pair<std::uint32_t, int>, std::uint32_t> pairs_;
  std::string why_;
};

}  // namespace

std::string shared_by_ranks(const Machine& machine, const Program& program, const RankView& view) {
  return Apart(machine, program, view).check();
}

}  // namespace weft::sim::fold_detail
