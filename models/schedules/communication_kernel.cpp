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

// The first CTAs of a product's launch, in its clusters where they divide.
sim::KernelWriter new_launch(LayerProgram& program, std::int64_t count, const GemmCost& product,
                             std::string_view label) {
  const int ctas = static_cast<int>(count);
  const std::int64_t cluster = product.kernel.cluster_m * product.kernel.cluster_n;
  sim::KernelWriter kernel =
      program.builder().kernel(label, ctas + static_cast<int>(product.resident));
  if (count % cluster == 0) kernel.cluster(static_cast<int>(cluster));
  kernel.footprint(product.footprint)
      .prologue(program.beyond_launch(product.start))
      .role(sim::Purpose::communication, sim::TileOrder::static_shares, ctas)
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

CommunicationKernel::CommunicationKernel(LayerProgram& program, int rank, const Knobs& knobs,
                                         std::string_view label, CopyPath path, std::int64_t ctas,
                                         const GemmCost& product)
    : program_(program),
      rank_(rank),
      ctas_(ctas),
      pace_(knobs.text("pace") == "free" ? std::nullopt : pace_of(program.site())),
      costs_(program.site().profile.sm_copy(path)),
      kernel_(new_launch(program, ctas, product, label)),
      label_(label),
      shares_launch_(true) {
  if (costs_.launch_per_cta) costs_.per_cta = *costs_.launch_per_cta;
  if (costs_.start) start_ = costs_.start->value;
}

CommunicationKernel& CommunicationKernel::both_ways() {
  if (costs_.duplex_start) start_ = costs_.duplex_start->value;
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
Duration CommunicationKernel::time_of(Bytes bytes_per_cta, Duration start) const {
  const Bytes all = bytes_per_cta * ctas_;
  Duration time = start + std::max(bytes_per_cta / costs_.per_cta.value, all / costs_.cap.value);
  if (pace_) time = std::max(time, all / *pace_);
  return time;
}

Duration sum_time(const Profile& profile, Bytes bytes_per_cta, Bytes all, bool last) {
  if (!profile.sums) return bytes_per_cta / profile.memory->per_sm.value;
  return profile.sums->start.value + (last ? profile.sums->tail.value : Duration()) +
         std::max(bytes_per_cta / profile.sums->per_cta.value, all / profile.sums->cap.value);
}

void CommunicationKernel::flags(bool first, bool last) {
  if (first) {
    for (const sim::SignalWait& wait : waits_) kernel_.wait(wait.signal, wait.at_least);
    waits_.clear();
  }
  if (last) {
    for (const sim::SignalPost& post : posts_) kernel_.post(post);
    posts_.clear();
  }
}

// An equal part for every CTA, and one tile before them for the bytes that do not divide: the equal parts come last, so
// that the post follows what takes time.
void CommunicationKernel::move(sim::RouteId route, Bytes bytes, bool writes) {
  const Bytes each = Bytes::from(bytes.count() / ctas_);
  const Bytes rest = bytes - each * ctas_;
  const auto emit = [&](std::int64_t tiles, Bytes tile, Duration time, bool last) {
    kernel_.range(tiles, time, copy_demand).route(route, tile, writes);
    flags(true, last);
  };
  // CTAs meet where a piece's arrival is told to others; else each goes on to its part of the next piece.
  const bool starts = start_ && (first_ || !posts_.empty());
  const Duration start = starts ? *start_ : Duration();
  if (rest > Bytes()) emit(1, rest, time_of(rest, Duration()), each == Bytes());
  if (each > Bytes()) {
    const Duration time = first_ ? start + time_of(each, Duration()) : time_of(each, start);
    emit(ctas_, each, time, true);
  }
  first_ = false;
  waits_.clear();
  posts_.clear();
}

void CommunicationKernel::sum(Bytes bytes, const std::vector<std::pair<sim::RouteId, Bytes>>& sends,
                              bool last_piece) {
  const auto emit = [&](std::int64_t tiles, Bytes tile, bool rest, bool last) {
    // CTAs that add and do nothing else move what an SM can.
    const Profile& profile = program_.site().profile;
    const Duration time = shares_launch_ ? sum_time(profile, tile, bytes, last_piece)
                                         : tile / profile.memory->per_sm.value;
    kernel_.range(tiles, rest ? Duration() : time, copy_demand);
    if (tile > Bytes()) kernel_.memory(program_.memory(rank_), tile);
    for (const auto& [route, all] : sends) {
      const std::int64_t sent = rest ? all.count() % ctas_ : all.count() / ctas_;
      if (sent > 0) kernel_.route(route, Bytes::from(sent), true);
    }
    flags(true, last);
  };
  const auto over = [&](const auto& send) { return send.second.count() % ctas_ > 0; };
  if (bytes.count() % ctas_ > 0 || std::any_of(sends.begin(), sends.end(), over))
    emit(1, Bytes::from(bytes.count() % ctas_), true, false);
  emit(ctas_, Bytes::from(bytes.count() / ctas_), false, true);
}

void CommunicationKernel::await() {
  kernel_.range(ctas_, Duration());
  flags(true, true);
}

sim::KernelWriter CommunicationKernel::product(const GemmCost& product) {
  kernel_
      .role(sim::Purpose::compute, sim::TileOrder::static_shares,
            static_cast<int>(product.resident))
      .spin(polling_issue_milli);
  return kernel_;
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
