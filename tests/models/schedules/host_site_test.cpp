// SPDX-License-Identifier: Apache-2.0
// Groups as they are measured: peers in host memory, ranks on parts of one device, ranks that one process drives; and the
// walk of the kernels' tiles.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/planner/evaluate.hpp"
#include "models/schedules/layer_program.hpp"
#include "models/schedules/one_process.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/tile_order.hpp"
#include "models/schedules/tile_walk.hpp"
#include "sim/controls.hpp"
#include "sim/run.hpp"
#include "tests/models/schedules/sites.hpp"

namespace weft::model {
namespace {

Site host_site(int ranks) {
  const auto spec =
      topology::read_machine(std::filesystem::path("configs/machines/h200x8.json")).spec;
  return make_host_site(spec, load_profile("configs/profiles/h200-sxm.json"), {0, 0}, ranks);
}

Boundary boundary(BoundaryKind kind, int ranks) {
  return make_boundary(kind, {4096, 4096, 4096}, TensorFormat{DType::bf16, DType::fp32, 0}, ranks);
}

Knobs knobs_for(const Schedule& schedule, const std::string& transport) {
  Knobs knobs(schedule.info().knobs);
  knobs.set("order", std::string("rotated"));
  knobs.set("transport", transport);
  knobs.set("chunks", std::int64_t{4});
  knobs.set("ctas", std::int64_t{8});
  knobs.set("margin", std::int64_t{8});
  return knobs;
}

TEST(HostSite, OneRankRunsAndItsPeersAreMemory) {
  const Site site = host_site(4);
  EXPECT_EQ(site.ranks(), 4);
  EXPECT_EQ(site.running(), 1);
  EXPECT_EQ(site.path(0, 2, 0), CopyPath::from_host);
  EXPECT_EQ(site.path(0, 0, 3), CopyPath::to_host);
}

TEST(HostSite, NothingBeatsTheLinkAndEveryScheduleRunsByEveryMover) {
  const Site site = host_site(2);
  for (const BoundaryKind kind : {BoundaryKind::ag_gemm, BoundaryKind::gemm_rs}) {
    const Boundary fused = boundary(kind, 2);
    // Half of the rows cross the link.
    const Bytes bytes = fused.collectives[0].message / 2;
    for (const char* name : {"chunked", "device_flag"}) {
      const Schedule* schedule = find_schedule(name);
      for (const char* transport : {"copy_engine", "sm"}) {
        const Knobs knobs = knobs_for(*schedule, transport);
        ASSERT_TRUE(schedule->refusals(fused, knobs, site).empty()) << name << " " << transport;
        const sim::Program program = boundary_program(fused, {schedule, knobs}, site);
        const auto time = [&](const sim::Program& of) {
          return sim::run(site.built.machine, of).end - TimePoint();
        };
        EXPECT_GE(time(sim::without_compute(program)), bytes / site.fabric.gpu_per_direction)
            << name << " " << transport;
        EXPECT_GE(time(program), time(sim::without_communication(program)));
      }
    }
  }
}

// One launch waits for its stores within its window; a launch a chunk leaves them to queue.
TEST(HostSite, StoresThatAreWaitedForAreNoPostedWrites) {
  const Site site = host_site(2);
  const auto posted = [&](const char* name) {
    const Schedule* schedule = find_schedule(name);
    const sim::Program program = boundary_program(boundary(BoundaryKind::gemm_rs, 2),
                                                  {schedule, knobs_for(*schedule, "sm")}, site);
    return std::count_if(program.traffic.begin(), program.traffic.end(),
                         [](const sim::Traffic& traffic) { return traffic.posted_write; });
  };
  EXPECT_EQ(posted("device_flag"), 0);
  EXPECT_GT(posted("chunked"), 0);
}

TEST(HostSite, SlicedChunksAreRefused) {
  const Site site = host_site(2);
  const Schedule* schedule = find_schedule("chunked");
  EXPECT_FALSE(
      schedule->refusals(boundary(BoundaryKind::ag_gemm, 2), Knobs(schedule->info().knobs), site)
          .empty());
}

GemmCost kernel_of(std::int64_t m, std::int64_t n) {
  GemmCost cost;
  cost.kernel.tile_m = m;
  cost.kernel.tile_n = n;
  cost.kernel.cluster_m = 2;
  return cost;
}

TEST(TileWalk, CountsEveryTileOnceAndBeginsAtTheOwnRowsOfAGather) {
  const ChunkPlan plan(4096, 2, 4, ChunkOrder::rotated, true);
  const auto walk = tile_walk(plan, 1, true, 1000, kernel_of(128, 256));
  std::int64_t tiles = 0;
  for (const TileStretch& stretch : walk) tiles += stretch.tiles;
  EXPECT_EQ(tiles, 4096 / 128 * 4);
  // 2,048 own rows in one stretch; then the 512 rows of one chunk after the other.
  EXPECT_EQ(walk.front(), (TileStretch{2048 / 128 * 4, {0}}));
  EXPECT_EQ(walk[1], (TileStretch{512 / 128 * 4, {1}}));
  EXPECT_EQ(walk[2], (TileStretch{512 / 128 * 4, {2}}));
}

TEST(TileWalk, AReductionEndsItsChunksOneAfterTheOther) {
  const ChunkPlan plan(2048, 2, 2, ChunkOrder::rotated, false);
  const auto walk = tile_walk(plan, 0, false, 1024, kernel_of(128, 256));
  EXPECT_EQ(walk, (std::vector<TileStretch>{{16, {0}}, {16, {1}}, {32, {2}}}));
}

TEST(TileWalk, OwnRowsThatAreCutEndOneCutAfterTheOther) {
  const ChunkPlan plan(2048, 2, 2, ChunkOrder::rotated, false);
  const auto walk = tile_walk(plan, 0, false, 1024, kernel_of(128, 256), {{0, 512}, {512, 1024}});
  EXPECT_EQ(walk, (std::vector<TileStretch>{{16, {0}}, {16, {1}}, {16, {2}}, {16, {3}}}));
}

TEST(TileOrder, LowGroupsReadOperandsAgainUnlessTheWeightsStay) {
  const Profile profile = load_profile("configs/profiles/h200-sxm.json");
  GemmCost cost = kernel_of(128, 256);
  cost.resident = 132;
  cost.tiles = 64 * 64;
  cost.main_loop = Duration::from_ps(40'000'000);
  const auto of = [&](std::int64_t k, std::int64_t together) {
    MatmulWork work;
    work.rank = {8192, 16384, k};
    return tiles_in_order(profile, work, cost, together);
  };
  EXPECT_EQ(of(8192, 2048).tile_time, cost.tile_time());
  EXPECT_GT(of(8192, 1024).tile_time, cost.tile_time());
  EXPECT_GT(of(8192, 256).tile_time, of(8192, 1024).tile_time);
  EXPECT_GT(of(8192, 256).hbm_per_tile, of(8192, 1024).hbm_per_tile);
  // A group holds no less than a row of tiles.
  EXPECT_EQ(of(8192, 16).tile_time, of(8192, 128).tile_time);
  // 16,384 x 512 values of 2 bytes are less than half of the L2.
  EXPECT_EQ(of(512, 256).tile_time, cost.tile_time());
  EXPECT_EQ(of(512, 256).hbm_per_tile, cost.hbm_per_tile);
}

// Of 16 SMs a twelfth of the device, whose part of the L2 keeps neither X nor W: 256 rows are swept across all columns,
// W is read once a sweep, X once for every six columns of tiles.
TEST(TileOrder, PartitionsReadWhatTheirWalkReads) {
  const Profile profile = load_profile("configs/profiles/h200-sxm.json");
  GemmCost cost = kernel_of(128, 128);
  cost.resident = 12;
  cost.tiles = 16 * 56;
  cost.main_loop = Duration::from_ps(40'000'000);
  MatmulWork work;
  work.rank = {2048, 7168, 8192};
  const OrderedTiles tiles = tiles_in_order(profile, work, cost, 256, 8);
  EXPECT_EQ(tiles.tile_time, cost.tile_time());
  const double sweeps = 2048 / 256, turns = 10;  // 7,168 columns by 768
  const double read = (sweeps * 7168 + turns * 2048) * 8192 * 2, written = 2048 * 7168 * 2;
  EXPECT_NEAR(ratio(tiles.hbm_per_tile * cost.tiles, Bytes::from(1)) / (read + written), 1, 1e-4);
  // A sweep is no lower than the tiles of a cluster.
  EXPECT_EQ(tiles_in_order(profile, work, cost, 16, 8).hbm_per_tile,
            tiles_in_order(profile, work, cost, 128, 8).hbm_per_tile);
}

Site parts_of_a_device(int ranks, bool one_process = true) {
  std::vector<topology::RankPlace> places;
  for (int rank = 0; rank < ranks; ++rank) places.push_back({0, 0, rank, ranks});
  Site site = make_site(test_machine("h200x8.json"), load_profile("configs/profiles/h200-sxm.json"),
                        places);
  if (one_process) share_process(site);
  return site;
}

Duration time_of(const sim::Program& program, const Site& site) {
  return sim::run(site.built.machine, program).end - TimePoint();
}

// Products that wait for nothing but HBM: two of them at once take as long as one after the other, but for a start.
TEST(PartsOfADevice, ShareHbmWhileBothReadIt) {
  Site site = parts_of_a_device(2);
  for (sim::Memory& memory : site.built.machine.memories)
    if (memory.device) memory.bandwidth = Bandwidth::from_bytes_per_second(20'000'000'000);
  MatmulWork work;
  work.rank = {2048, 8192, 8192};
  const auto time = [&](int ranks) {
    LayerProgram layer(site);
    for (int rank = 0; rank < ranks; ++rank)
      layer.gemm(rank, layer.compute(rank), {&work, 2048, GemmLibrary::ours, 0, "product"});
    return time_of(layer.finish(), site);
  };
  EXPECT_NEAR(ratio(time(2), time(1)), 2, 0.02);
}

// Products are timed alone, from event to event: of two on a stream the second is shorter by an event's hop, unless it has
// an event to wait for. What a launch takes there instead, and a wait, are the profile's.
TEST(LayerProgram, AProductBehindAnotherWaitsForNoEvent) {
  Site site = parts_of_a_device(2);
  site.profile.gemm->own->behind.reset();
  site.built.machine.processes.front().launch_cost = Duration();
  MatmulWork work;
  work.rank = {2048, 8192, 8192};
  const auto time = [&](int products, bool waits) {
    LayerProgram layer(site);
    for (int i = 0; i < products; ++i) {
      if (i > 0 && waits) layer.join(0, layer.compute(0), layer.communication(0));
      layer.gemm(0, layer.compute(0), {&work, 2048, GemmLibrary::ours, 0, "product"});
      // What follows a product on another stream is none of the next one's business.
      layer.join(0, layer.communication(0), layer.compute(0));
    }
    return time_of(layer.finish(), site);
  };
  const Duration hop = site.built.machine.control.event_hop, one = time(1, false) - hop;
  EXPECT_EQ(time(3, false), one * 3 - hop * 2 + hop);
  EXPECT_GE(time(3, true), one * 3 + hop);
}

// With eight hardware queues four ranks have two each; of eight ranks four wait until the queues of others are empty.
TEST(OneProcess, RanksBeyondItsHardwareQueuesComeAfterTheOthers) {
  for (const int ranks : {4, 8}) {
    Site site = parts_of_a_device(ranks);
    sim::Process& process = site.built.machine.processes.front();
    process.launch_cost = Duration();
    for (const BoundaryKind kind : {BoundaryKind::ag_gemm, BoundaryKind::gemm_rs}) {
      const Boundary fused = make_boundary(kind, {2048, 4096, 4096}, {}, ranks);
      const Schedule* schedule = find_schedule("chunked");
      Knobs knobs = knobs_for(*schedule, "copy_engine");
      knobs.set("chunks", std::int64_t{ranks} - 1);
      const sim::Program program = boundary_program(fused, {schedule, knobs}, site);
      // Without their common memory, so that each rank takes as long whoever else runs.
      sim::Effects effects;
      effects.hbm_share = false;
      const auto time = [&] {
        return sim::run(site.built.machine, program, {effects, {}}).end - TimePoint();
      };
      const Duration few = time();
      process.max_connections = 2 * ranks;
      const double longer = ratio(few, time());
      process.max_connections = 8;
      if (ranks == 4) {
        EXPECT_EQ(longer, 1);
      } else {
        EXPECT_GT(longer, 1.4);
        EXPECT_LT(longer, 2.2);
      }
    }
  }
}

// Ranks that one thread drives join by events: no word goes through memory but the flags of tiles, and nobody waits for
// what can only come after it.
TEST(OneProcess, MeetsByEventsAndMovesWhatOthersMove) {
  for (const int ranks : {2, 8}) {
    const Site apart = parts_of_a_device(ranks, false), joined = parts_of_a_device(ranks);
    EXPECT_FALSE(in_one_process(apart));
    EXPECT_TRUE(in_one_process(joined));
    for (const BoundaryKind kind :
         {BoundaryKind::ag_gemm, BoundaryKind::gemm_rs, BoundaryKind::gemm_ar}) {
      const Boundary fused = make_boundary(kind, {4096, 4096, 4096}, {}, ranks);
      for (const char* name : {"chunked", "device_flag"}) {
        const Schedule* schedule = find_schedule(name);
        const ScheduleChoice choice{schedule, knobs_for(*schedule, "copy_engine")};
        const sim::Program ours = boundary_program(fused, choice, joined),
                           theirs = boundary_program(fused, choice, apart);
        EXPECT_EQ(ours.threads.size(), 1U);
        EXPECT_EQ(theirs.threads.size(), static_cast<std::size_t>(ranks));
        if (std::string(name) == "chunked") {
          EXPECT_TRUE(ours.signals.empty());
        }
        const auto copies = [](const sim::Program& program) {
          std::vector<Bytes> bytes;
          for (const sim::HostThread& thread : program.threads) {
            for (const sim::Command& command : thread.commands)
              if (const auto* copy = std::get_if<sim::Copy>(&command.call))
                bytes.push_back(copy->bytes);
          }
          std::sort(bytes.begin(), bytes.end());
          return bytes;
        };
        EXPECT_EQ(copies(ours), copies(theirs));
        EXPECT_GT(time_of(ours, joined), Duration());
      }
    }
  }
}

// A library counts the SMs of a partition: its clusters are the largest that divide them, as far as there are rows.
TEST(Partition, LibrariesTakeClustersThatDivideItsSms) {
  const Profile profile = load_profile("configs/profiles/h200-sxm.json");
  const Site site = parts_of_a_device(2);
  const auto cluster = [&](std::int64_t rows, int margin) {
    const GemmTile kernel =
        gemm_cost(profile, {.m = rows, .n = 8192, .k = 4096}, site.sms(0, margin)).kernel;
    return kernel.cluster_m * kernel.cluster_n;
  };
  EXPECT_EQ(cluster(1024, 0), 8);
  EXPECT_EQ(cluster(1024, 4), 4);
  EXPECT_EQ(cluster(1024, 2), 2);
  // One row of tiles: 1 x 4.
  EXPECT_EQ(cluster(64, 0), 4);
}

// A rank of a mesh sends over all of its links, and the library's rings go round all of them.
TEST(Site, OfAMeshIsAsWideAsItsLinksTogether) {
  topology::MachineSpec mesh = test_machine("h200x8.json"), star = mesh;
  mesh.node.links.front().to = mesh.node.links.front().from;
  mesh.node.links.front().bandwidth_per_direction.value =
      Bandwidth::from_bytes_per_second(60'000'000'000);
  star.node.links.front().bandwidth_per_direction.value =
      Bandwidth::from_bytes_per_second(180'000'000'000);
  mesh.node.links.front().latency.value = star.node.links.front().latency.value * 2;
  const Site apart = test_site(mesh, 4), joined = test_site(star, 4);
  EXPECT_EQ(apart.fabric.gpu_per_direction, joined.fabric.gpu_per_direction);
  const ScheduleChoice ring{find_schedule("serial"), [] {
                              Knobs knobs(find_schedule("serial")->info().knobs);
                              knobs.set("algorithm", std::string("ring"));
                              return knobs;
                            }()};
  for (const BoundaryKind kind : {BoundaryKind::ag_gemm, BoundaryKind::gemm_rs}) {
    const Boundary whole = make_boundary(kind, {8192, 4096, 4096}, {}, 4);
    EXPECT_EQ(overlapped_only(whole, ring, apart, {}).overlapped,
              overlapped_only(whole, ring, joined, {}).overlapped);
  }
}

}  // namespace
}  // namespace weft::model
