// SPDX-License-Identifier: Apache-2.0
// What a user reads for each way to get a machine, model, profile or lock wrong: the exact text.
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
#include "tests/models/planner/bad_input.hpp"
#include "topologies/read_machine.hpp"

namespace weft::model {
namespace {

using namespace bad_input;
using testing::HasSubstr;
namespace fs = std::filesystem;

void expect_changes(const std::string& file,
                    const std::vector<std::pair<Changes, std::string>>& table,
                    const std::function<void(const Document&)>& read,
                    const config::ParseOptions& options = {}) {
  const std::string name = (fs::path(file).parent_path() / "t.json").string();
  for (const auto& [changes, messages] : table) {
    SCOPED_TRACE(changes.front().second);
    EXPECT_EQ(what([&] { read(Document::parse(changed(file, changes), name, options)); }),
              messages);
  }
}

TEST(BadMachine, SaysWhatIsWrong) {
  const std::string at = "configs/machines/t.json:";
  expect_changes(
      "configs/machines/h200x8.json",
      {
          {{{"\"h200-sxm\",", "\"h200-sxm\""}},
           at + "5:3: unexpected string, expected '}' (is a comma missing before this?)"},
          {{{"\"450 GB/s\"", "450"},
            {"\"300 ns\"", "\"300 GB\""},
            {"\"reduces\": true", "\"reduce\": true"}},
           at +
               "21:59: /node/switches/0/reduce: unknown key \"reduce\" (did you mean "
               "\"reduces\"?)\n" +
               at +
               "27:11: /node/links/0/bandwidth_per_direction/value: 450 has no unit (write it as "
               "in \"450 GB/s\")\n" +
               at +
               "34:11: /node/links/0/latency/value: \"GB\" is a unit of a size, not of a duration "
               "(units of a "
               "duration: ps, ns, us, ms, s)"},
          {{{"\"450 GB/s\"", "\"0 GB/s\""}, {"\"1024 GiB\"", "\"0 GiB\""}},
           at + "12:11: /node/hosts/0/size/value: \"0 GiB\" is out of range (more than 0 B)\n" +
               at +
               "27:11: /node/links/0/bandwidth_per_direction/value: \"0 GB/s\" is out of range "
               "(more than 0 B/s)"},
          {{{"\"450 GB/s\"", "\"-450 GB/s\""}},
           at + "27:11: /node/links/0/bandwidth_per_direction/value: \"-450 GB/s\" is negative (a "
                "bandwidth is zero "
                "or more)"},
          {{{"\"name\": \"8x", "\"name\": \"y\", \"name\": \"8x"}},
           at + "3:16: /name: duplicate key \"name\" (first at line 3, column 3)"},
          {{{"devices/h200-sxm", "devices/h2000"}},
           at + "5:3: /device: no file \"devices/h2000.json\" (looked for "
                "configs/machines/devices/h2000.json)"},
          {{{"\"to\": \"nvswitch\"", "\"to\": \"nvswich\""}},
           at + "23:7: /node/links/0: the machine has no part \"nvswich\" (did you mean "
                "\"nvswitch\"?)"},
          {{{"\"kind\": \"assumed\"", "\"kind\": \"guess\""}},
           at + "13:22: /node/hosts/0/size/source/kind: unknown name \"guess\" (one of datasheet, "
                "measured, fitted, "
                "published, assumed)"},
      },
      [](const Document& document) { static_cast<void>(topology::read_machine(document)); });
}

TEST(BadProfile, SaysWhatIsWrong) {
  const std::string at = "configs/profiles/t.json:";
  expect_changes(
      "configs/profiles/h200-sxm.json",
      {{{{"{", ""}}, at + "2:11: unexpected ':', expected end of input"},
       {{{"\"value\": \"989.4 TFLOP/s\"", "\"value\": \"989.4 TB/s\""}},
        at + "25:11: /gpu/matrix/0/peak/value: \"TB/s\" is a unit of a bandwidth, not of a rate of "
             "work "
             "(units of a rate of work: FLOP/s, KFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s, "
             "EFLOP/s)"},
       {{{"\"value\": 132", "\"value\": 0"}},
        at + "8:7: /gpu/sms/value: 0 is out of range (1 to 9223372036854775807)"}},
      [](const Document& document) { static_cast<void>(read_profile(document)); });
}

TEST(BadModel, SaysWhatIsWrong) {
  const std::string at = "configs/models/t.json:";
  expect_changes(
      "configs/models/llama3-8b.json",
      {{{{"\"llama\"", "\"lama\""}},
        at + "15:3: /model_type: model_type \"lama\" is not supported yet (supported: gemma2, "
             "gpt2, llama, "
             "mistral, phi3, qwen2, qwen3, qwen3_vl_text)"},
       {{{"\"num_attention_heads\": 32", "\"num_attention_heads\": 30"}},
        at +
            "10:3: /hidden_size: 4096 features do not divide by 30 heads, and there is no "
            "head_dim\n" +
            at + "18:3: /num_key_value_heads: 30 query heads do not divide by 8 key/value heads"},
       {{{"\"hidden_size\": 4096", "\"hidden_size\": 0"},
         {"\"num_hidden_layers\": 32", "\"num_hidden_layers\": -1"}},
        at + "10:3: /hidden_size: 0 is out of range (1 to 16777216)\n" + at +
            "17:3: /num_hidden_layers: -1 is out of range (1 to 16384)"},
       {{{"\"vocab_size\"", "\"vocab\""}},
        at + "1:1: missing key \"vocab_size\": tokens of the vocabulary"},
       {{{"\"hidden_size\": 4096,", "\"hidden_size\": 4096"}},
        at + "11:3: unexpected string, expected '}' (is a comma missing before this?)"}},
      [](const Document& document) { static_cast<void>(read_hf_config(document)); },
      {.dialect = config::Dialect::tolerant});
}

TEST(BadLock, SaysWhatIsWrong) {
  const auto lock = [](const std::string& picks, const std::string& rest) {
    return "{\"schema\": \"weft.lock/1\", \"scenario\": \"pipeline-4x1ms-5ms.json\", \"picks\": "
           "[\n" +
           picks + "],\n" + rest + "}";
  };
  const std::string pick =
      R"({"boundary": "b", "schedule": "serial", "knobs": {}, "overlapped": "5 us", "exposed_ps": 3})";
  const std::string rest = R"("step": "5 us", "exposed_ps": 3)";
  const std::string at = "configs/scenarios/t.lock:";
  expect(
      {
          {"good", lock(pick, rest), "no error"},
          {"syntax", lock(pick + " 1", rest),
           at + "2:93: /picks/1: unexpected number, expected ']'"},
          {"unit and sign", lock(pick, "\"step\": \"-5 us\", \"exposed_ps\": \"3\""),
           at + "3:1: /step: \"-5 us\" is negative (a duration is zero or more)\n" + at +
               "3:18: /exposed_ps: expected an integer, not a string"},
          {"unknown key", lock(pick, "\"steps\": \"5 us\", \"exposed_ps\": 3"),
           at + "1:1: missing key \"step\" (one pass, when it was locked)\n" + at +
               "3:1: /steps: unknown key \"steps\" (did you mean \"step\"?)"},
          {"knobs",
           lock(
               R"({"boundary": "b", "schedule": "serial", "overlapped": "5 us", "exposed_ps": 3, "knobs":
{"chunks": 1.5}})",
               rest),
           at + "3:2: /picks/0/knobs/chunks: knob \"chunks\" must be a count or a name"},
          {"knobs that are no object",
           lock(R"({"boundary": "b", "schedule": "serial", "overlapped": "5 us", "exposed_ps": 3,
"knobs": 7})",
                rest),
           at + "3:1: /picks/0/knobs: expected an object ({\"chunks\": 8})"},
          {"schema", R"({"schema": "weft.lock/2"})",
           at + "1:2: /schema: unknown schema \"weft.lock/2\" (this must be \"weft.lock/1\", the "
                "picks of a plan)"},
          {"scenario that is not there",
           R"({"schema": "weft.lock/1", "scenario": "gone.json", "picks": [], "step": "5 us", "exposed_ps": 3})",
           at + "1:27: /scenario: no file \"gone.json\" (looked for configs/scenarios/gone.json)"},
      },
      [](const std::string& text) {
        return what([&] {
          static_cast<void>(read_lock(Document::parse(text, "configs/scenarios/t.lock"), {}));
        });
      });
}

// Every reader of files, by the kind of file that it takes.
struct Reader {
  std::string kind;
  std::function<void(const fs::path&)> read;
};

std::vector<Reader> readers() {
  return {
      {"scenario", [](const fs::path& file) { static_cast<void>(read_scenario(file)); }},
      {"machine", [](const fs::path& file) { static_cast<void>(topology::read_machine(file)); }},
      {"model", [](const fs::path& file) { static_cast<void>(read_hf_config(file)); }},
      {"profile", [](const fs::path& file) { static_cast<void>(load_profile(file)); }},
      {"lock", [](const fs::path& file) { static_cast<void>(read_lock(file, {})); }}};
}

TEST(BadFile, ThatIsNotThere) {
  for (const Reader& reader : readers()) {
    SCOPED_TRACE(reader.kind);
    EXPECT_EQ(what([&] { reader.read("nowhere/x.json"); }),
              "nowhere/x.json: cannot open the file: No such file or directory");
  }
}

// Every key of it would be unknown: one sentence says more.
TEST(BadFile, OfAModelWhereAScenarioIsWanted) {
  EXPECT_EQ(what([] { static_cast<void>(read_scenario("configs/models/llama3.2-1b.json", {})); }),
            "configs/models/llama3.2-1b.json:1:1: this is a model's config.json, no scenario (a "
            "scenario names it "
            "under /model/model, as configs/scenarios/llama3-70b-tp8-h200.json does)");
}

// A hundred megabytes of brackets are refused at the 129th, without a deep stack, and without reading them all.
TEST(BadFile, OfAHundredMegabytesOfNesting) {
  const fs::path file = fs::path(testing::TempDir()) / "weft_nesting.json";
  {
    const std::string block(1'000'000, '[');
    std::ofstream out(file, std::ios::binary);
    for (int i = 0; i < 100; ++i) out << block;
  }
  ASSERT_EQ(fs::file_size(file), 100'000'000U);
  for (const Reader& reader : readers()) {
    SCOPED_TRACE(reader.kind);
    EXPECT_EQ(what([&] { reader.read(file); }),
              file.string() + ":1:129: nested deeper than 128 levels");
  }
  fs::remove(file);
}

}  // namespace
}  // namespace weft::model
