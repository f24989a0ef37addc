// SPDX-License-Identifier: Apache-2.0
// The protocol, from the side that starts the ranks: one makes an id, all join, then all run each case.
#include "kernels/measure/nccl_processes.hpp"

#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include "calibration/sample/sample_json.hpp"

namespace weft::kernels {
namespace {

using calibration::Case;
using calibration::Sample;

/// A line of a sample belongs to a run; which one is the program's to say.
std::string any_run() {
  calibration::Run run;
  run.device = "any";
  return calibration::to_line(run) + "\n";
}

Sample parse_sample(const std::string& line, const char* from) {
  calibration::SampleSet set;
  calibration::read_lines(any_run() + line, from, set);
  return set.samples.at(0);
}

/// What every rank finds: sockets over loopback and nothing that needs hardware of its own.
std::vector<std::string> settings() {
  return {"NCCL_SOCKET_IFNAME=lo", "NCCL_IB_DISABLE=1", "NCCL_NET=Socket", "NCCL_NVLS_ENABLE=0"};
}

std::string text(const Case& what) {
  std::string line = what.operation + " " + what.figure;
  if (what.bytes) line += " of " + std::to_string(*what.bytes) + " bytes";
  if (what.background) line += " " + what.background->kind + " " + what.background->order;
  return line;
}

}  // namespace

std::string RankTask::line() const {
  Sample carrier;
  carrier.what = what;
  carrier.times = {Duration::from_ps(0)};
  std::ostringstream line;
  line << "run " << kind << ' ' << warm_up << ' ' << repetitions << ' ' << expected_ns << ' '
       << patience_ms << ' ' << calibration::to_line(carrier);
  return line.str();
}

RankTask RankTask::parse(const std::string& line) {
  std::istringstream in(line);
  std::string verb;
  RankTask task;
  if (!(in >> verb >> task.kind >> task.warm_up >> task.repetitions >> task.expected_ns >>
        task.patience_ms) ||
      verb != "run")
    throw std::invalid_argument("no task: " + line);
  std::string sample;
  std::getline(in >> std::ws, sample);
  task.what = parse_sample(sample, "task").what;
  return task;
}

NcclProcesses::NcclProcesses(std::vector<std::string> command, bool with_service,
                             RankPatience patience)
    : command_(std::move(command)), with_service_(with_service), patience_(patience) {}

RankProcesses& NcclProcesses::group(int ranks) {
  if (const auto known = refused_.find(ranks); known != refused_.end())
    throw std::runtime_error(known->second);
  if (group_ && group_->ranks() == ranks) return *group_;
  group_.reset();
  try {
    RankCommand command{.arguments = command_, .environment = settings(), .ranks = ranks};
    // A service that somebody else runs is used as it is.
    if (with_service_ && std::getenv("CUDA_MPS_PIPE_DIRECTORY") == nullptr) {
      if (!service_)
        service_ = std::make_unique<MpsService>(std::filesystem::temp_directory_path() /
                                                ("weft-mps-" + std::to_string(getpid())));
      for (std::string& setting : service_->environment())
        command.environment.push_back(std::move(setting));
    }
    auto made = std::make_unique<RankProcesses>(command);
    const auto id = made->ask(0, "id", "make an id", patience_.join);
    if (id.size() != 1) throw RankFailure("rank 0 made no id");
    made->ask_all("join " + id.front(), "join NCCL's communicator", patience_.join);
    group_ = std::move(made);
  } catch (const std::exception& error) {
    refused_[ranks] = error.what();
    throw;
  }
  return *group_;
}

Sample NcclProcesses::run_one(const Job& job, const Case& what, std::int64_t expected_ns) {
  RankProcesses& ranks = group(what.ranks.value_or(2));
  RankTask task{job.kind,        what,        job.warm_up,
                job.repetitions, expected_ns, patience_.run.count() / 2};
  try {
    const auto answers = ranks.ask_all(task.line(), "run " + text(what), patience_.run);
    if (answers.front().size() != 1) throw RankFailure("rank 0 measured nothing");
    return parse_sample(answers.front().front(), "rank 0");
  } catch (const std::exception&) {
    // Whoever still waits for the rank that failed would do so for ever.
    group_.reset();
    throw;
  }
}

JobResult NcclProcesses::run(const Job& job) {
  JobResult result;
  std::int64_t expected_ns = 0;
  for (const Case& what : job.cases) {
    try {
      Sample sample = run_one(job, what, expected_ns);
      if (what.figure == "alone") expected_ns = calibration::median(sample.times).ps() / 1000;
      result.samples.push_back(std::move(sample));
    } catch (const std::exception& error) {
      result.refusals.push_back(text(what) + ": " + error.what());
    }
  }
  return result;
}

Verdicts NcclProcesses::prove(int ranks) {
  Verdicts found;
  Job job;
  job.kind = "collectives";
  job.warm_up = 0;
  job.repetitions = 1;
  for (const char* operation : {"all_gather", "reduce_scatter", "all_reduce", "all_to_all"})
    for (const std::int64_t bytes : {std::int64_t{4'096}, std::int64_t{3} << 20}) {
      Case what;
      what.suite = "proof";
      what.operation = operation;
      what.figure = "time";
      what.library = "nccl";
      what.backend = kNcclProcesses;
      what.transport = "library";
      what.ranks = ranks;
      what.bytes = bytes;
      try {
        const Sample sample = run_one(job, what, 0);
        found.worst = std::max(found.worst, sample.check.value_or(2.0));
        ++found.right;
      } catch (const std::exception& error) {
        found.wrong.push_back(text(what) + ": " + error.what());
      }
    }
  return found;
}

}  // namespace weft::kernels
