// SPDX-License-Identifier: Apache-2.0
// From what a suite asks for to jobs.
#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "kernels/measure/suite.hpp"
#include "kernels/measure/suite_cells.hpp"

namespace weft::kernels {
namespace {

using calibration::Case;

bool wanted(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

/// Every model at every cut with all tokens, where the suite does not say which go together.
std::vector<ShapeChoice> shapes_of(const Suite& suite) {
  if (!suite.shapes.empty()) return suite.shapes;
  std::vector<ShapeChoice> all;
  for (const ModelShape& model : suite.models)
    for (const int tp : suite.tp) all.push_back({model.name, tp, suite.tokens});
  return all;
}

const ModelShape& model_of(const Suite& suite, const std::string& name) {
  const auto model = std::find_if(suite.models.begin(), suite.models.end(),
                                  [&name](const ModelShape& one) { return one.name == name; });
  if (model == suite.models.end())
    throw std::invalid_argument("suite " + suite.name + ": its models have no " + name);
  return *model;
}

std::vector<ModelBoundary> boundaries_of(const Suite& suite) {
  std::vector<ModelBoundary> all;
  std::set<std::tuple<std::string, int, std::int64_t, std::int64_t, std::vector<std::int64_t>>>
      seen;
  for (const ShapeChoice& shape : shapes_of(suite))
    for (ModelBoundary& one :
         weft::kernels::boundaries_of(model_of(suite, shape.model), shape.tp)) {
      one.tokens = shape.tokens;
      if (wanted(suite.boundaries, one.name) &&
          seen.insert({one.operation, one.tp, one.n, one.k, one.tokens}).second)
        all.push_back(std::move(one));
    }
  return all;
}

Case shaped(const Suite& suite, const ModelBoundary& boundary, std::int64_t tokens) {
  Case what;
  what.suite = suite.name;
  what.figure = "time";
  what.model = boundary.model;
  what.boundary = boundary.name;
  what.shape = calibration::Shape{tokens, boundary.n, boundary.k};
  what.dtype = "bf16";
  what.tp = boundary.tp;
  return what;
}

Job job_of(const Suite& suite, std::vector<Case> cases) {
  Job job;
  job.kind = suite.kind;
  job.cases = std::move(cases);
  job.repetitions = suite.repetitions;
  job.warm_up = suite.warm_up;
  job.rest = suite.rest;
  job.priority = suite.priority;
  // Preparing and checking a case takes about as long as a few repetitions.
  constexpr double kPreparation = 0.004;
  for (const Case& what : job.cases)
    job.estimated_seconds +=
        kPreparation +
        estimated_seconds(what) * ((1 + suite.rest) * suite.repetitions + suite.warm_up + 1);
  return job;
}

bool too_long(const Suite& suite, const Case& what) {
  return suite.most_milliseconds > 0 &&
         estimated_seconds(what) * 1e3 > static_cast<double>(suite.most_milliseconds);
}

/// Where products alone are measured: on the whole device, or on one rank's part of it.
std::vector<std::pair<std::string, std::optional<int>>> places_of(const Suite& suite) {
  std::vector<std::pair<std::string, std::optional<int>>> places;
  for (const std::string& backend : suite.backends)
    for (const int ranks : suite.ranks) places.emplace_back(backend, ranks);
  if (places.empty()) places.emplace_back("", std::nullopt);
  return places;
}

std::vector<Job> gemm_jobs(const Suite& suite) {
  std::vector<Job> jobs;
  std::set<std::tuple<std::string, int, std::int64_t, std::int64_t, std::int64_t>> seen;
  std::vector<int> counts = suite.sm_counts;
  for (const auto& [backend, ranks] : places_of(suite))
    for (const ModelBoundary& boundary : boundaries_of(suite))
      for (const std::int64_t tokens : boundary.tokens) {
        if (!seen.insert({backend, ranks.value_or(0), tokens, boundary.n, boundary.k}).second)
          continue;
        Case base = shaped(suite, boundary, tokens);
        base.operation = "gemm";
        base.backend = backend;
        base.ranks = ranks;
        if (too_long(suite, base)) continue;
        std::vector<Case> cases;
        const auto add = [&](const std::string& library, const std::string& variant,
                             std::optional<int> sms) {
          Case one = base;
          one.library = library;
          one.variant = variant;
          one.sms = sms;
          cases.push_back(one);
        };
        for (const std::string& library : suite.libraries) {
          const bool ours = library == "weft";
          add(library, ours ? "static" : "first", std::nullopt);
          add(library, ours ? "counter" : "best", std::nullopt);
          for (const int sms : counts) add(library, ours ? "static" : "first", sms);
        }
        jobs.push_back(job_of(suite, std::move(cases)));
      }
  return jobs;
}

std::vector<Job> interference_jobs(const Suite& suite) {
  std::vector<Job> jobs;
  for (const ModelBoundary& boundary : boundaries_of(suite))
    for (const std::int64_t tokens : boundary.tokens)
      for (const std::string& library : suite.libraries)
        for (const int sms : suite.sm_counts)
          for (const std::string& backend :
               suite.backends.empty() ? std::vector<std::string>{"host_link"} : suite.backends) {
            Case base = shaped(suite, boundary, tokens);
            base.operation = "gemm";
            base.library = library;
            base.sms = sms;
            base.backend = backend;
            if (too_long(suite, base)) continue;
            if (suite.clusters.empty())
              jobs.push_back(job_of(suite, interference_cases(suite, base)));
            for (const int cluster : suite.clusters) {
              base.cluster = cluster;
              jobs.push_back(job_of(suite, interference_cases(suite, base)));
            }
          }
  return jobs;
}

std::vector<int> ranks_of(const Suite& suite, const ModelBoundary& boundary) {
  return suite.ranks.empty() ? std::vector<int>{boundary.tp} : suite.ranks;
}

/// The operations that a suite asks for at a boundary: what sums and scatters may also share its sums,
/// or leave the rows at their owners.
std::vector<std::string> operations_of(const Suite& suite, const ModelBoundary& boundary) {
  if (suite.operations.empty()) return {boundary.operation};
  std::vector<std::string> all;
  for (const std::string& operation : suite.operations)
    if ((operation == "ag_gemm") == (boundary.operation == "ag_gemm")) all.push_back(operation);
  return all;
}

std::vector<Job> boundary_jobs(const Suite& suite) {
  std::vector<Job> jobs;
  for (const std::string& backend : suite.backends)
    for (const ModelBoundary& boundary : boundaries_of(suite))
      for (const std::string& operation : operations_of(suite, boundary))
        for (const std::int64_t tokens : boundary.tokens)
          for (const int ranks : ranks_of(suite, boundary)) {
            if (ranks < 2) continue;
            for (const std::string& library : suite.libraries) {
              Case base = shaped(suite, boundary, tokens);
              base.operation = operation;
              base.backend = backend;
              base.ranks = ranks;
              base.library = library;
              if (too_long(suite, base)) continue;
              jobs.push_back(job_of(suite, suite.kind == "decision" ? decision_cases(suite, base)
                                                                    : boundary_cases(suite, base)));
            }
          }
  return jobs;
}

}  // namespace

std::vector<ModelBoundary> boundaries_of(const ModelShape& model, int tp) {
  const std::int64_t queries = model.heads * model.head_dim;
  const std::int64_t kv = model.kv_heads * model.head_dim;
  const std::int64_t up = (model.gated ? 2 : 1) * model.intermediate;
  // Fewer key and value heads than ranks are held whole by each rank that needs one.
  const std::int64_t kv_local = std::max(kv / tp, model.head_dim);
  std::vector<ModelBoundary> all;
  const auto add = [&](const char* name, const char* operation, std::int64_t n, std::int64_t k) {
    if (n % 8 == 0 && k % 8 == 0) all.push_back({model.name, name, operation, tp, n, k, {}});
  };
  if (model.heads % tp == 0) {
    add("qkv", "ag_gemm", queries / tp + 2 * kv_local, model.hidden);
    add("attention_out", "gemm_rs", model.hidden, queries / tp);
  }
  if (model.intermediate % tp == 0) {
    add("mlp_up", "ag_gemm", up / tp, model.hidden);
    add("mlp_down", "gemm_rs", model.hidden, model.intermediate / tp);
  }
  return all;
}

double estimated_seconds(const Case& what) {
  // Round figures of an H200's datasheet and of PCIe 5 x16; budgets need no better.
  constexpr double kFlopsPerSecond = 7e14;
  constexpr double kHostBytesPerSecond = 5e10;
  constexpr double kDeviceBytesPerSecond = 1.5e12;
  constexpr double kLaunch = 20e-6;
  double compute = 0;
  double link = 0;
  if (what.shape) {
    const auto m = static_cast<double>(what.shape->m);
    const auto n = static_cast<double>(what.shape->n);
    const auto k = static_cast<double>(what.shape->k);
    compute = 2 * m * n * k / kFlopsPerSecond;
    if (what.sms && *what.sms > 0) compute *= 132.0 / *what.sms;
    if (what.ranks) {
      const double wide = what.operation == "ag_gemm" ? k : n;
      const double share = 1.0 - 1.0 / *what.ranks;
      const bool host = what.backend == "host_link";
      link = 2 * m * wide * share / (host ? kHostBytesPerSecond : kDeviceBytesPerSecond);
      if (what.operation == "gemm_ar") link *= 2;
      if (what.backend == "virtual_ranks") compute *= *what.ranks, link *= *what.ranks;
    }
  } else if (what.bytes) {
    const double rate = what.direction == "device" ? kDeviceBytesPerSecond : kHostBytesPerSecond;
    link = static_cast<double>(*what.bytes) / rate;
    if (what.ctas) link *= std::max(1.0, 4.0 / *what.ctas);
  }
  if (what.figure == "A" || what.figure == "A_s") return kLaunch + compute;
  if (what.figure == "B" || what.figure == "B_s") return kLaunch + link;
  if (what.figure == "C") return kLaunch + compute + link;
  return kLaunch + std::max(compute, link);
}

std::vector<Job> plan_jobs(const Suite& suite) {
  std::vector<Job> jobs;
  if (suite.kind == "primitives") {
    for (Case& what : primitive_cases(suite)) jobs.push_back(job_of(suite, {std::move(what)}));
    return jobs;
  }
  if (suite.kind == "waits") {
    for (Case& what : wait_cases(suite)) jobs.push_back(job_of(suite, {std::move(what)}));
    return jobs;
  }
  if (suite.kind == "collectives") {
    for (Case& what : collective_cases(suite)) jobs.push_back(job_of(suite, {std::move(what)}));
    return jobs;
  }
  if (suite.kind == "gemm")
    jobs = gemm_jobs(suite);
  else if (suite.kind == "interference")
    jobs = interference_jobs(suite);
  else if (suite.kind == "boundary" || suite.kind == "decision")
    jobs = boundary_jobs(suite);
  else
    throw std::invalid_argument("suite " + suite.name + " is of no known kind: " + suite.kind);
  for (Job& job : jobs)
    std::erase_if(job.cases, [&suite](const Case& what) {
      return what.figure != "time" && !wanted(suite.figures, what.figure);
    });
  std::erase_if(jobs, [](const Job& job) { return job.cases.empty(); });
  // A budget that ends early has then seen something of every model and size.
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    return calibration::key(a.cases.front()) < calibration::key(b.cases.front());
  });
  // Groups of ranks are costly to set up: they follow each other.
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    const auto group = [](const Job& job) {
      return std::pair(job.cases.front().backend, job.cases.front().ranks.value_or(0));
    };
    return group(a) < group(b);
  });
  return jobs;
}

std::vector<Job> plan_again(const calibration::SampleSet& set, int pass, int best,
                            const std::map<std::string, int>& rests) {
  std::map<std::string, std::vector<const calibration::Sample*>> cases;
  for (const calibration::Sample& sample : set.samples) {
    const Case& what = sample.what;
    if (what.pass.value_or(0) != 0 || (what.figure != "D" && what.figure != "C")) continue;
    Case same = what;
    same.figure = same.schedule = same.transport = same.variant = "";
    same.chunks = same.margin = same.ctas = std::nullopt;
    same.pace_bytes_per_second = same.in_flight_bytes = std::nullopt;
    cases[calibration::key(same)].push_back(&sample);
  }
  std::vector<Job> jobs;
  for (auto& [key, samples] : cases) {
    std::sort(samples.begin(), samples.end(), [](const auto* a, const auto* b) {
      return calibration::median(a->times) < calibration::median(b->times);
    });
    Job job;
    job.kind = "decision";
    if (const auto rest = rests.find(samples.front()->what.suite); rest != rests.end())
      job.rest = rest->second;
    int taken = 0;
    for (const calibration::Sample* sample : samples) {
      const bool serial = sample->what.figure == "C";
      if (!serial && taken >= best) continue;
      taken += serial ? 0 : 1;
      job.cases.push_back(sample->what);
      job.cases.back().pass = pass;
      job.repetitions = std::max(job.repetitions, static_cast<int>(sample->times.size()));
      job.estimated_seconds +=
          estimated_seconds(sample->what) * ((1 + job.rest) * job.repetitions + 4);
    }
    if (taken > 0) jobs.push_back(std::move(job));
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    const auto group = [](const Job& job) {
      return std::pair(job.cases.front().backend, job.cases.front().ranks.value_or(0));
    };
    return group(a) < group(b);
  });
  return jobs;
}

}  // namespace weft::kernels
