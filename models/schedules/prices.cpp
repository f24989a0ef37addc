// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/prices.hpp"

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

namespace weft::model {
namespace {

// Looks a key up, and computes and keeps its value if it is new. Two threads may compute the same value; both are
// equal, and the first is kept.
template <class Key, class Value, class Compute>
Value remembered(std::mutex& mutex, std::map<Key, Value>& table, const Key& key,
                 Compute&& compute) {
  {
    const std::lock_guard lock(mutex);
    const auto found = table.find(key);
    if (found != table.end()) return found->second;
  }
  Value value = compute();
  const std::lock_guard lock(mutex);
  return table.emplace(key, std::move(value)).first->second;
}

}  // namespace

struct Prices::Tables {
  std::mutex mutex;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, DType, DType, GemmLibrary,
                      std::vector<int>>,
           GemmCost>
      gemms;
  using GroupKey = std::tuple<CollectiveOp, std::int64_t, std::int64_t, std::int64_t, DType>;
  std::map<std::tuple<GroupKey, std::int64_t>, CollectiveCost> libraries;
  std::map<std::tuple<GroupKey, Transport, std::int64_t>, std::optional<CollectiveCost>> directs;

  static GroupKey key_of(const CollectiveProblem& p) {
    return {p.op, p.ranks, p.nodes, p.crossings, p.dtype};
  }
};

Prices::Prices(const Profile& profile, const Fabric& fabric)
    : profile_(profile), fabric_(fabric), tables_(std::make_unique<Tables>()) {}

Prices::~Prices() = default;

GemmCost Prices::gemm(const GemmProblem& p, const SmBudget& budget) {
  return remembered(tables_->mutex, tables_->gemms,
                    {p.m, p.n, p.k, p.input, p.output, p.library, budget.sms_per_gpc},
                    [&] { return gemm_cost(profile_, p, budget); });
}

CollectiveCost Prices::library(const CollectiveProblem& problem, Bytes message) {
  return remembered(tables_->mutex, tables_->libraries, {Tables::key_of(problem), message.count()},
                    [&] { return choose_collective(profile_, fabric_, problem, message); });
}

std::optional<CollectiveCost> Prices::library(const CollectiveProblem& problem, Bytes message,
                                              CollectiveAlgorithm algorithm) const {
  std::optional<CollectiveCost> best;
  for (CollectiveCost& cost : library_collectives(profile_, fabric_, problem)) {
    if (cost.algorithm == algorithm && (!best || cost.time(message) < best->time(message)))
      best = std::move(cost);
  }
  return best;
}

std::optional<CollectiveCost> Prices::direct(const CollectiveProblem& problem, Transport transport,
                                             std::int64_t ctas) {
  return remembered(tables_->mutex, tables_->directs, {Tables::key_of(problem), transport, ctas},
                    [&] { return direct_collective(profile_, fabric_, problem, transport, ctas); });
}

}  // namespace weft::model
