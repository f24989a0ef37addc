// SPDX-License-Identifier: Apache-2.0
// Names and defaults are those of Megatron-LM's megatron/training/arguments.py at commit d98e8a6, and
// of NeMo's megatron_gpt_config.yaml.
#include "models/import/megatron.hpp"

#include <initializer_list>

#include <fmt/format.h>

#include "configs/reader/foreign_text.hpp"
#include "sim/units/quote.hpp"

namespace weft::model {
namespace {

using config::Findings;
using config::Value;

// Nothing published comes near; products of two stay within 64 bits.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 27;
constexpr std::int64_t kMostParts = std::int64_t{1} << 16;

class JobReader {
 public:
  JobReader(const LaunchArguments& arguments, Findings& findings)
      : arguments_(arguments), findings_(findings) {}

  std::optional<std::int64_t> size(std::initializer_list<std::string_view> names,
                                   std::int64_t most = kLargestSize) {
    for (const std::string_view name : names) {
      const LaunchArgument* argument = arguments_.find(name);
      if (argument == nullptr || argument->value.empty()) continue;
      if (argument->value == "null" || argument->value == "None") continue;
      const auto value = config::whole_number(argument->value);
      if (value && *value >= 1 && *value <= most) return value;
      if (argument->value.find('$') != std::string::npos) {
        findings_.note(argument->line,
                       fmt::format("{} is {}: unknown", name, in_quotes(argument->value)));
      } else {
        findings_.error(argument->line,
                        fmt::format("{} {} is no size", name, in_quotes(argument->value)));
      }
    }
    return std::nullopt;
  }

  /// A number of the script's own variables, which is said.
  std::optional<std::int64_t> variable(std::initializer_list<std::string_view> names,
                                       std::string_view what) {
    for (const std::string_view name : names) {
      const auto found = arguments_.environment.find(std::string(name));
      if (found == arguments_.environment.end()) continue;
      const auto value = config::whole_number(found->second.value);
      if (!value || *value < 1 || *value > kMostParts) continue;
      findings_.note(found->second.line,
                     fmt::format("{} are those of ${}: {}", what, name, *value));
      return value;
    }
    return std::nullopt;
  }

  /// "gpu:h100:8" of Slurm's --gres.
  std::optional<std::int64_t> slurm_gpus() const {
    const LaunchArgument* gres = arguments_.find("gres");
    if (gres == nullptr || !gres->value.starts_with("gpu:")) return std::nullopt;
    const auto value =
        config::whole_number(std::string_view(gres->value).substr(gres->value.rfind(':') + 1));
    return value && *value >= 1 && *value <= kMostParts ? value : std::nullopt;
  }

  bool on(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      if (arguments_.on(name)) return true;
    }
    return false;
  }

 private:
  const LaunchArguments& arguments_;
  Findings& findings_;
};

/// The number, or null.
Value known(const std::optional<std::int64_t>& value) {
  if (!value) return nullptr;
  return *value;
}

Value file_or_null(const std::string& name) {
  if (name.empty()) return nullptr;
  return name;
}

std::uint32_t line_of(const LaunchArguments& arguments, std::string_view name) {
  const LaunchArgument* argument = arguments.find(name);
  return argument == nullptr ? 0 : argument->line;
}

}  // namespace

std::optional<std::int64_t> MegatronJob::tokens() const {
  if (!sequence) return std::nullopt;
  return *sequence * micro_batch.value_or(1) / cp;
}

MegatronJob megatron_job(const LaunchArguments& arguments) {
  Findings findings(arguments.file);
  JobReader read(arguments, findings);
  MegatronJob job;
  job.layers = read.size({"num_layers"});
  job.hidden = read.size({"hidden_size"});
  job.ffn = read.size({"ffn_hidden_size"});
  job.heads = read.size({"num_attention_heads"});
  job.groups = read.size({"num_query_groups"});
  job.head_dim = read.size({"kv_channels"});
  job.vocab = read.size({"vocab_size", "padded_vocab_size"});
  job.positions = read.size({"max_position_embeddings"});
  job.sequence = read.size({"seq_length", "encoder_seq_length"});
  job.micro_batch = read.size({"micro_batch_size"});
  job.global_batch = read.size({"global_batch_size"});
  job.tp = read.size({"tensor_model_parallel_size"}, kMostParts).value_or(1);
  job.pp = read.size({"pipeline_model_parallel_size"}, kMostParts).value_or(1);
  job.cp = read.size({"context_parallel_size"}, kMostParts).value_or(1);
  job.ep = read.size({"expert_model_parallel_size"}, kMostParts).value_or(1);
  job.gpus_per_node = read.size({"nproc_per_node", "devices", "gpus_per_node"}, kMostParts);
  if (!job.gpus_per_node) job.gpus_per_node = read.slurm_gpus();
  if (!job.gpus_per_node)
    job.gpus_per_node = read.variable({"GPUS_PER_NODE", "NPROC_PER_NODE"}, "GPUs of a node");
  job.nodes = read.size({"nnodes", "num_nodes", "nodes"}, kMostParts);
  if (!job.nodes) job.nodes = read.variable({"NUM_NODES", "NNODES"}, "nodes");
  job.sequence_parallel = read.on({"sequence_parallel"});
  job.overlap = read.on({"tp_comm_overlap", "ub_tp_comm_overlap"});
  for (const char* name : {"tp_comm_overlap_cfg", "ub_tp_comm_overlap_cfg"}) {
    const LaunchArgument* config = arguments.find(name);
    if (config != nullptr && !config->value.empty() && config->value != "null") {
      job.overlap_config = config->value;
    }
  }
  job.deterministic = read.on({"deterministic_mode"});
  job.fsdp = read.on({"use_torch_fsdp2", "use_custom_fsdp", "use_megatron_fsdp"});
  findings.throw_errors();
  if (!arguments.find("tensor_model_parallel_size")) {
    findings.note(0, "no tensor_model_parallel_size: 1, as Megatron-LM has it");
  }
  const LaunchArgument* groups = arguments.find("num_query_groups");
  const bool grouped = arguments.on("group_query_attention");
  if (groups != nullptr && groups->dashed && !grouped) {
    findings.note(groups->line,
                  "num_query_groups without group_query_attention: Megatron-LM ignores it");
  } else if (groups == nullptr && grouped) {
    findings.note(line_of(arguments, "group_query_attention"),
                  "no num_query_groups: 1, as Megatron-LM has it");
  }
  if (!job.micro_batch) findings.note(0, "no micro_batch_size: taken as 1");
  job.notes = findings.take_notes();
  return job;
}

Value model_of(const MegatronJob& job, const LaunchArguments& arguments) {
  Findings findings(arguments.file);
  if (arguments.find("num_experts") != nullptr && arguments.find("num_experts")->value != "null") {
    findings.error(line_of(arguments, "num_experts"), "mixture of experts cannot be simulated yet");
  }
  if (arguments.on("multi_latent_attention")) {
    findings.error(line_of(arguments, "multi_latent_attention"),
                   "multi-head latent attention (MLA) cannot be simulated yet");
  }
  for (const auto& [name, value] :
       {std::pair("hidden_size", job.hidden), std::pair("num_layers", job.layers),
        std::pair("num_attention_heads", job.heads)}) {
    if (!value) findings.error(0, fmt::format("{} is not among the arguments", name));
  }
  const bool gated = arguments.on("swiglu");
  const LaunchArgument* norm = arguments.find("normalization");
  const LaunchArgument* position = arguments.find("position_embedding_type");
  const bool rms = norm != nullptr && (norm->value == "RMSNorm" || norm->value == "rmsnorm");
  const bool rope = (position != nullptr && position->value == "rope") ||
                    arguments.on("use_rotary_position_embeddings");
  if (findings.good() && !(gated && rms && rope) && (gated || rms || rope)) {
    findings.error(0,
                   fmt::format("{} MLP with {} and {} positions is of no family that is read",
                               gated ? "a gated" : "a plain", rms ? "RMSNorm" : "LayerNorm",
                               rope ? "rotary" : "learned"),
                   "swiglu, RMSNorm and rope together (llama), or none of them (gpt2)");
  }
  findings.throw_errors();
  if (!gated) {
    return Value::object(
        {{"model_type", "gpt2"},
         {"n_layer", *job.layers},
         {"n_embd", *job.hidden},
         {"n_head", *job.heads},
         {"n_inner", job.ffn.value_or(*job.hidden * 4)},
         {"n_positions", known(job.positions ? job.positions : job.sequence)},
         {"vocab_size", known(job.vocab)},
         {"tie_word_embeddings", !arguments.on("untie_embeddings_and_output_weights")}});
  }
  const bool biases = !arguments.on("disable_bias_linear");
  const LaunchArgument* groups = arguments.find("num_query_groups");
  std::int64_t kv_heads = *job.heads;
  if (arguments.on("group_query_attention")) {
    kv_heads = job.groups.value_or(1);
  } else if (groups != nullptr && !groups->dashed) {
    kv_heads = job.groups.value_or(kv_heads);
  }
  return Value::object(
      {{"model_type", "llama"},
       {"num_hidden_layers", *job.layers},
       {"hidden_size", *job.hidden},
       {"intermediate_size", job.ffn.value_or(*job.hidden * 4 * 2 / 3 / 64 * 64)},
       {"num_attention_heads", *job.heads},
       {"num_key_value_heads", kv_heads},
       {"head_dim", job.head_dim.value_or(*job.hidden / *job.heads)},
       {"max_position_embeddings", known(job.positions)},
       {"vocab_size", known(job.vocab)},
       {"attention_bias", biases},
       {"mlp_bias", biases},
       {"tie_word_embeddings", !arguments.on("untie_embeddings_and_output_weights")}});
}

Value stage_of(Value model, const MegatronJob& job) {
  if (job.pp == 1 || !job.layers) return model;
  const char* key = model.find("n_layer") != nullptr ? "n_layer" : "num_hidden_layers";
  model.set(key, (*job.layers + job.pp - 1) / job.pp);
  return model;
}

Value scenario_of(const MegatronJob& job, const std::string& name, const std::string& model,
                  const std::string& machine) {
  Value inner =
      Value::object({{"model", file_or_null(model)},
                     {"machine", file_or_null(machine)},
                     {"ranks", job.tp},
                     {"layout", fmt::format("tp={}{}", job.tp, job.sequence_parallel ? " sp" : "")},
                     {"phase", "forward"},
                     {"tokens", known(job.tokens())}});
  if (job.sequence) inner.set("sequence", *job.sequence / job.cp);
  return Value::object(
      {{"schema", "weft.scenario/1"}, {"name", name}, {"model", std::move(inner)}});
}

}  // namespace weft::model
