// SPDX-License-Identifier: Apache-2.0
#include "models/planner/read_scenario.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/document.hpp"
#include "configs/reader/strict_object.hpp"
#include "models/planner/scenario_names.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/nearest.hpp"

namespace weft::model {
namespace {

using config::above;
using config::at_least;
using config::between;
using config::StrictObject;

// Bounds that no machine or model passes: beyond them a digit slipped.
constexpr std::int64_t most_chunks = 1'000'000;
// Rows and columns of a product, tokens of a step or a sequence: past the longest contexts and the widest layers there
// are, and few enough that every tile of a plan is counted.
constexpr std::int64_t most_extent = std::int64_t{1} << 24;
constexpr int most_ranks = 65'536;

// ---- pipeline ----------------------------------------------------------------------------------------------

Claim read_claim(StrictObject& object) {
  Claim claim;
  const auto share = between(0.0, 1.0);
  claim.system = object.required<std::string>({"system", "whose figures these are"});
  claim.source = object.required<std::string>({"source", "where they were published"});
  claim.serial =
      object.required<Duration>({"serial", "published time without overlap"}, above(Duration()));
  claim.serial_communication = object.required<double>(
      {"serial_communication", "share of it that was communication, 0 to 1"}, share);
  claim.fused =
      object.required<Duration>({"fused", "published time with overlap"}, above(Duration()));
  claim.fused_communication =
      object.optional<double>({"fused_communication", "share that stayed exposed, at most"}, share);
  claim.utilisation_before = object.optional<double>(
      {"utilisation_before", "of the matrix units, without overlap"}, share);
  claim.utilisation_after =
      object.optional<double>({"utilisation_after", "of the matrix units, with overlap"}, share);
  claim.throughput_gain =
      object.optional<double>({"throughput_gain", "0.73 for 73 % more tokens"}, at_least(0.0));
  return claim;
}

// Whether all chunks one after the other take a time that can be told.
bool fits_a_time(const PipelineScenario& pipeline) {
  const PipelineInterference beside = pipeline.interference.value_or(PipelineInterference{});
  const Int128 chunk = Int128{beside.compute.value_or(pipeline.compute).ps()} +
                       beside.communication.value_or(pipeline.communication).ps();
  return chunk * pipeline.chunks <= Duration::max().ps();
}

PipelineScenario read_pipeline(StrictObject& object) {
  PipelineScenario pipeline;
  pipeline.chunks = object.defaulted<std::int64_t>({"chunks", "how many chunks"}, 1,
                                                   between<std::int64_t>(1, most_chunks));
  pipeline.compute = object.required<Duration>({"compute", "of one chunk"}, at_least(Duration()));
  pipeline.communication =
      object.required<Duration>({"communication", "of one chunk"}, at_least(Duration()));
  pipeline.dependency = object.defaulted<PipelineScenario::Dependency>(
      {"dependency",
       "chunked: each chunk's second step waits for its first; none: the two sides are "
       "independent"},
      PipelineScenario::Dependency::chunked);
  pipeline.communication_first = object.defaulted<bool>(
      {"communication_first", "a gather: chunks are computed after they arrive"}, false);
  pipeline.interference = object.optional_object(
      {"interference", "what a chunk takes while the other side runs"}, [&](StrictObject& inner) {
        PipelineInterference interference;
        interference.compute = inner.optional<Duration>(
            {"compute", "of one chunk, beside communication"}, at_least(pipeline.compute));
        interference.communication = inner.optional<Duration>(
            {"communication", "of one chunk, beside compute"}, at_least(pipeline.communication));
        return interference;
      });
  if (!fits_a_time(pipeline)) {
    object.error(std::string_view("compute"),
                 fmt::format("{} chunks of it and their communication take longer than a time can "
                             "be: 2^63 ps, 106 days",
                             pipeline.chunks));
  }
  pipeline.claim = object.optional_object(
      {"claim", "published figures to put to the test; never simulated"}, read_claim);
  return pipeline;
}

// ---- boundary ----------------------------------------------------------------------------------------------

// Reads "knobs" against what the schedule declares: names, then values.
Knobs read_knobs(StrictObject& object, const Schedule* schedule, bool named) {
  const config::Value* value = object.any({"knobs", "settings of the schedule, by its own names"});
  Knobs knobs;
  if (schedule != nullptr) knobs = Knobs(schedule->info().knobs);
  if (value == nullptr) return knobs;
  if (!value->is_object()) {
    object.error(std::string_view("knobs"), "expected an object", "{\"chunks\": 8}");
    return knobs;
  }
  if (schedule == nullptr) {
    // A schedule that does not exist is an error already.
    if (!named) {
      object.error(std::string_view("knobs"), "knobs belong to a schedule, and none is named",
                   "name one with \"schedule\"");
    }
    return knobs;
  }
  const std::string pointer = object.origin("knobs").json_pointer;
  for (const config::Member& member : value->members()) {
    const config::Origin here{member.value.place(), config::pointer_to(pointer, member.key)};
    KnobValue typed;
    if (member.value.is_integer()) {
      typed = member.value.as_integer();
    } else if (member.value.is_string()) {
      typed = parse_knob(member.value.as_string());
    } else {
      object.error(here, fmt::format("knob \"{}\" must be a count or a name", member.key));
      continue;
    }
    Knobs one;
    one.set(member.key, typed);
    const std::vector<std::string> faults = faults_of(one, schedule->info().knobs);
    for (const std::string& fault : faults) object.error(here, fault);
    if (faults.empty()) knobs.set(member.key, typed);
  }
  return knobs;
}

// `named` says whether there is a name, be it one that does not exist.
std::optional<std::string> read_schedule(StrictObject& object, bool& named) {
  auto name =
      object.optional<std::string>({"schedule", "its name; absent: the best one is searched"});
  named = name.has_value();
  if (!name || find_schedule(*name) != nullptr) return name;
  std::vector<std::string_view> names;
  for (const Schedule* schedule : all_schedules()) names.push_back(schedule->info().name);
  const auto nearest = nearest_name(*name, names);
  object.error(std::string_view("schedule"), fmt::format("there is no schedule \"{}\"", *name),
               nearest ? fmt::format("did you mean \"{}\"?", *nearest)
                       : fmt::format("schedules: {}", fmt::join(names, ", ")));
  return std::nullopt;
}

TensorFormat read_format(StrictObject& object) {
  const DType dtype = object.defaulted<DType>({"dtype", "of the operands"}, DType::bf16);
  return Formats::of(dtype).matmul_input;
}

BoundaryScenario read_boundary(StrictObject& object, const config::SearchPath& search) {
  BoundaryScenario boundary;
  const auto extent = between<std::int64_t>(1, most_extent);
  boundary.kind = object.required<BoundaryKind>({"operator", "the product and its collective"});
  boundary.global.m =
      object.required<std::int64_t>({"M", "rows (tokens) of the whole group"}, extent);
  boundary.global.n = object.required<std::int64_t>({"N", "columns of the whole group"}, extent);
  boundary.global.k =
      object.required<std::int64_t>({"K", "inner dimension of the whole group"}, extent);
  boundary.format = read_format(object);
  boundary.ranks = object.required<int>({"ranks", "of the group"}, between(1, most_ranks));
  boundary.order = object.defaulted<RankOrder>(
      {"placement", "packed: neighbours share a node; scattered: they never do"},
      RankOrder::packed);
  boundary.machine =
      config::required_file(object, {"machine", "file of the machine"}, search).string();
  if (const auto profile = config::optional_file(
          object, {"profile", "file of the profile; absent: the machine's own"}, search)) {
    boundary.profile = profile->string();
  }
  bool named = false;
  boundary.schedule = read_schedule(object, named);
  boundary.knobs =
      read_knobs(object, boundary.schedule ? find_schedule(*boundary.schedule) : nullptr, named);
  return boundary;
}

// ---- model -------------------------------------------------------------------------------------------------

// What training keeps in memory; the dtype of the weights' gradients is a format of the workload.
struct Training {
  OptimizerSpec optimizer;
  std::optional<DType> gradients;
};

Training read_training(StrictObject& object) {
  Training training;
  training.optimizer.master = object.defaulted<DType>(
      {"master_weights", "the optimiser's copy of the weights"}, DType::fp32);
  training.optimizer.moments =
      object.defaulted<DType>({"moments", "Adam's two moments"}, DType::fp32);
  training.gradients = object.optional<DType>(
      {"gradients", "of the weights, as they are kept; absent: as the weights"});
  training.optimizer.zero = object.defaulted<int>(
      {"zero", "what the replicas share out: 0 nothing, 1 states, 2 gradients too, 3 weights too"},
      0, between(0, 3));
  training.optimizer.microbatches_in_flight = object.defaulted<std::int64_t>(
      {"microbatches_in_flight", "whose activations are kept at once"}, 1,
      between<std::int64_t>(1, 4096));
  return training;
}

ModelScenario read_model(StrictObject& object, const config::SearchPath& search) {
  ModelScenario model;
  model.model =
      config::required_file(object, {"model", "its config.json, as Hugging Face has it"}, search)
          .string();
  model.machine =
      config::required_file(object, {"machine", "file of the machine"}, search).string();
  if (const auto profile = config::optional_file(
          object, {"profile", "file of the profile; absent: the machine's own"}, search)) {
    model.profile = profile->string();
  }
  model.ranks = object.required<int>(
      {"ranks", "GPUs; those that a layout leaves over form replicas"}, between(1, most_ranks));
  model.work.phase = object.required<Phase>({"phase", "what is run"});
  const std::int64_t tokens = object.required<std::int64_t>(
      {"tokens", "of one replica in one step; in decode one a sequence"},
      between<std::int64_t>(1, most_extent));
  const auto sequence = object.optional<std::int64_t>(
      {"sequence",
       "tokens of one sequence; in decode those in the cache; absent: one sequence of all tokens"},
      between<std::int64_t>(1, most_extent));
  const DType dtype = object.defaulted<DType>({"dtype", "of weights and activations"}, DType::bf16);
  model.work.formats = Formats::of(dtype);
  const auto cache =
      object.optional<DType>({"kv_cache", "dtype of the KV cache; absent: as the activations"});
  if (cache) model.work.formats.kv_cache = Formats::of(*cache).activations;
  model.work.recompute = object.defaulted<Recompute>(
      {"recompute", "what the backward pass computes again"}, Recompute::none);
  model.objective = object.defaulted<Objective>(
      {"objective", "latency of one replica, or tokens a second and GPU"}, Objective::latency);
  const std::string layout = object.defaulted<std::string>(
      {"layout", "search, or tp=8, tp=8 sp, tp=16 sp scattered"}, "search");
  const auto training =
      object.optional_object({"training", "what training keeps in memory"}, read_training);
  if (training) {
    model.optimizer = training->optimizer;
    if (training->gradients)
      model.work.formats.weight_gradients = Formats::of(*training->gradients).weight_gradients;
  }
  model.schedules = object.defaulted<std::vector<std::string>>(
      {"schedules", "that the search may use; absent: all"}, {});
  if (object.describing()) return model;

  std::vector<std::string> faults;
  model.layout = parse_layout(layout, faults);
  for (const std::string& fault : faults)
    object.error(std::string_view("layout"), fault, "search, tp=8, tp=8 sp, tp=16 sp scattered");
  for (const std::string& name : model.schedules) {
    if (find_schedule(name) == nullptr)
      object.error(std::string_view("schedules"), fmt::format("there is no schedule \"{}\"", name));
  }
  if (model.work.phase == Phase::decode) {
    model.work.sequences = tokens;
    model.work.new_tokens = 1;
    model.work.context_tokens = sequence.value_or(0);
    if (!sequence)
      object.error(std::string_view("sequence"), "decode needs the tokens that are in the cache");
  } else {
    const std::int64_t length = sequence.value_or(tokens);
    if (length > tokens || tokens % std::max<std::int64_t>(1, length) != 0) {
      object.error(std::string_view("tokens"),
                   fmt::format("{} tokens are no whole number of sequences of {}", tokens, length));
    }
    model.work.new_tokens = length;
    model.work.sequences = tokens / std::max<std::int64_t>(1, length);
  }
  return model;
}

// ---- scenario ----------------------------------------------------------------------------------------------

topology::Override read_override(StrictObject& object) {
  topology::Override change;
  const auto rank =
      object.optional<int>({"rank", "the rank whose device is slowed"}, between(0, most_ranks));
  const auto link =
      object.optional<std::string>({"link", "the link that is slowed: node0.gpu0->node0.nvswitch"});
  const double speed =
      object.required<double>({"speed", "of its own, 0.8 for four fifths"}, between(0.001, 1.0));
  object.exactly_one({"rank", "link"});
  change.part = rank ? fmt::format("rank{}", *rank) : link.value_or("");
  change.speed_permille = std::llround(speed * 1000);
  return change;
}

Scenario scenario_fields(StrictObject& object, const config::SearchPath& search) {
  Scenario scenario;
  object.schema("weft.scenario/1", "what is simulated, planned or checked");
  scenario.name = object.required<std::string>({"name", "in reports"});
  scenario.fidelity = object.defaulted<sim::Fidelity>(
      {"fidelity", "how much of the machine is modelled"}, sim::Fidelity::contended);
  scenario.cost_model = object.defaulted<CostModel>(
      {"cost_model",
       "whose numbers price the library's collectives: the profile's or a published predictor's"},
      CostModel::profile);
  auto pipeline = object.optional_object({"pipeline", "chunks of given durations; runs at ideal"},
                                         read_pipeline);
  auto boundary =
      object.optional_object({"boundary", "one product and one collective"},
                             [&](StrictObject& inner) { return read_boundary(inner, search); });
  auto model = object.optional_object({"model", "the layers of a model"}, [&](StrictObject& inner) {
    return read_model(inner, search);
  });
  object.exactly_one({"pipeline", "boundary", "model"});
  scenario.overrides = object.optional_list(
      {"overrides", "parts that are slower than the machine says"}, read_override);
  if (pipeline) scenario.what = std::move(*pipeline);
  if (boundary) scenario.what = std::move(*boundary);
  if (model) scenario.what = std::move(*model);
  return scenario;
}

std::optional<int> count_after(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return std::nullopt;
  word.remove_prefix(prefix.size());
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 1) return std::nullopt;
  return value;
}

}  // namespace

Scenario read_scenario(const std::filesystem::path& file, const config::SearchPath& search) {
  return read_scenario(config::Document::load(file), search);
}

Scenario read_scenario(const config::Document& document, const config::SearchPath& search) {
  const config::Value& root = document.root();
  if (root.is_object() && root.find("schema") == nullptr && root.find("model_type") != nullptr) {
    throw config::ConfigErrors(
        config::ConfigError{document.name(), 1, 1, "", "this is a model's config.json, no scenario",
                            "a scenario names it under /model/model, as "
                            "configs/scenarios/llama3-70b-tp8-h200.json does"});
  }
  StrictObject object(document);
  Scenario scenario = scenario_fields(object, search);
  object.finish();
  scenario.file = document.name();
  return scenario;
}

config::TypeDescription describe_scenario() {
  return config::describe([](StrictObject& object) { return scenario_fields(object, {}).name; });
}

KnobValue parse_knob(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!text.empty() && error == std::errc() && end == text.data() + text.size()) return value;
  return std::string(text);
}

LayoutChoice parse_layout(std::string_view written, std::vector<std::string>& faults) {
  LayoutChoice choice;
  // As tables print it, too: "TP=8 SP".
  std::string lower(written);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  std::string_view text = lower;
  if (text == "search") return choice;
  choice.search = false;
  choice.sequence_parallel = {false};
  choice.orders = {RankOrder::packed};
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" ,");
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (word.empty()) continue;
    if (const auto tp = count_after(word, "tp=")) {
      choice.tp = {*tp};
    } else if (word == "sp") {
      choice.sequence_parallel = {true};
    } else if (word == "packed" || word == "scattered") {
      choice.orders = {word == "packed" ? RankOrder::packed : RankOrder::scattered};
    } else {
      faults.push_back(fmt::format("\"{}\" is no part of a layout", word));
    }
  }
  if (choice.tp.empty() && faults.empty()) faults.push_back("a layout needs tp=<ranks>");
  return choice;
}

}  // namespace weft::model
