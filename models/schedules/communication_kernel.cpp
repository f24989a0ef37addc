// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/communication_kernel.hpp"

#include <algorithm>

#include "models/schedules/demands.hpp"
#include "models/schedules/transport_knobs.hpp"

namespace weft::model {
namespace {

// What a communication CTA holds beside its threads: a few bulk-copy buffers and the registers of a copy loop.
// kernels/ compiles its copy kernels within both.
constexpr int registers_per_thread = 64;
constexpr Bytes shared_memory = Bytes::from(32 * 1024);
// One thread polls, a hundredth of an SM's issue slots.
constexpr int polling_issue_milli = 10;

sim::KernelWriter new_kernel(LayerProgram& program, std::int64_t count, const SmCopyCosts& costs,
                             std::string_view label) {
  const int ctas = static_cast<int>(count);
  const int threads = static_cast<int>(costs.threads.value);
  sim::KernelWriter kernel = program.builder().kernel(label, ctas);
  kernel.footprint({threads, threads * registers_per_thread, shared_memory})
      .role(sim::Purpose::communication, sim::TileOrder::static_shares)
      .spin(polling_issue_milli);
  return kernel;
}

}  // namespace

CommunicationKernel::CommunicationKernel(LayerProgram& program, int rank, const Knobs& knobs,
                                         std::string_view label)
    : CommunicationKernel(program, rank, knobs, label, CopyPath::to_peer, knobs.count("ctas")) {}

CommunicationKernel::CommunicationKernel(LayerProgram& program, int rank, const Knobs& knobs,
                                         std::string_view label, CopyPath path, std::int64_t ctas)
    : program_(program),
      rank_(rank),
      ctas_(ctas),
      pace_(knobs.text("pace") == "free" ? std::nullopt : pace_of(program.site())),
      costs_(program.site().profile.sm_copy(path)),
      kernel_(new_kernel(program, ctas, costs_, label)),
      label_(label) {
  if (costs_.start) start_ = costs_.start->value;
}

CommunicationKernel& CommunicationKernel::both_ways() {
  if (costs_.duplex_start) start_ = costs_.duplex_start->value;
  return *this;
}

CommunicationKernel& CommunicationKernel::in_launch_of(const GemmCost& product) {
  const std::int64_t cluster = product.kernel.cluster_m * product.kernel.cluster_n;
  if (ctas_ % cluster == 0) kernel_.cluster(static_cast<int>(cluster));
  kernel_.footprint(product.footprint);
  return *this;
}

CommunicationKernel& CommunicationKernel::after(sim::SignalId signal, std::uint64_t at_least) {
  waits_.push_back({signal, at_least, 0});
  return *this;
}

CommunicationKernel& CommunicationKernel::then(const sim::SignalPost& post) {
  posts_.push_back(post);
  return *this;
}

// A CTA reaches its own rate, all of them together the path's, and paced ones no more than a share of the port: what
// the start of a further piece costs them they make up for by what the path carries beyond the pace.
Duration CommunicationKernel::time_of(Bytes bytes_per_cta, bool local, Duration start) const {
  if (local) return bytes_per_cta / program_.site().profile.memory->per_sm.value;
  const Bytes all = bytes_per_cta * ctas_;
  Duration time = start + std::max(bytes_per_cta / costs_.per_cta.value, all / costs_.cap.value);
  if (pace_) time = std::max(time, all / *pace_);
  return time;
}

// An equal part for every CTA, and one last tile for the bytes that do not divide.
void CommunicationKernel::parts(Bytes bytes, bool local, sim::RouteId route, bool writes) {
  const Bytes each = Bytes::from(bytes.count() / ctas_);
  const Bytes rest = bytes - each * ctas_;
  const auto emit = [&](std::int64_t tiles, Bytes tile, Duration time, bool first, bool last) {
    kernel_.range(tiles, time, copy_demand);
    if (local) {
      kernel_.memory(program_.memory(rank_), tile);
    } else {
      kernel_.route(route, tile, writes);
    }
    if (first) {
      for (const sim::SignalWait& wait : waits_) kernel_.wait(wait.signal, wait.at_least);
    }
    if (last) {
      for (const sim::SignalPost& post : posts_) kernel_.post(post);
    }
  };
  const bool split = each > Bytes() && rest > Bytes();
  if (rest > Bytes()) emit(1, rest, time_of(rest, local, Duration()), true, !split);
  // The equal parts come last, so that the post follows what takes time.
  // CTAs meet where a piece's arrival is told to others; else each goes on to its part of the next piece.
  const bool starts = start_ && !local && (first_ || !posts_.empty());
  const Duration start = starts ? *start_ : Duration();
  const Duration time =
      first_ ? start + time_of(each, local, Duration()) : time_of(each, local, start);
  if (!local) first_ = false;
  if (each > Bytes()) emit(ctas_, each, time, !split, true);
  waits_.clear();
  posts_.clear();
}

void CommunicationKernel::move(sim::RouteId route, Bytes bytes, bool writes) {
  parts(bytes, false, route, writes);
}

void CommunicationKernel::local(Bytes bytes) {
  parts(bytes, true, sim::RouteId(0), false);
}

void CommunicationKernel::launch(sim::StreamId stream) {
  program_.host(rank_).labelled(label_).launch(stream, kernel_.id());
}

void CommunicationKernel::launch_first() {
  const sim::EventId resident = program_.builder().event();
  program_.host(rank_)
      .labelled(label_)
      .launch_completing(program_.communication(rank_), kernel_.id(), resident)
      .wait(program_.compute(rank_), resident);
}

}  // namespace weft::model
