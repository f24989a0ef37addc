// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/rank_processes.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <numeric>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace weft::kernels {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// The descriptor that a rank finds its socket at.
constexpr int kSeat = 3;
/// How long a rank that was hung up on may take to put its GPU's work to an end.
constexpr milliseconds kFarewell{5'000};
constexpr milliseconds kStep{5};
constexpr std::string_view kFailed = "failed ";

[[noreturn]] void refuse(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// This process's environment with `added` in the place of what has the same name.
std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string line = *entry;
    const std::string name = line.substr(0, line.find('=') + 1);
    if (std::none_of(added.begin(), added.end(),
                     [&](const std::string& one) { return one.starts_with(name); }))
      all.push_back(line);
  }
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// Starts a process whose descriptor kSeat is `socket`; nothing else of ours is open in it.
pid_t start(std::vector<std::string> arguments, std::vector<std::string> environment, int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // A copy onto itself would keep the close-on-exec mark: the socket's own number is never kSeat.
  posix_spawn_file_actions_adddup2(&actions, socket, kSeat);
  const std::vector<char*> words = pointers(arguments);
  const std::vector<char*> settings = pointers(environment);
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, words.front(), &actions, nullptr, words.data(), settings.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) refuse(error, arguments.front());
  return process;
}

/// A connection whose ends close when a program starts, and are not kSeat.
std::pair<LineSocket, LineSocket> connection() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) refuse(errno, "socketpair");
  for (int& end : ends) {
    const int moved = fcntl(end, F_DUPFD_CLOEXEC, kSeat + 1);
    if (moved < 0) refuse(errno, "fcntl");
    close(end);
    end = moved;
  }
  return {LineSocket(ends[0]), LineSocket(ends[1])};
}

std::string seconds(milliseconds time) {
  const auto tenths = (time.count() + 50) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

std::string how(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

RankProcesses::RankProcesses(const RankCommand& command) {
  if (command.ranks < 1 || command.arguments.empty())
    throw std::invalid_argument("ranks are at least one process of a program");
  const std::string ranks = std::to_string(command.ranks);
  for (int rank = 0; rank < command.ranks; ++rank) {
    std::vector<std::string> added = command.environment;
    added.push_back("WEFT_RANK=" + std::to_string(rank));
    added.push_back("WEFT_RANKS=" + ranks);
    added.push_back("NCCL_HOSTID=weft-rank-" + std::to_string(rank));
    auto [ours, theirs] = connection();
    const pid_t process = start(command.arguments, environment_with(added), theirs.descriptor());
    ranks_.push_back({process, std::move(ours), std::nullopt});
  }
}

RankProcesses::~RankProcesses() {
  for (const Rank& rank : ranks_) shutdown(rank.socket.descriptor(), SHUT_RDWR);
  const auto until = Clock::now() + kFarewell;
  for (Rank& rank : ranks_) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
    if (ended(rank, std::max(left, milliseconds{0}))) continue;
    kill(rank.process, SIGKILL);
    ended(rank, kFarewell);
  }
}

bool RankProcesses::ended(Rank& rank, milliseconds patience) {
  for (const auto until = Clock::now() + patience;; std::this_thread::sleep_for(kStep)) {
    if (rank.status) return true;
    int status = 0;
    if (waitpid(rank.process, &status, WNOHANG) == rank.process) {
      rank.status = status;
      return true;
    }
    if (Clock::now() >= until) return false;
  }
}

std::string RankProcesses::name(int rank) const {
  return "rank " + std::to_string(rank) + " of " + std::to_string(ranks()) + " (process " +
         std::to_string(ranks_.at(static_cast<std::size_t>(rank)).process) + ")";
}

void RankProcesses::refuse_ended(int rank, const std::string& task) {
  Rank& one = ranks_.at(static_cast<std::size_t>(rank));
  const bool gone = ended(one, milliseconds{1'000});
  throw RankFailure(name(rank) + " " + (gone ? how(*one.status) : std::string("hung up")) +
                    " where it was to " + task);
}

void RankProcesses::tell(int rank, const std::string& line, const std::string& task) {
  if (!ranks_.at(static_cast<std::size_t>(rank)).socket.send(line)) refuse_ended(rank, task);
}

std::vector<std::string> RankProcesses::ask(int rank, const std::string& line,
                                            const std::string& task, milliseconds patience) {
  tell(rank, line, task);
  return gather({rank}, task, patience).at(static_cast<std::size_t>(rank));
}

std::vector<std::vector<std::string>> RankProcesses::ask_all(const std::string& line,
                                                             const std::string& task,
                                                             milliseconds patience) {
  std::vector<int> all(ranks_.size());
  std::iota(all.begin(), all.end(), 0);
  for (const int rank : all) tell(rank, line, task);
  return gather(std::move(all), task, patience);
}

std::vector<std::vector<std::string>> RankProcesses::gather(std::vector<int> asked,
                                                            const std::string& task,
                                                            milliseconds patience) {
  std::vector<std::vector<std::string>> answers(ranks_.size());
  const auto until = Clock::now() + patience;
  while (!asked.empty()) {
    // All are listened to: one that ends keeps the others from ever answering.
    std::vector<pollfd> sockets;
    for (const Rank& rank : ranks_) sockets.push_back({rank.socket.descriptor(), POLLIN, 0});
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
    const int ready = poll(sockets.data(), sockets.size(),
                           static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready < 0 && errno != EINTR) refuse(errno, "poll");
    if (ready == 0) {
      std::string who;
      for (const int rank : asked) who += (who.empty() ? "" : " and ") + name(rank);
      throw RankFailure(who + " did not " + task + " within " + seconds(patience));
    }
    for (std::size_t at = 0; at < ranks_.size(); ++at) {
      if (sockets[at].revents == 0) continue;
      const int rank = static_cast<int>(at);
      const bool there = ranks_[at].socket.fill();
      while (const auto line = ranks_[at].socket.take()) {
        if (line->starts_with(kFailed))
          throw RankFailure(name(rank) + ": " + line->substr(kFailed.size()));
        if (*line == "done")
          std::erase(asked, rank);
        else
          answers[at].push_back(*line);
      }
      if (!there) refuse_ended(rank, task);
    }
  }
  return answers;
}

std::optional<RankSeat> RankSeat::take() {
  const char* rank = std::getenv("WEFT_RANK");
  const char* ranks = std::getenv("WEFT_RANKS");
  if (rank == nullptr || ranks == nullptr) return std::nullopt;
  return RankSeat{std::stoi(rank), std::stoi(ranks), LineSocket(kSeat)};
}

}  // namespace weft::kernels
