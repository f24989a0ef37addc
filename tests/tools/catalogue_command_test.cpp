// SPDX-License-Identifier: Apache-2.0
// The commands of the catalogue: compare, plan --break-even, schedules NAME, published, and other models of costs.
#include <map>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "configs/reader/document.hpp"
#include "tests/tools/command.hpp"

namespace weft::tool {
namespace {

using config::Document;
using testing::HasSubstr;
using testing::IsSupersetOf;

class CatalogueCommand : public Command {
 protected:
  // A boundary of two ranks, with the schedule named or not.
  void write_small(const std::string& schedule) const {
    write(
        "s.json",
        R"({"schema": "weft.scenario/1", "name": "small", "boundary": {"operator": "gemm_rs", "M": 4096,
              "N": 4096, "K": 4096, "ranks": 2, "machine": "machines/h200x8.json")" +
            schedule + "}}");
  }
  // A model of which two schedules are tried.
  void write_model(const std::string& members) const {
    write(
        "s.json",
        R"({"schema": "weft.scenario/1", "name": "small model", "model": {"model": "models/llama3-8b.json",
              "machine": "machines/h200x8.json", "phase": "prefill", "schedules": ["te.pipeline",
              "te.ring_exchange"], )" +
            members + "}}");
  }
  Ran run(const std::string& arguments) const { return weft(std::string(kConfigs) + arguments); }
};

// One axis for all, the four controls of each, and the rule of the one that is refused with what runs instead.
TEST_F(CatalogueCommand, CompareDrawsAndGivesTheFourControls) {
  write_small("");
  const Ran ran =
      run("compare $T/s.json te.pipeline flux.gemm_rs te.atomic_gemm --svg $T/c.svg --color never");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* part :
       {"te.pipeline num_splits=", "flux.gemm_rs fuse_reduction=", "A_s", "B_s", " C ", " D ",
        "C/D", "D in nine of ten cases like it",
        "te.atomic_gemm               refused: ", "FP8 only", "unfused instead: "}) {
    EXPECT_THAT(ran.out, HasSubstr(part));
  }
  const std::string svg = text_of(folder_ / "c.svg");
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  for (const char* part : {"te.pipeline", "flux.gemm_rs", "A_s", "refused", "<rect x="})
    EXPECT_THAT(svg, HasSubstr(part));
  // Tiles that are sent as they are made have no lane that communicates: the wire shows what they send.
  const std::string tiles = svg.substr(svg.find("flux.gemm_rs"));
  EXPECT_THAT(tiles, HasSubstr(">busiest link</text>\n<path d=\"M150 "));
  EXPECT_THAT(tiles, HasSubstr(" GB/s</title></path>"));
}

TEST_F(CatalogueCommand, CompareGivesFiguresAsJson) {
  write_small("");
  const Ran ran = run("--format json compare $T/s.json te.pipeline te.atomic_gemm");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Document document = Document::parse(ran.out, "out");
  const auto& schedules = at(document.root(), "schedules").items();
  ASSERT_EQ(schedules.size(), 2U);
  EXPECT_THAT(keys_of(schedules[0]),
              IsSupersetOf({"schedule", "knobs", "schedule_compute_only_ps",
                            "schedule_communication_only_ps", "serial_ps", "overlapped_ps"}));
  EXPECT_THAT(at(schedules[1], "refused").as_string(), HasSubstr("FP8"));
}

TEST_F(CatalogueCommand, CompareRefusesWhatItCannotCompare) {
  write_small("");
  EXPECT_THAT(run("compare $T/s.json te.pipelin").err, HasSubstr("did you mean \"te.pipeline\"?"));
  const Ran pipeline = run("compare configs/scenarios/pipeline-4x3ms-2ms.json serial");
  EXPECT_EQ(pipeline.code, 2);
  EXPECT_THAT(pipeline.err, HasSubstr("compared on one boundary"));
}

// Between a named schedule and none: few tokens are not worth cutting, many are.
TEST_F(CatalogueCommand, BreakEvenOfABoundaryNamesTheNeighbours) {
  write_small(R"(, "schedule": "te.pipeline", "knobs": {})");
  const Ran tokens = run("--format json plan $T/s.json --break-even tokens");
  ASSERT_EQ(tokens.code, 0) << tokens.err;
  const Document document = Document::parse(tokens.out, "out");
  EXPECT_EQ(at(document.root(), "axis").as_string(), "tokens");
  const auto& verdicts = at(document.root(), "verdicts").items();
  ASSERT_FALSE(verdicts.empty());
  EXPECT_FALSE(at(verdicts.front(), "overlap").as_boolean());
  EXPECT_TRUE(at(verdicts.back(), "overlap").as_boolean());
  const auto& flips = at(document.root(), "flips").items();
  ASSERT_FALSE(flips.empty());
  const auto& pair = flips.front().items();
  // One row a rank lies between them.
  EXPECT_EQ(at(pair[1], "value").as_integer() - at(pair[0], "value").as_integer(), 2);
  EXPECT_NE(at(pair[1], "overlap").as_boolean(), at(pair[0], "overlap").as_boolean());
  for (const char* axis : {"hidden", "tp"}) {
    const Ran ran = run(std::string("plan $T/s.json --break-even ") + axis);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(axis));
    EXPECT_THAT(ran.out,
                testing::AnyOf(HasSubstr("break-even: "), HasSubstr("the verdict is the same")));
  }
}

TEST_F(CatalogueCommand, BreakEvenOfAModelWalksInItsLayout) {
  write_model(R"("ranks": 4, "tokens": 2048, "layout": "tp=2 sp")");
  const Ran tp = run("--format json plan $T/s.json --break-even tp");
  ASSERT_EQ(tp.code, 0) << tp.err;
  const Document document = Document::parse(tp.out, "out");
  EXPECT_EQ(at(document.root(), "layout").as_string(), "TP=2 SP x 2 replicas");
  EXPECT_EQ(at(document.root(), "verdicts").items().size(), 2U);  // 2 and 4
  const Ran tokens = run("--format json plan $T/s.json --break-even tokens");
  const Document walked = Document::parse(tokens.out, "out");
  // As a boundary does, from one row a rank on.
  EXPECT_EQ(at(at(walked.root(), "verdicts").items().front(), "value").as_integer(), 2);
  const Ran hidden = run("plan $T/s.json --break-even hidden");
  EXPECT_EQ(hidden.code, 0) << hidden.err;
  EXPECT_THAT(hidden.out, HasSubstr("in the layout TP=2 SP"));
  // A width at which the weights do not fit is left out, with what is short.
  write_model(R"("ranks": 1, "tokens": 2048, "layout": "tp=1")");
  EXPECT_THAT(run("plan $T/s.json --break-even hidden").out, HasSubstr("left out: needs "));
  const Ran pipeline = run("plan configs/scenarios/pipeline-4x3ms-2ms.json --break-even tokens");
  EXPECT_EQ(pipeline.code, 2);
  EXPECT_THAT(pipeline.err, HasSubstr("nothing to walk along"));
}

// Untold, Transformer Engine has a method for each product: a pipeline behind proj and fc2, a ring exchange before the
// others; an all-reduce of a layout without sequence parallelism it leaves alone.
TEST_F(CatalogueCommand, PlansAreSetBesideTheDefaultsOfTransformerEngine) {
  write_model(R"("ranks": 4, "tokens": 2048, "layout": "tp=4 sp")");
  const Ran ran = run("--format json plan $T/s.json --against te.defaults");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Document document = Document::parse(ran.out, "out");
  std::map<std::string, std::string> asked;
  for (const auto& row : at(at(document.root(), "asked"), "boundaries").items())
    asked[at(row, "boundary").as_string()] = at(row, "asked").as_string();
  for (const auto& [boundary, method] :
       {std::pair("qkv", "te.ring_exchange "), std::pair("proj", "te.pipeline "),
        std::pair("fc1", "te.ring_exchange "), std::pair("fc2", "te.pipeline ")}) {
    EXPECT_THAT(asked[boundary], testing::StartsWith(method)) << boundary;
  }
  EXPECT_THAT(run("plan $T/s.json --against te.defaults").out,
              HasSubstr("as te.defaults asks, TP=4 SP"));
}

TEST_F(CatalogueCommand, SchedulesExplainThemselvesWithATimeline) {
  for (const char* name : {"te.pipeline", "nccl.serial", "mc2.matmul_all_reduce"}) {
    const Ran ran = run(std::string("schedules ") + name);
    ASSERT_EQ(ran.code, 0) << ran.err;
    for (const char* part : {"source: ", "order", "edges", "runs on", "holds", "rules", "knobs",
                             ", unfused ", "a rank\n", "compute"}) {
      EXPECT_THAT(ran.out, HasSubstr(part)) << name;
    }
  }
  const Document document = Document::parse(run("--format json schedules flux.ag_gemm").out, "out");
  EXPECT_THAT(keys_of(document.root()),
              IsSupersetOf({"name", "system", "citation", "knobs", "applies_to", "order", "edges",
                            "resources", "buffers", "rules"}));
}

TEST_F(CatalogueCommand, PublishedSetsPredictionsBesideFigures) {
  const Ran ran = weft("published --only cuBLAS --markdown $T/p.md");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"cuBLAS 4096x4096x4096 on one of h100x8", "NVLS all-reduce",
                           "not covered", "no schedule of experts", "contradictions"}) {
    EXPECT_THAT(ran.out, HasSubstr(part));
  }
  EXPECT_THAT(text_of(folder_ / "p.md"), HasSubstr("| cuBLAS 8192x8192x8192 on one of h100x8 |"));
  const Document document =
      Document::parse(weft("--format json published --only cuBLAS").out, "out");
  EXPECT_THAT(keys_of(document.root()),
              IsSupersetOf({"rows", "signs", "signs_right", "median_error", "nvls", "uncovered"}));
  EXPECT_THAT(
      keys_of(at(document.root(), "rows").items().at(0)),
      IsSupersetOf({"what", "published", "predicted", "error", "baseline", "assumed", "source"}));
}

// The same plan by other numbers: the output says whose, and the config has another hash.
TEST_F(CatalogueCommand, PlansByPublishedModelsOfCosts) {
  write_small(R"(, "schedule": "nccl.serial", "knobs": {})");
  const auto plan = [&](const std::string& model) {
    const Ran ran = run("--format json plan $T/s.json --cost-model " + model);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Document::parse(ran.out, "out");
  };
  const Document own = plan("profile"), tuner = plan("nccl_tuner");
  EXPECT_EQ(at(tuner.root(), "cost_model").as_string(), "nccl_tuner");
  EXPECT_NE(at(tuner.root(), "config_hash").as_string(), at(own.root(), "config_hash").as_string());
  EXPECT_THAT(run("plan $T/s.json --cost-model nccl_symmetric").out,
              HasSubstr("priced by nccl_symmetric: "));
  const Ran wrong = run("plan $T/s.json --cost-model tuner");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("there is no cost model \"tuner\" (profile, nccl_tuner"));
}

}  // namespace
}  // namespace weft::tool
