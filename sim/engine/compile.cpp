// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/engine/compile_kernels.hpp"
#include "sim/engine/compiled.hpp"
#include "sim/engine/resources.hpp"
#include "sim/engine/validate.hpp"
#include "sim/units/check.hpp"

namespace weft::sim::engine {

namespace {

/// Walks every thread's calls once (graphs unrolled) and appends their compiled form.
class CallCompiler {
 public:
  CallCompiler(const Machine& machine, const Program& program, const Effects& effects,
               Compiled& out)
      : machine_(machine),
        program_(program),
        effects_(effects),
        out_(out),
        collector_(machine, effects, out) {}

  void compile() {
    compile_streams();
    number_servers();
    count_records();
    for (std::uint32_t thread = 0; thread < program_.threads.size(); ++thread) {
      compile_thread(thread);
    }
    fill_queues();
  }

 private:
  // The records of one event: which thread makes them, and where its latest is.
  struct EventRecords {
    std::uint32_t first = kNone;
    std::uint32_t total = 0;
    std::uint32_t latest = kNone;
    std::uint32_t latest_thread = kNone;
  };

  [[nodiscard]] std::int64_t sync(Duration d) const {
    return effects_.launch_and_sync ? d.ps() : 0;
  }

  void compile_streams() {
    for (std::uint32_t i = 0; i < program_.streams.size(); ++i) {
      const Stream& stream = program_.streams[i];
      WEFT_CHECK(stream.rank.value() < machine_.ranks.size(),
                 "stream {} is of rank {}, and there are {} ranks", i, stream.rank.value(),
                 machine_.ranks.size());
      const std::uint32_t device = machine_.ranks[stream.rank.value()].device.value();
      out_.streams.push_back({.rank = stream.rank.value(),
                              .device = device,
                              .priority = stream.priority,
                              .key_part = EventKey::stream_part(device, stream.priority, i)});
    }
    stream_thread_.assign(program_.streams.size(), kNone);
    last_shape_.assign(program_.streams.size(), kNone);
  }

  void number_servers() {
    for (const Device& device : machine_.devices) {
      first_engine_.push_back(static_cast<std::uint32_t>(out_.server_concurrency.size()));
      for (const TransportEngine& engine : device.engines) {
        out_.server_concurrency.push_back(engine.concurrency);
      }
    }
    for (const Nic& nic : machine_.nics) {
      first_pair_.push_back(static_cast<std::uint32_t>(out_.server_concurrency.size()));
      out_.server_concurrency.insert(out_.server_concurrency.end(),
                                     static_cast<std::size_t>(nic.queue_pairs), 1);
    }
  }

  template <class Visit>
  void for_each_record(const std::vector<Command>& commands, const Visit& visit) const {
    for (const Command& command : commands) {
      if (const auto* record = std::get_if<Record>(&command.call)) {
        visit(record->event);
      } else if (const auto* launch = std::get_if<Launch>(&command.call)) {
        if (launch->launch_completion) visit(*launch->launch_completion);
      } else if (const auto* graph = std::get_if<GraphLaunch>(&command.call)) {
        WEFT_CHECK(graph->graph.value() < program_.graphs.size(), "there is no graph {}",
                   graph->graph.value());
        for_each_record(program_.graphs[graph->graph.value()].commands, visit);
      }
    }
  }

  void count_records() {
    events_.resize(program_.events);
    std::size_t commands = 0;
    for (const HostThread& thread : program_.threads) {
      commands += thread.commands.size();
      for_each_record(thread.commands, [&](EventId event) {
        WEFT_CHECK(event.value() < events_.size(), "there is no event {}", event.value());
        EventRecords& records = events_[event.value()];
        if (records.total++ == 0) records.first = out_.records;
        ++out_.records;
      });
    }
    out_.commands.reserve(commands);
    next_record_ = 0;
  }

  std::uint32_t make_record(EventId event) {
    EventRecords& records = events_[event.value()];
    records.latest = next_record_;
    records.latest_thread = thread_;
    return next_record_++;
  }

  [[nodiscard]] std::uint32_t find_record(EventId event) const {
    WEFT_CHECK(event.value() < events_.size(), "there is no event {}", event.value());
    const EventRecords& records = events_[event.value()];
    if (records.latest_thread == thread_) return records.latest;
    WEFT_CHECK(records.total > 0, "event {} is waited for and never recorded", event.value());
    WEFT_CHECK(records.total == 1,
               "event {} is waited for by a thread that has not recorded it, and recorded {} times "
               "elsewhere: which record is meant is not defined",
               event.value(), records.total);
    return records.first;
  }

  void compile_thread(std::uint32_t thread) {
    thread_ = thread;
    const HostThread& host = program_.threads[thread];
    WEFT_CHECK(host.process.value() < machine_.processes.size(),
               "host thread {} is of process {}, which does not exist", thread,
               host.process.value());
    const Process& process = machine_.processes[host.process.value()];
    call_cost_ = sync(process.launch_cost);
    out_.thread_first.push_back(static_cast<std::uint32_t>(out_.commands.size()));
    out_.thread_segment.push_back(static_cast<std::uint32_t>(out_.segments.size()));
    out_.segments.push_back({.thread = thread, .host_wait = {}});
    clock_ = 0;
    for (std::uint32_t i = 0; i < host.commands.size(); ++i) {
      const CommandRef ref{.thread = thread, .index = i};
      const Call& call = host.commands[i].call;
      const std::int64_t begin = clock_;
      if (const auto* delay = std::get_if<HostDelay>(&call)) {
        clock_ += sync(delay->delay);
        add_host_call(begin, ref);
      } else if (const auto* wait = std::get_if<HostWait>(&call)) {
        const auto next = static_cast<std::uint32_t>(out_.segments.size());
        out_.segments.back().next = next;
        out_.segments.push_back({.thread = thread,
                                 .waits_for = find_record(wait->event),
                                 .offset = clock_,
                                 .host_wait = ref});
        clock_ = 0;
      } else if (const auto* launch = std::get_if<GraphLaunch>(&call)) {
        clock_ += sync(process.graph_launch_cost);
        add_host_call(begin, ref);
        const std::int64_t cost = std::exchange(call_cost_, 0);
        const std::vector<Command>& commands = program_.graphs[launch->graph.value()].commands;
        for (std::uint32_t k = 0; k < commands.size(); ++k) {
          compile_call(commands[k].call, {.thread = thread, .index = i, .in_graph = k + 1});
        }
        call_cost_ = cost;
      } else {
        compile_call(call, ref);
      }
    }
  }

  void add_host_call(std::int64_t begin, CommandRef ref) {
    out_.host_calls.push_back({.segment = static_cast<std::uint32_t>(out_.segments.size()) - 1,
                               .begin = begin,
                               .end = clock_,
                               .ref = ref});
  }

  CompiledCommand& append(Op op, StreamId stream, CommandRef ref) {
    WEFT_CHECK(stream.value() < program_.streams.size(), "there is no stream {}", stream.value());
    std::uint32_t& thread = stream_thread_[stream.value()];
    if (thread == kNone) thread = thread_;
    WEFT_CHECK(thread == thread_, "stream {} is used by host threads {} and {}", stream.value(),
               thread, thread_);
    clock_ += call_cost_;
    CompiledCommand& command = out_.commands.emplace_back();
    command.op = op;
    command.stream = stream.value();
    command.ref = ref;
    command.segment = static_cast<std::uint32_t>(out_.segments.size()) - 1;
    command.issue = clock_;
    return command;
  }

  std::uint32_t add_post(const SignalPost& post) {
    WEFT_CHECK(post.signal.value() < program_.signals.size(), "there is no signal {}",
               post.signal.value());
    out_.posts.push_back({.kind = post.kind,
                          .signal = post.signal.value(),
                          .value = post.value,
                          .from = post.from ? post.from->value() : kNone});
    return static_cast<std::uint32_t>(out_.posts.size()) - 1;
  }

  void compile_call(const Call& call, CommandRef ref) {
    switch (call.index()) {
      case 0: {
        const auto& launch = std::get<Launch>(call);
        CompiledCommand& command = append(Op::launch, launch.stream, ref);
        WEFT_CHECK(launch.kernel.value() < program_.kernels.size(), "there is no kernel {}",
                   launch.kernel.value());
        command.target = launch.kernel.value();
        command.programmatic = launch.programmatic;
        command.waits_for_predecessor = launch.waits_for_predecessor;
        if (launch.launch_completion) command.extra = make_record(*launch.launch_completion);
        return;
      }
      case 1: {
        const auto& copy = std::get<Copy>(call);
        CompiledCommand& command = append(Op::copy, copy.stream, ref);
        WEFT_CHECK(copy.bytes.count() >= 0, "a copy of {} bytes", copy.bytes.count());
        command.amount = effects_.transport ? copy.bytes.count() : 0;
        command.target = copy_shape(copy);
        return;
      }
      case 2: {
        const auto& record = std::get<Record>(call);
        append(Op::record, record.stream, ref).target = make_record(record.event);
        return;
      }
      case 3: {
        const auto& wait = std::get<WaitEvent>(call);
        append(Op::wait_event, wait.stream, ref).target = find_record(wait.event);
        return;
      }
      case 4: {
        const auto& wait = std::get<WaitSignal>(call);
        CompiledCommand& command = append(Op::wait_signal, wait.stream, ref);
        command.amount = static_cast<std::int64_t>(wait.wait.at_least);
        command.target = wait.wait.signal.value();  // its view once all are known
        add_view(program_, wait.wait.signal, out_.streams[wait.stream.value()].device, out_);
        return;
      }
      case 5: {
        const auto& post = std::get<Post>(call);
        append(Op::post, post.stream, ref).target = add_post(post.post);
        return;
      }
      case 6: {
        const auto& message = std::get<Message>(call);
        CompiledCommand& command = append(Op::message, message.stream, ref);
        WEFT_CHECK(message.bytes.count() >= 0, "a message of {} bytes", message.bytes.count());
        command.amount = effects_.transport ? message.bytes.count() : 0;
        command.target = message_shape(message);
        command.extra = add_post(message.post);
        return;
      }
      default:
        WEFT_CHECK(false, "a graph holds a call that only a host thread can make");
    }
  }

  std::uint32_t copy_shape(const Copy& copy) {
    const std::uint32_t device = out_.streams[copy.stream.value()].device;
    const Device& its = machine_.devices[device];
    WEFT_CHECK(copy.engine < its.engines.size(), "device {} \"{}\" has no transport engine {}",
               device, its.name, copy.engine);
    const TransportEngine& engine = its.engines[copy.engine];
    const std::uint32_t server = first_engine_[device] + copy.engine;
    return shape(copy.stream, server, copy.route, sync(engine.start_cost), engine.rate,
                 engine.weight_milli_ctas);
  }

  std::uint32_t message_shape(const Message& message) {
    WEFT_CHECK(message.route.value() < machine_.routes.size(), "there is no route {}",
               message.route.value());
    const Route& route = machine_.routes[message.route.value()];
    WEFT_CHECK(route.nic.has_value(), "a message takes route \"{}\", which has no NIC", route.name);
    const Nic& nic = machine_.nics[route.nic->value()];
    WEFT_CHECK(message.queue_pair >= 0 && message.queue_pair < nic.queue_pairs,
               "NIC \"{}\" has no queue pair {}", nic.name, message.queue_pair);
    const std::uint32_t server =
        first_pair_[route.nic->value()] + static_cast<std::uint32_t>(message.queue_pair);
    return shape(message.stream, server, message.route, sync(nic.message_cost), std::nullopt,
                 kMessageWeight);
  }

  std::uint32_t shape(StreamId stream, std::uint32_t server, RouteId route_id, std::int64_t setup,
                      const std::optional<Bandwidth>& rate, std::int64_t weight) {
    std::uint32_t& last = last_shape_[stream.value()];
    if (last != kNone && out_.shapes[last].server == server &&
        out_.shapes[last].route == route_id.value()) {
      return last;
    }
    WEFT_CHECK(route_id.value() < machine_.routes.size(), "there is no route {}", route_id.value());
    const std::uint64_t key = (std::uint64_t{server} << 32) | route_id.value();
    const auto [place, added] =
        shape_of_.try_emplace(key, static_cast<std::uint32_t>(out_.shapes.size()));
    if (added) {
      const Route& route = machine_.routes[route_id.value()];
      collector_.clear(static_cast<std::uint64_t>(route.denominator));
      collector_.route(route, 1);
      if (rate) {
        collector_.limit({static_cast<std::uint64_t>(rate->bytes_per_second()), 1});
      }
      out_.shapes.push_back({.uses = collector_.finish(),
                             .server = server,
                             .route = route_id.value(),
                             .setup = setup,
                             .weight = weight,
                             .latency = sync(route.latency),
                             .reads_host = std::any_of(
                                 route.sources.begin(), route.sources.end(), [&](MemoryId memory) {
                                   return !machine_.memories[memory.value()].device.has_value();
                                 })});
    }
    last = place->second;
    return last;
  }

  // A process has so many hardware queues on a device; its streams take them in turn, but for those that are given
  // nothing.
  void deal_queues() {
    std::vector<std::vector<std::uint32_t>> queues_of(machine_.processes.size() *
                                                      machine_.devices.size());
    std::vector<std::uint32_t> dealt(queues_of.size(), 0);
    for (std::uint32_t i = 0; i < out_.streams.size(); ++i) {
      if (stream_thread_[i] == kNone) continue;
      const std::uint32_t process = machine_.ranks[out_.streams[i].rank].process.value();
      const std::size_t pair = process * machine_.devices.size() + out_.streams[i].device;
      const auto connections =
          static_cast<std::size_t>(machine_.processes[process].max_connections);
      std::vector<std::uint32_t>& queues = queues_of[pair];
      if (queues.size() < connections) {
        queues.push_back(static_cast<std::uint32_t>(out_.queues.size()));
        out_.queues.emplace_back();
      }
      out_.streams[i].queue = queues[dealt[pair]++ % connections];
    }
  }

  void fill_queues() {
    deal_queues();
    // A lane for each (queue, thread), queue by queue.
    std::vector<std::uint32_t> lane_of(program_.streams.size(), kNone);
    std::vector<std::vector<std::uint32_t>> streams_of(out_.queues.size());
    for (std::uint32_t i = 0; i < out_.streams.size(); ++i) {
      if (stream_thread_[i] != kNone) streams_of[out_.streams[i].queue].push_back(i);
    }
    for (std::size_t q = 0; q < out_.queues.size(); ++q) {
      std::vector<std::uint32_t>& streams = streams_of[q];
      std::stable_sort(streams.begin(), streams.end(), [&](std::uint32_t a, std::uint32_t b) {
        return stream_thread_[a] < stream_thread_[b];
      });
      out_.queues[q].first_lane = static_cast<std::uint32_t>(out_.lanes.size());
      for (std::size_t i = 0; i < streams.size(); ++i) {
        if (i == 0 || stream_thread_[streams[i]] != stream_thread_[streams[i - 1]]) {
          out_.lanes.emplace_back();
          ++out_.queues[q].lanes;
        }
        lane_of[streams[i]] = static_cast<std::uint32_t>(out_.lanes.size()) - 1;
      }
    }
    for (const CompiledCommand& command : out_.commands)
      ++out_.lanes[lane_of[command.stream]].count;
    std::uint32_t first = 0;
    for (QueueLane& lane : out_.lanes) {
      lane.first = first;
      first += std::exchange(lane.count, 0);
    }
    out_.queue_order.resize(out_.commands.size());
    for (std::uint32_t i = 0; i < out_.commands.size(); ++i) {
      QueueLane& lane = out_.lanes[lane_of[out_.commands[i].stream]];
      out_.queue_order[lane.first + lane.count++] = i;
    }
  }

  // A queue pair's traffic counts as one CTA where it meets that of SMs.
  static constexpr std::int64_t kMessageWeight = 1000;

  const Machine& machine_;
  const Program& program_;
  const Effects& effects_;
  Compiled& out_;
  UseCollector collector_;
  std::vector<EventRecords> events_;
  std::vector<std::uint32_t> stream_thread_;
  std::vector<std::uint32_t> last_shape_;
  std::vector<std::uint32_t> first_engine_;
  std::vector<std::uint32_t> first_pair_;
  std::unordered_map<std::uint64_t, std::uint32_t> shape_of_;
  std::uint32_t next_record_ = 0;
  std::uint32_t thread_ = 0;
  std::int64_t clock_ = 0;
  std::int64_t call_cost_ = 0;
};

}  // namespace

void compile(const Machine& machine, const Program& program, const Effects& effects,
             Compiled& compiled) {
  validate(machine);
  list_resources(machine, effects, compiled);
  compiled.signal_view.assign(program.signals.size(), kNone);
  CallCompiler(machine, program, effects, compiled).compile();
  compile_kernels(machine, program, effects, compiled);
}

}  // namespace weft::sim::engine
