// SPDX-License-Identifier: Apache-2.0
#include "sim/program_builder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "sim/units/check.hpp"

namespace weft::sim {

namespace {

std::uint32_t size32(std::size_t size) {
  WEFT_CHECK(size < std::numeric_limits<std::uint32_t>::max(),
             "a program has at most 2^32 - 2 entries of a kind");
  return static_cast<std::uint32_t>(size);
}

/// Appends to `slice` of `array`, which must still be the array's end (or not yet begun).
template <class T>
T& extend(std::vector<T>& array, Slice& slice, T value, const char* what) {
  const std::uint32_t end = size32(array.size());
  if (slice.count == 0) slice.first = end;
  WEFT_CHECK(slice.first + slice.count == end,
             "{} of one owner are added together, before those of the next", what);
  array.push_back(std::move(value));
  ++slice.count;
  return array.back();
}

}  // namespace

void empty(Program& program) {
  program.events = 0;
  const auto clear = [](auto&... arrays) { (arrays.clear(), ...); };
  clear(program.labels, program.tags, program.streams, program.signals, program.kernels,
        program.roles, program.ranges, program.traffic, program.waits, program.posts, program.gangs,
        program.gang_members, program.gang_uses, program.graphs, program.threads);
}

ProgramBuilder::ProgramBuilder(Program spent) : program_(std::move(spent)) {
  for (HostThread& thread : program_.threads) {
    thread.commands.clear();
    spent_calls_.push_back(std::move(thread.commands));
  }
  empty(program_);
  program_.labels.emplace_back();
  labels_.emplace("", 0);
  program_.tags.emplace_back();
}

LabelId ProgramBuilder::label(std::string_view text) {
  const auto found = labels_.find(text);
  if (found != labels_.end()) return LabelId(found->second);
  const std::uint32_t index = size32(program_.labels.size());
  labels_.emplace(text, index);
  program_.labels.emplace_back(text);
  return LabelId(index);
}

TagId ProgramBuilder::tag(const Tag& tag) {
  if (program_.tags[last_tag_] == tag) return TagId(last_tag_);
  if (tag == Tag{}) return TagId(0);
  const std::uint64_t part = (std::uint64_t{static_cast<std::uint32_t>(tag.chunk)} << 8) |
                             static_cast<std::uint8_t>(tag.purpose);
  const auto [place, added] = tags_[tag.boundary].try_emplace(part, size32(program_.tags.size()));
  if (added) program_.tags.push_back(tag);
  last_tag_ = place->second;
  return TagId(last_tag_);
}

StreamId ProgramBuilder::stream(RankId rank, int priority, std::string_view text) {
  program_.streams.push_back({.rank = rank, .priority = priority, .label = label(text)});
  return StreamId(size32(program_.streams.size()) - 1);
}

EventId ProgramBuilder::event() {
  return EventId(program_.events++);
}

SignalId ProgramBuilder::signal(MemoryId owner, std::uint64_t initial) {
  program_.signals.push_back({.owner = owner, .initial = initial});
  return SignalId(size32(program_.signals.size()) - 1);
}

KernelWriter ProgramBuilder::kernel(std::string_view text, int ctas) {
  Kernel kernel{.label = label(text),
                .ctas = ctas,
                .footprint = {},
                .prologue = {},
                .roles = {},
                .gang = {},
                .trigger_after_tiles = {}};
  program_.kernels.push_back(kernel);
  return {*this, KernelId(size32(program_.kernels.size()) - 1)};
}

KernelWriter ProgramBuilder::gang_kernel(std::string_view text, GangId gang, std::uint32_t member,
                                         int ctas) {
  KernelWriter writer = kernel(text, ctas);
  program_.kernels.back().gang = gang;
  program_.kernels.back().gang_member = member;
  return writer;
}

GangWriter ProgramBuilder::gang(std::string_view text, Bytes bytes, Bandwidth cap) {
  program_.gangs.push_back({.label = label(text),
                            .bytes = bytes,
                            .cap = cap,
                            .start_latency = {},
                            .members = {},
                            .posts = {}});
  return {*this, GangId(size32(program_.gangs.size()) - 1)};
}

CallWriter ProgramBuilder::thread(ProcessId process) {
  std::vector<Command> calls;
  if (!spent_calls_.empty()) {
    calls = std::move(spent_calls_.back());
    spent_calls_.pop_back();
  }
  program_.threads.push_back({.process = process, .commands = std::move(calls)});
  return {*this, false, size32(program_.threads.size()) - 1};
}

CallWriter ProgramBuilder::calls(ThreadId thread) {
  WEFT_CHECK(thread.value() < program_.threads.size(), "there is no host thread {}",
             thread.value());
  return {*this, false, thread.value()};
}

CallWriter ProgramBuilder::graph() {
  program_.graphs.emplace_back();
  return {*this, true, size32(program_.graphs.size()) - 1};
}

Program ProgramBuilder::finish() {
  Program program = std::move(program_);
  *this = ProgramBuilder();
  return program;
}

// ---- kernels

Kernel& KernelWriter::kernel() {
  WEFT_CHECK(id_.value() + 1 == builder_->program_.kernels.size(),
             "kernel {} was ended by the next one", id_.value());
  return builder_->program_.kernels.back();
}

Role& KernelWriter::last_role() {
  WEFT_CHECK(kernel().roles.count > 0, "kernel {} has no role yet", id_.value());
  return builder_->program_.roles.back();
}

TileRange& KernelWriter::last_range() {
  WEFT_CHECK(last_role().ranges.count > 0, "the role has no range yet");
  return builder_->program_.ranges.back();
}

KernelWriter& KernelWriter::cluster(int ctas) {
  kernel().cluster = ctas;
  return *this;
}

KernelWriter& KernelWriter::footprint(const Footprint& footprint) {
  kernel().footprint = footprint;
  return *this;
}

KernelWriter& KernelWriter::prologue(Duration duration) {
  kernel().prologue = duration;
  return *this;
}

KernelWriter& KernelWriter::trigger_after(std::int64_t tiles) {
  kernel().trigger_after_tiles = tiles;
  return *this;
}

KernelWriter& KernelWriter::role(Purpose purpose, TileOrder order, int ctas,
                                 std::string_view label) {
  extend(builder_->program_.roles, kernel().roles,
         Role{.scope = Role::Scope::ctas,
              .purpose = purpose,
              .order = order,
              .ctas = ctas > 0 ? ctas : kernel().ctas,
              .ranges = {},
              .label = builder_->label(label)},
         "roles");
  return *this;
}

KernelWriter& KernelWriter::warp_group(Purpose purpose, TileOrder order, std::string_view label) {
  role(purpose, order, 0, label);
  last_role().scope = Role::Scope::warp_group;
  return *this;
}

KernelWriter& KernelWriter::spin(int issue_milli) {
  last_role().spin_issue_milli = issue_milli;
  return *this;
}

KernelWriter& KernelWriter::range(std::int64_t tiles, Duration sm_time, const SmDemand& demand) {
  extend(builder_->program_.ranges, last_role().ranges,
         TileRange{.tiles = tiles,
                   .sm_time = sm_time,
                   .demand = demand,
                   .l2_bytes = {},
                   .traffic = {},
                   .waits = {},
                   .posts = {}},
         "ranges");
  return *this;
}

KernelWriter& KernelWriter::fluid(Duration time) {
  last_range().fluid_time = time;
  return *this;
}

KernelWriter& KernelWriter::l2(Bytes bytes_per_tile) {
  last_range().l2_bytes = bytes_per_tile;
  return *this;
}

KernelWriter& KernelWriter::memory(MemoryId memory, Bytes bytes_per_tile) {
  extend(builder_->program_.traffic, last_range().traffic,
         Traffic{.on = Traffic::On::memory, .index = memory.value(), .bytes = bytes_per_tile},
         "a range's traffic");
  return *this;
}

KernelWriter& KernelWriter::route(RouteId route, Bytes bytes_per_tile, bool posted_write) {
  extend(builder_->program_.traffic, last_range().traffic,
         Traffic{.on = Traffic::On::route,
                 .index = route.value(),
                 .bytes = bytes_per_tile,
                 .posted_write = posted_write},
         "a range's traffic");
  return *this;
}

KernelWriter& KernelWriter::wait(SignalId signal, std::uint64_t at_least, int run_ahead_stages) {
  extend(builder_->program_.waits, last_range().waits,
         SignalWait{.signal = signal, .at_least = at_least, .run_ahead_stages = run_ahead_stages},
         "a range's waits");
  return *this;
}

KernelWriter& KernelWriter::post(const SignalPost& post, bool per_tile) {
  TileRange& range = last_range();
  WEFT_CHECK(range.posts.count == 0 || range.posts_per_tile == per_tile,
             "a range posts once or once a tile, not both");
  range.posts_per_tile = per_tile;
  extend(builder_->program_.posts, range.posts, post, "a range's posts");
  return *this;
}

// ---- gangs

Gang& GangWriter::gang() {
  WEFT_CHECK(id_.value() + 1 == builder_->program_.gangs.size(),
             "gang {} was ended by the next one", id_.value());
  return builder_->program_.gangs.back();
}

GangWriter& GangWriter::start_latency(Duration latency) {
  gang().start_latency = latency;
  return *this;
}

GangWriter& GangWriter::denominator(std::int64_t denominator) {
  gang().denominator = denominator;
  return *this;
}

GangWriter& GangWriter::chunks(int chunks, const std::vector<SignalPost>& posts) {
  gang().chunks = chunks;
  for (const SignalPost& post : posts) {
    extend(builder_->program_.posts, gang().posts, post, "a gang's posts");
  }
  return *this;
}

GangWriter& GangWriter::member(RankId rank, const SmDemand& demand_per_cta) {
  extend(builder_->program_.gang_members, gang().members,
         GangMember{.rank = rank, .uses = {}, .demand_per_cta = demand_per_cta}, "members");
  return *this;
}

GangWriter& GangWriter::use(GangUse::On on, std::uint32_t index, std::int64_t numerator) {
  WEFT_CHECK(gang().members.count > 0, "gang {} has no member yet", id_.value());
  extend(builder_->program_.gang_uses, builder_->program_.gang_members.back().uses,
         GangUse{.on = on, .index = index, .numerator = numerator}, "a member's uses");
  return *this;
}

GangWriter& GangWriter::uses(const std::vector<GangUse>& uses) {
  for (const GangUse& each : uses) use(each.on, each.index, each.numerator);
  return *this;
}

GangWriter& GangWriter::memory(MemoryId memory, std::int64_t numerator) {
  return use(GangUse::On::memory, memory.value(), numerator);
}

GangWriter& GangWriter::link(LinkId link, std::int64_t numerator) {
  return use(GangUse::On::link, link.value(), numerator);
}

GangWriter& GangWriter::fabric_switch(SwitchId fabric_switch, std::int64_t numerator) {
  return use(GangUse::On::fabric_switch, fabric_switch.value(), numerator);
}

GangWriter& GangWriter::route(const Machine& machine, RouteId id, std::int64_t numerator) {
  WEFT_CHECK(id.value() < machine.routes.size(), "there is no route {}", id.value());
  const Route& route = machine.routes[id.value()];
  for (const MemoryId memory : route.sources) use(GangUse::On::memory, memory.value(), numerator);
  for (const MemoryId memory : route.targets) use(GangUse::On::memory, memory.value(), numerator);
  for (const RouteShare& share : route.shares) {
    WEFT_CHECK(numerator * share.numerator % route.denominator == 0,
               "{} / {} of a byte over a share of {} / {} is not whole in the gang's denominator",
               numerator, gang().denominator, share.numerator, route.denominator);
    use(share.on == RouteShare::On::link ? GangUse::On::link : GangUse::On::fabric_switch,
        share.index, numerator * share.numerator / route.denominator);
  }
  return *this;
}

// ---- calls

CallWriter& CallWriter::append(Call call) {
  Program& program = builder_->program_;
  std::vector<Command>& commands =
      graph_ ? program.graphs[index_].commands : program.threads[index_].commands;
  commands.push_back({.call = call, .label = label_, .tag = tag_});
  return *this;
}

CallWriter& CallWriter::labelled(std::string_view label) {
  label_ = builder_->label(label);
  return *this;
}

CallWriter& CallWriter::tagged(TagId tag) {
  tag_ = tag;
  return *this;
}

CallWriter& CallWriter::launch(StreamId stream, KernelId kernel) {
  return append(Launch{.stream = stream, .kernel = kernel, .launch_completion = {}});
}

CallWriter& CallWriter::launch_programmatic(StreamId stream, KernelId kernel,
                                            bool waits_for_predecessor) {
  return append(Launch{.stream = stream,
                       .kernel = kernel,
                       .programmatic = true,
                       .launch_completion = {},
                       .waits_for_predecessor = waits_for_predecessor});
}

CallWriter& CallWriter::launch_completing(StreamId stream, KernelId kernel, EventId resident) {
  return append(Launch{.stream = stream, .kernel = kernel, .launch_completion = resident});
}

CallWriter& CallWriter::copy(StreamId stream, std::uint32_t engine, RouteId route, Bytes bytes) {
  return append(Copy{.stream = stream, .engine = engine, .route = route, .bytes = bytes});
}

CallWriter& CallWriter::record(StreamId stream, EventId event) {
  return append(Record{.stream = stream, .event = event});
}

CallWriter& CallWriter::wait(StreamId stream, EventId event) {
  return append(WaitEvent{.stream = stream, .event = event});
}

CallWriter& CallWriter::wait(StreamId stream, SignalId signal, std::uint64_t at_least) {
  return append(WaitSignal{.stream = stream, .wait = {.signal = signal, .at_least = at_least}});
}

CallWriter& CallWriter::post(StreamId stream, const SignalPost& post) {
  return append(Post{.stream = stream, .post = post});
}

CallWriter& CallWriter::message(StreamId stream, RouteId route, int queue_pair, Bytes bytes,
                                const SignalPost& post) {
  return append(Message{
      .stream = stream, .route = route, .queue_pair = queue_pair, .bytes = bytes, .post = post});
}

CallWriter& CallWriter::host_wait(EventId event) {
  WEFT_CHECK(!graph_, "a graph cannot block the host");
  return append(HostWait{.event = event});
}

CallWriter& CallWriter::host_delay(Duration delay) {
  WEFT_CHECK(!graph_, "a graph cannot keep the host busy");
  return append(HostDelay{.delay = delay});
}

CallWriter& CallWriter::graph_launch(GraphId graph) {
  WEFT_CHECK(!graph_, "a graph cannot launch a graph");
  return append(GraphLaunch{.graph = graph});
}

ThreadId CallWriter::thread_id() const {
  WEFT_CHECK(!graph_, "this writes a graph, not a thread");
  return ThreadId(index_);
}

GraphId CallWriter::graph_id() const {
  WEFT_CHECK(graph_, "this writes a thread, not a graph");
  return GraphId(index_);
}

}  // namespace weft::sim
