// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes: starts them, carries lines to and from them, bounds every wait, and says
// which of them failed and how. No CUDA here: what a rank does is its program's business.
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

#include "kernels/measure/line_socket.hpp"

namespace weft::kernels {

/// A program and what it finds in its environment. Each rank also finds WEFT_RANK, WEFT_RANKS, and a host
/// of its own in NCCL_HOSTID, without which NCCL refuses two ranks on one GPU.
struct RankCommand {
  std::vector<std::string> arguments;    ///< the program first
  std::vector<std::string> environment;  ///< NAME=value, beside what this process has
  int ranks = 2;
};

/// A rank that failed, ended, or did not answer in time; the text names it.
class RankFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Processes that answer each line with any number of lines and then `done`, or with `failed` and why.
class RankProcesses {
 public:
  /// Starts every rank; throws std::system_error where the program cannot be started.
  explicit RankProcesses(const RankCommand& command);
  /// Hangs up, gives the ranks a moment to leave, and ends those that have not.
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  int ranks() const { return static_cast<int>(ranks_.size()); }
  /// Tells one rank to do `line`, and returns what it answered before `done`. `task` says in errors what
  /// was asked for; throws RankFailure.
  std::vector<std::string> ask(int rank, const std::string& line, const std::string& task,
                               std::chrono::milliseconds patience);
  /// Tells all ranks, and returns what each answered; as soon as one fails, so does the whole.
  std::vector<std::vector<std::string>> ask_all(const std::string& line, const std::string& task,
                                                std::chrono::milliseconds patience);

 private:
  struct Rank {
    pid_t process = 0;
    LineSocket socket;
    std::optional<int> status;  ///< as waitpid gave it, once the process has ended
  };
  std::vector<std::vector<std::string>> gather(std::vector<int> asked, const std::string& task,
                                               std::chrono::milliseconds patience);
  void tell(int rank, const std::string& line, const std::string& task);
  /// Waits up to `patience` for the rank's process to end; true once it has.
  bool ended(Rank& rank, std::chrono::milliseconds patience);
  std::string name(int rank) const;
  [[noreturn]] void refuse_ended(int rank, const std::string& task);

  std::vector<Rank> ranks_;
};

/// The other side: who this process is in a group that another one started, and its line to it.
struct RankSeat {
  int rank = 0;
  int ranks = 1;
  LineSocket socket;
  /// Takes the seat that the environment names, if it names one.
  static std::optional<RankSeat> take();
};

}  // namespace weft::kernels
