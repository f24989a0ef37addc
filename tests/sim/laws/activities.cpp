// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/laws/activities.hpp"

#include <algorithm>
#include <cmath>

#include "sim/units/integer.hpp"
#include "tests/sim/laws/calls.hpp"

namespace weft::sim::laws {

namespace {

constexpr double kMilliCtas = 1000;
constexpr std::int64_t kUnmodelledMemory = 1'000'000'000'000;

double seconds(TimePoint from, TimePoint to) {
  return static_cast<double>((to - from).ps()) * 1e-12;
}

double bytes_per_second(Bandwidth rate) {
  return static_cast<double>(rate.bytes_per_second());
}

void add_route(const Machine& machine, std::uint32_t index, double bytes, Asks& asks) {
  const Route& route = machine.routes[index];
  for (const MemoryId source : route.sources) {
    asks.uses[{ResourceKind::memory, source.value()}] += bytes;
  }
  for (const MemoryId target : route.targets) {
    asks.uses[{ResourceKind::memory, target.value()}] += bytes;
  }
  for (const RouteShare& share : route.shares) {
    const ResourceKind kind =
        share.on == RouteShare::On::link ? ResourceKind::link : ResourceKind::fabric_switch;
    asks.uses[{kind, share.index}] +=
        bytes * static_cast<double>(share.numerator) / static_cast<double>(route.denominator);
  }
}

Asks asks_of_copy(const RecordedRun& run, const Copy& copy) {
  Asks asks;
  const Stream& stream = run.program.streams[copy.stream.value()];
  const TransportEngine& engine =
      run.machine.device(run.machine.rank(stream.rank).device).engines[copy.engine];
  add_route(run.machine, copy.route.value(), 1, asks);
  if (engine.rate) asks.cap = bytes_per_second(*engine.rate);
  asks.weight = static_cast<double>(engine.weight_milli_ctas) / kMilliCtas;
  return asks;
}

std::int64_t milli_of(const SmDemand& demand, SmPipe pipe) {
  switch (pipe) {
    case SmPipe::tensor:
      return demand.tensor_milli;
    case SmPipe::issue:
      return demand.issue_milli;
    case SmPipe::load_store:
      break;
  }
  return demand.load_store_milli;
}

Asks asks_of_gang(const RecordedRun& run, const SharedActivity& activity) {
  Asks asks;
  const std::uint32_t index = *activity.gang;
  const Program& program = run.program;
  const Gang& gang = program.gangs[index];
  for (std::uint32_t m = 0; m < gang.members.count; ++m) {
    const Slice& uses = program.gang_members[gang.members.first + m].uses;
    for (std::uint32_t u = 0; u < uses.count; ++u) {
      const GangUse& use = program.gang_uses[uses.first + u];
      const ResourceKind kind = use.on == GangUse::On::memory ? ResourceKind::memory
                                : use.on == GangUse::On::link ? ResourceKind::link
                                                              : ResourceKind::fabric_switch;
      asks.uses[{kind, use.index}] +=
          static_cast<double>(use.numerator) / static_cast<double>(gang.denominator);
    }
  }
  for (const PipeShare& share : activity.pipes) {
    const std::int64_t milli =
        milli_of(program.gang_members[share.role].demand_per_cta, share.pipe);
    // Rounded up to thousandths times picoseconds of a unit of the gang's denominator.
    const double amount = static_cast<double>(milli) * share.ctas * 1e12 *
                          static_cast<double>(gang.denominator) / bytes_per_second(gang.cap);
    asks.uses[{ResourceKind::pipe, share.shared}] +=
        std::ceil(amount) / static_cast<double>(gang.denominator);
  }
  asks.cap = bytes_per_second(gang.cap);
  int ctas = 1;  // a member's, the most
  for (const Kernel& kernel : program.kernels) {
    if (kernel.gang && kernel.gang->value() == index) ctas = std::max(ctas, kernel.ctas);
  }
  asks.weight = ctas;
  return asks;
}

// On contended SMs a tile counts at least as its share of an SM's time, an SM's second being its
// part of the memory's bandwidth (1 TB/s where that is not modelled): whole bytes.
double sm_bytes(const Machine& machine, DeviceId id, const SmDemand& demand, std::int64_t time) {
  const Device& device = machine.device(id);
  const std::int64_t modelled = machine.memory(device.memory).bandwidth.bytes_per_second();
  const std::int64_t bandwidth = modelled > 0 ? modelled : kUnmodelledMemory;
  const int greatest = std::max({demand.tensor_milli, demand.issue_milli, demand.load_store_milli});
  const Int128 busy = Int128{greatest} * time / 1000;  // ps
  return static_cast<double>(static_cast<std::int64_t>(busy * bandwidth / kPicosecondsPerSecond /
                                                       total_sms(device.sms.sms_per_gpc)));
}

Asks asks_of_range(const RecordedRun& run, const SharedActivity& activity, DeviceId device) {
  Asks asks;
  const TileRange& range = run.program.ranges[*activity.range];
  for (std::uint32_t i = 0; i < range.traffic.count; ++i) {
    const Traffic& traffic = run.program.traffic[range.traffic.first + i];
    const auto bytes = static_cast<double>(traffic.bytes.count());
    if (traffic.on == Traffic::On::memory) {
      asks.uses[{ResourceKind::memory, traffic.index}] += bytes;
    } else {
      add_route(run.machine, traffic.index, bytes, asks);
    }
  }
  if (range.l2_bytes.count() > 0) {
    asks.uses[{ResourceKind::l2, device.value()}] += static_cast<double>(range.l2_bytes.count());
  }
  std::int64_t time = range.sm_time.ps();
  if (run.options.effects.imbalance) {
    const std::int64_t speed = run.machine.device(device).speed_permille;
    time = (time * 1000 + speed - 1) / speed;
  }
  if (time > 0) asks.cap = 1e12 / static_cast<double>(time);
  double of_sm = 0;
  for (const PipeShare& share : activity.pipes) {
    asks.uses[{ResourceKind::pipe, share.shared}] +=
        static_cast<double>(milli_of(range.demand, share.pipe) * time);
    of_sm = sm_bytes(run.machine, device, range.demand, time);
  }
  // Fair in the bytes that the tile moves, each entry of its traffic once, or in those of the L2 if
  // they are more.
  double most = 0;
  for (std::uint32_t i = 0; i < range.traffic.count; ++i) {
    most += static_cast<double>(run.program.traffic[range.traffic.first + i].bytes.count());
  }
  if (capacity_of(run, {ResourceKind::l2, device.value()})) {
    most = std::max(most, static_cast<double>(range.l2_bytes.count()));
  }
  most = std::max({most, 1.0, of_sm});
  asks.weight = 1 / most;
  asks.copies = activity.ctas;
  return asks;
}

}  // namespace

double SharedActivity::progress() const {
  double sum = 0;
  for (const RateStep& step : steps) sum += step.units_per_second * seconds(step.from, step.to);
  return sum;
}

double SharedActivity::tolerance() const {
  double fastest = 0;
  for (const RateStep& step : steps) fastest = std::max(fastest, step.units_per_second);
  return fastest * 1e-12 * 1.001 + 1e-9 * progress();
}

bool all_shared(const Effects& effects) {
  return effects.hbm_share && effects.link_share && effects.transport;
}

std::optional<double> capacity_of(const RecordedRun& run, const ResourceKey& key) {
  const Machine& machine = run.machine;
  Bandwidth capacity;
  switch (key.first) {
    case ResourceKind::memory:
      capacity = machine.memories[key.second].bandwidth;
      break;
    case ResourceKind::l2:
      capacity = machine.devices[key.second].l2;
      break;
    case ResourceKind::link: {
      const Link& link = machine.links[key.second];
      const std::int64_t rate = link.capacity_per_direction.bytes_per_second();
      if (!run.options.effects.imbalance) return static_cast<double>(rate);
      return std::floor(static_cast<double>(rate) * static_cast<double>(link.speed_permille) /
                        1000);
    }
    case ResourceKind::pipe:
      return std::nullopt;  // see pipe_sizes
    case ResourceKind::fabric_switch:
      if (!machine.switches[key.second].capacity) return std::nullopt;
      capacity = *machine.switches[key.second].capacity;
      break;
  }
  if (capacity.bytes_per_second() == 0) return std::nullopt;
  return bytes_per_second(capacity);
}

std::vector<SharedActivity> shared_activities(const RecordedRun& run, Breaches& breaches) {
  std::map<CommandRef, const Command*> commands;
  for (std::uint32_t t = 0; t < run.program.threads.size(); ++t) {
    for (const NamedCall& call : calls_of(run.program, t)) commands[call.ref] = call.command;
  }
  std::map<std::pair<CommandRef, std::uint32_t>, SharedActivity> open;
  std::vector<SharedActivity> done;
  std::map<std::pair<CommandRef, std::uint32_t>, std::vector<PipeShare>> pipes;
  auto told = run.records.pipes.begin();
  for (std::size_t i = 0; i < run.records.rates.size(); ++i) {
    for (; told != run.records.pipes.end() && told->rates_before <= i; ++told) {
      if (told->share.spins) continue;
      pipes[{told->share.command, told->share.activity}].push_back(told->share);
    }
    const RateChange& rate = run.records.rates[i];
    const std::pair key(rate.command, rate.activity);
    SharedActivity& activity = open[key];
    activity.command = rate.command;
    if (!activity.steps.empty()) activity.steps.back().to = rate.at;
    if (rate.units_per_second > 0) {
      activity.steps.push_back({rate.at, rate.at, rate.units_per_second, rate.limited_by});
      if (rate.ctas > 0) activity.range = rate.range;
      activity.ctas = rate.ctas;
      activity.pipes = pipes[key];
    } else {
      pipes.erase(key);
      if (!activity.steps.empty()) done.push_back(std::move(activity));
      open.erase(key);
    }
  }
  for (const auto& [key, activity] : open) {
    breaches.push_back(fmt::format("{} still progresses at the end", name(key.first)));
  }
  for (SharedActivity& activity : done) {
    const Call& call = commands.at(activity.command)->call;
    if (const auto* copy = std::get_if<Copy>(&call)) {
      activity.asks = asks_of_copy(run, *copy);
    } else if (const auto* message = std::get_if<Message>(&call)) {
      add_route(run.machine, message->route.value(), 1, activity.asks);
    } else if (const auto* launch = std::get_if<Launch>(&call)) {
      const Kernel& kernel = run.program.kernels[launch->kernel.value()];
      if (kernel.gang) {
        activity.gang = kernel.gang->value();
        activity.asks = asks_of_gang(run, activity);
      } else {
        const RankId rank = run.program.streams[launch->stream.value()].rank;
        activity.asks = asks_of_range(run, activity, run.machine.rank(rank).device);
      }
    } else {
      breaches.push_back(fmt::format("{} has rates", name(activity.command)));
    }
  }
  return done;
}

std::vector<Spin> spins_of(const RecordedRun& run) {
  std::vector<Spin> done;
  std::map<std::pair<CommandRef, std::uint32_t>, PipeShare> open;
  for (const Recorder::PipeTold& told : run.records.pipes) {
    const PipeShare& share = told.share;
    if (!share.spins) continue;
    const std::pair key(share.command, share.activity);
    if (share.ctas > 0) {
      open[key] = share;
    } else if (const auto its = open.find(key); its != open.end()) {
      if (share.at > its->second.at) done.push_back({its->second, share.at});
      open.erase(its);
    }
  }
  return done;
}

PipeSizes pipe_sizes(const RecordedRun& run) {
  PipeSizes sizes;
  for (const Recorder::PipeTold& told : run.records.pipes) {
    if (told.share.ctas > 0) sizes[told.share.shared][told.share.at] = told.share.sms;
  }
  return sizes;
}

}  // namespace weft::sim::laws
