// SPDX-License-Identifier: Apache-2.0
// Sources of the rules: Megatron-LM's argument checks (megatron/training/arguments.py, commit
// d98e8a6), Transformer Engine's UserBuffers (initialize_ub, commit d0067d0), arXiv 2205.05198 for
// activation memory (section 4) and the volume of tensor-parallel collectives.
#include "models/import/preflight.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/units/format.hpp"
#include "topologies/import/roles.hpp"

namespace weft::model {
namespace {

using PreflightFindings = std::vector<PreflightFinding>;

// Tile of the library's large bf16 products on Hopper, as cuBLASLt names them (128x256).
constexpr std::int64_t kTileRows = 128;
constexpr std::int64_t kTileColumns = 256;
constexpr std::int64_t kUbStreams = 3;  // _NUM_MAX_UB_STREAMS: products of a ring at once
constexpr std::int64_t kBytesOfBf16 = 2;
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 34;  // of a product; larger is a slip

class Preflight {
 public:
  explicit Preflight(const PreflightInput& input) : in_(input) {}

  PreflightFindings run() {
    if (in_.job != nullptr && in_.arguments != nullptr) {
      world();
      divisions();
      tp_domain();
      sequence_parallel();
      token_division();
      connections();
      overlap_switches();
    }
    if (in_.overlap != nullptr) overlap_settings();
    if (in_.overlap != nullptr && in_.job != nullptr) {
      buffers();
      waves();
    }
    if (in_.survey != nullptr) shared_nics();
    return std::move(findings_);
  }

 private:
  const MegatronJob& job() const { return *in_.job; }

  void found(std::string_view rule, std::string_view argument, std::string what, std::string cost) {
    const LaunchArgument* at = in_.arguments->find(argument);
    if (at == nullptr) at = in_.arguments->find("encoder_" + std::string(argument));  // NeMo
    findings_.push_back({std::string(rule), in_.arguments->file, at == nullptr ? 0U : at->line,
                         std::move(what), std::move(cost)});
  }

  void world() {
    if (!job().gpus_per_node) return;
    const std::int64_t gpus = *job().gpus_per_node * job().nodes.value_or(1);
    const std::int64_t needed = job().tp * job().pp * job().cp;
    if (gpus % needed == 0) return;
    found("world-size", "tensor_model_parallel_size",
          fmt::format("TP {} x PP {} x CP {} = {} does not divide {} GPUs", job().tp, job().pp,
                      job().cp, needed, gpus),
          "the job is refused at its start");
  }

  void divisions() {
    for (const auto& [name, value] :
         {std::pair("num_attention_heads", job().heads), std::pair("hidden_size", job().hidden),
          std::pair("ffn_hidden_size", job().ffn)}) {
      if (!value || *value % job().tp == 0) continue;
      found("tp-divides", name,
            fmt::format("{} {} does not divide by TP {}", name, *value, job().tp),
            "the job is refused at its start");
    }
    if (job().groups && *job().groups % job().tp != 0) {
      const bool copies = *job().groups < job().tp;
      found("tp-divides", "num_query_groups",
            fmt::format("{} query groups do not divide by TP {}", *job().groups, job().tp),
            copies ? fmt::format("each key and value is kept and computed {} times",
                                 (job().tp + *job().groups - 1) / *job().groups)
                   : std::string("the job is refused at its start"));
    }
    if (job().layers && *job().layers % job().pp != 0) {
      found("pp-divides", "num_layers",
            fmt::format("{} layers do not divide by PP {}", *job().layers, job().pp),
            fmt::format(
                "refused without uneven stages; with them the largest stage has {} layers where "
                "{:.1f} would be even",
                (*job().layers + job().pp - 1) / job().pp,
                static_cast<double>(*job().layers) / static_cast<double>(job().pp)));
    }
  }

  /// Bytes that a rank sends in one layer's forward and backward pass: four gathers and four
  /// reductions of the tokens' features (arXiv 2205.05198, section 4.2.2).
  std::optional<Bytes> bytes_of_layer() const {
    const auto tokens = job().tokens();
    if (!tokens || !job().hidden) return std::nullopt;
    const Int128 all =
        Int128{*tokens} * *job().hidden * kBytesOfBf16 * 8 * (job().tp - 1) / job().tp;
    if (all > Int128{1} << 60) return std::nullopt;
    return Bytes::from(static_cast<std::int64_t>(all));
  }

  void tp_domain() {
    const PreflightMachine* machine = in_.machine;
    const auto per_node =
        machine && machine->gpus_per_node ? machine->gpus_per_node : job().gpus_per_node;
    if (per_node && job().tp > *per_node) {
      found("tp-over-nodes", "tensor_model_parallel_size",
            fmt::format("TP {} does not fit a node of {} GPUs", job().tp, *per_node), slower());
    } else if (machine != nullptr && machine->nvlink_domain && job().tp > *machine->nvlink_domain) {
      found("tp-over-domain", "tensor_model_parallel_size",
            fmt::format("TP {} is wider than the {} GPUs that NVLink joins", job().tp,
                        *machine->nvlink_domain),
            slower());
    }
  }

  std::string slower() const {
    const auto bytes = bytes_of_layer();
    const PreflightMachine* machine = in_.machine;
    if (!bytes || machine == nullptr || !machine->network_per_direction) {
      return "every layer's collectives leave the node: the network carries them, not NVLink";
    }
    const Duration over_network = *bytes / *machine->network_per_direction;
    if (!machine->nvlink_per_direction) {
      return fmt::format("a layer's {} a rank take {} at least over the network", *bytes,
                         over_network);
    }
    return fmt::format("a layer's {} a rank take {} at least over a NIC, {} over NVLink", *bytes,
                       over_network, *bytes / *machine->nvlink_per_direction);
  }

  void sequence_parallel() {
    if (job().tp == 1 && job().sequence_parallel) {
      found("sp-without-tp", "sequence_parallel",
            "sequence parallelism with TP 1 has nothing to cut",
            "Megatron-LM switches it off and goes on");
    }
    if (job().tp == 1 || job().sequence_parallel) return;
    std::string cost = "norms, dropouts and residuals are kept on every rank";
    if (const auto tokens = job().tokens(); tokens && job().hidden) {
      // 10 sbh of a layer's activations are not divided by TP without it (arXiv 2205.05198, eq. 2).
      const Int128 extra = Int128{10} * *tokens * *job().hidden * (job().tp - 1) / job().tp;
      if (extra < Int128{1} << 60) {
        cost = fmt::format(
            "{} more activations a layer on each rank, and no overlap of its "
            "collectives with UserBuffers",
            Bytes::from(static_cast<std::int64_t>(extra)));
      }
    }
    found("sp-missing", "tensor_model_parallel_size",
          fmt::format("TP {} without --sequence-parallel", job().tp), std::move(cost));
  }

  void token_division() {
    const auto tokens = job().tokens();
    if (!tokens || !job().sequence_parallel || *tokens % job().tp == 0) return;
    found("tokens-divide", "seq_length",
          fmt::format("{} tokens do not divide by TP {}: a reduce-scatter needs equal shards",
                      *tokens, job().tp),
          "refused, or padded to the next multiple where the framework pads");
  }

  void connections() {
    const auto set = in_.arguments->environment.find("CUDA_DEVICE_MAX_CONNECTIONS");
    const bool there = set != in_.arguments->environment.end();
    const bool one = there && set->second.value == "1";
    const auto at = [&](std::string_view argument) {
      if (there) return set->second.line;
      const LaunchArgument* found_at = in_.arguments->find(argument);
      return found_at == nullptr ? 0U : found_at->line;
    };
    if (job().fsdp && one) {
      findings_.push_back(
          {"connections-fsdp", in_.arguments->file, at("use_torch_fsdp2"),
           "CUDA_DEVICE_MAX_CONNECTIONS=1 with FSDP",
           "one hardware queue: gathers of weights wait for the compute issued before "
           "them, so prefetching hides nothing; Megatron-LM refuses it"});
    }
    if (!job().fsdp && !one && (job().tp > 1 || job().cp > 1) && job().overlap) {
      findings_.push_back(
          {"connections-tp", in_.arguments->file, at("tp_comm_overlap"),
           there ? fmt::format("CUDA_DEVICE_MAX_CONNECTIONS={} with tensor parallelism",
                               set->second.value)
                 : std::string("CUDA_DEVICE_MAX_CONNECTIONS is not set, with tensor "
                               "parallelism"),
           "before Blackwell a product may become resident before the communication "
           "that should run beside it, which then waits for its end"});
    }
  }

  void overlap_switches() {
    if (!job().overlap) {
      if (job().overlap_config) {
        found("overlap-unused", "tp_comm_overlap_cfg",
              "an overlap configuration without --tp-comm-overlap",
              "it is not read: nothing overlaps");
      }
      return;
    }
    if (!job().sequence_parallel) {
      found("overlap-needs-sp", "tp_comm_overlap", "--tp-comm-overlap without --sequence-parallel",
            "the job is refused at its start");
    }
    if (job().tp == 1) {
      found("overlap-without-tp", "tp_comm_overlap", "--tp-comm-overlap with TP 1",
            "there is no communication to overlap; buffers are allocated for it");
    }
    if (job().deterministic) {
      found("overlap-deterministic", "deterministic_mode",
            "--tp-comm-overlap with --deterministic-mode", "the job is refused at its start");
    }
  }

  void at_gemm(std::string_view rule, const UbGemm& gemm, std::string what, std::string cost) {
    findings_.push_back(
        {std::string(rule), in_.overlap->file, gemm.line, std::move(what), std::move(cost)});
  }

  void overlap_settings() {
    for (const UbGemm& gemm : in_.overlap->gemms) {
      const std::int64_t sms = ub_num_sm(gemm);
      const bool margin = gemm.set_sm_margin.value_or(gemm.method != UbMethod::ring_exchange);
      if (gemm.method == UbMethod::pipeline && !margin && sms >= 8) {
        at_gemm("sm-margin", gemm,
                fmt::format("{}: {} SMs communicate and the product is told of all SMs", gemm.name,
                            sms),
                "the product's last CTAs wait for SMs: up to one more wave a split");
      }
      if (gemm.cga_size && *gemm.cga_size > 0 && sms % *gemm.cga_size != 0) {
        at_gemm("cga-divides", gemm,
                fmt::format("{}: num_sm {} is no multiple of cga_size {}", gemm.name, sms,
                            *gemm.cga_size),
                "launched without clusters");
      }
    }
  }

  void buffers() {
    const auto tokens = job().tokens();
    if (!tokens || !job().hidden) return;
    const Int128 buffer = Int128{*tokens} * *job().hidden * kBytesOfBf16;
    if (buffer > Int128{1} << 40) return;
    // A buffer a product; a ring exchange that reduces holds all ranks' shares and the reduced one.
    std::int64_t count = 0;
    for (const UbGemm& gemm : in_.overlap->gemms)
      count += gemm.method == UbMethod::external ? 0 : 1;
    const Bytes all = Bytes::from(static_cast<std::int64_t>(buffer) * count);
    constexpr std::int64_t kWorthSaying = std::int64_t{2} << 30;
    if (all.count() < kWorthSaying) return;
    findings_.push_back(
        {"ub-buffers", in_.overlap->file, in_.overlap->gemms.front().line,
         fmt::format("{} UserBuffers of {} tokens x {} features", count, *tokens, *job().hidden),
         fmt::format("{} of memory on every GPU, whatever the layers need", all)});
  }

  /// A split of a product that fills fewer tiles than there are SMs leaves the rest idle.
  void waves() {
    const auto tokens = job().tokens();
    if (!tokens || !job().hidden || in_.machine == nullptr || !in_.machine->sms) return;
    const std::int64_t sms = *in_.machine->sms;
    for (const UbGemm& gemm : in_.overlap->gemms) {
      std::int64_t rows = *tokens, columns = columns_of(gemm.name), at_once = 1;
      if (columns == 0 || columns > kLargestExtent || rows > kLargestExtent) continue;
      if (gemm.method == UbMethod::pipeline) {
        columns = columns / gemm.num_splits.value_or(4);
      } else if (gemm.method == UbMethod::ring_exchange) {
        rows = rows / job().tp;
        at_once = std::min(kUbStreams, job().tp);
      } else {
        continue;
      }
      const std::int64_t tiles =
          ((rows + kTileRows - 1) / kTileRows) * ((columns + kTileColumns - 1) / kTileColumns);
      const std::int64_t running = tiles * at_once;
      if (running >= sms || tiles == 0) continue;
      at_gemm("chunk-under-wave", gemm,
              fmt::format("{}: a chunk is {} tiles of {}x{}, {} at once, for {} SMs", gemm.name,
                          tiles, kTileRows, kTileColumns, at_once, sms),
              fmt::format("{:.0f} % of the SMs have nothing to do in each chunk",
                          100.0 * static_cast<double>(sms - running) / static_cast<double>(sms)));
    }
  }

  std::int64_t columns_of(std::string_view name) const {
    const std::int64_t hidden = job().hidden.value_or(0);
    const std::int64_t ffn = job().ffn.value_or(4 * hidden);
    if (name == "proj_fprop" || name == "fc2_fprop") return hidden;
    if (name == "fc1_fprop") return ffn / job().tp;
    if (name == "fc2_dgrad") return ffn / job().tp;
    if (name == "proj_dgrad") return hidden / job().tp;
    if (name == "qkv_fprop" && job().heads) {
      const std::int64_t dim = job().head_dim.value_or(hidden / *job().heads);
      return (*job().heads + 2 * job().groups.value_or(*job().heads)) * dim / job().tp;
    }
    return 0;
  }

  void shared_nics() {
    std::map<std::size_t, std::vector<std::string>> users;
    for (std::size_t i = 0; i < in_.survey->gpus.size(); ++i) {
      const auto nearest = topology::nearest_nics(*in_.survey, i);
      if (nearest.size() == 1) users[nearest.front()].push_back(in_.survey->gpus[i].name);
    }
    for (const auto& [nic, gpus] : users) {
      if (gpus.size() < 2) continue;
      findings_.push_back(
          {"nic-shared", in_.survey->file, 0,
           fmt::format("{} serves {}", in_.survey->nics[nic].name, fmt::join(gpus, " and ")),
           fmt::format("each has 1/{} of the NIC's rate when all talk", gpus.size())});
    }
  }

  const PreflightInput& in_;
  PreflightFindings findings_;
};

}  // namespace

PreflightMachine preflight_machine(const topology::MachineSpec& spec) {
  PreflightMachine machine;
  machine.name = spec.name;
  machine.gpus_per_node = topology::devices_per_node(spec);
  const topology::LinkSpec* nvlink = topology::link_of_role(spec, topology::LinkRole::nvlink);
  machine.nvlink_domain = nvlink == nullptr ? 1 : *machine.gpus_per_node;
  if (nvlink != nullptr) machine.nvlink_per_direction = nvlink->bandwidth_per_direction.value;
  const auto& gpcs = spec.device.sms_per_gpc.value;
  machine.sms = std::accumulate(gpcs.begin(), gpcs.end(), std::int64_t{0});
  if (!spec.spine.links.empty()) {
    machine.network_per_direction = spec.spine.links.front().bandwidth_per_direction.value;
  }
  return machine;
}

PreflightMachine preflight_machine(const topology::Survey& survey) {
  PreflightMachine machine;
  machine.name = survey.file;
  machine.gpus_per_node = static_cast<std::int64_t>(survey.gpus.size());
  if (survey.nvlink == topology::NvlinkShape::none) machine.nvlink_domain = 1;
  if (survey.nvlink == topology::NvlinkShape::switched)
    machine.nvlink_domain = machine.gpus_per_node;
  for (const topology::SurveyNic& nic : survey.nics) {
    if (nic.port_per_direction) machine.network_per_direction = nic.port_per_direction;
  }
  return machine;
}

const std::vector<PreflightRule>& preflight_rules() {
  static const std::vector<PreflightRule> rules = {
      {"world-size", "TP x PP x CP divides the GPUs"},
      {"tp-divides", "heads, query groups and widths divide by TP"},
      {"pp-divides", "layers divide by PP"},
      {"tp-over-nodes", "TP stays inside a node"},
      {"tp-over-domain", "TP stays inside what NVLink joins"},
      {"sp-without-tp", "sequence parallelism has something to cut"},
      {"sp-missing", "TP comes with sequence parallelism"},
      {"tokens-divide", "tokens divide by TP where they are reduce-scattered"},
      {"connections-fsdp", "FSDP has more than one hardware queue"},
      {"connections-tp", "TP overlap has launch order, by one hardware queue"},
      {"overlap-unused", "an overlap configuration is switched on"},
      {"overlap-needs-sp", "TP overlap has sequence parallelism"},
      {"overlap-without-tp", "TP overlap has TP"},
      {"overlap-deterministic", "TP overlap is not asked to be deterministic"},
      {"sm-margin", "a product beside communicating SMs knows of them"},
      {"cga-divides", "communicating SMs fill their clusters"},
      {"ub-buffers", "UserBuffers leave room for the model"},
      {"chunk-under-wave", "a chunk of a product fills the SMs once"},
      {"nic-shared", "no two GPUs share their nearest NIC"},
      {"overlap-refused", "what an overlap file asks for can run (with a scenario)"},
      {"overlap-loses", "what an overlap file asks for beats no overlap (with a scenario)"},
  };
  return rules;
}

std::vector<PreflightFinding> preflight(const PreflightInput& input) {
  return Preflight(input).run();
}

}  // namespace weft::model
