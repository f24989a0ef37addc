// SPDX-License-Identifier: Apache-2.0
#include "models/cost/cost_model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "models/cost/nccl_choice.hpp"
#include "models/cost/nccl_symmetric.hpp"

namespace weft::model {
namespace {

// 5.0 x16, raw.
constexpr Bandwidth fastest_slot = Bandwidth::from_bytes_per_second(64'000'000'000);

Duration from_us(double us) {
  return Duration::from_ps(std::llround(us * 1e6));
}

std::optional<NcclAlgorithm> tuned(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      return NcclAlgorithm::ring;
    case CollectiveAlgorithm::tree:
      return NcclAlgorithm::tree;
    case CollectiveAlgorithm::nvls:
      return NcclAlgorithm::nvls;
    case CollectiveAlgorithm::collnet:
      return NcclAlgorithm::collnet_direct;
    case CollectiveAlgorithm::direct:
    case CollectiveAlgorithm::hierarchical:
      break;
  }
  return std::nullopt;
}

std::vector<CollectiveCost> by_the_tuner(const Profile& profile, const Fabric& fabric,
                                         const CollectiveProblem& problem, Bytes message,
                                         const std::vector<CollectiveCost>& forms) {
  constexpr CollectiveProtocol protocols[] = {CollectiveProtocol::ll, CollectiveProtocol::ll128,
                                              CollectiveProtocol::simple};
  std::vector<CollectiveCost> result;
  if (nvidia_architecture(profile) < sm_ampere) return result;
  std::vector<CollectiveAlgorithm> done;
  for (const CollectiveCost& form : forms) {
    const auto algorithm = tuned(form.algorithm);
    if (!algorithm || std::find(done.begin(), done.end(), form.algorithm) != done.end()) continue;
    done.push_back(form.algorithm);
    const NcclTunerProblem asked =
        nccl_tuner_problem(profile, fabric, problem, form.algorithm, form.ctas);
    for (const CollectiveProtocol protocol : protocols) {
      const auto time =
          nccl_tuner_time_us(asked, problem.op, *algorithm, protocol, message.count());
      const auto empty = nccl_tuner_time_us(asked, problem.op, *algorithm, protocol, 0);
      if (!time || !empty) continue;
      CollectiveCost cost = form;
      cost.protocol = protocol;
      cost.floor = from_us(*empty);
      cost.base = cost.floor;
      cost.step_latency = Duration();
      cost.slack = Bytes();
      cost.source = SourceKind::published;
      if (*time > *empty) {
        cost.rate_cap = Bandwidth::from_bytes_per_second(
            std::llround(static_cast<double>(message.count()) / (*time - *empty) * 1e6));
      }
      result.push_back(cost);
    }
  }
  return result;
}

}  // namespace

std::string_view name_of(CostModel model) {
  switch (model) {
    case CostModel::profile:
      return "profile";
    case CostModel::nccl_tuner:
      return "nccl_tuner";
    case CostModel::nccl_symmetric:
      return "nccl_symmetric";
    case CostModel::flashoverlap:
      return "flashoverlap";
  }
  return "unknown";
}

std::string_view meaning_of(CostModel model) {
  switch (model) {
    case CostModel::profile:
      return "collectives by the profile's constants";
    case CostModel::nccl_tuner:
      return "collectives as NCCL's tuner estimates them";
    case CostModel::nccl_symmetric:
      return "collectives as NCCL's model of its symmetric kernels estimates them";
    case CostModel::flashoverlap:
      return "FlashOverlap's groups by its own predictor's favourite alone";
  }
  return "";
}

int nvidia_architecture(const Profile& profile) {
  const std::string& name = profile.gpu.architecture;
  int number = 0;
  if (name.starts_with("sm_")) std::from_chars(name.data() + 3, name.data() + name.size(), number);
  return number;
}

bool joined_by_nvlink(const Fabric& fabric) {
  return fabric.gpu_per_direction > fastest_slot;
}

std::optional<CollectiveCost> symmetric_collective(const Profile& profile, const Fabric& fabric,
                                                   const CollectiveProblem& problem,
                                                   Bytes message) {
  if (problem.nodes > 1 || problem.ranks < 2 || !joined_by_nvlink(fabric)) return std::nullopt;
  const auto generation = nvidia_architecture(profile) < sm_blackwell ? NcclGeneration::hopper
                                                                      : NcclGeneration::blackwell;
  const int ranks = static_cast<int>(problem.ranks);
  const std::int64_t bytes = message.count();
  // NCCL counts one rank's buffer: the whole of an all-reduce, the shard of the others.
  const std::int64_t buffer = problem.op == CollectiveOp::all_reduce ? bytes : bytes / ranks;
  const auto pick = nccl_symmetric_pick(generation, problem.op, ranks,
                                        std::max<std::int64_t>(1, buffer), fabric.switch_reduces);
  if (!pick) return std::nullopt;
  const Transport by = uses_switch(pick->kernel) ? Transport::fabric_switch : Transport::sm;
  auto cost = direct_collective(profile, fabric, problem, by, pick->ctas);
  if (!cost) return std::nullopt;
  // Its own estimate, but no faster than the port of this machine, which the model's constants do not know.
  const double model = static_cast<double>(bytes) * pick->bytes_per_us / pick->bus_bytes * 1e6;
  const Bandwidth own = Bandwidth::from_bytes_per_second(std::llround(model));
  const auto busiest = std::max(cost->per_byte.egress, cost->per_byte.ingress);
  const Bandwidth port = Bandwidth::from_bytes_per_second(narrow(
      Int128{fabric.port(cost->algorithm).bytes_per_second()} * cost->denominator / busiest));
  cost->floor = std::max(Duration(), from_us(pick->time_us) - message / own);
  cost->base = cost->floor;
  cost->slack = Bytes();
  cost->rate_cap = std::min(own, port);
  return cost;
}

std::vector<CollectiveCost> modelled_collectives(CostModel model, const Profile& profile,
                                                 const Fabric& fabric,
                                                 const CollectiveProblem& problem, Bytes message) {
  std::vector<CollectiveCost> forms = library_collectives(profile, fabric, problem);
  std::vector<CollectiveCost> own;
  if (model == CostModel::nccl_tuner) {
    own = by_the_tuner(profile, fabric, problem, message, forms);
  } else if (model == CostModel::nccl_symmetric) {
    if (const auto cost = symmetric_collective(profile, fabric, problem, message))
      own.push_back(*cost);
  }
  if (own.empty()) return forms;
  std::stable_sort(own.begin(), own.end(),
                   [](const auto& a, const auto& b) { return a.floor < b.floor; });
  return own;
}

}  // namespace weft::model
