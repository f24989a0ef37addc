// SPDX-License-Identifier: Apache-2.0
// What a user reads for each way to get a scenario, machine, model, profile or lock wrong: the exact text.
#include "tests/models/planner/bad_input.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "models/import/hf_config.hpp"
#include "models/planner/lock.hpp"
#include "models/planner/plan.hpp"
#include "models/planner/read_scenario.hpp"
#include "models/profile/json.hpp"
#include "topologies/read_machine.hpp"

namespace weft::model {
namespace {

namespace fs = std::filesystem;
using namespace bad_input;
using testing::HasSubstr;

// Everything but the key that a case is about, on the second line.
std::string pipeline(const std::string& members) {
  return "{\"schema\": \"weft.scenario/1\", \"name\": \"x\", \"pipeline\":\n{" + members + "}}";
}
std::string boundary(const std::string& members) {
  return R"({"schema": "weft.scenario/1", "name": "x", "boundary": {"operator": "ag_gemm", "M": 1024,
"N": 1024, "K": 1024, "machine": "../machines/h200x8.json", "ranks": 4,
)" + members +
         "}}";
}

TEST(BadScenario, PipelinesSayWhatIsWrong) {
  expect(
      {
          {"syntax", pipeline("\"compute\": \"1 ms\" \"communication\": \"1 ms\""),
           "configs/scenarios/s.json:2:20: /pipeline: unexpected string, expected '}' (is a comma "
           "missing before "
           "this?)"},
          {"unknown and duplicate keys",
           pipeline(
               "\"compute\": \"1 ms\", \"comunication\": \"1 ms\", \"chunks\": 2, \"chunks\": 3"),
           "configs/scenarios/s.json:1:44: /pipeline: missing key \"communication\" (of one "
           "chunk)\n"
           "configs/scenarios/s.json:2:21: /pipeline/comunication: unknown key \"comunication\" "
           "(did you mean "
           "\"communication\"?)\n"
           "configs/scenarios/s.json:2:58: /pipeline/chunks: duplicate key \"chunks\" (first at "
           "line 2, column 45)"},
          {"no units", pipeline("\"compute\": 1, \"communication\": \"5\""),
           "configs/scenarios/s.json:2:2: /pipeline/compute: 1 has no unit (write it as in \"1.5 "
           "us\")\n"
           "configs/scenarios/s.json:2:16: /pipeline/communication: \"5\" has no unit (write it as "
           "in \"1.5 us\")"},
          {"wrong units", pipeline("\"compute\": \"1 GB\", \"communication\": \"5 lightyears\""),
           "configs/scenarios/s.json:2:2: /pipeline/compute: \"GB\" is a unit of a size, not of a "
           "duration (units of "
           "a duration: ps, ns, us, ms, s)\n"
           "configs/scenarios/s.json:2:21: /pipeline/communication: unknown unit \"lightyears\" "
           "(units of a duration: "
           "ps, ns, us, ms, s)"},
          {"zero and negative",
           pipeline("\"chunks\": 0, \"compute\": \"-1 ms\", \"communication\": \"5 ms\""),
           "configs/scenarios/s.json:2:2: /pipeline/chunks: 0 is out of range (1 to 1000000)\n"
           "configs/scenarios/s.json:2:15: /pipeline/compute: \"-1 ms\" is negative (a duration is "
           "zero or more)"},
          {"longer than a time can be",
           pipeline("\"chunks\": 1000, \"compute\": \"5000 s\", \"communication\": \"5000 s\""),
           "configs/scenarios/s.json:2:18: /pipeline/compute: 1000 chunks of it and their "
           "communication take longer than a time can be: 2^63 ps, 106 days"},
      },
      scenario_error);
}

TEST(BadScenario, IsOneOfThreeKinds) {
  expect(
      {
          {"none", R"({"schema": "weft.scenario/1", "name": "x"})",
           "configs/scenarios/s.json:1:1: none of \"pipeline\", \"boundary\", \"model\" is given "
           "(give exactly one of "
           "them)"},
          {"two",
           R"({"schema": "weft.scenario/1", "name": "x", "pipeline": {"compute": "1 ms", "communication": "1 ms"},
"boundary": {"operator": "ag_gemm", "M": 1, "N": 1, "K": 1, "ranks": 1, "machine": "../machines/h200x8.json"}})",
           "configs/scenarios/s.json:2:1: /boundary: only one of \"pipeline\", \"boundary\", "
           "\"model\" may be given "
           "(\"pipeline\" is given too)"},
          {"another schema", R"({"schema": "weft.machine/1", "name": "x"})",
           "configs/scenarios/s.json:1:2: /schema: unknown schema \"weft.machine/1\" (this must be "
           "\"weft.scenario/1\", what is simulated, planned or checked)"},
          {"no object", "[1, 2]", "configs/scenarios/s.json:1:1: expected an object, not an array"},
      },
      scenario_error);
}

TEST(BadScenario, BoundariesSayWhatIsWrong) {
  expect(
      {
          {"names of shipped machines and profiles",
           R"({"schema": "weft.scenario/1", "name": "x", "boundary": {"operator": "ag_gemm", "M": 8192,
"N": 8192, "K": 8192, "ranks": 8, "machine": "h200x8",
"profile": "h200-sxm.json", "dtype": "bf16"}})",
           "configs/scenarios/s.json:2:35: /boundary/machine: no file \"h200x8\" (did you mean "
           "\"../machines/h200x8.json\"? looked for configs/scenarios/h200x8)\n"
           "configs/scenarios/s.json:3:1: /boundary/profile: no file \"h200-sxm.json\" (did you "
           "mean \"../profiles/h200-sxm.json\"? looked for configs/scenarios/h200-sxm.json)"},
          {"everything at once",
           R"({"schema": "weft.scenario/1", "name": "x", "boundary": {
"operator": "ag_gem",
"M": 0,
"N": -5,
"K": 1.5,
"ranks": 0,
"machine": "nowhere.json",
"profile": "none.json",
"dtype": "bf17",
"placement": "spread"}})",
           "configs/scenarios/s.json:2:1: /boundary/operator: unknown name \"ag_gem\" (did you "
           "mean \"ag_gemm\"? one "
           "of ag_gemm, gemm_rs, gemm_ar, gemm_a2a)\n"
           "configs/scenarios/s.json:3:1: /boundary/M: 0 is out of range (1 to 16777216)\n"
           "configs/scenarios/s.json:4:1: /boundary/N: -5 is out of range (1 to 16777216)\n"
           "configs/scenarios/s.json:5:1: /boundary/K: expected an integer, not 1.5\n"
           "configs/scenarios/s.json:6:1: /boundary/ranks: 0 is out of range (1 to 65536)\n"
           "configs/scenarios/s.json:7:1: /boundary/machine: no file \"nowhere.json\" (looked for "
           "configs/scenarios/nowhere.json)\n"
           "configs/scenarios/s.json:8:1: /boundary/profile: no file \"none.json\" (looked for "
           "configs/scenarios/none.json)\n"
           "configs/scenarios/s.json:9:1: /boundary/dtype: unknown name \"bf17\" (did you mean "
           "\"bf16\"? one of fp32, "
           "tf32, fp16, bf16, fp8_e4m3, fp8_e5m2, int8, fp4_e2m1, ue8m0)\n"
           "configs/scenarios/s.json:10:1: /boundary/placement: unknown name \"spread\" (one of "
           "packed, scattered)"},
          {"misspelt schedule", boundary("\"schedule\": \"chunkd\", \"knobs\": {\"chunks\": 2}"),
           "configs/scenarios/s.json:3:1: /boundary/schedule: there is no schedule \"chunkd\" (did "
           "you mean "
           "\"chunked\"?)"},
          {"knobs without a schedule", boundary("\"knobs\": {\"chunks\": 2}"),
           "configs/scenarios/s.json:3:1: /boundary/knobs: knobs belong to a schedule, and none is "
           "named (name one "
           "with \"schedule\")"},
          {"knobs",
           boundary("\"schedule\": \"chunked\", \"knobs\": {\n\"chunk\": 2,\n\"ctas\": "
                    "5,\n\"transport\": "
                    "\"tcp\",\n\"pace\": 1.5}"),
           "configs/scenarios/s.json:4:1: /boundary/knobs/chunk: there is no knob \"chunk\" (did "
           "you mean "
           "\"chunks\"?)\n"
           "configs/scenarios/s.json:5:1: /boundary/knobs/ctas: knob \"ctas\" cannot be 5 (legal: "
           "1, 2, 4, 8, 16, 24, "
           "32)\n"
           "configs/scenarios/s.json:6:1: /boundary/knobs/transport: knob \"transport\" cannot be "
           "tcp (legal: "
           "copy_engine, sm, switch)\n"
           "configs/scenarios/s.json:7:1: /boundary/knobs/pace: knob \"pace\" must be a count or a "
           "name"},
      },
      scenario_error);
}

TEST(BadScenario, ModelsSayWhatIsWrong) {
  const std::string head =
      R"({"schema": "weft.scenario/1", "name": "x", "model": {"model": "../models/llama3-8b.json",
"machine": "../machines/h200x8.json", "ranks": 8,
)";
  expect({{"everything at once", head + R"("phase": "decod",
"tokens": 0,
"layout": "tp=x sq",
"schedules": ["chunky"]}})",
           "configs/scenarios/s.json:3:1: /model/phase: unknown name \"decod\" (did you mean "
           "\"decode\"? one of "
           "prefill, decode, forward, backward)\n"
           "configs/scenarios/s.json:4:1: /model/tokens: 0 is out of range (1 to 16777216)\n"
           "configs/scenarios/s.json:5:1: /model/layout: \"tp=x\" is no part of a layout (search, "
           "tp=8, tp=8 sp, "
           "tp=16 sp scattered)\n"
           "configs/scenarios/s.json:5:1: /model/layout: \"sq\" is no part of a layout (search, "
           "tp=8, tp=8 sp, tp=16 "
           "sp scattered)\n"
           "configs/scenarios/s.json:6:1: /model/schedules: there is no schedule \"chunky\""},
          {"a part of a sequence", head + R"("phase": "prefill", "sequence": 300,
"tokens": 1000}})",
           "configs/scenarios/s.json:4:1: /model/tokens: 1000 tokens are no whole number of "
           "sequences of 300"},
          {"decode without a cache", head + R"("phase": "decode", "tokens": 64}})",
           "configs/scenarios/s.json:1:44: /model: decode needs the tokens that are in the cache"}},
         scenario_error);
}

TEST(BadScenario, OverridesNameOnePartAndItsSpeed) {
  expect({{"neither part",
           boundary("\"dtype\": \"bf16\"")
               .insert(boundary("\"dtype\": \"bf16\"").size() - 1,
                       ", \"overrides\": [\n{\n\"speed\": 2}]"),
           "configs/scenarios/s.json:4:1: /overrides/0: none of \"rank\", \"link\" is given (give "
           "exactly one of "
           "them)\n"
           "configs/scenarios/s.json:5:1: /overrides/0/speed: 2 is out of range (0.001 to 1)"}},
         scenario_error);
}

TEST(BadScenario, OfAFileThatIsNotThere) {
  EXPECT_EQ(what([] { static_cast<void>(read_scenario(fs::path("nowhere/s.json"))); }),
            "nowhere/s.json: cannot open the file: No such file or directory");
}

TEST(BadScenario, NestingIsRefusedWhereItGetsTooDeep) {
  EXPECT_EQ(scenario_error(std::string(1 << 20, '[')),
            "configs/scenarios/s.json:1:129: nested deeper than 128 levels");
}

// ---- what only the machine or model can refuse -------------------------------------------------------------

std::string plan_error(const std::string& text, const config::SearchPath& search = {}) {
  return what([&] {
    static_cast<void>(make_plan(
        read_scenario(Document::parse(text, "configs/scenarios/s.json"), search), search));
  });
}

TEST(BadPlan, SaysWhatTheMachineCannot) {
  const std::string head =
      R"({"schema": "weft.scenario/1", "name": "x", "boundary": {"operator": "gemm_rs", "M": 1024, "N": 1024, )";
  expect(
      {
          {"indivisible",
           head +
               R"("K": 1023, "ranks": 4, "machine": "../machines/h200x8.json", "schedule": "serial"}})",
           "configs/scenarios/s.json: /boundary: gemm_rs: K = 1023 does not divide by 4 ranks"},
          {"too many ranks",
           head +
               R"("K": 1024, "ranks": 16, "machine": "../machines/h200x8.json", "schedule": "serial"}})",
           "configs/scenarios/s.json: /boundary/ranks: 16 GPUs are asked for and 8x H200 SXM has "
           "8"},
          {"nodes of different numbers of ranks",
           head +
               R"("K": 1026, "ranks": 9, "machine": "../machines/h200x8x2.json", "schedule": "serial"}})",
           "configs/scenarios/s.json: /boundary/ranks: 9 ranks on 2 nodes, 8 on one and 1 on "
           "another: collectives between nodes have as many ranks on each (ranks that fill nodes "
           "alike, or "
           "one node)"},
          {"too large for its GPUs",
           R"({"schema": "weft.scenario/1", "name": "x", "boundary": {"operator": "gemm_rs", "M": 16777216,
               "N": 1024, "K": 16384, "ranks": 4, "machine": "../machines/h200x8.json"}})",
           "configs/scenarios/s.json: /boundary: its operands and results are 160.01 GiB on each "
           "GPU, "
           "which has 141 GB: 28.69 GiB short (fewer tokens (M) at a time, or more ranks)"},
          {"illegal schedule",
           head +
               R"("K": 1024, "ranks": 4, "machine": "../machines/l20x8.json", "schedule": "chunked",
                     "knobs": {"transport": "switch"}}})",
           "configs/scenarios/s.json: /boundary/schedule: chunked: no switch that multicasts and "
           "reduces joins the "
           "ranks"},
          {"parts that are not there",
           head +
               R"("K": 1024, "ranks": 4, "machine": "../machines/h200x8.json", "schedule": "serial"},
                     "overrides": [{"rank": 9, "speed": 0.5}, {"link": "gpu0->mars", "speed": 0.5}]})",
           "configs/scenarios/s.json: /overrides: no link or device of these ranks is called "
           "\"rank9\" (a rank is "
           "\"rank0\", a device \"node0.gpu0\", a link \"node0.gpu0->node0.nvswitch\")\n"
           "configs/scenarios/s.json: /overrides: no link or device of these ranks is called "
           "\"gpu0->mars\" (a rank "
           "is \"rank0\", a device \"node0.gpu0\", a link \"node0.gpu0->node0.nvswitch\")"},
          {"pipelines", pipeline("\"compute\": \"1 ms\", \"communication\": \"1 ms\""),
           "configs/scenarios/s.json: /pipeline: a pipeline's durations are given: there is "
           "nothing to plan (weft "
           "simulate runs it)"},
      },
      [](const std::string& text) { return plan_error(text); });
}

// Two islands of GPUs and no way between them.
TEST(BadPlan, SaysWhichRouteDoesNotExist) {
  const fs::path folder = fs::path(testing::TempDir()) / "weft_bad_plan";
  fs::create_directories(folder);
  std::ofstream(folder / "islands.json")
      << R"({"schema": "weft.machine/1", "name": "islands", "profile": "h200-sxm",
 "device": "devices/h200-sxm.json",
 "node": {"devices": "gpu[0-1]",
  "hosts": [{"name": "host[0-1]",
    "size": {"value": "1 TiB", "source": {"kind": "assumed", "reference": "a test"}},
    "bandwidth": {"value": "300 GB/s", "source": {"kind": "assumed", "reference": "a test"}}}],
  "switches": [],
  "links": [{"from": "gpu[0-1]", "to": "host[0-1]", "pairing": "zip",
    "bandwidth_per_direction": {"value": "64 GB/s", "source": {"kind": "assumed", "reference": "a test"}},
    "latency": {"value": "1 us", "source": {"kind": "assumed", "reference": "a test"}}}]}})";
  const std::string message = plan_error(
      R"({"schema": "weft.scenario/1", "name": "x", "boundary": {"operator": "gemm_rs", "M": 1024, "N": 1024,
          "K": 1024, "ranks": 2, "machine": "islands.json", "schedule": "serial"}})",
      {.configs = {folder, "configs/machines"}, .installed = {}});
  EXPECT_EQ(message,
            "configs/scenarios/s.json: there is no route from node0.gpu0 to node0.gpu1\n"
            "configs/scenarios/s.json: there is no route from node0.gpu1 to node0.gpu0");
  fs::remove_all(folder);
}

// Heads that do not divide are a result, with the reason, not an error of a file.
TEST(BadPlan, RefusesLayoutsWhoseHeadsDoNotDivide) {
  const Plan plan = make_plan(
      read_scenario(Document::parse(
          R"({"schema": "weft.scenario/1", "name": "x", "model": {"model": "../models/llama3-8b.json",
          "machine": "../machines/h200x8.json", "ranks": 3, "phase": "prefill", "tokens": 1024, "layout": "tp=3"}})",
          "configs/scenarios/s.json")),
      {});
  EXPECT_TRUE(plan.layouts.empty());
  ASSERT_EQ(plan.refused.size(), 1U);
  EXPECT_THAT(plan.refused[0].reasons, testing::Contains("32 query heads do not divide by TP=3"));
}

}  // namespace
}  // namespace weft::model
