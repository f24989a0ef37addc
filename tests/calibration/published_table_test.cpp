// SPDX-License-Identifier: Apache-2.0
// Tables are read as they stand, and every bad cell of a file is named at once.
#include "calibration/import/published_table.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "calibration/fit/error_summary.hpp"
#include "calibration/fit/split.hpp"
#include "configs/reader/error.hpp"

namespace weft::calibration {
namespace {

std::filesystem::path written(const std::string& text) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "weft_table.csv";
  std::ofstream(file) << text;
  return file;
}

std::string complaint(const std::string& text) {
  try {
    (void)read_gemm_table(written(text));
  } catch (const config::ConfigErrors& errors) {
    std::string lines;
    for (const auto& error : errors.errors()) {
      lines += std::to_string(error.line) + ":" + std::to_string(error.column) + ": " +
               error.message + "\n";
    }
    return lines;
  }
  return {};
}

TEST(PublishedTable, ReadsRowsInOrder) {
  const auto rows = read_gemm_table(written("# a remark\ndtype,m,n,k,us\nbfloat16,1,2,3,4.5\n"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].dtype, DType::bf16);
  EXPECT_EQ(rows[0].k, 3);
  EXPECT_EQ(rows[0].time, Duration::from_ps(4'500'000));
}

TEST(PublishedTable, NamesEveryBadCell) {
  EXPECT_EQ(complaint("dtype,m,n,k,us\nbf16,1,0,3,4\nbf15,1,2,x,-1\nbf16,1,2\n"),
            "2:8: \"0\" is not a positive whole number\n"
            "3:1: unknown dtype \"bf15\"\n"
            "3:10: \"x\" is not a positive whole number\n"
            "3:12: \"-1\" is not a positive number of microseconds\n"
            "4:0: 3 cells under 5 columns\n");
}

TEST(PublishedTable, ColumnsAreExactlyTheDeclaredOnes) {
  EXPECT_EQ(complaint("dtype,m,n,us,clock\n"),
            "1:0: column \"k\" must be there once\n1:0: unknown column \"clock\"\n");
  EXPECT_EQ(complaint("# nothing\n"), "1:0: a table without a line of column names\n");
}

// The floor that docs/costs.md states: no one set of constants comes below it.
TEST(PublishedTable, TablesOfTheSameLinksDifferAsTheDocumentSays) {
  const std::filesystem::path folder = "calibration/samples/published";
  const auto h100 = read_collective_table(folder / "h100_sxm__nccl.csv");
  const auto h200 = read_collective_table(folder / "h200_sxm__nccl.csv");
  std::vector<Prediction> small, large;
  for (const CollectiveSample& one : h100) {
    for (const CollectiveSample& other : h200) {
      if (!is_fit_row(one) || one.op != other.op || one.ranks != other.ranks ||
          one.message != other.message)
        continue;
      (one.message < Bytes::from(64 << 10) ? small : large).push_back({other.time, one.time});
    }
  }
  const model::FamilyError below = summarise("below 64 KiB", small, {});
  const model::FamilyError above = summarise("from 64 KiB", large, {});
  EXPECT_EQ(above.rows, 39);
  EXPECT_NEAR(above.median, 0.029, 5e-4);
  EXPECT_NEAR(above.p95, 0.236, 5e-4);
  EXPECT_EQ(below.rows, 13);
  EXPECT_NEAR(below.median, 0.027, 5e-4);
  EXPECT_NEAR(below.p95, 0.54, 5e-3);
}

TEST(PublishedTable, MissingFileIsAnErrorOfItsOwn) {
  EXPECT_THROW((void)read_gemm_table("no/such/table.csv"), config::ConfigErrors);
}

}  // namespace
}  // namespace weft::calibration
