// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/prices.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/cost/nccl_choice.hpp"

namespace weft::model {

// What a price depends on, in a few integers.
using PriceKey = std::array<std::int64_t, 5>;

struct PriceKeyHash {
  std::size_t operator()(const PriceKey& key) const {
    // FNV-1a over the words, mixed at the end: sizes differ in few bits.
    std::uint64_t hash = 14'695'981'039'346'656'037U;
    for (const std::int64_t word : key)
      hash = (hash ^ static_cast<std::uint64_t>(word)) * 1'099'511'628'211U;
    return hash ^ (hash >> 32);
  }
};

template <class Value>
using PriceTable = std::unordered_map<PriceKey, Value, PriceKeyHash>;

namespace {

template <class Enum>
std::int64_t number(Enum value) {
  return static_cast<std::int64_t>(value);
}

PriceKey key_of(const CollectiveProblem& p, std::int64_t choice, std::int64_t how) {
  return {(number(p.op) << 16) | (number(p.dtype) << 8) | how, p.ranks, p.nodes, p.crossings,
          choice};
}

// Looks a key up, and computes and keeps its value if it is new. Two threads may compute the same value; both are
// equal, and the first is kept. What is kept stays where it is.
template <class Value, class Compute>
const Value& remembered(std::shared_mutex& mutex, PriceTable<Value>& table, const PriceKey& key,
                        Compute&& compute) {
  {
    const std::shared_lock lock(mutex);
    const auto found = table.find(key);
    if (found != table.end()) return found->second;
  }
  Value value = compute();
  const std::lock_guard lock(mutex);
  return table.emplace(key, std::move(value)).first->second;
}

}  // namespace

struct Prices::Tables {
  std::shared_mutex mutex;
  std::vector<SmBudget> budgets;  // by their number in a key
  PriceTable<GemmCost> gemms;
  PriceTable<CollectiveCost> libraries;
  PriceTable<std::vector<CollectiveCost>> ways;
  PriceTable<std::optional<CollectiveCost>> directs;

  std::int64_t number_of(const SmBudget& budget) {
    {
      const std::shared_lock lock(mutex);
      const auto found = std::find(budgets.begin(), budgets.end(), budget);
      if (found != budgets.end()) return found - budgets.begin();
    }
    const std::lock_guard lock(mutex);
    const auto found = std::find(budgets.begin(), budgets.end(), budget);
    const std::int64_t index = found - budgets.begin();
    if (found == budgets.end()) budgets.push_back(budget);
    return index;
  }
};

Prices::Prices(const Profile& profile, const Fabric& fabric, CostModel model)
    : profile_(profile), fabric_(fabric), model_(model), tables_(std::make_unique<Tables>()) {}

Prices::~Prices() = default;

GemmProblem piece_of(const MatmulWork& work, std::int64_t rows, std::int64_t columns,
                     GemmLibrary library) {
  GemmProblem problem{rows, columns, work.rank.k, work.x.element, work.y.element, library};
  problem.follows_others = problem.weights_there = rows < work.rank.m;
  return problem;
}

const GemmCost& Prices::gemm(const GemmProblem& problem, const SmBudget& budget) {
  GemmProblem p = problem;
  p.weights_there = p.weights_there && weights_stay;
  const std::int64_t kinds = (std::int64_t{p.weights_there} << 25) |
                             (std::int64_t{p.follows_others} << 24) | (number(p.input) << 16) |
                             (number(p.output) << 8) | number(p.library);
  return remembered(tables_->mutex, tables_->gemms,
                    {p.m, p.n, p.k, kinds, tables_->number_of(budget)},
                    [&] { return gemm_cost(profile_, p, budget); });
}

const CollectiveCost& Prices::library(const CollectiveProblem& problem, Bytes message) {
  return remembered(tables_->mutex, tables_->libraries, key_of(problem, message.count(), 0), [&] {
    const std::vector<CollectiveCost>& known = ways(problem, message);
    if (known.empty()) return choose_collective(profile_, fabric_, problem, message);
    return taken_by_library(profile_, fabric_, problem, known, message);
  });
}

std::optional<CollectiveCost> Prices::library(const CollectiveProblem& problem, Bytes message,
                                              CollectiveAlgorithm algorithm) const {
  std::vector<CollectiveCost> own = ways(problem, message);
  std::erase_if(own, [&](const CollectiveCost& cost) { return cost.algorithm != algorithm; });
  if (own.empty()) return std::nullopt;
  return taken_by_library(profile_, fabric_, problem, own, message);
}

// A profile's ways are the same for every message; another model's are not.
const std::vector<CollectiveCost>& Prices::ways(const CollectiveProblem& problem,
                                                Bytes message) const {
  const std::int64_t asked = model_ == CostModel::profile ? 0 : message.count();
  return remembered(tables_->mutex, tables_->ways, key_of(problem, asked, 0), [&] {
    return modelled_collectives(model_, profile_, fabric_, problem, message);
  });
}

const std::optional<CollectiveCost>& Prices::direct(const CollectiveProblem& problem,
                                                    Transport transport, std::int64_t ctas) {
  return remembered(tables_->mutex, tables_->directs, key_of(problem, ctas, number(transport)),
                    [&] { return direct_collective(profile_, fabric_, problem, transport, ctas); });
}

}  // namespace weft::model
