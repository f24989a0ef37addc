// SPDX-License-Identifier: Apache-2.0
// Everything is stamped by rank 0's device, so that one clock says both ends:
//
//   lead      a kernel of rank 0 that holds for a random time; then it posts the flag, or its stream writes it, or it ends
//   waiter    none, or a stream that waits for it; late: another stream, of rank 1 where that runs
//   follower  what comes next on that stream: a kernel that posts an answer, or a copy that carries it
//   watcher   a kernel of rank 0 that sees the answer; none in late_alone, whose follower stamps its own start
//
// Where the lead is `running`, it goes on long after its post, as a product does whose tiles post flags; what is measured
// `beside` has copies from the host under way all the while, `beside_away` copies to it and `beside_both` both. A copy that goes `to_host` is what follows in a reduction:
// its stream writes the answer behind it.
#include "kernels/measure/waits.hpp"

#include <array>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/measure/fork.hpp"
#include "kernels/measure/probes.hpp"
#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

using calibration::Case;

/// All streams have come to their waits long before; the spread is several times what a device looks again after.
constexpr std::uint64_t kLeastHoldNs = 50'000;
constexpr std::uint64_t kMostHoldNs = 130'000;
/// What a running lead goes on for: several times what a stream looks again after.
constexpr std::uint64_t kLingerNs = 100'000;
/// Copies that outlast the lead and what follows it, and what goes to the host behind a wait.
constexpr std::int64_t kBesideBytes = 16 << 20;
constexpr std::size_t kAwayBytes = 4096;
constexpr int kChain = 8;

class Waiting {
 public:
  Waiting(Stage& stage, const Case& what)
      : stage_(stage),
        memory_(stage.memory()),
        joints_(stage),
        what_(what),
        late_(what.variant.starts_with("late")),
        event_(what.operation == "event_wait"),
        alone_(what.variant == "late_alone"),
        running_(what.variant.find("running") != std::string::npos),
        beside_(what.variant.find("beside") != std::string::npos),
        from_host_(!what.variant.ends_with("away")),
        to_host_(what.variant.ends_with("away") || what.variant.ends_with("both")),
        away_(what.direction == "to_host"),
        peer_(stage.running().size() > 1 && what.variant != "late_here" && !alone_ ? 1 : 0) {
    flag_ = stage.flags(late_ ? peer_ : 0, 16);
    answer_ = stage.flags(0, 16);
    carried_ = stage.shared_scratch(64);
    stamps_ = reinterpret_cast<Stamp*>(stage.scratch(0, 2 * sizeof(Stamp)));
    if (away_) parted_ = stage.shared_scratch(kAwayBytes);
    if (away_) leaving_ = stage.scratch(0, kAwayBytes);
    if (!beside_) return;
    memory_.enter(0);
    for (Beside& one : besides_) {
      one.near = stage.scratch(0, kBesideBytes);
      one.far = stage.shared_scratch(kBesideBytes);
      WEFT_CUDA(cudaStreamCreateWithFlags(&one.stream, cudaStreamNonBlocking));
    }
  }
  ~Waiting() {
    for (const Beside& one : besides_)
      if (one.stream != nullptr) static_cast<void>(cudaStreamDestroy(one.stream));
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  void enqueue(cudaStream_t lead) {
    const Signal value = stage_.next_sequence();
    const int rank = late_ ? peer_ : 0;
    cudaStream_t waiter = late_ ? memory_.stream(peer_, StreamRole::communication) : lead;
    cudaStream_t watcher = memory_.stream(0, StreamRole::copy);
    joints_.fork(lead);
    memory_.enter(rank);
    auto* word = reinterpret_cast<Signal*>(carried_.at.at(1));
    memory_.post(word, value, waiter);
    cudaEvent_t early = nullptr;
    if (event_ && !late_) {
      cudaStream_t other = memory_.stream(peer_, StreamRole::communication);
      memory_.enter(peer_);
      launch_stamp(nullptr, 0, 1, other);
      early = joints_.record(peer_, other);
    }
    memory_.enter(0);
    if (beside_) copy_beside(lead);
    if (!event_ && what_.variant.starts_with("there")) memory_.post(flag_, value, lead);
    if (!alone_) launch_watch(stamps_ + 1, nullptr, 0, 0, answer_, value, watcher);
    const bool written = what_.variant == "late_written";
    Signal* posted = !event_ && late_ && !written ? flag_ : nullptr;
    launch_watch(stamps_, posted, value, hold_(random_), nullptr, 0, lead,
                 running_ ? kLingerNs : 0);
    if (written) memory_.post(flag_, value, lead);
    memory_.enter(rank);
    wait(value, lead, waiter, early);
    memory_.enter(rank);
    if (away_) {
      memory_.copy(parted_.at.at(1), 1, leaving_, 0, kAwayBytes, waiter);
      memory_.post(answer_, value, waiter);
    } else if (what_.transport == "copy_engine")
      memory_.copy(answer_, 0, word, 1, sizeof(Signal), waiter);
    else
      launch_watch(alone_ ? stamps_ + 1 : nullptr, answer_, value, 0, nullptr, 0, waiter);
    joints_.merge(lead);
    memory_.enter(0);
    for (const Beside& one : besides_)
      if (one.stream != nullptr)
        WEFT_CUDA(cudaStreamWaitEvent(lead, joints_.record(0, one.stream)));
  }

  std::int64_t elapsed_ns() const {
    Stamp seen[2];
    WEFT_CUDA(cudaMemcpy(seen, stamps_, sizeof seen, cudaMemcpyDefault));
    if (seen[1].end_ns == 0) throw std::runtime_error("an answer did not come within a second");
    return static_cast<std::int64_t>(seen[1].end_ns) - static_cast<std::int64_t>(seen[0].start_ns);
  }

 private:
  void wait(Signal value, cudaStream_t lead, cudaStream_t waiter, cudaEvent_t early) {
    const std::string& how = what_.variant;
    if (event_ && late_) return joints_.join(0, lead, peer_, waiter);
    if (event_) return WEFT_CUDA(cudaStreamWaitEvent(waiter, early));
    if (how == "write" || how == "written") memory_.post(flag_, value, waiter);
    if (how.starts_with("there") || how == "written" || late_) memory_.wait(flag_, value, waiter);
  }

  /// From now on and until well after what follows the wait.
  void copy_beside(cudaStream_t lead) {
    const auto bytes = static_cast<std::size_t>(kBesideBytes);
    for (const bool in : {true, false}) {
      if (!(in ? from_host_ : to_host_)) continue;
      const Beside& one = besides_[in ? 0 : 1];
      WEFT_CUDA(cudaStreamWaitEvent(one.stream, joints_.record(0, lead)));
      for (int i = 0; i < 2; ++i) {
        if (in)
          memory_.copy(one.near, 0, one.far.at.at(1), 1, bytes, one.stream);
        else
          memory_.copy(one.far.at.at(1), 1, one.near, 0, bytes, one.stream);
      }
    }
  }

  Stage& stage_;
  SymmetricMemory& memory_;
  Joints joints_;
  const Case& what_;
  bool late_ = false;
  bool event_ = false;
  bool alone_ = false;  ///< nobody watches: the follower, on the same device, stamps its own start
  bool running_ = false;  ///< the lead goes on after its post
  bool beside_ = false;   ///< copies are under way
  bool from_host_ = false;
  bool to_host_ = false;
  bool away_ = false;  ///< what follows is a copy to the host
  int peer_ = 0;       ///< who waits for what is late, and records what is early
  Signal* flag_ = nullptr;
  Signal* answer_ = nullptr;
  Region carried_;
  std::byte* leaving_ = nullptr;  ///< what goes to the host
  Region parted_;
  struct Beside {
    cudaStream_t stream = nullptr;
    std::byte* near = nullptr;
    Region far;
  };
  std::array<Beside, 2> besides_;  ///< copies from the host, and to it
  Stamp* stamps_ = nullptr;
  std::mt19937_64 random_{1};
  std::uniform_int_distribution<std::uint64_t> hold_{kLeastHoldNs, kMostHoldNs};
};

/// Copies one after the other, each followed by a stream's write of a flag or behind a wait for one that is there.
Times copies(Stage& stage, const Case& what, int warm_up, int repetitions) {
  SymmetricMemory& memory = stage.memory();
  Signal* flag = stage.flags(0, 16);
  const bool in = what.direction == "to_device";
  const std::int64_t bytes = *what.bytes;
  std::byte* near = stage.scratch(0, bytes);
  std::byte* far = stage.shared_scratch(bytes).at.at(1);
  Times times = stage.timer().measure(
      [&](int, cudaStream_t stream) {
        const Signal value = stage.next_sequence();
        if (what.variant == "awaited") memory.post(flag, value, stream);
        for (int i = 0; i < kChain; ++i) {
          if (what.variant == "awaited") memory.wait(flag, value, stream);
          memory.copy(in ? near : far, in ? 0 : 1, in ? far : near, in ? 1 : 0,
                      static_cast<std::size_t>(bytes), stream);
          if (what.variant == "written") memory.post(flag, stage.next_sequence(), stream);
        }
      },
      warm_up, repetitions);
  for (Duration& time : times.each) time = Duration::from_ps(time.ps() / kChain);
  return times;
}

}  // namespace

Times run_wait(Stage& stage, const Case& what, int warm_up, int repetitions) {
  if (what.operation == "copy") return copies(stage, what, warm_up, repetitions);
  if (what.operation != "stream_wait" && what.operation != "event_wait")
    throw std::invalid_argument("no wait " + what.operation);
  Waiting waiting(stage, what);
  const Enqueue work = [&waiting](int, cudaStream_t stream) { waiting.enqueue(stream); };
  stage.timer().once(work);
  Times frame;
  std::vector<Duration> each;
  for (int i = 0; i < warm_up + repetitions; ++i) {
    frame = stage.timer().measure(work, 0, 1);
    if (i >= warm_up) each.push_back(Duration::from_ps(waiting.elapsed_ns() * 1000));
  }
  Times times;
  times.each = std::move(each);
  times.began_ns.assign(times.each.size(), frame.began_ns.front());
  times.ended_ns.assign(times.each.size(), frame.ended_ns.back());
  return times;
}

}  // namespace weft::kernels
