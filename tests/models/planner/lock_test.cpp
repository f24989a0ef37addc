// SPDX-License-Identifier: Apache-2.0
// A lock holds until something that it depends on changes, and then says what.
#include "models/planner/lock.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/json_writer.hpp"
#include "models/planner/read_scenario.hpp"

namespace weft::model {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::ThrowsMessage;

class Locked : public testing::Test {
 protected:
  Locked() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("weft_lock_") + test->name());
    fs::create_directories(folder_);
    // Some dozens of points.
    options_.search.threads = 1;
    options_.search.fixed.set("chunks", std::int64_t{4});
    options_.search.fixed.set("ctas", std::int64_t{16});
    options_.search.fixed.set("pace", "free");
    options_.search.fixed.set("margin", std::int64_t{16});
  }
  ~Locked() override { fs::remove_all(folder_); }

  void write(const fs::path& file, const std::string& text) const {
    std::ofstream(folder_ / file) << text;
  }
  void write_scenario(const std::string& boundary, const std::string& overrides = "") const {
    write(
        "scenario.json",
        R"({"schema": "weft.scenario/1", "name": "x", "boundary": {"operator": "ag_gemm", "M": 8192,
              "N": 8192, "K": 8192, "ranks": 4, "machine": "machines/h200x8.json")" +
            boundary + "}" + overrides + "}");
  }
  Plan plan() const {
    return make_plan(read_scenario(folder_ / "scenario.json", search_), search_, options_);
  }
  Lock lock() const { return lock_of(plan(), folder_ / "plan.lock.json"); }
  // As `weft plan --lock` and `weft check` do: through a file.
  Lock through_file(const Lock& lock) const {
    write("plan.lock.json", config::to_json(to_value(lock)));
    return read_lock(folder_ / "plan.lock.json", search_);
  }
  CheckResult checked(const Lock& lock) const {
    return check(through_file(lock), search_, options_);
  }

  fs::path folder_;
  config::SearchPath search_{.configs = {"configs"}, .installed = {}};
  PlanOptions options_;
};

TEST_F(Locked, ReadsBackAsItWasWritten) {
  write_scenario("");
  const Lock written = lock();
  EXPECT_EQ(written.scenario, "scenario.json");
  ASSERT_THAT(written.picks, SizeIs(1));
  Lock again = through_file(written);
  EXPECT_TRUE(fs::equivalent(again.scenario, folder_ / "scenario.json"));
  again.scenario = written.scenario;
  EXPECT_EQ(again, written);
}

TEST_F(Locked, HoldsWhereNothingChanged) {
  write_scenario("");
  const CheckResult result = checked(lock());
  EXPECT_FALSE(result.failed());
  ASSERT_THAT(result.picks, SizeIs(1));
  EXPECT_THAT(result.picks[0].sentence, HasSubstr(" holds: exposed "));
}

// A knob that the lock does not name is at its default, as it was before there was such a knob.
TEST_F(Locked, HoldsWithoutKnobsAtTheirDefaults) {
  write_scenario(R"(, "schedule": "chunked")");
  Lock lock = this->lock();
  lock.picks[0].knobs = Knobs();
  EXPECT_FALSE(checked(lock).failed());
}

// What was pinned beside the scenario is pinned again.
TEST_F(Locked, HoldsWithItsPins) {
  write_scenario("");
  Pins pins;
  pins.schedule = "chunked";
  pins.knobs = {"chunks=2", "transport=sm"};
  pins.fidelity = "alpha_beta";
  Scenario scenario = read_scenario(folder_ / "scenario.json", search_);
  apply(pins, scenario);
  const Lock written =
      lock_of(make_plan(scenario, search_, options_), folder_ / "plan.lock.json", pins);
  EXPECT_EQ(through_file(written).pins, pins);
  const CheckResult result = checked(written);
  EXPECT_FALSE(result.failed());
  EXPECT_THAT(result.since, Not(HasSubstr("changed since the lock")));
  pins.knobs.push_back("chunks=4");
  EXPECT_THROW(apply(pins, scenario), PinError);
  scenario.what = ModelScenario{};
  EXPECT_THAT([&] { apply(pins, scenario); },
              ThrowsMessage<PinError>(
                  HasSubstr("one boundary's schedule does, and this is a whole model")));
}

TEST_F(Locked, FlipsWhereThePickIsAnother) {
  write_scenario("");
  Lock lock = this->lock();
  ASSERT_NE(lock.picks[0].schedule, "serial");
  lock.picks[0].schedule = "serial";
  lock.picks[0].knobs = Knobs();
  const CheckResult result = checked(lock);
  EXPECT_TRUE(result.failed());
  EXPECT_TRUE(result.picks[0].flipped);
  EXPECT_THAT(result.picks[0].sentence, HasSubstr("the locked serial would now take "));
  EXPECT_THAT(result.picks[0].sentence, HasSubstr(" more"));
}

TEST_F(Locked, FlipsWhereTheLockedPickIsGoneOrIllegal) {
  write_scenario("");
  Lock lock = this->lock();
  lock.picks[0].schedule = "abandoned";
  EXPECT_THAT(checked(lock).picks[0].sentence, HasSubstr("is no longer in the catalogue"));
  lock.picks[0].schedule = "chunked";
  lock.picks[0].knobs.set("chunks", std::int64_t{5});
  EXPECT_THAT(checked(lock).picks[0].sentence, HasSubstr("is no longer legal"));
  lock.picks[0].boundary = "another";
  EXPECT_THAT(checked(lock).picks[0].sentence, HasSubstr("no longer has this boundary"));
}

constexpr const char* pinned =
    R"(, "schedule": "chunked", "knobs": {"chunks": 4, "transport": "copy_engine"})";

// A link at a tenth of its speed: the pick is pinned, so what grows is the exposed time.
TEST_F(Locked, RegressesWhereAnOverrideSlowsALink) {
  write_scenario(pinned);
  const Lock lock = this->lock();
  EXPECT_FALSE(checked(lock).failed());
  write_scenario(pinned,
                 R"(, "overrides": [{"link": "node0.gpu0->node0.nvswitch", "speed": 0.1}])");
  const CheckResult result = checked(lock);
  EXPECT_TRUE(result.failed());
  EXPECT_FALSE(result.picks[0].flipped);
  EXPECT_TRUE(result.picks[0].regressed);
  EXPECT_THAT(result.picks[0].sentence, HasSubstr("exposed time grew from "));
}

TEST_F(Locked, FlipsWhereTheScenarioAsksForOtherKnobs) {
  write_scenario(pinned);
  const Lock lock = this->lock();
  write_scenario(R"(, "schedule": "chunked", "knobs": {"chunks": 8, "transport": "copy_engine"})");
  const CheckResult result = checked(lock);
  EXPECT_TRUE(result.picks[0].flipped);
  EXPECT_THAT(result.picks[0].sentence, HasSubstr("the pick is now chunked chunks=8"));
}

// Growth within the profile's error band is no regression: the model cannot tell it from none.
TEST_F(Locked, HoldsWithinTheErrorBand) {
  write_scenario(pinned);
  Lock lock = this->lock();
  const double band = plan().layouts.front().boundaries.front().band.fraction();
  ASSERT_GT(band, 0);
  const auto part = [&](double share) {
    return Duration::from_ps(static_cast<std::int64_t>(
        share * band * static_cast<double>(lock.picks[0].overlapped.ps())));
  };
  const Duration exposed = lock.picks[0].exposed;
  lock.picks[0].exposed = exposed - part(0.9);
  EXPECT_FALSE(checked(lock).failed());
  lock.picks[0].exposed = exposed - part(1.1);
  EXPECT_TRUE(checked(lock).picks[0].regressed);
}

// The shipped machine with pieces of its text replaced, beside the scenario.
class LockedToAMachine : public Locked {
 protected:
  LockedToAMachine() { search_.configs = {"configs", "configs/machines"}; }
  void write_machine(const std::vector<std::pair<std::string, std::string>>& changes) const {
    std::ifstream in("configs/machines/h200x8.json");
    std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const auto& [from, to] : changes) {
      ASSERT_NE(text.find(from), std::string::npos) << from;
      text.replace(text.find(from), from.size(), to);
    }
    write("machine.json", text);
  }
};

// Links at a sixth of their rate, NVLink still: what was overlapped is cut and moved another way, and the check names the part that
// changed, the pick that is now best and what the old one would cost.
TEST_F(LockedToAMachine, ScheduleFlipsWhereTheMachineGotSlowerLinks) {
  write_machine({});
  write("scenario.json",
        R"({"schema": "weft.scenario/1", "name": "x", "boundary": {"operator": "gemm_rs", "M": 8192,
              "N": 8192, "K": 8192, "ranks": 4, "machine": "machine.json"}})");
  options_.search.fixed = {};
  options_.search.fixed.set("pace", "free");
  options_.search.fixed.set("order", "sliced");
  options_.search.fixed.set("ctas", std::int64_t{24});
  const Lock lock = this->lock();
  EXPECT_EQ(checked(lock).since,
            "scenario and files are those of the lock: what changed is weft itself");
  write_machine({{"\"450 GB/s\"", "\"70 GB/s\""}});
  const CheckResult result = checked(lock);
  EXPECT_TRUE(result.failed());
  EXPECT_FALSE(result.layout_flipped);
  ASSERT_THAT(result.picks, SizeIs(1));
  EXPECT_TRUE(result.picks[0].flipped);
  EXPECT_EQ(result.since, "changed since the lock: machine");
  EXPECT_THAT(result.picks[0].sentence, HasSubstr("the pick is now "));
  EXPECT_THAT(result.picks[0].sentence, HasSubstr("; the locked " + lock.picks[0].schedule));
  EXPECT_THAT(result.picks[0].sentence, HasSubstr(" more than that ("));
  EXPECT_THAT(result.picks[0].sentence, HasSubstr(" when it was locked)"));
}

// Two ranks halve the work of one as long as their links are fast.
TEST_F(LockedToAMachine, LayoutFlipsWhereTheMachineGotSlowerLinks) {
  write_machine({});
  write("scenario.json",
        R"({"schema": "weft.scenario/1", "name": "x", "model": {"model": "models/llama3.2-1b.json",
              "machine": "machine.json", "ranks": 2, "phase": "prefill", "tokens": 2048,
              "schedules": ["serial"]}})");
  const Lock lock = this->lock();
  EXPECT_THAT(lock.layout, testing::StartsWith("tp=2"));
  EXPECT_FALSE(checked(lock).failed());
  write_machine({{"\"450 GB/s\"", "\"2 GB/s\""}});
  const CheckResult result = checked(lock);
  EXPECT_TRUE(result.failed());
  EXPECT_TRUE(result.layout_flipped);
  EXPECT_EQ(result.since, "changed since the lock: machine");
  EXPECT_THAT(result.layout_sentence, testing::StartsWith("the pick is now tp=1 with "));
  EXPECT_THAT(result.layout_sentence, HasSubstr("; the locked " + lock.layout + " takes "));
  EXPECT_THAT(result.layout_sentence, HasSubstr(" more ("));
}

// ---- what a run ran on ---------------------------------------------------------------------------------------

// Where files lie, white space and defaults that are written out do not count; a number does.
TEST_F(LockedToAMachine, HashIsOfWhatIsRunNotOfHowItIsWritten) {
  const auto hash = [&](const std::string& members) {
    write("scenario.json",
          R"({"schema": "weft.scenario/1", "name": "x", "boundary": {"operator": "gemm_rs",
        "M": 8192, "N": 8192, "K": 8192, "ranks": 4, "machine": "machine.json")" +
              members);
    return effective_config(read_scenario(folder_ / "scenario.json", search_), search_).hash();
  };
  write_machine({});
  const std::string first = hash("}}");
  EXPECT_THAT(first, SizeIs(16));
  EXPECT_EQ(hash("}}"), first);
  EXPECT_EQ(hash(R"(,   "dtype": "bf16", "placement": "packed"}})"), first);
  EXPECT_NE(hash(R"(, "dtype": "fp16"}})"), first);
  EXPECT_NE(hash(R"(}, "overrides": [{"rank": 1, "speed": 0.5}]})"), first);
  EXPECT_NE(hash(R"(}, "fidelity": "ideal"})"), first);
  write_machine({{"\"450 GB/s\"", "\"449 GB/s\""}});
  EXPECT_NE(hash("}}"), first);
  write_machine({{"  \"name\"", "\n\n\t\"name\""}});
  EXPECT_EQ(hash("}}"), first);
}

// The scenario that a run prints is one that reads back, and means the same.
TEST(EffectiveConfig, ShippedScenariosReadBackAsTheyWerePrinted) {
  for (const auto& entry : fs::directory_iterator("configs/scenarios")) {
    SCOPED_TRACE(entry.path());
    const Scenario scenario = read_scenario(entry.path());
    const config::SearchPath search{
        .configs = {"configs/machines", "configs/models", "configs/profiles"}, .installed = {}};
    const config::Value printed = to_value(scenario);
    const Scenario again =
        read_scenario(config::Document::parse(config::to_json(printed), "printed.json"), search);
    EXPECT_EQ(to_value(again), printed);
  }
}

}  // namespace
}  // namespace weft::model
