// SPDX-License-Identifier: Apache-2.0
// weft-measure: runs suites on the GPUs of this machine and writes samples.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <cuda_runtime.h>

#include "calibration/sample/sample_file.hpp"
#include "configs/reader/error.hpp"
#include "kernels/measure/journal.hpp"
#include "kernels/measure/nccl_processes.hpp"
#include "kernels/measure/rank_program.hpp"
#include "kernels/measure/report.hpp"
#include "kernels/measure/runner.hpp"
#include "kernels/measure/suite.hpp"

namespace {

using weft::kernels::Job;

constexpr int kOk = 0;
constexpr int kSomeFailed = 1;
constexpr int kBadInput = 2;
constexpr int kInternal = 3;

struct Arguments {
  std::vector<std::string> suites;
  std::filesystem::path suite_folder = "configs/suites";
  std::filesystem::path out;
  std::string budget;
  std::string commit = WEFT_COMMIT;
  std::string library;
  std::string schedule;
  std::string variant;
  std::vector<int> ranks;
  std::filesystem::path again;
  std::filesystem::path report;
  int pass = 0;
  int best = 10;
  bool list = false;
  bool bring_up = false;
  bool prove_only = false;
  bool serve_rank = false;
};

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  static_cast<void>(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text.data();
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<Job> jobs_of(const Arguments& arguments) {
  if (!arguments.again.empty()) {
    const auto set = weft::calibration::load_sample_tree(arguments.again);
    std::map<std::string, int> rests;
    for (const auto& sample : set.samples)
      if (const std::string& suite = sample.what.suite; !rests.contains(suite))
        rests[suite] = weft::kernels::load_suite(arguments.suite_folder / (suite + ".json")).rest;
    return weft::kernels::plan_again(set, arguments.pass, arguments.best, rests);
  }
  std::vector<Job> jobs;
  for (const std::string& name : arguments.suites) {
    weft::kernels::Suite suite =
        weft::kernels::load_suite(arguments.suite_folder / (name + ".json"));
    if (!arguments.ranks.empty()) suite.ranks = arguments.ranks;
    const auto more = weft::kernels::plan_jobs(suite);
    jobs.insert(jobs.end(), more.begin(), more.end());
  }
  if (!arguments.schedule.empty())
    for (Job& job : jobs)
      std::erase_if(job.cases, [&](const auto& what) {
        return !what.schedule.empty() && what.schedule != "serial" &&
               what.schedule != arguments.schedule;
      });
  if (!arguments.variant.empty())
    for (Job& job : jobs)
      std::erase_if(job.cases, [&](const auto& what) {
        return !what.schedule.empty() && what.schedule != "serial" &&
               what.variant != arguments.variant;
      });
  if (!arguments.library.empty())
    for (Job& job : jobs)
      std::erase_if(job.cases, [&](const auto& what) { return what.library != arguments.library; });
  std::erase_if(jobs, [](const Job& job) { return job.cases.empty(); });
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.priority < b.priority; });
  return jobs;
}

int list(const std::vector<Job>& jobs) {
  std::size_t cases = 0;
  double seconds = 0;
  for (const Job& job : jobs) {
    cases += job.cases.size();
    seconds += job.estimated_seconds;
  }
  std::cout << jobs.size() << " jobs, " << cases << " cases, about " << static_cast<int>(seconds)
            << " s\n";
  return kOk;
}

/// Ranks that are processes run this program.
weft::kernels::NcclProcesses processes() {
  return {{std::filesystem::read_symlink("/proc/self/exe").string(), "--serve-rank"}, true};
}

/// Proves every kernel right on each group; true if all were.
bool prove_all(weft::kernels::Runner& runner, const weft::kernels::BringUp& plan) {
  weft::kernels::NcclProcesses apart = processes();
  bool right = true;
  for (const std::string& warning : plan.warnings) std::cout << "warning: " << warning << "\n";
  for (const weft::kernels::Proof& proof : plan.proofs) {
    const auto start = std::chrono::steady_clock::now();
    try {
      const weft::kernels::Verdicts found = proof.backend == weft::kernels::kNcclProcesses
                                                ? apart.prove(proof.ranks)
                                                : runner.prove(proof);
      std::cout << proof.ranks << " ranks, " << proof.backend << ": " << found.right
                << " cells right, worst error " << found.worst << " of its tolerance, "
                << found.wrong.size() << " wrong, " << seconds_since(start) << " s\n";
      for (const std::string& line : found.wrong) std::cout << "  " << line << "\n";
      right = right && found.wrong.empty();
    } catch (const std::exception& error) {
      std::cout << proof.ranks << " ranks, " << proof.backend << ": " << error.what() << "\n";
      right = false;
    }
    std::cout << std::flush;
  }
  return right;
}

int measure(const Arguments& arguments, const std::vector<Job>& jobs) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::cerr << "weft-measure: there is no CUDA device here; nothing was measured\n";
    return kSomeFailed;
  }
  const auto start = std::chrono::steady_clock::now();
  weft::kernels::Journal journal(arguments.out);
  weft::kernels::Runner runner;
  weft::kernels::NcclProcesses apart = processes();
  weft::calibration::Run run = runner.machine();
  run.program = "weft-measure";
  run.started = utc_now();
  run.git = arguments.commit;
  journal.begin(run);
  const double budget = arguments.budget.empty() ? std::numeric_limits<double>::infinity()
                                                 : weft::kernels::parse_budget(arguments.budget);
  std::size_t done = 0;
  std::size_t left_out = 0;
  std::size_t refused = 0;
  double said = -10;
  for (const Job& planned : jobs) {
    ++done;
    Job job = planned;
    job.cases = weft::kernels::missing(journal, planned.cases);
    if (job.cases.empty()) continue;
    const double now = seconds_since(start);
    if (now + job.estimated_seconds > budget) {
      ++left_out;
      continue;
    }
    if (now - said > 3) {
      said = now;
      std::cerr << "[" << done << "/" << jobs.size() << "] " << static_cast<int>(now) << " s, "
                << journal.size() << " samples; " << job.cases.front().suite << " "
                << job.cases.front().operation << "\n";
    }
    const bool in_processes = job.cases.front().backend == weft::kernels::kNcclProcesses;
    const weft::kernels::JobResult result = in_processes ? apart.run(job) : runner.run(job);
    for (const auto& sample : result.samples) journal.append(sample);
    for (const std::string& refusal : result.refusals)
      std::cerr << "  refused: " << refusal << "\n";
    refused += result.refusals.size();
  }
  std::cerr << journal.size() << " samples in " << arguments.out.string() << " after "
            << static_cast<int>(seconds_since(start)) << " s; " << refused << " cases refused, "
            << left_out << " jobs left out by the budget\n";
  return refused == 0 ? kOk : kSomeFailed;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{
      "Measures kernels and transfers on this machine's GPUs and appends samples to a file."};
  app.add_option("suites", arguments.suites, "names of suites, e.g. primitives gemm");
  app.add_option("--suite-folder", arguments.suite_folder, "where the suites lie")
      ->capture_default_str();
  app.add_option("-o,--out", arguments.out,
                 "sample file (.jsonl) to append to; what it has is not measured again");
  app.add_option("--budget", arguments.budget,
                 "stop starting jobs that would end later, e.g. 8min");
  app.add_option("--library", arguments.library, "only cases of this library, e.g. weft");
  app.add_option("--commit", arguments.commit, "commit that the samples name");
  app.add_option("--again", arguments.again,
                 "measure the best cells of the decisions in this file again");
  app.add_option("--report", arguments.report,
                 "print what the boundaries in this file or folder say about fusing, and stop");
  app.add_option("--pass", arguments.pass, "which separate run this is, with --again")
      ->capture_default_str();
  app.add_option("--best", arguments.best, "cells a case, with --again")->capture_default_str();
  app.add_flag("--bring-up", arguments.bring_up,
               "prove every kernel right on 2, 4 and 8 ranks, then measure what this machine has");
  app.add_flag("--prove-only", arguments.prove_only, "with --bring-up: measure nothing");
  app.add_option("--schedule", arguments.schedule,
                 "only cells of this schedule, beside what they are compared with");
  app.add_option("--variant", arguments.variant,
                 "only cells of this variant of a schedule, such as epilogue, likewise");
  app.add_option("--ranks", arguments.ranks, "group sizes, in place of those of the suites");
  app.add_flag("--serve-rank", arguments.serve_rank)->group("");
  app.add_flag("--list", arguments.list, "say what would be measured, and stop");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kOk : kBadInput;
  }
  try {
    if (arguments.serve_rank) {
      auto seat = weft::kernels::RankSeat::take();
      if (!seat) throw std::invalid_argument("no other process started this one as a rank");
      return weft::kernels::serve_rank(std::move(*seat));
    }
    if (!arguments.report.empty()) {
      weft::kernels::report(weft::calibration::load_sample_tree(arguments.report), std::cout);
      return kOk;
    }
    if (arguments.bring_up) {
      const auto plan = weft::kernels::plan_bring_up(weft::kernels::Runner::view());
      weft::kernels::Runner runner;
      if (!prove_all(runner, plan)) {
        std::cerr << "weft-measure: something is wrong on this machine; nothing was measured\n";
        return kSomeFailed;
      }
      if (arguments.prove_only) return kOk;
      arguments.suites = plan.suites;
      arguments.ranks = plan.ranks;
    }
    if (arguments.suites.empty() && arguments.again.empty()) {
      std::cerr << "weft-measure: name a suite, or a file with --again\n";
      return kBadInput;
    }
    const std::vector<Job> jobs = jobs_of(arguments);
    if (arguments.list) return list(jobs);
    if (arguments.out.empty()) {
      std::cerr << "weft-measure: name a file with --out\n";
      return kBadInput;
    }
    return measure(arguments, jobs);
  } catch (const weft::config::ConfigErrors& errors) {
    std::cerr << errors.what() << "\n";
    return kBadInput;
  } catch (const std::invalid_argument& error) {
    std::cerr << "weft-measure: " << error.what() << "\n";
    return kBadInput;
  } catch (const std::exception& error) {
    std::cerr << "weft-measure: " << error.what() << "\n";
    return kInternal;
  }
}
