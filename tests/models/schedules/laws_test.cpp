// SPDX-License-Identifier: Apache-2.0
// The laws of every schedule of the catalogue: a new one is tested here with no test edited.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/planner/evaluate.hpp"
#include "models/schedules/delivery.hpp"
#include "models/schedules/example.hpp"
#include "models/schedules/registry.hpp"
#include "sim/controls.hpp"
#include "sim/run.hpp"
#include "tests/models/schedules/moved_bytes.hpp"
#include "tests/models/schedules/sites.hpp"

namespace weft::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Case {
  std::string machine;
  bool every_combination;  ///< of knobs; else each knob by itself
  Boundary boundary;
  Site site;
};

// Small products on small groups: every law is about structure, and structure shows at any size. Bare pairs by number of
// ranks; boundaries with work beside the pair, and one in FP8; and machines with other GPUs and links, for which
// schedules have forms of their own.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> made;
    for (const int ranks : {2, 4, 8}) {
      for (const BoundaryKind kind : every_boundary_kind) {
        made.push_back({"h200x8", true,
                        make_boundary(kind, {256L * ranks, 256L * ranks, 256L * ranks}, {}, ranks),
                        test_site("h200x8.json", ranks)});
      }
    }
    const auto examples = [&](const std::string& machine, int ranks, bool bare, bool fp8) {
      std::vector<Boundary> boundaries = example_boundaries({256L * ranks, 512, 512}, ranks);
      if (!fp8) boundaries.pop_back();
      const std::size_t first = bare ? 0 : std::size(every_boundary_kind);
      for (std::size_t i = first; i < boundaries.size(); ++i)
        made.push_back({machine, false, boundaries[i], test_site(machine + ".json", ranks)});
    };
    examples("h200x8", 4, false, true);
    // Few rows and a long K, whose product is split along K to fill the SMs.
    for (const BoundaryKind kind : every_boundary_kind) {
      made.push_back({"h200x8", false, make_boundary(kind, {256, 2048, 32768}, {}, 2),
                      test_site("h200x8.json", 2)});
    }
    examples("a100x8", 4, true, false);
    examples("l20x8", 8, true, false);
    examples("ascend910x8", 4, true, false);
    return made;
  }();
  return all;
}

// The ends of each knob's list and its default: every value for the names, and the counts at which cuts are coarse,
// usual and fine.
std::vector<KnobSpec> few(std::vector<KnobSpec> specs) {
  for (KnobSpec& spec : specs) {
    const KnobValue first = spec.values.front(), last = spec.values.back();
    std::erase_if(spec.values, [&](const KnobValue& value) {
      return std::holds_alternative<std::int64_t>(value) && value != first && value != last &&
             value != spec.default_value;
    });
  }
  return specs;
}

// Every combination, or the defaults and from there each other value of each knob.
std::vector<Knobs> combinations(const std::vector<KnobSpec>& specs, bool every) {
  if (every) return all_combinations(few(specs));
  std::vector<Knobs> all = {Knobs(specs)};
  for (const KnobSpec& spec : few(specs)) {
    for (const KnobValue& value : spec.values) {
      Knobs knobs(specs);
      knobs.set(spec.name, value);
      if (value != spec.default_value) all.push_back(std::move(knobs));
    }
  }
  return all;
}

struct Point {
  const Schedule* schedule;
  Knobs knobs;
  const Case* at;
};

// Every legal point, each program once.
const std::vector<Point>& points() {
  static const std::vector<Point> all = [] {
    std::vector<Point> found;
    for (const Case& each : cases()) {
      for (const Schedule* schedule : all_schedules()) {
        std::set<std::string> seen;
        for (const Knobs& knobs : combinations(schedule->info().knobs, each.every_combination)) {
          if (!schedule->refusals(each.boundary, knobs, each.site).empty()) continue;
          Knobs normal = schedule->normalised(each.boundary, knobs, each.site);
          if (seen.insert(normal.to_text()).second)
            found.push_back({schedule, std::move(normal), &each});
        }
      }
    }
    return found;
  }();
  return all;
}

// Calls visit(schedule, knobs, case) for every point until one fails.
template <class Visit>
void each_point(Visit&& visit) {
  for (const Point& point : points()) {
    SCOPED_TRACE(point.at->boundary.name + " on " + std::to_string(point.at->site.ranks()) +
                 " of " + point.at->machine + ": " + point.schedule->info().name + " " +
                 point.knobs.to_text());
    visit(*point.schedule, point.knobs, *point.at);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Catalogue, HoldsTheseSchedules) {
  std::vector<std::string> names;
  for (const Schedule* schedule : all_schedules()) names.push_back(schedule->info().name);
  EXPECT_THAT(
      names,
      ElementsAre("chunked", "cublasmp.ag_matmul", "cublasmp.matmul_ar", "cublasmp.matmul_rs",
                  "cutlass.distributed_gemm", "device_flag", "flashoverlap", "flux.ag_gemm",
                  "flux.gemm_rs", "mc2.all_gather_matmul", "mc2.cross_operator",
                  "mc2.matmul_all_reduce", "mc2.matmul_all_to_all", "mc2.matmul_reduce_scatter",
                  "nccl.serial", "nccl.stream_overlap", "parallelkittens.ag_gemm",
                  "parallelkittens.gemm_ar", "parallelkittens.gemm_rs", "serial", "te.atomic_gemm",
                  "te.bulk", "te.external", "te.pipeline", "te.ring_exchange", "torch.async_tp",
                  "torch.symm_mem_all_reduce", "triton_distributed.ag_gemm",
                  "triton_distributed.gemm_rs"));
}

TEST(Catalogue, EveryScheduleSaysWhatItIsAndWhereItIsFrom) {
  for (const Schedule* schedule : all_schedules()) {
    const ScheduleInfo& info = schedule->info();
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_FALSE(info.citation.empty()) << info.name;
    for (const KnobSpec& knob : info.knobs) {
      EXPECT_FALSE(knob.meaning.empty()) << info.name << " " << knob.name;
      EXPECT_THAT(knob.values, testing::Contains(knob.default_value))
          << info.name << " " << knob.name;
    }
  }
}

// No law is proved on nobody: each schedule is held to them somewhere, and those with a form for other GPUs or links in
// each of their forms.
TEST(EverySchedule, IsHeldToTheLaws) {
  std::set<std::string> held;
  std::set<std::pair<std::string, std::string>> forms;
  for (const Point& point : points()) {
    held.insert(point.schedule->info().name);
    forms.emplace(point.schedule->info().name, point.at->machine);
  }
  for (const Schedule* schedule : all_schedules())
    EXPECT_TRUE(held.contains(schedule->info().name)) << schedule->info().name;
  for (const char* machine : {"h200x8", "a100x8", "l20x8"}) {
    for (const char* name : {"flux.ag_gemm", "flux.gemm_rs", "nccl.serial"})
      EXPECT_TRUE(forms.contains({name, machine})) << name << " on " << machine;
  }
}

// Each rank receives each element that it needs exactly once, and each addend enters each sum exactly once. Most knobs
// leave the transfers as they are: those are proved once.
TEST(EverySchedule, DeliversEachElementOnce) {
  using Moved = std::vector<std::vector<Transfer>>;
  std::map<std::pair<const Schedule*, const Case*>, std::vector<Moved>> proved;
  each_point([&](const Schedule& schedule, const Knobs& knobs, const Case& each) {
    Moved transfers = schedule.transfers(each.boundary, knobs, each.site);
    ASSERT_EQ(transfers.size(), each.boundary.collectives.size());
    std::vector<Moved>& known = proved[{&schedule, &each}];
    if (std::find(known.begin(), known.end(), transfers) != known.end()) return;
    for (std::size_t c = 0; c < transfers.size(); ++c) {
      EXPECT_THAT(delivery_faults(each.boundary.collectives[c], transfers[c]), IsEmpty());
    }
    known.push_back(std::move(transfers));
  });
}

// No port sees less than what its rank needs and does not have; without help from a switch, that much enters it.
TEST(EverySchedule, PortsCarryAtLeastTheCutBound) {
  each_point([](const Schedule& schedule, const Knobs& knobs, const Case& each) {
    const auto transfers = schedule.transfers(each.boundary, knobs, each.site);
    for (std::size_t c = 0; c < transfers.size(); ++c) {
      const BoundaryCollective& collective = each.boundary.collectives[c];
      const std::vector<PortBytes> ports = port_bytes(collective, transfers[c]);
      for (int rank = 0; rank < collective.group; ++rank) {
        EXPECT_GE(ports[static_cast<std::size_t>(rank)].ingress, cut_bound(collective, rank))
            << "rank " << rank;
      }
    }
  });
}

// What the program sends is what the schedule's transfers, and with them its declared algorithm, say: by copies, tiles
// or a gang, on every port and each way.
TEST(EverySchedule, ProgramsMoveTheBytesOfTheirTransfers) {
  each_point([](const Schedule& schedule, const Knobs& knobs, const Case& each) {
    const auto transfers = schedule.transfers(each.boundary, knobs, each.site);
    std::vector<PortBytes> declared(static_cast<std::size_t>(each.site.ranks()));
    for (std::size_t c = 0; c < transfers.size(); ++c) {
      const auto ports = port_bytes(each.boundary.collectives[c], transfers[c]);
      for (std::size_t rank = 0; rank < declared.size(); ++rank) {
        declared[rank].egress += ports.at(rank).egress;
        declared[rank].ingress += ports.at(rank).ingress;
      }
    }
    const sim::Program program = boundary_program(each.boundary, {&schedule, knobs}, each.site);
    EXPECT_EQ(MovedBytes(each.site.built.machine, program).ports(), declared);
  });
}

Duration time_of(const Site& site, const sim::Program& program, const sim::Effects& effects) {
  return sim::run(site.built.machine, program, {effects, {}}).end - TimePoint();
}

// With transfers, hops and the communication CTAs' holdings free, only the schedule's own compute is left.
TEST(EverySchedule, WithFreeCommunicationTakesItsOwnCompute) {
  sim::Effects free;
  free.transport = false;
  free.launch_and_sync = false;
  free.residency = false;
  free.sm_share = false;
  free.hbm_share = false;
  each_point([&](const Schedule& schedule, const Knobs& knobs, const Case& each) {
    const sim::Program program = boundary_program(each.boundary, {&schedule, knobs}, each.site);
    EXPECT_EQ(time_of(each.site, program, free),
              time_of(each.site, sim::without_communication(program), free));
  });
}

// A product of the schedule's own reads its operands from memory once and multiplies them all, by whatever kernel, in
// whatever order.
TEST(EverySchedule, ComputesNoFasterThanItsDeviceReadsAndMultiplies) {
  each_point([](const Schedule& schedule, const Knobs& knobs, const Case& each) {
    if (each.every_combination || each.boundary.operators.size() > 1) return;
    const Operator& op = each.boundary.operators.front();
    const MatmulWork& work = *matmul_of(op);
    const MatmulShape& shape = work.rank;
    const GpuFigures& gpu = each.site.profile.gpu;
    const Bytes operands =
        bytes_of(work.x, shape.m * shape.k) + bytes_of(work.w, shape.k * shape.n);
    const double multiplied =
        2e12 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
        static_cast<double>(shape.k) /
        static_cast<double>(each.site.profile.matrix_rate(work.x.element).value.flops_per_second());
    const sim::Program program = boundary_program(each.boundary, {&schedule, knobs}, each.site);
    const Duration own = time_of(each.site, sim::without_communication(program), {});
    EXPECT_GE(own, operands / gpu.hbm.value);
    EXPECT_GE(static_cast<double>(own.ps()), multiplied);
  });
}

// Nothing beats its own bound, nor the search's pruning would be wrong.
TEST(EverySchedule, NeverBeatsItsBound) {
  each_point([](const Schedule& schedule, const Knobs& knobs, const Case& each) {
    const sim::Program program = boundary_program(each.boundary, {&schedule, knobs}, each.site);
    EXPECT_GE(time_of(each.site, program, {}),
              schedule.lower_bound(each.boundary, knobs, each.site));
  });
}

// A refusal is a sentence that states the rule.
TEST(EverySchedule, IllegalKnobsAreRefusedWithTheRule) {
  for (const Case& each : cases()) {
    for (const Schedule* schedule : all_schedules()) {
      for (const Knobs& knobs : combinations(schedule->info().knobs, each.every_combination)) {
        for (const std::string& refusal : schedule->refusals(each.boundary, knobs, each.site)) {
          EXPECT_GT(refusal.size(), 20U) << schedule->info().name << " " << knobs.to_text();
        }
      }
    }
  }
}

// What cannot overlap is how not to overlap: nothing is computed while anything is on its way.
TEST(EverySchedule, ThatDoesNotOverlapCoversNothing) {
  each_point([](const Schedule& schedule, const Knobs& knobs, const Case& each) {
    if (schedule.overlaps(each.boundary, knobs, each.site)) return;
    const sim::Program program = boundary_program(each.boundary, {&schedule, knobs}, each.site);
    EXPECT_EQ(covered_ratio(each.site.built.machine, program, {}), 0);
  });
}

// Devices with any number of SMs, in GPCs of any size: a schedule says what it lacks, or runs.
TEST(EverySchedule, RefusesOrRunsOnAnyNumberOfSms) {
  topology::MachineSpec machine = test_machine("h200x8.json");
  for (const std::vector<std::int64_t>& gpcs :
       std::vector<std::vector<std::int64_t>>{{1}, {1, 1, 1}, {10, 10}, {17}, {16, 16}}) {
    machine.device.sms_per_gpc.value = gpcs;
    const Site site = test_site(machine, 8);
    for (const Boundary& boundary : example_boundaries({2048, 512, 512}, 8)) {
      for (const Schedule* schedule : all_schedules()) {
        for (const Knobs& knobs : combinations(schedule->info().knobs, false)) {
          SCOPED_TRACE(boundary.name + " on " + std::to_string(gpcs.front()) +
                       " SMs a GPC: " + schedule->info().name + " " + knobs.to_text());
          if (!schedule->refusals(boundary, knobs, site).empty()) continue;
          const Knobs normal = schedule->normalised(boundary, knobs, site);
          ASSERT_NO_THROW(overlapped_only(boundary, {schedule, normal}, site, {}));
        }
      }
    }
  }
}

// Links to the switch of any rate, beside a PCIe path that peers take where it is wider.
TEST(EverySchedule, IsNoFasterOverSlowerLinks) {
  topology::MachineSpec machine = test_machine("h200x8.json");
  std::map<std::string, Duration> slower;
  for (const std::int64_t rate : {1, 10, 50, 100, 450}) {
    machine.node.links.front().bandwidth_per_direction.value =
        Bandwidth::from_bytes_per_second(rate * 1'000'000'000);
    const Site site = test_site(machine, 8);
    for (const BoundaryKind kind : every_boundary_kind) {
      const Boundary boundary = make_boundary(kind, {2048, 2048, 512}, {}, 8);
      for (const Schedule* schedule : all_schedules()) {
        for (const Knobs& knobs : combinations(schedule->info().knobs, false)) {
          if (!schedule->refusals(boundary, knobs, site).empty()) continue;
          const std::string name =
              boundary.name + " " + schedule->info().name + " " + knobs.to_text();
          const Duration time = overlapped_only(boundary, {schedule, knobs}, site, {}).overlapped;
          const auto [known, fresh] = slower.emplace(name, time);
          EXPECT_LE(time, known->second) << name << " at " << rate << " GB/s";
          known->second = time;
        }
      }
    }
  }
}

// The switch adds and multicasts what its own links bring, whatever other way peers have to each other.
TEST(InNetworkReduction, IsBoundByTheLinksThatItPasses) {
  topology::MachineSpec machine = test_machine("h200x8.json");
  for (const std::int64_t rate : {1, 10, 50}) {
    const Bandwidth link = Bandwidth::from_bytes_per_second(rate * 1'000'000'000);
    machine.node.links.front().bandwidth_per_direction.value = link;
    const Site site = test_site(machine, 8);
    EXPECT_GT(site.fabric.gpu_per_direction, link);
    const CollectiveProblem problem = CollectiveProblem::in_node(CollectiveOp::all_reduce, 8);
    const Bytes message = Bytes::from(1 << 26);
    const auto library = site.prices->library(problem, message, CollectiveAlgorithm::nvls);
    const auto direct = site.prices->direct(problem, Transport::fabric_switch, 16);
    ASSERT_TRUE(library && direct);
    EXPECT_GE(library->time(message), message / link);
    EXPECT_GE(direct->time(message), message / link);
  }
}

// Machines whose links differ by direction, join each pair apart, or whose devices have no engine: bounds hold there, too,
// and who needs an engine says so.
TEST(EverySchedule, NeverBeatsItsBoundOnOddMachines) {
  const topology::MachineSpec whole = test_machine("h200x8.json");
  topology::MachineSpec one_way = whole, mesh = whole, no_engines = whole;
  topology::LinkSpec up = whole.node.links.front();
  up.duplex = false;
  topology::LinkSpec down = up;
  std::swap(down.from, down.to);
  up.bandwidth_per_direction.value = Bandwidth::from_bytes_per_second(100'000'000'000);
  one_way.node.links.front() = up;
  one_way.node.links.push_back(down);
  mesh.node.links.front().to = mesh.node.links.front().from;
  mesh.node.links.front().bandwidth_per_direction.value =
      Bandwidth::from_bytes_per_second(64'000'000'000);
  no_engines.device.engines.clear();
  // Slower than PCI Express: what half of the ranks send to the other half shares the link between the sockets.
  topology::MachineSpec slow = whole;
  slow.node.links.front().bandwidth_per_direction.value =
      Bandwidth::from_bytes_per_second(40'000'000'000);
  for (const auto& [machine, ranks] : {std::pair(&one_way, 4), std::pair(&mesh, 4),
                                       std::pair(&no_engines, 4), std::pair(&slow, 8)}) {
    const Site site = test_site(*machine, ranks);
    for (const BoundaryKind kind : every_boundary_kind) {
      const Boundary boundary = make_boundary(kind, {8192, 2048, 512}, {}, ranks);
      for (const Schedule* schedule : all_schedules()) {
        for (const Knobs& knobs : combinations(schedule->info().knobs, false)) {
          if (!schedule->refusals(boundary, knobs, site).empty()) continue;
          EXPECT_GE(overlapped_only(boundary, {schedule, knobs}, site, {}).overlapped,
                    schedule->lower_bound(boundary, knobs, site))
              << boundary.name << " " << schedule->info().name << " " << knobs.to_text();
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::model
