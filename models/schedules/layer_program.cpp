// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/layer_program.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "models/schedules/demands.hpp"
#include "models/workloads/attention.hpp"
#include "sim/units/check.hpp"

namespace weft::model {
namespace {

// Registers and shared memory of a library's collective kernel. Registers: a launch bound of one block of the
// kernel's threads an SM and 96 registers a thread (assumed); with them no such CTA fits beside a tile kernel.
constexpr int collective_registers_per_thread = 96;
constexpr Bytes collective_shared_memory = Bytes::from(48 * 1024);

// Stream priorities: communication goes first where both are ready, as every published system sets it.
constexpr int compute_priority = 0;
constexpr int communication_priority = 1;

int as_int(std::int64_t value) {
  WEFT_CHECK(std::in_range<int>(value), "{} is no count of CTAs or threads", value);
  return static_cast<int>(value);
}

Duration part_of(Duration whole, std::int64_t part, std::int64_t of) {
  return part == of ? whole : Duration::from_ps(narrow(Int128{whole.ps()} * part / of));
}

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

LayerProgram::LayerProgram(const Site& site, sim::Program spent)
    : site_(site), builder_(std::move(spent)) {
  const std::vector<sim::Rank>& ranks = site.built.machine.ranks;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    const sim::RankId id(rank);
    // Ranks of one process are driven by one thread.
    const auto before = ranks.begin() + rank;
    const auto same = std::find_if(ranks.begin(), before,
                                   [process = ranks[rank].process](const sim::Rank& other) {
                                     return other.process == process;
                                   });
    hosts_.push_back(same == before ? builder_.thread(ranks[rank].process)
                                    : hosts_[static_cast<std::size_t>(same - ranks.begin())]);
    streams_.push_back({builder_.stream(id, compute_priority, "compute"),
                        builder_.stream(id, communication_priority, "communication"),
                        {}});
  }
}

sim::StreamId LayerProgram::fetch(int rank) {
  std::optional<sim::StreamId>& stream = streams_[static_cast<std::size_t>(rank)].fetch;
  if (!stream) {
    stream = builder_.stream(sim::RankId(static_cast<std::uint32_t>(rank)), communication_priority,
                             "fetch");
  }
  return *stream;
}

void LayerProgram::begin(std::string_view boundary) {
  boundary_ = boundary;
}

void LayerProgram::tag(int rank, int chunk, sim::Purpose purpose) {
  host(rank).tagged(builder_.tag({boundary_, chunk, purpose}));
}

void LayerProgram::join(int rank, sim::StreamId waiter, sim::StreamId producer) {
  const sim::EventId event = builder_.event();
  host(rank).record(producer, event).wait(waiter, event);
}

sim::StreamId LayerProgram::stream(int rank, std::string_view name, bool communicates) {
  const StreamKey key{rank, std::string(name)};
  const auto found = named_streams_.find(key);
  if (found != named_streams_.end()) return found->second;
  const sim::StreamId made =
      builder_.stream(sim::RankId(static_cast<std::uint32_t>(rank)),
                      communicates ? communication_priority : compute_priority, name);
  named_streams_.emplace(key, made);
  return made;
}

Duration LayerProgram::beyond_launch(Duration start) const {
  const sim::ControlLatency& control = site_.built.machine.control;
  return std::max(Duration(), start - control.launch - control.kernel_drain);
}

std::optional<std::uint32_t> LayerProgram::engine(int rank, sim::EngineDirection direction) const {
  const sim::Machine& machine = site_.built.machine;
  const auto& engines =
      machine.device(machine.ranks.at(static_cast<std::size_t>(rank)).device).engines;
  for (const sim::EngineDirection wanted : {direction, sim::EngineDirection::any}) {
    for (std::uint32_t i = 0; i < engines.size(); ++i) {
      if (engines[i].direction == wanted) return i;
    }
  }
  return std::nullopt;
}

// ---- products ----------------------------------------------------------------------------------------------

const GemmCost& LayerProgram::gemm_cost(int rank, const GemmCall& call) const {
  const std::int64_t columns = call.columns > 0 ? call.columns : call.work->rank.n;
  return site_.prices->gemm(piece_of(*call.work, call.rows, columns, call.library),
                            site_.sms(rank, call.margin));
}

Duration LayerProgram::gemm_fluid(int rank, const MatmulWork& work, std::int64_t rows) const {
  const GemmCost& whole = gemm_cost(rank, {&work, work.rank.m, GemmLibrary::cublaslt, 0, {}});
  const Duration busy = std::max(Duration(), whole.time - whole.start);
  return Duration::from_ps(
      narrow(Int128{busy.ps()} * rows / std::max<std::int64_t>(1, work.rank.m)));
}

LayerProgram::Before LayerProgram::last_of(int rank, sim::StreamId stream) {
  const auto& commands = builder_.program().threads[host(rank).thread_id().value()].commands;
  bool waits = false;
  for (auto command = commands.rbegin(); command != commands.rend(); ++command) {
    if (std::holds_alternative<sim::Record>(command->call)) continue;
    const std::optional<bool> launches = std::visit(
        [&](const auto& call) -> std::optional<bool> {
          using Call = std::decay_t<decltype(call)>;
          if constexpr (requires { call.stream; }) {
            if (call.stream != stream) return std::nullopt;
            if (!std::is_same_v<Call, sim::WaitEvent>) return std::is_same_v<Call, sim::Launch>;
            waits = true;
          }
          return std::nullopt;
        },
        command->call);
    if (!launches) continue;
    return !*launches ? Before::nothing : waits ? Before::kernel_and_wait : Before::kernel;
  }
  return Before::nothing;
}

Bytes LayerProgram::hbm_asked(int rank, const GemmCost& cost) const {
  const Bandwidth rate = site_.built.machine.memories[memory(rank).value()].bandwidth;
  const Duration wave = cost.tile_time();
  if (rate == Bandwidth() || wave == Duration()) return cost.hbm_per_tile;
  const Int128 of_wave = Int128{rate.bytes_per_second()} * wave.ps() / kPicosecondsPerSecond;
  const Int128 share = of_wave / std::max<std::int64_t>(1, std::min(cost.tiles, cost.resident));
  return share < cost.hbm_per_tile.count() ? Bytes::from(narrow(share)) : cost.hbm_per_tile;
}

Duration LayerProgram::start_behind(GemmLibrary library, const GemmCost& cost,
                                    Before before) const {
  if (before == Before::nothing) return cost.start;
  const std::optional<BehindAnother> none;
  const auto& gemm = site_.profile.gemm;
  const bool ours = gemm && gemm->own && library == GemmLibrary::ours;
  const auto& its = ours ? gemm->own->behind : gemm ? gemm->behind : none;
  // Without a price of the wait it is taken to be worth the event before a product alone.
  if (before == Before::kernel_and_wait && !(its && its->waits)) return cost.start;
  Duration behind;
  if (its) {
    const bool peers = site_.built.machine.devices.size() > 1;
    behind = (peers ? its->time_peers.value_or(its->time) : its->time).value;
    if (its->kept && cost.weights_kept) behind = std::max(Duration(), behind - its->kept->value);
    if (before == Before::kernel_and_wait) behind += its->waits->value;
  }
  return std::max(Duration(), cost.start - site_.built.machine.control.event_hop) + behind;
}

sim::KernelId LayerProgram::gemm_kernel(int rank, const GemmCall& call, Before before) {
  const std::int64_t columns = call.columns > 0 ? call.columns : call.work->rank.n;
  const GemmKey key{before,
                    rank,
                    call.rows,
                    columns,
                    call.work->rank.k,
                    call.library,
                    call.margin,
                    std::string(call.label)};
  const auto found = gemms_.find(key);
  if (found != gemms_.end()) return found->second;

  const GemmCost& cost = gemm_cost(rank, call);
  const sim::TileOrder order = tile_order(call.library, cost.kernel.persistent);
  sim::KernelWriter kernel =
      builder_.kernel(call.label, cost.kernel.persistent ? as_int(cost.grid) : 0);
  kernel.cluster(as_int(cost.kernel.cluster_m * cost.kernel.cluster_n))
      .footprint(cost.footprint)
      .prologue(beyond_launch(start_behind(call.library, cost, before)))
      .role(sim::Purpose::compute, order)
      .range(cost.tiles, cost.tile_time(), matrix_demand)
      .fluid(part_of(gemm_fluid(rank, *call.work, call.rows), columns, call.work->rank.n))
      .l2(cost.l2_per_tile)
      .memory(memory(rank), hbm_asked(rank, cost));
  if (cost.reduction > Duration()) {
    // Parts of K are added up by all CTAs at the same time, once the last is there.
    kernel.range(std::min(cost.resident, cost.grid), cost.reduction, matrix_demand)
        .fluid(Duration());
  }
  gemms_.emplace(key, kernel.id());
  return kernel.id();
}

void LayerProgram::gemm(int rank, sim::StreamId stream, const GemmCall& call) {
  if (call.rows <= 0) return;
  const sim::KernelId kernel = gemm_kernel(rank, call, last_of(rank, stream));
  host(rank).labelled(call.label).launch(stream, kernel);
}

// ---- operators that are no products ------------------------------------------------------------------------

void LayerProgram::operate(int rank, sim::StreamId stream, const Operator& op) {
  const SmBudget sms = site_.sms(rank);
  const auto launch = [&](const KernelCost& cost) {
    if (cost.tiles == 0) return;
    // Kernels that fill an SM are written for the shared memory that it has.
    sim::Footprint footprint = cost.footprint;
    footprint.shared_memory = std::min(
        footprint.shared_memory,
        site_.built.machine
            .device(site_.built.machine.rank(sim::RankId(static_cast<std::uint32_t>(rank))).device)
            .sms.per_sm.shared_memory);
    sim::KernelWriter kernel = builder_.kernel(op.name, 0);
    kernel.footprint(footprint)
        .prologue(beyond_launch(cost.start))
        .role(sim::Purpose::compute, sim::TileOrder::one_cta_per_tile)
        .range(cost.tiles, cost.tile_time, matrix_demand)
        .fluid(std::max(Duration(), cost.time - cost.start))
        .memory(memory(rank), cost.hbm_per_tile);
    host(rank).labelled(op.name).launch(stream, kernel.id());
  };
  std::visit(Overloaded{
                 [&](const MatmulWork& work) {
                   gemm(rank, stream, {&work, work.rank.m, GemmLibrary::cublaslt, 0, op.name});
                 },
                 [&](const AttentionWork& work) {
                   launch(attention_cost(site_.profile, problem_of(work), sms));
                 },
                 [&](const ElementwiseWork&) {
                   launch(memory_cost(site_.profile, op.read + op.written, sms));
                 },
             },
             op.work);
}

void LayerProgram::memory_kernel(int rank, sim::StreamId stream, std::string_view label,
                                 Bytes bytes, sim::Purpose purpose) {
  const KernelCost cost = memory_cost(site_.profile, bytes, site_.sms(rank));
  if (cost.tiles == 0) return;
  sim::KernelWriter kernel = builder_.kernel(label, 0);
  kernel.footprint(cost.footprint)
      .prologue(beyond_launch(cost.start))
      .role(purpose, sim::TileOrder::one_cta_per_tile)
      .range(cost.tiles, cost.tile_time, copy_demand)
      .memory(memory(rank), cost.hbm_per_tile);
  host(rank).labelled(label).launch(stream, kernel.id());
}

void LayerProgram::post_all(int rank, sim::StreamId stream, std::string_view label,
                            const std::vector<sim::SignalId>& signals,
                            std::optional<sim::EventId> resident) {
  // One warp fits beside anything that a schedule makes resident.
  constexpr sim::Footprint warp{32, 32 * 16, {}};
  sim::KernelWriter kernel = builder_.kernel(label, 1);
  kernel.footprint(warp)
      .role(sim::Purpose::synchronisation, sim::TileOrder::static_shares)
      .range(1, Duration());
  for (const sim::SignalId signal : signals)
    kernel.post({sim::SignalPost::Kind::add, signal, 1, {}});
  sim::CallWriter& calls = host(rank).labelled(label);
  if (resident) {
    calls.launch_completing(stream, kernel.id(), *resident);
  } else {
    calls.launch(stream, kernel.id());
  }
}

// ---- collectives -------------------------------------------------------------------------------------------

namespace {

/// How many CTAs of a collective library's kernel start together in one GPC: four of NCCL's from Hopper on
/// (NCCL_CGA_CLUSTER_SIZE in its user guide), where they divide the grid.
int library_cluster(const Profile& profile, int ctas) {
  if (nvidia_architecture(profile) < 90) return 1;
  return ctas % 4 == 0 ? 4 : ctas % 2 == 0 ? 2 : 1;
}

// What a rank of `gpcs` holds of a collective's kernel.
struct Seating {
  int together = 1;  // CTAs of a cluster
  int ctas = 0;      // at once, at most those of the kernel
};

// No more CTAs than an idle device holds, in clusters that it has a GPC for.
Seating seated(const std::vector<int>& gpcs, int per_sm, int ctas, int together) {
  const auto room = [&](int cluster) {
    int sum = 0;
    for (const int sms : gpcs) sum += sms * per_sm / cluster * cluster;
    return std::min(sum, ctas);
  };
  while (together > 1 && (ctas % together != 0 || room(together) == 0)) --together;
  return {together, room(together)};
}

int most_per_sm(const sim::SmCapacity& sm, const sim::Footprint& footprint) {
  std::int64_t most = sm.cta_slots;
  const auto share = [&](std::int64_t has, std::int64_t takes) {
    if (takes > 0) most = std::min(most, has / takes);
  };
  share(sm.threads, footprint.threads);
  share(sm.registers, footprint.registers);
  share(sm.shared_memory.count(), footprint.shared_memory.count());
  return std::max(1, as_int(most));
}

}  // namespace

void LayerProgram::collective(const CollectiveCost& cost, Bytes message, std::string_view label,
                              const std::vector<sim::StreamId>& streams,
                              const std::vector<sim::EventId>& resident,
                              std::optional<int> cluster) {
  if (message == Bytes() || ranks() < 2) return;
  const int threads = as_int(cost.threads_per_cta), all = std::max(1, as_int(cost.ctas));
  const sim::Machine& machine = site_.built.machine;
  // Every CTA moves its part of the message: those that find no SM take theirs when others are done.
  sim::Footprint footprint{threads, threads * collective_registers_per_thread,
                           collective_shared_memory};
  Seating seats{cluster.value_or(library_cluster(site_.profile, all)), all};
  for (int rank = 0; rank < ranks(); ++rank) {
    const sim::SmCapacity& sm =
        machine.device(machine.rank(sim::RankId(static_cast<std::uint32_t>(rank))).device)
            .sms.per_sm;
    footprint.registers = std::min(footprint.registers, sm.registers);
    footprint.shared_memory = std::min(footprint.shared_memory, sm.shared_memory);
    seats =
        seated(site_.sms(rank).sms_per_gpc, most_per_sm(sm, footprint), seats.ctas, seats.together);
  }
  const Bandwidth rate = Bandwidth::from_bytes_per_second(
      std::max<std::int64_t>(1, cost.rate_cap.bytes_per_second() / divide_up(all, seats.ctas)));
  const GangUses& uses = site_.gangs->of(cost, site_.built);
  sim::GangWriter gang = builder_.gang(label, message, rate);
  gang.start_latency(beyond_launch(cost.fixed(message))).denominator(uses.denominator);
  for (int rank = 0; rank < ranks(); ++rank) {
    gang.member(sim::RankId(static_cast<std::uint32_t>(rank)), copy_demand)
        .uses(uses.of_rank[static_cast<std::size_t>(rank)]);
  }
  for (int rank = 0; rank < ranks(); ++rank) {
    sim::KernelWriter kernel =
        builder_.gang_kernel(label, gang.id(), static_cast<std::uint32_t>(rank), seats.ctas);
    kernel.cluster(seats.together).footprint(footprint);
    const sim::StreamId stream = streams.at(static_cast<std::size_t>(rank));
    sim::CallWriter& calls = host(rank).labelled(label);
    if (resident.empty()) {
      calls.launch(stream, kernel.id());
    } else {
      calls.launch_completing(stream, kernel.id(), resident.at(static_cast<std::size_t>(rank)));
    }
  }
}

}  // namespace weft::model
