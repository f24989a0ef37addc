// SPDX-License-Identifier: Apache-2.0
// What runs without any fusion: the library's GEMMs and collectives, one after the other on one stream. It is the
// answer to "do not overlap here", and the yardstick (C) of every other schedule.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/schedules/fused.hpp"
#include "models/schedules/layer_program.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

class Serial final : public Schedule {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "serial",
        .system = "weft",
        .summary = "library kernels and library collectives, one after the other",
        .citation =
            "cuBLASLt and NCCL on one stream; NCCL's algorithm is the least-time one of the "
            "profile",
        .knobs = {{"algorithm",
                   "of the library's collectives; auto: the one of least time",
                   {"auto", "ring", "tree", "nvls", "hierarchical"},
                   "auto",
                   "NCCL_ALGO"}},
        .applies_to = "every boundary",
        .order = "each kernel and each collective whole",
        .edges = "stream order",
        .resources = "all SMs for a product, the library's CTAs for a collective",
        .measured_in = std::string(unfused_rows)};
    return info;
  }

  bool overlaps(const Boundary&, const Knobs&, const Site&) const override { return false; }

  std::vector<std::string> refusals(const Boundary& boundary, const Knobs& knobs,
                                    const Site& site) const override {
    std::vector<std::string> refusals;
    const std::string& algorithm = knobs.text("algorithm");
    for (const BoundaryCollective& collective : boundary.collectives) {
      if (algorithm == "auto") break;
      if (collective.group < 2) {
        refusals.push_back(
            fmt::format("{} joins one rank: it needs no algorithm", collective.name));
      } else if (!cost_of(collective, algorithm, site)) {
        refusals.push_back(fmt::format("the profile has no {} for {} among these ranks", algorithm,
                                       name_of(collective.op)));
      }
    }
    if (algorithm != "auto" && boundary.collectives.empty())
      refusals.push_back("nothing is communicated here");
    return refusals;
  }

  std::vector<std::vector<Transfer>> transfers(const Boundary& boundary, const Knobs& knobs,
                                               const Site& site) const override {
    std::vector<std::vector<Transfer>> all;
    for (const BoundaryCollective& collective : boundary.collectives) {
      all.push_back(
          collective.group < 2
              ? std::vector<Transfer>{}
              : library_transfers(collective, site,
                                  cost_of(collective, knobs.text("algorithm"), site)->algorithm));
    }
    return all;
  }

  void expand(const Boundary& boundary, const Knobs& knobs, const Site& site,
              LayerProgram& program) const override {
    program.begin(boundary.name);
    std::vector<bool> done(boundary.collectives.size(), false);
    std::vector<bool> ran(boundary.operators.size(), false);
    const auto run_collective = [&](std::size_t c) {
      if (done[c]) return;
      done[c] = true;
      const BoundaryCollective& collective = boundary.collectives[c];
      if (collective.group < 2) return;
      std::vector<sim::StreamId> streams;
      for (int rank = 0; rank < program.ranks(); ++rank) {
        program.tag(rank, 0, sim::Purpose::communication);
        streams.push_back(program.compute(rank));
      }
      program.collective(*cost_of(collective, knobs.text("algorithm"), site), collective.message,
                         collective.name, streams);
    };
    const auto produced = [&](std::size_t c) {
      return std::all_of(boundary.pairs.begin(), boundary.pairs.end(), [&](const Pairing& pair) {
        return pair.collective != c || pair.relation != Relation::produces || ran[pair.op];
      });
    };
    for (std::size_t op = 0; op < boundary.operators.size(); ++op) {
      for (std::size_t c = 0; c < boundary.collectives.size(); ++c) {
        if (relation_of(boundary, c, op) == Relation::consumes) run_collective(c);
      }
      for (int rank = 0; rank < program.ranks(); ++rank) {
        program.tag(rank, 0, sim::Purpose::compute);
        program.operate(rank, program.compute(rank), boundary.operators[op]);
      }
      ran[op] = true;
      for (std::size_t c = 0; c < boundary.collectives.size(); ++c) {
        if (relation_of(boundary, c, op) == Relation::produces && produced(c)) run_collective(c);
      }
    }
    for (std::size_t c = 0; c < boundary.collectives.size(); ++c) run_collective(c);
  }

  Knobs normalised(const Boundary& boundary, const Knobs& knobs, const Site& site) const override {
    if (knobs.text("algorithm") == "auto") return knobs;
    // The algorithm that the library takes anyway is no point of its own.
    for (const BoundaryCollective& collective : boundary.collectives) {
      const auto named = cost_of(collective, knobs.text("algorithm"), site);
      const auto chosen = cost_of(collective, "auto", site);
      if (named->algorithm != chosen->algorithm) return knobs;
    }
    return Knobs(info().knobs);
  }

 private:
  static std::optional<CollectiveCost> cost_of(const BoundaryCollective& collective,
                                               const std::string& algorithm, const Site& site) {
    const CollectiveProblem problem = problem_of(collective, site);
    if (algorithm == "auto") return site.prices->library(problem, collective.message);
    for (const CollectiveAlgorithm known : every_collective_algorithm) {
      if (name_of(known) == algorithm)
        return site.prices->library(problem, collective.message, known);
    }
    return std::nullopt;
  }
};

const Registration serial_registration(std::make_unique<Serial>());

}  // namespace
}  // namespace weft::model
