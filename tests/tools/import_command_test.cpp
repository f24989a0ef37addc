// SPDX-License-Identifier: Apache-2.0
// Files of other systems through the program: what import, doctor, export and diff say of them.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "tests/tools/command.hpp"

namespace weft::tool {
namespace {

using config::Document;
using testing::HasSubstr;

TEST_F(Command, ImportsATopologyAndCompletesItOnRequestOnly) {
  const std::string dump = "tests/fuzz/corpus/topo_matrix/h100x8.txt";
  const Ran open = weft("import " + dump);
  EXPECT_EQ(open.code, 0) << open.err;
  EXPECT_THAT(open.err, HasSubstr("unknown: device"));
  EXPECT_TRUE(at(Document::parse(open.out, "out").root(), "device").is_null());
  const Ran whole = weft("import " + dump + " --complete-from h200x8x2 -o $T/machine.json");
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("from h200x8x2: profile: h200-sxm"));
  EXPECT_EQ(weft("machines $T/machine.json").code, 0);
  EXPECT_THAT(weft("machines " + dump).err, HasSubstr("a topology dump is no machine yet"));
  EXPECT_THAT(shell("($WEFT import - < " + dump + ")").out, HasSubstr("weft.machine/1"));
}

TEST_F(Command, ImportsLogsAndTraces) {
  const Ran log = weft("import tests/fuzz/corpus/nccl_tests/all_reduce_8.txt -o $T/s.jsonl.gz");
  EXPECT_EQ(log.code, 0) << log.err;
  EXPECT_THAT(log.err, HasSubstr("18 samples, 8 ranks"));
  EXPECT_EQ(files(), std::set<std::string>{"s.jsonl.gz"});
  const Ran trace = weft("--format json import tests/fuzz/corpus/kineto/new.json.gz");
  EXPECT_EQ(trace.code, 0) << trace.err;
  const Document document = Document::parse(trace.out, "out");
  EXPECT_EQ(at(at(document.root(), "devices").items()[0], "exposed_ns").as_integer(), 125'000);
  const Ran both =
      weft("diff tests/fuzz/corpus/nsys/export.sqlite configs/scenarios/pipeline-4x3ms-2ms.json");
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("only ratios are compared"));
}

TEST_F(Command, ImportsAJobAndChecksIt) {
  const Ran job = weft(
      "import tests/fuzz/corpus/launch_args/llama3_70b.job --complete-from h200x8 -o $T/job.json");
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(files(), (std::set<std::string>{"job.json", "job.model.json"}));
  // A stage of 20 of the 80 layers, which are 855654400 each, with embedding, head and last norm.
  EXPECT_THAT(weft("import $T/job.model.json").out, HasSubstr("19214442496"));
  const Ran good = weft(
      "doctor tests/fuzz/corpus/launch_args/llama3_70b.job "
      "tests/fuzz/corpus/tp_overlap/h100_tp8.yaml");
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_THAT(good.out, HasSubstr("0 of 21 rules are broken"));
  const Ran bad = weft("doctor tests/fuzz/corpus/launch_args/sp_without_tp.job");
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, HasSubstr("sp_without_tp.job:2: sp-without-tp: "));
  EXPECT_EQ(weft("doctor").code, 0);
  const Ran logs = weft(
      "doctor tests/fuzz/corpus/nccl_tests/outlier_collapse.txt "
      "tests/fuzz/corpus/nccl_env/good.env");
  EXPECT_EQ(logs.code, 0) << logs.err;
  EXPECT_THAT(logs.err, HasSubstr("good.env: nccl-env, read and legal"));
  EXPECT_EQ(weft("doctor tests/fuzz/corpus/nccl_env/wrong_pair.env").code, 2);
}

TEST_F(Command, ExportsWhatItReadsBack) {
  const Ran out =
      weft("export tests/fuzz/corpus/tp_overlap/h100_tp8.yaml --to ub-cfgs -o $T/ub.py");
  EXPECT_EQ(out.code, 0) << out.err;
  const Ran back = weft("export $T/ub.py --to te-yaml");
  EXPECT_EQ(back.code, 0) << back.err;
  const Ran direct = weft("import tests/fuzz/corpus/tp_overlap/h100_tp8.yaml");
  EXPECT_EQ(back.out.substr(back.out.find('\n')), direct.out.substr(direct.out.find('\n')));
  EXPECT_EQ(weft("export $T/ub.py --to te-yml").code, 2);
  write_boundary();
  const Ran plan = weft(std::string(kConfigs) + "export $T/s.json --to megatron");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("# weft plan "));
  EXPECT_THAT(plan.out, HasSubstr("predicted gain"));
  const Ran emitted = weft(std::string(kConfigs) + "plan $T/s.json --emit megatron=$T/args.sh");
  EXPECT_EQ(emitted.code, 0) << emitted.err;
  EXPECT_THAT(text_of(folder_ / "args.sh"), HasSubstr("# weft plan "));
  // Arguments have no sizes: behind a job's own they read back.
  const Ran alone = weft("import $T/args.sh");
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("hidden_size is not among the arguments"));
  const Ran job = shell(
      "cat configs/imports/gpt-175b.job $T/args.sh > $T/both.job; $WEFT import $T/both.job "
      "--configs configs --complete-from h200x8 -o $T/both.json");
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_THAT(text_of(folder_ / "both.json"), HasSubstr("tp=2"));
  // A boundary that names no schedule is run by those of the system.
  write("free.json",
        R"({"schema": "weft.scenario/1", "name": "free", "boundary": {"operator": "gemm_rs",
            "M": 8192, "N": 8192, "K": 28672, "ranks": 8, "machine": "machines/h200x8.json"}})");
  const Ran flux = weft(std::string(kConfigs) + "export $T/free.json --to flux");
  EXPECT_EQ(flux.code, 0) << flux.err;
  EXPECT_THAT(flux.err, HasSubstr("chosen from what that system runs: serial, flux.ag_gemm"));
  EXPECT_THAT(flux.out, HasSubstr("// gemm_rs: flux.gemm_rs"));
  // What sets nothing is no file of NCCL's settings.
  const Ran nothing = weft(std::string(kConfigs) + "plan $T/s.json --emit nccl-env=$T/env.sh");
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("no pick of the plan has a word in nccl-env"));
  EXPECT_FALSE(files().contains("env.sh"));
}

TEST_F(Command, ImportRefusesWhatItDoesNotKnow) {
  write("note.txt", "nothing of the kind\n");
  const Ran ran = weft("import $T/note.txt");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("looks like none of the formats"));
  EXPECT_THAT(weft("import $T/note.txt --as topo").err, HasSubstr("did you mean \"topo-m\"?"));
  EXPECT_EQ(weft("import $T/none.txt").code, 2);
  EXPECT_THAT(weft("import $T/none.txt").err, HasSubstr("there is no file"));
  EXPECT_THAT(weft("import tests/fuzz/corpus/hf_config/wrong_empty.json").err,
              HasSubstr("wrong_empty.json is empty"));
  EXPECT_THAT(shell("gzip -kc $T/note.txt > $T/note.gz; $WEFT import $T/note.gz").err,
              HasSubstr("packed with gzip, as only traces are read"));
  EXPECT_THAT(shell("cp $T/note.txt $T/r.nsys-rep; $WEFT import $T/r.nsys-rep").err,
              HasSubstr("`nsys export --type sqlite`"));
  const Ran other = weft("import tests/fuzz/corpus/topo_matrix/wrong_p2p.txt -o $T/machine.json");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("this is `nvidia-smi topo -p2p`"));
  EXPECT_EQ(files(), (std::set<std::string>{"note.gz", "note.txt", "r.nsys-rep"}));
}

TEST_F(Command, OptionsThatMeanNothingToAFormatAreRefused) {
  const Ran job = weft("import tests/fuzz/corpus/launch_args/llama3_70b.job --with x --network y");
  EXPECT_EQ(job.code, 2);
  EXPECT_THAT(job.err, HasSubstr("--with means nothing to tests/fuzz/corpus/launch_args/"));
  const Ran system = weft(
      "import configs/imports/hgx-h100-astra-system.json --network "
      "configs/imports/hgx-h100-astra.yml");
  EXPECT_EQ(system.code, 0) << system.err;
  EXPECT_THAT(system.err, HasSubstr("all-reduce of 16 MiB: 120.79 us"));
}

TEST_F(Command, DoctorReadsEveryFormatThatImportReads) {
  const std::string corpus = " tests/fuzz/corpus/";
  const Ran ran = weft("doctor" + corpus + "kineto/new.json.gz" + corpus + "nsys/export.sqlite" +
                       corpus + "nsys/gpu_trace.csv" + corpus + "hf_config/gpt2.json" + corpus +
                       "astra_network/ring.yml" + corpus + "astra_network/system.json" + corpus +
                       "chakra/layer.et" + corpus + "flux_tuning/ag_and_rs.cu.txt");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("new.json.gz: kineto, read and legal"));
  EXPECT_THAT(ran.err, HasSubstr("system.json: astra-sys, read and legal"));
  EXPECT_THAT(ran.out, HasSubstr("0 of 21 rules are broken"));
}

TEST_F(Command, AFolderIsNoFileToImport) {
  write("config.json", "{}");
  for (const char* arguments :
       {"import", "doctor", "export --to te-yaml", "diff configs/scenarios/gemm-rs-chunked.json"}) {
    const Ran ran = weft(std::string(arguments) + " configs");
    EXPECT_EQ(ran.code, 2) << arguments;
  }
  EXPECT_THAT(weft("import configs").err, HasSubstr("configs is a folder: give a file in it"));
  EXPECT_THAT(weft("import $T").err, HasSubstr("give the file in it, "));
}

TEST_F(Command, SettingsWithAScenarioRunAsTheyAsk) {
  const Ran job = weft(
      "import tests/fuzz/corpus/launch_args/llama3_70b.job --complete-from h200x8 -o $T/job.json");
  ASSERT_EQ(job.code, 0) << job.err;
  std::string scenario = text_of(folder_ / "job.json");
  scenario.insert(scenario.find("\"model\": {") + 10, "\"schedules\": [\"serial\"],");
  write("serial.json", scenario);
  const Ran ran = weft("import configs/imports/tp-overlap-h100.yaml --with $T/serial.json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("as configs/imports/tp-overlap-h100.yaml asks, TP=8 SP"));
  EXPECT_THAT(ran.err, HasSubstr("asked: te.ring_exchange aggregate=0 use_ce=1 num_sm=16"));
  EXPECT_THAT(ran.err, HasSubstr("faster than weft's picks"));  // which may be serial only
}

}  // namespace
}  // namespace weft::tool
