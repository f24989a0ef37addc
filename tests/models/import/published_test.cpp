// SPDX-License-Identifier: Apache-2.0
// The models that come with weft have the sizes that were published.
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "models/import/hf_config.hpp"
#include "models/workloads/workload.hpp"

namespace weft::model {
namespace {

// Parameters of the published checkpoints, tied matrices counted once. GPT-3 175B was never
// published; with the sizes of arXiv 2005.14165, table 2.1, and the structure of GPT-2 it has
// 96 (12 h^2 + 13 h) + 2 h + (50257 + 2048) h, h = 12288.
const std::map<std::string, std::int64_t> kPublished = {
    {"gemma2-27b", 27'227'128'320},     {"gemma2-2b", 2'614'341'888},
    {"gemma2-9b", 9'241'705'984},       {"gpt2", 124'439'808},
    {"gpt2-xl", 1'557'611'200},         {"gpt3-175b", 174'604'259'328},
    {"llama2-13b", 13'015'864'320},     {"llama2-70b", 68'976'648'192},
    {"llama2-7b", 6'738'415'616},       {"llama3-70b", 70'553'706'496},
    {"llama3-8b", 8'030'261'248},       {"llama3.1-405b", 405'853'388'800},
    {"llama3.1-70b", 70'553'706'496},   {"llama3.1-8b", 8'030'261'248},
    {"llama3.2-1b", 1'235'814'400},     {"llama3.2-3b", 3'212'749'824},
    {"mistral-7b-v0.1", 7'241'732'096}, {"mistral-7b-v0.3", 7'248'023'552},
    {"phi3-mini-4k", 3'821'079'552},    {"qwen2-72b", 72'706'203'648},
    {"qwen2-7b", 7'615'616'512},        {"qwen2.5-0.5b", 494'032'768},
    {"qwen2.5-14b", 14'770'033'664},    {"qwen2.5-32b", 32'763'876'352},
    {"qwen2.5-72b", 72'706'203'648},    {"qwen2.5-7b", 7'615'616'512},
    {"qwen3-0.6b", 596'049'920},        {"qwen3-14b", 14'768'307'200},
    {"qwen3-32b", 32'762'123'264},      {"qwen3-8b", 8'190'735'360},
};

TEST(PublishedModels, EveryFileHasThePublishedParameterCountAndNoOtherIsThere) {
  std::map<std::string, std::int64_t> counted;
  for (const auto& entry : std::filesystem::directory_iterator("configs/models")) {
    if (entry.path().extension() != ".json") continue;
    const ImportedModel imported = read_hf_config(entry.path());
    counted[imported.model.name] = parameters_of(imported.model).total;
  }
  EXPECT_EQ(counted, kPublished);
}

TEST(PublishedModels, NothingInThemIsIgnored) {
  for (const auto& [name, parameters] : kPublished) {
    for (const config::ConfigError& note :
         read_hf_config("configs/models/" + name + ".json").notes) {
      EXPECT_EQ(note.message.find("ignored"), std::string::npos) << to_string(note);
    }
  }
}

// Summed over the ranks, the products of a block hold its parameters (biases and norms aside).
TEST(PublishedModels, EveryOneCanBePrefilledAndTrainedOnTwoRanksOrSaysWhyNot) {
  for (const auto& [name, parameters] : kPublished) {
    const ModelConfig model = read_hf_config("configs/models/" + name + ".json").model;
    for (const Phase phase : {Phase::prefill, Phase::backward}) {
      WorkloadSpec spec;
      spec.phase = phase;
      spec.new_tokens = 512;
      const ParallelLayout layout{2, true, 1};
      if (!layout_problems(model, layout, spec).empty()) {
        EXPECT_EQ(name, "gpt2-xl");  // 25 heads
        continue;
      }
      EXPECT_GT(totals_of(build_workload(model, layout, spec)).flops.count(), 0) << name;
    }
  }
}

}  // namespace
}  // namespace weft::model
