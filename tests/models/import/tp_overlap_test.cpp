// SPDX-License-Identifier: Apache-2.0
// Overlap settings of Transformer Engine: what is read, what is refused, and that what is written is
// read back as it was.
#include "models/import/tp_overlap.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "models/export/te_choice.hpp"
#include "models/export/tp_overlap_export.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/check.hpp"
#include "tests/fuzz/fixture.hpp"

namespace weft::model {
namespace {

using fixture::errors_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TpOverlap overlap(const std::string& name) {
  const std::string file = "tests/fuzz/corpus/tp_overlap/" + name;
  return read_tp_overlap(config::read_text(file, Bytes::from(1 << 20)), name);
}

const UbGemm& gemm_of(const TpOverlap& read, const std::string& name) {
  for (const UbGemm& gemm : read.gemms) {
    if (gemm.name == name) return gemm;
  }
  throw std::out_of_range(name);
}

TEST(TpOverlap, TheTenProducts) {
  const TpOverlap read = overlap("h100_tp8.yaml");
  EXPECT_EQ(read.gemms.size(), 10U);
  EXPECT_THAT(read.notes, IsEmpty());
  EXPECT_EQ(gemm_of(read, "proj_fprop").num_splits, 4);
  EXPECT_EQ(gemm_of(read, "proj_fprop").line, 34U);
  EXPECT_EQ(gemm_of(read, "fc2_fprop").method, UbMethod::ring_exchange);
  EXPECT_EQ(gemm_of(read, "fc1_fprop").aggregate, false);
}

TEST(TpOverlap, WordsForBooleansAndACommentThatContradictsTheName) {
  const TpOverlap read = overlap("a100_tp4.yaml");
  EXPECT_EQ(gemm_of(read, "fc2_fprop").set_sm_margin, true);
  EXPECT_EQ(gemm_of(read, "qkv_fprop").fp8_buf, true);
  ASSERT_EQ(read.notes.size(), 1U);
  EXPECT_THAT(read.notes[0].message, HasSubstr("the comment says TP 8, the file's name 4"));
}

TEST(TpOverlap, APythonDictOfTheSame) {
  const TpOverlap read = overlap("ub_cfgs.py");
  ASSERT_EQ(read.gemms.size(), 2U);
  EXPECT_EQ(gemm_of(read, "proj_fprop").use_ce, true);
  EXPECT_EQ(gemm_of(read, "qkv_fprop").set_sm_margin, false);
}

// base.py, initialize_ub: the methods that Transformer Engine takes untold.
TEST(TpOverlap, DefaultMethodsAreThoseOfItsTable) {
  const std::pair<UbMethod, std::vector<const char*>> table[] = {
      {UbMethod::ring_exchange, {"qkv_fprop", "fc1_fprop", "proj_dgrad", "fc2_dgrad"}},
      {UbMethod::pipeline, {"proj_fprop", "fc2_fprop"}},
      {UbMethod::bulk, {"qkv_dgrad", "qkv_wgrad", "fc1_dgrad", "fc1_wgrad"}},
      {UbMethod::external, {"proj_wgrad", "fc2_wgrad"}}};
  for (const auto& [method, products] : table) {
    for (const char* product : products) EXPECT_EQ(ub_site(product)->method, method) << product;
  }
  EXPECT_EQ(ub_site("norm_fprop"), nullptr);
}

TEST(TpOverlap, DefaultsAndUnknownSettingsAreSaid) {
  const TpOverlap read = overlap("defaults.yaml");
  std::vector<std::string> notes;
  for (const config::ConfigError& note : read.notes) notes.push_back(to_string(note));
  EXPECT_THAT(notes, Contains(HasSubstr("defaults.yaml:1:1: fc1_dgrad names no method: bulk")));
  EXPECT_THAT(notes, Contains(HasSubstr("num_sm 3 is no multiple of cga_size 2")));
  EXPECT_THAT(notes, Contains(HasSubstr("defaults.yaml:4:1: setting \"color\" of fc1_dgrad")));
}

TEST(TpOverlap, IllegalSettingsAreAllRefusedAtOnce) {
  EXPECT_THAT(errors_of([&] { return overlap("wrong_illegal.yaml"); }),
              ElementsAre(HasSubstr("illegal.yaml:1:1: pipeline cannot gather: qkv_fprop"),
                          HasSubstr("illegal.yaml:4:1: num_splits belongs to pipeline"),
                          HasSubstr("illegal.yaml:7:1: fc2_fprop has nothing to run beside it"),
                          HasSubstr("illegal.yaml:9:1: fc1_wgrad cannot be external"),
                          HasSubstr("num_sm 64 is not between 1 and 32"),
                          HasSubstr("atomic_gemm does not go with bulk"),
                          HasSubstr("illegal.yaml:15:1: cga_size 16 divides a grid of 16, and CUDA "
                                    "starts no clusters of more than 8"),
                          HasSubstr("cga_size 0 is less than 1")));
  EXPECT_THAT(errors_of([&] { return overlap("wrong_illegal_pair.yaml"); }),
              ElementsAre(HasSubstr("atomic_gemm of qkv_fprop and of proj_fprop differ")));
  EXPECT_THAT(errors_of([&] { return overlap("wrong_twice.yaml"); }),
              ElementsAre(HasSubstr("qkv_fprop is there twice")));
}

TEST(TpOverlap, WrongWordsGetHints) {
  EXPECT_THAT(
      errors_of([&] { return overlap("wrong_words.yaml"); }),
      ElementsAre(HasSubstr("there is no product \"qkv_fporp\" (did you mean \"qkv_fprop\"?)"),
                  HasSubstr("there is no method \"rings\""),
                  HasSubstr("num_sm \"many\" is no whole number"),
                  HasSubstr("aggregate \"2\" is neither 0 nor 1"),
                  HasSubstr("fc2_fprop has no settings"),
                  HasSubstr("method of proj_fprop is no plain value")));
}

TEST(TpOverlap, OtherFilesAreRefusedByName) {
  EXPECT_THAT(errors_of([&] { return overlap("wrong_nemo.py"); }),
              ElementsAre(HasSubstr("this is Python of NeMo")));
  EXPECT_THAT(errors_of([&] { return overlap("wrong_yaml.yaml"); }),
              ElementsAre(HasSubstr("no YAML")));
  EXPECT_THAT(errors_of([&] { return overlap("wrong_list.yaml"); }),
              ElementsAre(HasSubstr("no mapping of products")));
}

TEST(TpOverlap, WhatIsWrittenIsReadBackInBothForms) {
  for (const char* name : {"h100_tp8.yaml", "a100_tp4.yaml", "ub_cfgs.py", "fc1_wgrad_only.yaml"}) {
    const TpOverlap read = overlap(name);
    for (const std::string& text :
         {to_tp_overlap_yaml(read.gemms, {"a header"}), to_ub_cfgs(read.gemms, {"a header"})}) {
      const TpOverlap again = read_tp_overlap(text, "again");
      ASSERT_EQ(again.gemms.size(), read.gemms.size()) << text;
      for (std::size_t i = 0; i < read.gemms.size(); ++i) {
        EXPECT_TRUE(same_settings(again.gemms[i], read.gemms[i])) << text;
      }
      EXPECT_THAT(text, testing::StartsWith("# a header\n"));
    }
  }
}

TEST(TpOverlap, NothingIllegalIsWritten) {
  UbGemm gemm;
  gemm.name = "qkv_fprop";
  gemm.method = UbMethod::pipeline;
  EXPECT_THROW(static_cast<void>(to_tp_overlap_yaml({gemm}, {})), CheckFailure);
}

TEST(PlanExport, KnobsBecomeSettingsByTheirSystemNames) {
  ScheduleInfo info;
  info.name = "te.pipeline";
  const std::vector<KnobValue> counts = {std::int64_t{2}, std::int64_t{4}};
  info.knobs = {{"chunks", "", counts, std::int64_t{4}, "num_splits"},
                {"ctas", "", counts, std::int64_t{4}, "num_sm"}};
  Knobs knobs(info.knobs);
  const auto gemm = ub_gemm_of("proj_fprop", info, knobs);
  ASSERT_TRUE(gemm);
  EXPECT_EQ(gemm->method, UbMethod::pipeline);
  EXPECT_EQ(gemm->num_splits, 4);
  EXPECT_EQ(gemm->num_sm, 4);
  EXPECT_FALSE(ub_gemm_of("qkv_fprop", info, knobs)) << "pipeline cannot gather";
  EXPECT_FALSE(ub_gemm_of("proj_fprop", find_schedule("serial")->info(), {}));
}

}  // namespace
}  // namespace weft::model
