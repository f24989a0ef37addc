// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes, with shells in their place: what is carried to and fro, and who is blamed.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/measure/mps.hpp"
#include "kernels/measure/nccl_processes.hpp"

namespace weft::kernels {
namespace {

using calibration::Case;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

constexpr milliseconds kLong{20'000};
constexpr milliseconds kShort{100};

/// Two ranks, each a shell that runs `script` for every line that it is told.
RankCommand shells(const std::string& script) {
  return {.arguments = {"sh", "-c", "while read -r line <&3; do " + script + "; done"},
          .environment = {"WEFT_TEST_COLOUR=blue"},
          .ranks = 2};
}

std::string failure_of(RankProcesses& ranks, milliseconds patience = kLong) {
  try {
    static_cast<void>(ranks.ask_all("work", "work", patience));
    return "nobody failed";
  } catch (const RankFailure& failure) {
    return failure.what();
  }
}

TEST(RankProcesses, EachAnswersForItself) {
  RankProcesses ranks(shells("echo \"$WEFT_RANK of $WEFT_RANKS: $line\" >&3; echo done >&3"));
  EXPECT_THAT(ranks.ask(1, "hello", "greet", kLong), ElementsAre("1 of 2: hello"));
  EXPECT_THAT(ranks.ask_all("again", "greet", kLong),
              ElementsAre(ElementsAre("0 of 2: again"), ElementsAre("1 of 2: again")));
}

TEST(RankProcesses, EachHasAHostOfItsOwnAndTheSettingsOfAll) {
  RankProcesses ranks(shells("echo \"$NCCL_HOSTID $WEFT_TEST_COLOUR\" >&3; echo done >&3"));
  EXPECT_THAT(ranks.ask_all("say", "say", kLong),
              ElementsAre(ElementsAre("weft-rank-0 blue"), ElementsAre("weft-rank-1 blue")));
}

TEST(RankProcesses, OneThatFailsIsNamedWithItsReasonWhileTheOtherWaits) {
  RankProcesses ranks(shells(
      "if [ $WEFT_RANK = 1 ]; then echo 'failed no such GPU' >&3; else read -r never <&3; fi"));
  EXPECT_THAT(failure_of(ranks), MatchesRegex("rank 1 of 2 \\(process [0-9]+\\): no such GPU"));
}

TEST(RankProcesses, OneThatEndsIsNamedWithItsStatus) {
  RankProcesses ranks(shells("if [ $WEFT_RANK = 0 ]; then exit 3; else read -r never <&3; fi"));
  EXPECT_THAT(failure_of(ranks),
              MatchesRegex("rank 0 of 2 \\(process [0-9]+\\) ended with status 3 where it was to "
                           "work"));
}

TEST(RankProcesses, OneThatIsKilledIsNamedWithTheSignal) {
  RankProcesses ranks(shells("if [ $WEFT_RANK = 1 ]; then kill -9 $$; else read -r never <&3; fi"));
  EXPECT_THAT(failure_of(ranks), HasSubstr("was ended by signal 9"));
}

TEST(RankProcesses, OneThatIsSilentIsNamedWhenPatienceEnds) {
  RankProcesses ranks(shells("if [ $WEFT_RANK = 0 ]; then echo done >&3; fi"));
  EXPECT_THAT(failure_of(ranks, kShort),
              MatchesRegex("rank 1 of 2 \\(process [0-9]+\\) did not work within 0.1 s"));
}

TEST(RankProcesses, NobodyOutlivesTheGroup) {
  std::vector<pid_t> processes;
  {
    RankProcesses ranks(shells("echo $$ >&3; echo done >&3"));
    for (const auto& answer : ranks.ask_all("who", "say who it is", kLong))
      processes.push_back(std::stoi(answer.at(0)));
  }
  for (const pid_t process : processes) EXPECT_EQ(kill(process, 0), -1) << process;
}

TEST(RankProcesses, AProgramThatIsNotThereIsNamed) {
  try {
    const RankProcesses ranks({.arguments = {"no-such-program-of-ours"}, .environment = {}});
    FAIL() << "it was started";
  } catch (const std::system_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no-such-program-of-ours"));
  }
}

Job job_of(std::vector<Case> cases) {
  Job job;
  job.kind = "collectives";
  job.cases = std::move(cases);
  return job;
}

Case gather(int ranks) {
  Case what;
  what.suite = "nccl-processes";
  what.operation = "all_gather";
  what.figure = "time";
  what.library = "nccl";
  what.backend = kNcclProcesses;
  what.transport = "library";
  what.ranks = ranks;
  what.bytes = 4096;
  return what;
}

/// A rank that joins, and measures a microsecond of whatever it is told; `before` goes first each time.
std::vector<std::string> fake_rank(const std::string& before = ":") {
  return {"sh", "-c",
          "while read -r line <&3; do " + before +
              R"(; case "$line" in
  id) [ $WEFT_RANK = 0 ] && echo 00ff >&3;;
  join*) [ "$line" = "join 00ff" ] || echo "failed another id: $line" >&3;;
  *) if [ $WEFT_RANK = 0 ]; then
       echo "$line" | sed 's/^[^{]*//; s/"times_ps":\[0\]/"times_ps":[1000000],"check":0.5/' >&3
     fi;;
esac; echo done >&3; done)"};
}

TEST(NcclProcesses, TasksSurviveTheLineTheyTravelOn) {
  RankTask task{"interference", gather(2), 3, 20, 123'456, 45'000};
  task.what.background = calibration::Background{"nccl", "both", "gemm_first", 0, 0, 0};
  const RankTask read = RankTask::parse(task.line());
  EXPECT_EQ(read.kind, task.kind);
  EXPECT_EQ(read.what, task.what);
  EXPECT_EQ(std::tuple(read.warm_up, read.repetitions, read.expected_ns, read.patience_ms),
            std::tuple(3, 20, 123'456, 45'000));
  EXPECT_THROW(RankTask::parse("walk collectives 1 2 3 4 {}"), std::invalid_argument);
}

TEST(NcclProcesses, EveryCaseIsMeasuredByAGroupOfItsSize) {
  NcclProcesses group(fake_rank(), false, {kLong, kLong});
  const JobResult result = group.run(job_of({gather(2), gather(4), gather(2)}));
  EXPECT_THAT(result.refusals, IsEmpty());
  ASSERT_EQ(result.samples.size(), 3u);
  EXPECT_EQ(result.samples[1].what, gather(4));
  EXPECT_EQ(result.samples[1].times.at(0), Duration::from_ps(1'000'000));
  const Verdicts proof = group.prove(2);
  EXPECT_EQ(proof.right, 8);
  EXPECT_EQ(proof.worst, 0.5);
}

TEST(NcclProcesses, ACaseWhoseRankFailsIsRefusedAndTheNextOneIsMeasured) {
  const std::filesystem::path once = std::filesystem::path(testing::TempDir()) / "ranks-once";
  std::filesystem::remove(once);
  NcclProcesses group(fake_rank("case \"$line\" in run*) if [ $WEFT_RANK = 1 ] && [ ! -e '" +
                                once.string() + "' ]; then touch '" + once.string() +
                                "'; echo 'failed a poisoned element' >&3; fi;; "
                                "esac"),
                      false, {kLong, kLong});
  const JobResult result = group.run(job_of({gather(2), gather(2)}));
  ASSERT_EQ(result.refusals.size(), 1u);
  EXPECT_THAT(result.refusals[0], HasSubstr("rank 1 of 2"));
  EXPECT_THAT(result.refusals[0], HasSubstr("a poisoned element"));
  EXPECT_EQ(result.samples.size(), 1u);
}

TEST(NcclProcesses, AGroupThatDoesNotComeToBeIsTriedOnce) {
  NcclProcesses group({"sh", "-c", "[ $WEFT_RANK = 0 ] && exit 7; read -r never <&3"}, false,
                      {kLong, kLong});
  const JobResult result = group.run(job_of({gather(2), gather(2)}));
  ASSERT_EQ(result.refusals.size(), 2u);
  EXPECT_EQ(result.refusals[0], result.refusals[1]);
  EXPECT_THAT(result.refusals[0], HasSubstr("rank 0 of 2"));
  EXPECT_EQ(group.prove(2).wrong.size(), 8u);
}

TEST(NcclProcesses, TheServiceIsStartedAskedAndEnded) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "weft-mps-test";
  const std::filesystem::path control = folder.string() + "-control";
  const std::filesystem::path seen = folder.string() + "-seen";
  std::filesystem::remove(seen);
  std::ofstream(control)
      << "#!/bin/sh\nif [ \"$1\" = -d ]; then echo start $CUDA_MPS_PIPE_DIRECTORY; "
         "else cat; fi >> '"
      << seen.string() << "'\n";
  std::filesystem::permissions(control, std::filesystem::perms::owner_all);
  {
    const MpsService service(folder, control);
    EXPECT_THAT(service.environment(),
                testing::Contains("CUDA_MPS_PIPE_DIRECTORY=" + folder.string()));
  }
  std::ostringstream text;
  text << std::ifstream(seen).rdbuf();
  EXPECT_EQ(text.str(), "start " + folder.string() + "\nget_server_list\nquit\n");
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_THROW(MpsService(folder, "no-such-control-program"), std::runtime_error);
}

}  // namespace
}  // namespace weft::kernels
