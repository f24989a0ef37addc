// SPDX-License-Identifier: Apache-2.0
// How far the shipped profiles are from tables that others measured, on rows that no constant was fitted to.
// The split is committed in calibration/fit/split.hpp; the tables and their licence are in
// calibration/samples/published/.
#include <filesystem>

#include <gtest/gtest.h>

#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/gemm_fit.hpp"
#include "calibration/fit/refit.hpp"
#include "calibration/fit/split.hpp"
#include "models/profile/json.hpp"

namespace weft::calibration {
namespace {

const std::filesystem::path kTables = "calibration/samples/published";
const std::filesystem::path kProfiles = "configs/profiles";

model::Profile shipped(const std::string& name) {
  return model::load_profile(kProfiles / (name + ".json"));
}

struct Bar {
  std::string family;
  double median, p95;
};

/// The bars that collectives are held to: of 2-byte floats, on NVLink.
void expect_within(const std::vector<model::FamilyError>& errors, const std::string& what) {
  const Bar bars[] = {{"collectives 16 KiB to 1 MiB", 0.20, 1.0},
                      {"collectives from 1 MiB", 0.10, 0.25}};
  for (const Bar& bar : bars) {
    const auto found = std::find_if(errors.begin(), errors.end(),
                                    [&](const auto& error) { return error.family == bar.family; });
    ASSERT_NE(found, errors.end()) << bar.family;
    EXPECT_GE(found->rows, 15) << what << ", " << bar.family;
    EXPECT_LE(found->median, bar.median) << what << ", " << bar.family;
    EXPECT_LE(found->p95, bar.p95) << what << ", " << bar.family;
  }
}

TEST(CollectiveAccuracy, HeldOutSizesOfH100) {
  const auto rows = read_collective_table(kTables / "h100_sxm__nccl.csv");
  expect_within(collective_errors(shipped("h100-sxm"), rows, false, "h100_sxm__nccl.csv"), "H100");
}

TEST(CollectiveAccuracy, EveryRowOfH200ByConstantsOfH100) {
  const auto rows = read_collective_table(kTables / "h200_sxm__nccl.csv");
  expect_within(collective_errors(shipped("h200-sxm"), rows, true, "h200_sxm__nccl.csv"), "H200");
  EXPECT_EQ(shipped("h200-sxm").collectives, shipped("h100-sxm").collectives);
}

// The constants that a user gets are what the committed fit makes of the committed rows.
TEST(CollectiveFit, ShippedConstantsComeOutOfTheFit) {
  const auto rows = read_collective_table(kTables / "h100_sxm__nccl.csv");
  const model::Profile profile = shipped("h100-sxm");
  const CollectiveFit fit =
      fit_collectives(profile, rows, {.switch_reduces = true}, "h100_sxm__nccl.csv");
  EXPECT_EQ(fit.collectives, profile.collectives);
}

// Rows outside the split change nothing: the fit cannot have seen them.
TEST(CollectiveFit, ReadsNoHeldOutRow) {
  auto rows = read_collective_table(kTables / "h100_sxm__nccl.csv");
  const model::Profile profile = shipped("h100-sxm");
  const auto with = fit_collectives(profile, rows, {.switch_reduces = true}, "t");
  std::erase_if(rows, [](const auto& row) { return !is_fit_row(row); });
  EXPECT_GT(rows.size(), 60u);
  const auto without = fit_collectives(profile, rows, {.switch_reduces = true}, "t");
  EXPECT_EQ(with.collectives, without.collectives);
}

TEST(GemmAccuracy, HeldOutShapesAreWithinTheErrorThatTheProfileStates) {
  for (const char* gpu : {"h100", "a100", "b200"}) {
    const model::Profile profile = shipped(std::string(gpu) + "-sxm");
    const std::string table = std::string(gpu) + "_sxm__gemm.csv";
    const auto* stated = profile.error_of("library GEMM bf16");
    ASSERT_NE(stated, nullptr) << gpu;
    const auto error = gemm_error(profile, read_gemm_table(kTables / table), table);
    EXPECT_NEAR(error.median, stated->median, 1e-6) << gpu;
    EXPECT_NEAR(error.p95, stated->p95, 1e-6) << gpu;
    // The tables' own scatter from power state alone is up to 10 %.
    EXPECT_LE(error.median, 0.10) << gpu;
    EXPECT_LE(error.p95, 0.35) << gpu;
  }
}

TEST(AttentionAccuracy, HeldOutShapesAreWithinTheErrorThatTheProfileStates) {
  const model::Profile profile = shipped("h200-sxm");
  const std::string table = "h200_sxm__context_attention.csv";
  const auto* stated = profile.error_of("prefill attention bf16");
  ASSERT_NE(stated, nullptr);
  const auto error = attention_error(profile, read_attention_table(kTables / table), table);
  EXPECT_NEAR(error.median, stated->median, 1e-6);
  EXPECT_LE(error.median, 0.20);
}

TEST(Split, IsByPowerOfFourAndByHash) {
  CollectiveSample row;
  for (const auto& [bytes, fit] : {std::pair{1024, true},
                                   {2048, false},
                                   {4096, true},
                                   {4095, false},
                                   {1 << 20, true},
                                   {1 << 21, false},
                                   {1 << 28, true}}) {
    row.message = Bytes::from(bytes);
    EXPECT_EQ(is_fit_row(row), fit) << bytes;
  }
  const auto shapes = read_gemm_table(kTables / "h100_sxm__gemm.csv");
  const auto fitted = std::count_if(shapes.begin(), shapes.end(),
                                    [](const GemmSample& shape) { return is_fit_row(shape); });
  EXPECT_NEAR(static_cast<double>(fitted) / static_cast<double>(shapes.size()), 0.5, 0.03);
}

}  // namespace
}  // namespace weft::calibration
