// SPDX-License-Identifier: Apache-2.0
// Jobs of Megatron-LM and NeMo as scripts, Hydra words and YAML, and the pre-flight rules over them.
#include "models/import/megatron.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/import/hf_config.hpp"
#include "models/import/preflight.hpp"
#include "tests/fuzz/fixture.hpp"
#include "topologies/import/topo_matrix.hpp"
#include "topologies/read_machine.hpp"

namespace weft::model {
namespace {

using fixture::lines_of;
using fixture::refusal_of;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;

LaunchArguments launch(const std::string& name) {
  const std::string file = "tests/fuzz/corpus/launch_args/" + name;
  return read_launch_arguments(config::read_text(file, Bytes::from(1 << 20)), name);
}

std::vector<std::string> rules_of(const std::string& name, const std::string& overlap = {},
                                  const std::string& machine = {}) {
  const LaunchArguments arguments = launch(name);
  const MegatronJob job = megatron_job(arguments);
  PreflightInput input{&arguments, &job, nullptr, nullptr, nullptr};
  TpOverlap settings;
  if (!overlap.empty()) {
    settings = read_tp_overlap(
        config::read_text("tests/fuzz/corpus/tp_overlap/" + overlap, Bytes::from(1 << 20)),
        overlap);
    input.overlap = &settings;
  }
  PreflightMachine facts;
  if (!machine.empty()) {
    facts = preflight_machine(topology::read_machine("configs/machines/" + machine + ".json").spec);
    input.machine = &facts;
  }
  std::vector<std::string> found;
  for (const PreflightFinding& each : preflight(input)) {
    found.push_back(each.rule + ":" + std::to_string(each.line) + ": " + each.what + " | " +
                    each.cost);
  }
  return found;
}

TEST(LaunchArguments, ArraysCommentsDefaultsAndVariables) {
  const LaunchArguments read = launch("llama3_70b.job");
  EXPECT_EQ(read.find("hidden_size")->value, "8192");
  EXPECT_EQ(read.find("tensor_model_parallel_size")->value, "8");
  EXPECT_EQ(read.find("seq_length")->value, "8192");
  EXPECT_EQ(read.find("nnodes")->value, "4");
  EXPECT_EQ(read.find("num_experts"), nullptr);
  EXPECT_TRUE(read.on("sequence_parallel"));
  EXPECT_EQ(read.environment.at("CUDA_DEVICE_MAX_CONNECTIONS").value, "1");
  EXPECT_EQ(read.find("hidden_size")->line, 8U);
}

TEST(LaunchArguments, LaterOnesTakeThePlaceOfEarlierOnes) {
  const LaunchArguments read = launch("wrong_override.job");
  EXPECT_EQ(read.find("tensor_model_parallel_size")->value, "4");
  EXPECT_EQ(read.find("hidden_size")->value, "1024");
  EXPECT_THAT(lines_of(read.notes),
              Contains(HasSubstr("\"4\" takes the place of \"2\" on line 1")));
  EXPECT_THAT(lines_of(read.notes), Contains(HasSubstr("$LAYERS is set nowhere in the file")));
  EXPECT_THAT(refusal_of([&] { return megatron_job(read); }),
              HasSubstr("num_attention_heads \"sixteen\" is no size"));
}

TEST(LaunchArguments, HydraAndYaml) {
  const MegatronJob nemo = megatron_job(launch("nemo.txt"));
  EXPECT_EQ(nemo.tp, 4);
  EXPECT_TRUE(nemo.sequence_parallel);
  EXPECT_FALSE(nemo.overlap);
  EXPECT_EQ(nemo.gpus_per_node, 8);
  const MegatronJob yaml = megatron_job(launch("args.yaml"));
  EXPECT_EQ(yaml.tp, 16);
  EXPECT_EQ(yaml.hidden, 8192);
  EXPECT_THAT(lines_of(yaml.notes), Contains(HasSubstr("no micro_batch_size: taken as 1")));
}

TEST(LaunchArguments, TextWithoutAnyIsRefused) {
  EXPECT_THAT(refusal_of([] { return launch("wrong_nothing.txt"); }),
              HasSubstr("no argument is in this text"));
}

// Each holds the one before eight times; the longest are written out again and again.
TEST(LaunchArguments, VariablesThatHoldEachOtherEnd) {
  std::string script = "v0=\"--hidden-size 4096 \"\n";
  for (int i = 1; i < 400; ++i) {
    script += fmt::format("v{}=\"", i);
    for (int k = 0; k < 8; ++k) script += fmt::format("${{v{}}}", i - 1);
    script += "\"\n";
  }
  EXPECT_THAT(refusal_of([&] { return read_launch_arguments(script, "job.sh"); }),
              HasSubstr("job.sh:"));
  EXPECT_THAT(refusal_of([&] { return read_launch_arguments(script, "job.sh"); }),
              HasSubstr("grow without end"));
}

TEST(MegatronJob, BecomesAModelThatIsRead) {
  const LaunchArguments arguments = launch("llama3_70b.job");
  const config::Value model = model_of(megatron_job(arguments), arguments);
  const ImportedModel imported = read_hf_config(config::Document::parse(
      config::to_json(model), "config.json", {.dialect = config::Dialect::tolerant}));
  EXPECT_EQ(parameters_of(imported.model).total, 70'553'706'496);  // Llama-3-70B
  EXPECT_EQ(stage_of(model, megatron_job(arguments)).find("num_hidden_layers")->as_integer(), 20);
  const config::Value scenario = scenario_of(megatron_job(arguments), "x", "m.json", "h200x8.json");
  EXPECT_THAT(config::to_json(scenario), HasSubstr("\"layout\": \"tp=8 sp\""));
  EXPECT_THAT(config::to_json(scenario), HasSubstr("\"tokens\": 8192"));
}

TEST(MegatronJob, NodesAndGpusOfSlurmAndOfVariables) {
  const LaunchArguments slurm = launch("slurm.job");
  const MegatronJob job = megatron_job(slurm);
  EXPECT_EQ(job.nodes, 2);
  EXPECT_EQ(job.gpus_per_node, 8);
  EXPECT_THAT(rules_of("slurm.job"), Contains(HasSubstr("= 32 does not divide 16 GPUs")));
  EXPECT_THAT(lines_of(job.notes), Contains(HasSubstr("no num_query_groups: 1")));
  EXPECT_THAT(config::to_json(model_of(job, slurm)), HasSubstr("\"num_key_value_heads\": 1"));
  EXPECT_THAT(rules_of("variables.job"), Contains(HasSubstr("= 128 does not divide 8 GPUs")));
  EXPECT_THAT(lines_of(megatron_job(launch("variables.job")).notes),
              IsSupersetOf({HasSubstr("GPUs of a node are those of $GPUS_PER_NODE: 8"),
                            HasSubstr("Megatron-LM ignores it")}));
}

TEST(MegatronJob, Gpt2SpellingsOfAPlainModel) {
  const LaunchArguments arguments = launch("gpt_175b_8gpus.job");
  const config::Value model = model_of(megatron_job(arguments), arguments);
  const ImportedModel imported = read_hf_config(config::Document::parse(
      config::to_json(model), "config.json", {.dialect = config::Dialect::tolerant}));
  EXPECT_EQ(parameters_of(imported.model).total, 174'604'259'328);
}

TEST(MegatronJob, WhatCannotBeSimulatedIsRefusedByName) {
  const LaunchArguments moe = launch("moe.job");
  const std::string refusal = refusal_of([&] { return model_of(megatron_job(moe), moe); });
  EXPECT_THAT(refusal, HasSubstr("mixture of experts"));
  EXPECT_THAT(refusal, HasSubstr("multi-head latent attention"));
  const LaunchArguments mixed = launch("mixed_family.job");
  EXPECT_THAT(refusal_of([&] { return model_of(megatron_job(mixed), mixed); }),
              HasSubstr("a gated MLP with LayerNorm and learned positions is of no family"));
}

TEST(Preflight, AGoodJobBreaksNoRule) {
  EXPECT_THAT(rules_of("llama3_70b.job", "h100_tp8.yaml"), IsEmpty());
}

TEST(Preflight, WhatTheLauncherWouldRefuse) {
  const auto found = rules_of("gpt_175b_8gpus.job");
  EXPECT_THAT(
      found, Contains(HasSubstr("world-size:4: TP 8 x PP 16 x CP 1 = 128 does not divide 8 GPUs")));
  EXPECT_THAT(found,
              Contains(HasSubstr("sp-missing:4: TP 8 without --sequence-parallel | 210 MiB")));
}

TEST(Preflight, SwitchesThatContradictEachOther) {
  const auto found = rules_of("sp_without_tp.job");
  EXPECT_THAT(found, Contains(HasSubstr("sp-without-tp:2:")));
  EXPECT_THAT(found, Contains(HasSubstr("overlap-without-tp:2:")));
  EXPECT_THAT(found, Contains(HasSubstr("overlap-deterministic:2:")));
  const auto nemo = rules_of("nemo.txt");
  EXPECT_THAT(nemo,
              Contains(HasSubstr("tp-divides:1: num_attention_heads 30 does not divide by TP 4")));
  EXPECT_THAT(nemo, Contains(HasSubstr("tokens-divide:1: 4095 tokens do not divide by TP 4")));
  EXPECT_THAT(nemo, Contains(HasSubstr("overlap-unused:1:")));
}

TEST(Preflight, TensorParallelismOverNodesHasAPrice) {
  // 8 collectives of 4096 x 8192 x 2 bytes, 15/16 of them sent: 480 MiB, over 50 GB/s 10.07 ms.
  const auto found = rules_of("args.yaml", "", "h200x8x2");
  EXPECT_THAT(found, Contains(HasSubstr("tp-over-nodes:4: TP 16 does not fit a node of 8 GPUs | a "
                                        "layer's 480 MiB a rank take 10.07 ms at least over a NIC, "
                                        "1.12 ms over NVLink")));
}

TEST(Preflight, SharedNicsAndHardwareQueues) {
  const topology::Survey survey = topology::read_topo_matrix(
      config::read_text("tests/fuzz/corpus/topo_matrix/h100x8_odd.txt", Bytes::from(1 << 20)),
      "topo");
  PreflightInput input;
  input.survey = &survey;
  const auto found = preflight(input);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].rule, "nic-shared");
  EXPECT_THAT(found[0].cost, HasSubstr("1/2 of the NIC's rate"));
  const LaunchArguments arguments = read_launch_arguments(
      "export CUDA_DEVICE_MAX_CONNECTIONS=1\nx --use-torch-fsdp2 --hidden-size 8\n", "job.sh");
  const MegatronJob job = megatron_job(arguments);
  const auto fsdp = preflight({&arguments, &job, nullptr, nullptr, nullptr});
  ASSERT_EQ(fsdp.size(), 1U);
  EXPECT_EQ(fsdp[0].rule, "connections-fsdp");
  EXPECT_EQ(fsdp[0].line, 1U);
}

TEST(Preflight, ChunksSmallerThanAWave) {
  const LaunchArguments arguments = read_launch_arguments(
      "CUDA_DEVICE_MAX_CONNECTIONS=1 x --tensor-model-parallel-size 8 --sequence-parallel "
      "--hidden-size 4096 --seq-length 1024 --num-attention-heads 32\n",
      "job.sh");
  const MegatronJob job = megatron_job(arguments);
  const TpOverlap settings =
      read_tp_overlap("proj_fprop: {method: pipeline, num_splits: 4}\n", "tp.yaml");
  const PreflightMachine machine =
      preflight_machine(topology::read_machine("configs/machines/h200x8.json").spec);
  const auto found = preflight({&arguments, &job, &settings, nullptr, &machine});
  ASSERT_EQ(found.size(), 1U);
  // 1024 rows by 4096 / 4 columns: 8 x 4 tiles of 128 x 256 for 132 SMs.
  EXPECT_EQ(found[0].what, "proj_fprop: a chunk is 32 tiles of 128x256, 1 at once, for 132 SMs");
  EXPECT_EQ(found[0].cost, "76 % of the SMs have nothing to do in each chunk");
}

TEST(Preflight, EveryRuleThatFiresIsListed) {
  std::vector<std::string_view> names;
  for (const PreflightRule& rule : preflight_rules()) names.push_back(rule.name);
  for (const char* job :
       {"llama3_70b.job", "gpt_175b_8gpus.job", "sp_without_tp.job", "nemo.txt", "args.yaml"}) {
    for (const std::string& found : rules_of(job)) {
      EXPECT_THAT(names, Contains(found.substr(0, found.find(':')))) << found;
    }
  }
}

}  // namespace
}  // namespace weft::model
