// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/rank_program.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include <cuda_runtime.h>

#include "calibration/sample/sample_json.hpp"
#include "kernels/baseline/nccl.hpp"
#include "kernels/measure/nccl_processes.hpp"
#include "kernels/measure/runner.hpp"
#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Ends the communicator, and with it every kernel that waits in it, when a task takes too long, when a
/// peer is gone, or when whoever started this process is: no wait of this process is without an end.
class Watch {
 public:
  Watch(NcclGroup& group, const LineSocket& socket)
      : group_(group), socket_(socket), thread_([this] { look(); }) {}
  ~Watch() {
    leave_ = true;
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void arm(milliseconds patience) {
    const std::scoped_lock lock(mutex_);
    until_ = Clock::now() + patience;
    patience_ = patience;
    armed_ = true;
  }
  /// Throws std::runtime_error where it had to end the communicator.
  void disarm() {
    const std::scoped_lock lock(mutex_);
    armed_ = false;
    if (!reason_.empty()) throw std::runtime_error(reason_);
  }

 private:
  void look() {
    for (; !leave_; std::this_thread::sleep_for(milliseconds{20})) {
      const std::scoped_lock lock(mutex_);
      if (!armed_) continue;
      if (const std::string failure = group_.failure(); !failure.empty())
        reason_ = "NCCL: " + failure;
      else if (Clock::now() >= until_)
        reason_ = "it was not done within " + std::to_string(patience_.count()) +
                  " ms, and the communicator was ended";
      else if (socket_.hung_up())
        reason_ = "whoever started this rank is gone";
      else
        continue;
      group_.abort();
      armed_ = false;
    }
  }

  NcclGroup& group_;
  const LineSocket& socket_;
  std::mutex mutex_;
  Clock::time_point until_;
  milliseconds patience_{0};
  bool armed_ = false;
  std::string reason_;
  std::atomic<bool> leave_ = false;
  std::thread thread_;
};

std::string to_hex(const NcclId& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char each : id) {
    const auto byte = static_cast<unsigned char>(each);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

NcclId from_hex(const std::string& text) {
  NcclId id{};
  if (text.size() != 2 * id.size()) throw std::invalid_argument("an id of another length");
  for (std::size_t i = 0; i < id.size(); ++i)
    id[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return id;
}

class RankProgram {
 public:
  explicit RankProgram(RankSeat& seat) : seat_(seat) {}

  /// Ends what the others of the group may wait for.
  void give_up() {
    if (group_) group_->abort();
  }
  /// Does what a line asks for.
  void obey(const std::string& line) {
    if (line == "id") {
      seat_.socket.send(to_hex(nccl_id(nccl())));
    } else if (line.starts_with("join ")) {
      // Kernels that are loaded when they are first called would wait for a peer that waits for them.
      WEFT_CUDA(cudaSetDevice(0));
      group_ =
          std::make_unique<NcclGroup>(nccl(), from_hex(line.substr(5)), seat_.ranks, seat_.rank);
      watch_ = std::make_unique<Watch>(*group_, seat_.socket);
      runner_ = std::make_unique<Runner>(*group_, seat_.rank, seat_.ranks);
    } else {
      run(RankTask::parse(line));
    }
  }

 private:
  const Nccl& nccl() {
    if (!nccl_) nccl_ = std::make_unique<Nccl>();
    return *nccl_;
  }
  void run(const RankTask& task) {
    if (!runner_) throw std::invalid_argument("this rank has not joined");
    Job job;
    job.kind = task.kind;
    job.cases = {task.what};
    job.warm_up = task.warm_up;
    job.repetitions = task.repetitions;
    job.expected_ns = task.expected_ns;
    watch_->arm(milliseconds{task.patience_ms});
    const JobResult result = runner_->run(job);
    watch_->disarm();
    if (!result.refusals.empty()) throw std::runtime_error(result.refusals.front());
    if (seat_.rank != 0) return;
    for (const calibration::Sample& sample : result.samples)
      seat_.socket.send(calibration::to_line(sample));
  }

  RankSeat& seat_;
  std::unique_ptr<Nccl> nccl_;
  std::unique_ptr<NcclGroup> group_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Runner> runner_;
};

std::string on_one_line(std::string text) {
  for (char& each : text)
    if (each == '\n') each = ' ';
  return text;
}

}  // namespace

int serve_rank(RankSeat seat) {
  RankProgram program(seat);
  while (const auto line = seat.socket.wait()) {
    try {
      program.obey(*line);
      seat.socket.send("done");
    } catch (const std::exception& error) {
      // The others may be in the middle of what failed here: only a new group can go on.
      program.give_up();
      seat.socket.send("failed " + on_one_line(error.what()));
      return 1;
    }
  }
  return 0;
}

}  // namespace weft::kernels
