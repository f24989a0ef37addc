// SPDX-License-Identifier: Apache-2.0
// Signals: a post reaches each device that waits after its way there.
//
//   latency = way(poster -> owner) + way(owner -> waiter)
//
// A way to the own device's memory costs nothing, to a peer's signal_peer and the route's latency,
// to host memory signal_host and the route's latency. Where both ways are free the post costs
// signal_same_device; between warp groups of one kernel signal_same_sm.
#include <algorithm>

#include "sim/engine/simulation.hpp"

namespace weft::sim::engine {

std::uint32_t Simulation::view_of(SignalId signal, std::uint32_t device) const {
  std::uint32_t view = compiled_.signal_view[signal.value()];
  while (compiled_.views[view].device != device) view = compiled_.views[view].next;
  return view;
}

void Simulation::post(const SignalPost& post, std::uint32_t command, std::uint64_t times,
                      std::int64_t later) {
  this->post(CompiledPost{.kind = post.kind,
                          .signal = post.signal.value(),
                          .value = post.value,
                          .from = post.from ? post.from->value() : kNone},
             command, times, later);
}

void Simulation::post(const CompiledPost& post, std::uint32_t command, std::uint64_t times,
                      std::int64_t later) {
  const std::uint32_t device =
      post.from != kNone ? post.from : compiled_.streams[compiled_.commands[command].stream].device;
  const std::uint32_t owner = program_.signals[post.signal].owner.value();
  const std::uint64_t value = post.kind == SignalPost::Kind::add ? post.value * times : post.value;
  if (recording()) {
    emit(SignalPosted{.by = compiled_.commands[command].ref,
                      .signal = SignalId(post.signal),
                      .kind = post.kind,
                      .value = value,
                      .at = now()});
  }
  for (std::uint32_t view = compiled_.signal_view[post.signal]; view != kNone;
       view = compiled_.views[view].next) {
    const std::size_t memories = compiled_.memories;
    std::int64_t latency = compiled_.leg[device * memories + owner] +
                           compiled_.leg[compiled_.views[view].device * memories + owner];
    if (latency == 0) {
      latency =
          sync(compiled_.signal_in_cta[post.signal] != 0 ? machine_.control.signal_same_sm
                                                         : machine_.control.signal_same_device);
    }
    if (compiled_.signal_in_cta[post.signal] == 0) latency += later;
    if (latency == 0) {
      arrive(view, post.kind, value, command);
      continue;
    }
    const std::uint32_t slot = arrivals_.take();
    arrivals_[slot] = {.kind = post.kind, .view = view, .value = value, .poster = command};
    at(now_ + latency, Phase::finish, command, view, {.what = What::signal_arrival, .of = slot});
  }
}

// Tells that a command's wait for the view is over.
void Simulation::seen(std::uint32_t command, std::uint32_t index) {
  const ViewState& view = views_[index];
  SignalSeen record{.waiter = compiled_.commands[command].ref,
                    .signal = SignalId(compiled_.views[index].signal),
                    .by = {},
                    .at = now()};
  if (view.last_poster != kNone) record.by = compiled_.commands[view.last_poster].ref;
  emit(record);
}

void Simulation::arrive(std::uint32_t index, SignalPost::Kind kind, std::uint64_t value,
                        std::uint32_t poster) {
  ViewState& view = views_[index];
  const std::uint64_t before = view.value;
  view.value = kind == SignalPost::Kind::add ? before + value : std::max(before, value);
  if (view.value == before) return;
  view.at = now_;
  view.last_poster = poster;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < view.waiters.size(); ++i) {
    const Waiter waiter = view.waiters[i];
    if (view.value < waiter.at_least) {
      view.waiters[kept++] = waiter;
      continue;
    }
    switch (waiter.kind) {
      case Waiter::Kind::queue:
        queues_[waiter.of].wait = QueueState::Wait::nothing;
        mark_queue(waiter.of);
        break;
      case Waiter::Kind::crew:
        signalled_.push_back(waiter.of);
        break;
      case Waiter::Kind::role:
        mark_role(waiter.of);
        break;
    }
  }
  view.waiters.resize(kept);
  // A crew that goes on may wait for the same view again: the list is whole by now.
  while (!signalled_.empty()) {
    const std::uint32_t crew = signalled_.back();
    signalled_.pop_back();
    crew_signalled(crew);
  }
}

}  // namespace weft::sim::engine
