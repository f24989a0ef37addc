// SPDX-License-Identifier: Apache-2.0
// Settings of NCCL, tuning entries of FLUX and thresholds of vLLM: what is read, what is refused, and
// that what is written is read back as it was.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "models/import/flux_tuning.hpp"
#include "models/import/nccl_env.hpp"
#include "models/import/vllm_config.hpp"
#include "sim/units/check.hpp"
#include "tests/fuzz/fixture.hpp"

namespace weft::model {
namespace {

using fixture::errors_of;
using fixture::lines_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

NcclEnvironment nccl(const std::string& name) {
  return read_nccl_environment(fixture::text_of("nccl_env/" + name), name);
}

TEST(NcclEnvironment, ShellLinesAndConfigurationFiles) {
  const NcclEnvironment shell = nccl("good.env");
  EXPECT_EQ(shell.find("NCCL_ALGO")->value, "Ring,Tree");
  EXPECT_EQ(shell.find("NCCL_CTA_POLICY")->value, "EFFICIENCY");
  EXPECT_THAT(lines_of(shell.notes), Contains(HasSubstr("good.env:4:1: NCCL_DEBUG is not read")));
  EXPECT_EQ(nccl("nccl.conf").find("NCCL_PROTO")->value, "^LL128");
  EXPECT_EQ(nccl("by_function.env").settings.size(), 2U);
}

TEST(NcclEnvironment, LaterLinesCountAndSlipsGetHints) {
  const NcclEnvironment read = nccl("twice_crlf.env");
  EXPECT_EQ(read.find("NCCL_MAX_CTAS")->value, "16");
  const auto notes = lines_of(read.notes);
  EXPECT_THAT(notes, Contains(HasSubstr("\"16\" takes the place of \"8\" on line 1")));
  EXPECT_THAT(notes, Contains(HasSubstr("did you mean NCCL_MAX_CTAS?")));
}

TEST(NcclEnvironment, CommandsAndLinesOfSeveralVariables) {
  const NcclEnvironment read = nccl("commands.env");
  EXPECT_EQ(read.find("NCCL_MAX_CTAS")->value, "16");
  EXPECT_EQ(read.find("NCCL_MIN_CTAS")->value, "4");
  EXPECT_EQ(read.find("NCCL_NVLS_ENABLE")->value, "2");
  EXPECT_EQ(read.find("NCCL_PROTO")->value, "LL128,Simple");
  EXPECT_EQ(read.find("NCCL_IB_HCA")->value, "mlx5_0");
  EXPECT_EQ(read.find("NCCL_ALGO")->value, "allreduce:ring,tree;allgather:ring");
  EXPECT_EQ(read.find("NCCL_CTA_POLICY"), nullptr);
  EXPECT_THAT(lines_of(read.notes), Contains(HasSubstr("NCCL_CTA_POLICY is \"$POLICY\": unknown")));
}

// Legal for NCCL and not priced here: said by name, with what can be asked for.
TEST(NcclEnvironment, AlgorithmsWithoutAPriceAreNamed) {
  const auto notes = [](const std::string& value) {
    return lines_of(read_nccl_environment("NCCL_ALGO=" + value, "x.env").notes);
  };
  EXPECT_THAT(notes("NVLSTree"), ElementsAre(HasSubstr("NCCL_ALGO nvlstree has no price here: ")));
  EXPECT_THAT(notes("allreduce:ring,pat;allgather:^nvlstree"),
              ElementsAre(HasSubstr("pat has no")));
  EXPECT_THAT(notes("ring,tree,nvls,collnetdirect"), testing::IsEmpty());
}

TEST(NcclEnvironment, IllegalValuesAreAllRefusedAtOnce) {
  EXPECT_THAT(errors_of([] { return nccl("wrong_values.env"); }),
              ElementsAre(HasSubstr("wrong_values.env:1:1: NCCL_ALGO cannot be \"rings\""),
                          HasSubstr("NCCL_PROTO cannot be \"ll256\""),
                          HasSubstr("NCCL_MAX_CTAS \"0\" is not between 1 and 64"),
                          HasSubstr("NCCL_CTA_POLICY cannot be \"3\""),
                          HasSubstr("NCCL_NVLS_ENABLE \"yes\" is not between 0 and 2")));
  EXPECT_THAT(errors_of([] { return nccl("wrong_pair.env"); }),
              ElementsAre(HasSubstr("NCCL_MIN_CTAS 32 is above NCCL_MAX_CTAS 16"),
                          HasSubstr("NCCL_NVLS_ENABLE 0 leaves no algorithm")));
  EXPECT_THAT(errors_of([] { return nccl("wrong_function.env"); }),
              ElementsAre(HasSubstr("names a function \"reducescatters\"")));
  EXPECT_THAT(errors_of([] { return nccl("wrong_nothing.env"); }),
              ElementsAre(HasSubstr("no variable of NCCL is set")));
}

TEST(NcclEnvironment, WhatIsWrittenIsReadBack) {
  for (const char* name : {"good.env", "nccl.conf", "by_function.env", "twice_crlf.env"}) {
    const NcclEnvironment read = nccl(name);
    const std::string text = to_nccl_environment(read.settings, {"a header"});
    const NcclEnvironment again = read_nccl_environment(text, "again");
    ASSERT_EQ(again.settings.size(), read.settings.size()) << text;
    for (std::size_t i = 0; i < read.settings.size(); ++i) {
      EXPECT_EQ(again.settings[i].name, read.settings[i].name);
      EXPECT_EQ(again.settings[i].value, read.settings[i].value);
    }
  }
  EXPECT_THROW(static_cast<void>(to_nccl_environment({{"NCCL_ALGO", "rings"}}, {})), CheckFailure);
}

FluxTuning flux(const std::string& name) {
  return read_flux_tuning(fixture::text_of("flux_tuning/" + name), name);
}

TEST(FluxTuning, EntriesOfAGatherAndAReduction) {
  const FluxTuning read = flux("ag_and_rs.cu.txt");
  ASSERT_EQ(read.entries.size(), 2U);
  EXPECT_EQ(read.entries[0].op, FluxOp::all_gather);
  EXPECT_EQ(read.entries[0].m, 4096);
  EXPECT_EQ(read.entries[0].ranks, 8);
  EXPECT_THAT(read.entries[0].cluster, ElementsAre(2, 1, 1));
  EXPECT_THAT(read.entries[0].tile, ElementsAre(128, 256, 64));
  EXPECT_EQ(read.entries[0].stages, 4);
  EXPECT_EQ(read.entries[1].op, FluxOp::reduce_scatter);
  EXPECT_EQ(read.entries[1].layout, "RRR");
  EXPECT_FALSE(read.entries[1].fuse_reduction);
  EXPECT_EQ(read.entries[1].kernel_schedule, "Cooperative");
  EXPECT_EQ(read.entries[1].raster, "RasterHeuristic");
}

TEST(FluxTuning, OverLinesWithCommentsAndOlderNames) {
  const FluxTuning read = flux("spread.cu.txt");
  ASSERT_EQ(read.entries.size(), 1U);
  EXPECT_EQ(read.entries[0].line, 2U);
  EXPECT_EQ(read.entries[0].input, "FP16");
  EXPECT_EQ(read.entries[0].k, 6144);
  EXPECT_EQ(read.entries[0].ring_mode, 0);
  const FluxTuning others = flux("others.cu.txt");
  EXPECT_TRUE(others.entries.empty());
  EXPECT_EQ(others.notes.size(), 2U);
}

TEST(FluxTuning, WhatFluxRefusesIsRefused) {
  EXPECT_THAT(
      errors_of([] { return flux("wrong_values.cu.txt"); }),
      ElementsAre(HasSubstr("wrong_values.cu.txt:1:1: 4097 rows do not divide by 8 ranks"),
                  HasSubstr("16 ranks on 1 nodes"), HasSubstr("a tile of 100 x 256 x 64"),
                  HasSubstr("a cluster of 3 x 1 x 1"), HasSubstr("99 stages"),
                  HasSubstr("ring_mode 5"), HasSubstr("fuse_reduction \"maybe\" is neither"),
                  HasSubstr("m \"many\" is no size"), HasSubstr("a cluster has 2 numbers"),
                  HasSubstr("a product of 0 x")));
  EXPECT_THAT(errors_of([] { return flux("wrong_cut.cu.txt"); }),
              ElementsAre(HasSubstr("an entry that does not end")));
  EXPECT_THAT(errors_of([] { return flux("wrong_parts.cu.txt"); }),
              ElementsAre(HasSubstr("an entry needs"), HasSubstr("an entry needs")));
  EXPECT_THAT(errors_of([] { return flux("wrong_deep.cu.txt"); }),
              ElementsAre(HasSubstr("no nesting of calls")));
  EXPECT_THAT(errors_of([] { return flux("wrong_nothing.cu.txt"); }),
              ElementsAre(HasSubstr("no entry is in this text")));
}

TEST(FluxTuning, WhatIsWrittenIsReadBack) {
  for (const char* name : {"ag_and_rs.cu.txt", "spread.cu.txt"}) {
    const FluxTuning read = flux(name);
    const FluxTuning again = read_flux_tuning(to_flux_tuning(read.entries, {"a header"}), "again");
    ASSERT_EQ(again.entries.size(), read.entries.size());
    for (std::size_t i = 0; i < read.entries.size(); ++i)
      EXPECT_TRUE(same_entry(again.entries[i], read.entries[i])) << name;
  }
  EXPECT_THROW(static_cast<void>(to_flux_tuning({FluxEntry{}}, {})), CheckFailure);
}

VllmOverlap vllm(const std::string& name) {
  return read_vllm_config(fixture::text_of("vllm_config/" + name), name);
}

TEST(VllmConfig, FilesObjectsAndCommandLines) {
  const VllmOverlap file = vllm("config.yaml");
  EXPECT_EQ(file.tensor_parallel_size, 8);
  EXPECT_EQ(file.enable_sp, true);
  EXPECT_EQ(file.sp_min_token_num, 512);
  const VllmOverlap old = vllm("old_names.json");
  EXPECT_EQ(old.fuse_gemm_comms, true);
  EXPECT_THAT(lines_of(old.notes), Contains(HasSubstr("enable_async_tp is fuse_gemm_comms")));
  const VllmOverlap line = vllm("serve.txt");
  EXPECT_EQ(line.tensor_parallel_size, 4);
  EXPECT_EQ(line.fi_allreduce_fusion_max_size_mb, 0.5);
  EXPECT_THAT(lines_of(vllm("no_pass.yaml").notes), Contains(HasSubstr("no pass_config in it")));
}

TEST(VllmConfig, DottedArguments) {
  const VllmOverlap read = vllm("dotted.txt");
  EXPECT_EQ(read.tensor_parallel_size, 8);
  EXPECT_EQ(read.enable_sp, true);
  EXPECT_EQ(read.fuse_gemm_comms, true);
  EXPECT_EQ(read.sp_min_token_num, 512);
  EXPECT_THAT(errors_of([] { return vllm("wrong_dotted_one_rank.txt"); }),
              ElementsAre(HasSubstr("one rank has nothing to overlap")));
}

TEST(VllmConfig, WhatVllmRefusesIsRefused) {
  EXPECT_THAT(errors_of([] { return vllm("wrong_rules.yaml"); }),
              ElementsAre(HasSubstr("stands on enable_sp"), HasSubstr("nothing to overlap"),
                          HasSubstr("sp_min_token_num 0 is under 1"),
                          HasSubstr("fi_allreduce_fusion_max_size_mb -1 is no size")));
  EXPECT_THAT(errors_of([] { return vllm("wrong_types.yaml"); }),
              ElementsAre(HasSubstr("\"eight\" is no size"), HasSubstr("enable_sp is neither"),
                          HasSubstr("no number of tokens"), HasSubstr("is no number")));
  EXPECT_FALSE(errors_of([] { return vllm("wrong_cut.json"); }).empty());
  EXPECT_FALSE(errors_of([] { return vllm("wrong_kind.yaml"); }).empty());
  EXPECT_THAT(errors_of([] { return vllm("wrong_nothing.yaml"); }),
              ElementsAre(HasSubstr("neither a compilation config nor")));
}

TEST(VllmConfig, WhatIsWrittenIsReadBack) {
  for (const char* name : {"config.yaml", "old_names.json", "serve.txt", "no_pass.yaml"}) {
    const VllmOverlap read = vllm(name);
    const std::string text = to_vllm_config(read, {"a header"});
    EXPECT_TRUE(same_settings(read_vllm_config(text, "again"), read)) << text;
  }
}

}  // namespace
}  // namespace weft::model
