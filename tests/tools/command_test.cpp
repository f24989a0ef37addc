// SPDX-License-Identifier: Apache-2.0
// The weft program as a user runs it: exit codes, what goes where, and what is written.
#include "tests/tools/command.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"

namespace weft::tool {
namespace {

namespace fs = std::filesystem;
using config::Document;
using config::Value;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;

TEST_F(Command, ExitsWithZeroAfterHelpAndVersion) {
  for (const char* arguments :
       {"--help", "simulate --help", "plan --help", "check --help", "schedules --help",
        "machines --help", "schema --help", "import --help", "diff --help", "export --help",
        "doctor --help", "--version", "version"}) {
    const Ran ran = weft(arguments);
    EXPECT_EQ(ran.code, 0) << arguments;
    EXPECT_FALSE(ran.out.empty()) << arguments;
    EXPECT_THAT(ran.err, IsEmpty()) << arguments;
  }
  const Ran help = weft("--help");
  for (const char* command : {"simulate", "plan", "check", "schedules", "machines", "schema",
                              "version", "completion", "Exit codes"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
  }
}

TEST_F(Command, ExitsWithTwoOnWrongUsage) {
  for (const char* arguments :
       {"", "simulat", "simulate", "plan a.json --format yaml", "plan --top 0 a.json",
        "schedules nosuch", "machines nosuch", "schema nosuch",
        "simulate configs/scenarios/pipeline-4x3ms-2ms.json --schedule serial",
        "simulate configs/scenarios/gemm-rs-chunked.json --knob chunks=5",
        "simulate configs/scenarios/gemm-rs-chunked.json --schedule chunkd",
        "simulate configs/scenarios/gemm-rs-chunked.json --layout tp=8",
        "machines --configs $T/nosuch"}) {
    const Ran ran = weft(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_FALSE(ran.err.empty()) << arguments;
  }
  EXPECT_THAT(weft("schedules chunkd").err, HasSubstr("did you mean \"chunked\"?"));
  EXPECT_THAT(weft("simulat x.json").err,
              HasSubstr("there is no command \"simulat\" (did you mean \"simulate\"?)"));
  EXPECT_THAT(weft("--format json").err, HasSubstr("a command is missing (commands: simulate, "));
  const Ran place = weft("simulate configs/scenarios/pipeline-4x3ms-2ms.json --trace $T/no/t.json");
  EXPECT_EQ(place.code, 2);
  EXPECT_THAT(place.err, HasSubstr("no/t.json: No such file or directory"));
}

TEST_F(Command, DoesNotOverwriteWhatItReads) {
  write_boundary();
  const std::string before = text_of(folder_ / "s.json");
  for (const char* arguments :
       {"simulate $T/s.json --trace $T/s.json", "plan $T/s.json --lock $T/./s.json",
        "plan $T/s.json --emit te-yaml=$T/s.json"}) {
    const Ran ran = weft(kConfigs + std::string(arguments));
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_THAT(ran.err, HasSubstr("would be overwritten"));
  }
  EXPECT_EQ(text_of(folder_ / "s.json"), before);
}

TEST_F(Command, NoSampleIsNoAccuracy) {
  const Ran ran = weft("accuracy configs/scenarios");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("there is no sample there"));
}

TEST_F(Command, NoRowIsNoAccuracy) {
  const Ran ran = weft("accuracy calibration/samples/published --only interstellar");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no row has any of these in its name"));
  EXPECT_EQ(weft("accuracy calibration/samples/published --final --only GEMM --results $T").code,
            2);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Command, SaysWhereWhatOnlyTheMachineRefusesIsWritten) {
  write("s.json",
        R"({"schema": "weft.scenario/1", "name": "x", "boundary": {"operator": "ag_gemm",
  "M": 8190, "N": 4096, "K": 4096, "ranks": 9, "machine": "machines/h200x8.json"}})");
  const Ran ran = weft(std::string(kConfigs) + "plan $T/s.json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("s.json:2:"));
}

// /dev/full takes nothing: what was asked for is not there.
TEST_F(Command, ExitsWithTwoWhereTheOutputCannotBeWritten) {
  for (const char* arguments :
       {"--help", "schema scenario", "simulate configs/scenarios/pipeline-4x3ms-2ms.json"}) {
    const Ran ran = shell("{ $WEFT " + std::string(arguments) + " > /dev/full; }");
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_THAT(ran.err, HasSubstr("could not be written"));
  }
}

TEST_F(Command, WritesNothingOnBadInput) {
  write("s.json", R"({"schema": "weft.scenario/1", "name": "x", "pipeline": {"compute": 1}})");
  const Ran plan = weft("plan $T/s.json --lock $T/plan.lock.json");
  EXPECT_EQ(plan.code, 2);
  EXPECT_THAT(plan.out, IsEmpty());
  EXPECT_THAT(plan.err, HasSubstr("/pipeline/compute: 1 has no unit"));
  EXPECT_THAT(plan.err, HasSubstr("/pipeline: missing key \"communication\""));
  const Ran simulate = weft("simulate $T/s.json --trace $T/trace.json");
  EXPECT_EQ(simulate.code, 2);
  EXPECT_THAT(simulate.out, IsEmpty());
  EXPECT_EQ(weft("check $T/none.lock.json --junit $T/report.xml").code, 2);
  EXPECT_EQ(files(), std::set<std::string>{"s.json"});
}

TEST_F(Command, ExitsWithOneWhereNothingFits) {
  write("s.json",
        R"({"schema": "weft.scenario/1", "name": "x", "model": {"model": "models/llama3-70b.json",
            "machine": "machines/h200x8.json", "ranks": 1, "phase": "prefill", "tokens": 1024}})");
  const Ran ran = weft(std::string(kConfigs) + "plan $T/s.json --lock $T/plan.lock.json");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("short"));
  EXPECT_EQ(files(), std::set<std::string>{"s.json"});
}

const std::vector<std::string>& figure_keys() {
  static const std::vector<std::string> keys = {"compute_only_ps",
                                                "communication_only_ps",
                                                "serial_ps",
                                                "overlapped_ps",
                                                "schedule_compute_only_ps",
                                                "schedule_communication_only_ps",
                                                "exposed_ps",
                                                "hidden_ratio",
                                                "covered_ratio",
                                                "speedup",
                                                "modes"};
  return keys;
}

TEST_F(Command, SimulateGivesTheFiguresAsJson) {
  const Ran ran = weft("--format json simulate configs/scenarios/contended-150us-60us.json");
  ASSERT_EQ(ran.code, 0);
  const Document document = Document::parse(ran.out, "out");
  const Value& root = document.root();
  EXPECT_THAT(keys_of(root), IsSupersetOf(figure_keys()));
  EXPECT_EQ(at(root, "compute_only_ps").as_integer(), 100'000'000);
  EXPECT_EQ(at(root, "communication_only_ps").as_integer(), 60'000'000);
  EXPECT_EQ(at(root, "serial_ps").as_integer(), 160'000'000);
  EXPECT_EQ(at(root, "overlapped_ps").as_integer(), 150'000'000);
  EXPECT_EQ(at(root, "exposed_ps").as_integer(), 50'000'000);
  ASSERT_FALSE(at(root, "boundaries").items().empty());
  EXPECT_THAT(keys_of(at(root, "boundaries").items()[0]), IsSupersetOf(figure_keys()));
  EXPECT_THAT(keys_of(at(root, "modes").items()[0]),
              testing::UnorderedElementsAre("share", "overlapped_ps"));
}

// 128 x 2048 two-byte elements are 512 KiB, a quarter of the rows 128 KiB; 4096 x 8192 are 67,108,864 bytes, of which
// an all-reduce of four sends 2 (4 - 1) / 4.
TEST_F(Command, SimulateSaysWhatABoundaryMoves) {
  const auto moved = [&](const std::string& scenario, const std::string& key) {
    const Ran ran = weft("--format json simulate configs/scenarios/" + scenario + ".json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    const Document document = Document::parse(ran.out, "out");
    const Value& boundary = at(document.root(), "boundaries").items().at(0);
    return at(at(boundary, "collectives").items().at(0), key).as_integer();
  };
  EXPECT_EQ(moved("gemm-ar-512kib-4-chunks", "message_bytes"), 512 << 10);
  EXPECT_EQ(moved("gemm-ar-512kib-4-chunks", "chunk_bytes"), 128 << 10);
  EXPECT_EQ(moved("mlp-all-reduce-tp4", "message_bytes"), 67'108'864);
  EXPECT_EQ(moved("mlp-all-reduce-tp4", "wire_bytes"), 100'663'296);
}

TEST_F(Command, PlanGivesCountsAndPicksAsJson) {
  write_boundary();
  const Ran ran = weft(std::string(kConfigs) + "--format json plan $T/s.json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Document document = Document::parse(ran.out, "out");
  const Value& root = document.root();
  EXPECT_THAT(keys_of(root),
              IsSupersetOf({"space", "simulated", "equivalent", "pruned", "elapsed_ms"}));
  EXPECT_EQ(at(root, "space").as_integer(), at(root, "simulated").as_integer() +
                                                at(root, "equivalent").as_integer() +
                                                at(root, "pruned").as_integer());
  const Value& boundary = at(root, "boundaries").items().front();
  EXPECT_THAT(keys_of(boundary), IsSupersetOf(figure_keys()));
  EXPECT_THAT(keys_of(boundary), IsSupersetOf({"schedule", "knobs"}));
  const Value& band = at(boundary, "error_band");
  EXPECT_THAT(keys_of(band), testing::UnorderedElementsAre("fraction", "low", "high", "family",
                                                           "source", "reference"));
  EXPECT_LT(at(band, "low").as_real(), 1);
  EXPECT_GT(at(band, "high").as_real(), 1);
  EXPECT_THAT(weft(std::string(kConfigs) + "plan $T/s.json").out,
              HasSubstr(" in nine of ten cases like it, by "));
}

TEST_F(Command, CheckHoldsAndThenFails) {
  write_boundary();
  ASSERT_EQ(weft(std::string(kConfigs) + "plan $T/s.json --lock $T/plan.lock.json").code, 0);
  const Ran holds = weft(std::string(kConfigs) + "check $T/plan.lock.json --junit $T/report.xml");
  EXPECT_EQ(holds.code, 0) << holds.err;
  EXPECT_THAT(holds.out, HasSubstr("every pick holds"));
  EXPECT_THAT(text_of(folder_ / "report.xml"), HasSubstr("failures=\"0\""));
  write_boundary(R"(, "overrides": [{"link": "node0.gpu0->node0.nvswitch", "speed": 0.05}])");
  const Ran fails = weft(std::string(kConfigs) + "check $T/plan.lock.json --junit $T/report.xml");
  EXPECT_EQ(fails.code, 1) << fails.out << fails.err;
  EXPECT_THAT(fails.out, HasSubstr("FAIL gemm_rs: exposed time grew from "));
  EXPECT_THAT(text_of(folder_ / "report.xml"), HasSubstr("failures=\"1\""));
}

// A user's own copy of the machine: slower links flip the pick, and the report says what changed.
TEST_F(Command, CheckNamesTheFlipAndWhatChanged) {
  const auto write_machine = [&](const std::string& rate) {
    std::string text = text_of("configs/machines/h200x8.json");
    const std::string from = "\"450 GB/s\"";
    text.replace(text.find(from), from.size(), rate);
    write("machine.json", text);
  };
  const std::string search = "--configs configs/machines --format json ";
  write_machine("\"450 GB/s\"");
  write("s.json",
        R"({"schema": "weft.scenario/1", "name": "own machine", "boundary": {"operator": "gemm_rs",
      "M": 8192, "N": 8192, "K": 8192, "ranks": 4, "machine": "machine.json"}})");
  ASSERT_EQ(weft(search + "plan $T/s.json --lock $T/plan.lock.json").code, 0);
  write_machine("\"9 GB/s\"");
  const Ran ran = weft(search + "check $T/plan.lock.json --junit $T/report.xml");
  EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
  const Document document = Document::parse(ran.out, "out");
  EXPECT_TRUE(at(document.root(), "failed").as_boolean());
  EXPECT_EQ(at(document.root(), "since").as_string(), "changed since the lock: machine");
  const Value& pick = at(document.root(), "picks").items().front();
  EXPECT_TRUE(at(pick, "flipped").as_boolean());
  EXPECT_THAT(at(pick, "sentence").as_string(), HasSubstr("the pick is now "));
  EXPECT_THAT(text_of(folder_ / "report.xml"), HasSubstr("<failure message=\"the pick is now "));
  EXPECT_THAT(text_of(folder_ / "report.xml"), HasSubstr("tests=\"2\" failures=\"1\""));
}

// The same run has the same hash wherever its files lie; a pinned knob is another run.
TEST_F(Command, RunsNameTheirConfigAndBuild) {
  const auto hash_of = [&](const std::string& arguments) {
    const Ran ran = weft("--format json simulate " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const Document document = Document::parse(ran.out, "out");
    EXPECT_THAT(keys_of(at(document.root(), "weft")), IsSupersetOf({"version", "commit", "dirty"}));
    EXPECT_THAT(keys_of(at(document.root(), "config_parts")),
                testing::ElementsAre("scenario", "machine", "profile"));
    return at(document.root(), "config_hash").as_string();
  };
  const std::string scenario = "configs/scenarios/gemm-rs-chunked.json";
  const std::string first = hash_of(scenario);
  EXPECT_EQ(first.size(), 16U);
  EXPECT_EQ(hash_of(fs::absolute(scenario).string()), first);
  EXPECT_NE(hash_of(scenario + " --knob chunks=8"), first);
  EXPECT_THAT(weft("simulate " + scenario).out, HasSubstr("\nconfig " + first + ", weft "));
}

TEST_F(Command, OutputIsTheSameEachTime) {
  const std::string arguments = "simulate configs/scenarios/gemm-rs-chunked.json --trace $T/";
  const Ran first = weft(arguments + "a.json --color never");
  const Ran second = weft(arguments + "b.json --color never");
  ASSERT_EQ(first.code, 0);
  EXPECT_EQ(first.out.substr(0, first.out.find("trace written")),
            second.out.substr(0, second.out.find("trace written")));
  EXPECT_EQ(text_of(folder_ / "a.json"), text_of(folder_ / "b.json"));
  EXPECT_EQ(first.out.find('\x1b'), std::string::npos);
}

TEST_F(Command, CompletionsParse) {
  const Ran bash = weft("completion bash");
  ASSERT_EQ(bash.code, 0);
  write("weft.bash", bash.out);
  EXPECT_EQ(shell("bash -n $T/weft.bash").err, "");
  const Ran words = shell(
      "bash -c 'source $0; COMP_WORDS=(weft pl); COMP_CWORD=1; _weft; echo \"${COMPREPLY[@]}\"' "
      "$T/weft.bash");
  EXPECT_EQ(words.code, 0) << words.err;
  EXPECT_THAT(words.out, HasSubstr("plan"));
  for (const char* other : {"zsh", "fish"})
    EXPECT_EQ(weft(std::string("completion ") + other).code, 0);
}

TEST_F(Command, SchemasDescribeEveryFormat) {
  for (const char* name : {"scenario", "machine", "device", "profile", "lock"}) {
    const Ran ran = weft(std::string("--format json schema ") + name);
    EXPECT_EQ(ran.code, 0) << name;
    EXPECT_TRUE(Document::parse(ran.out, name).root().is_object()) << name;
  }
}

}  // namespace
}  // namespace weft::tool
