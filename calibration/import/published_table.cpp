// SPDX-License-Identifier: Apache-2.0
#include "calibration/import/published_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"

namespace weft::calibration {

namespace {

using config::ConfigError;

constexpr Bytes kMaxSize = Bytes::from(std::int64_t{64} << 20);

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t from = 0;;) {
    const std::size_t comma = line.find(',', from);
    cells.push_back(line.substr(from, comma - from));
    if (comma == std::string_view::npos) return cells;
    from = comma + 1;
  }
}

/// Reads a table line by line, hands out cells by column name and collects what is wrong.
class Table {
 public:
  explicit Table(const std::filesystem::path& file)
      : file_(file.string()), text_(config::read_text(file, kMaxSize)) {}

  /// Calls `row` for each line of cells, after checking that the columns are exactly these.
  void read(std::initializer_list<std::string_view> columns, const std::function<void()>& row) {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      std::string_view line = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      ++line_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || line.starts_with('#')) continue;
      if (header_.empty()) {
        header_ = split(line);
        if (!check_header(columns)) break;
        continue;
      }
      cells_ = split(line);
      if (cells_.size() != header_.size()) {
        error(fmt::format("{} cells under {} columns", cells_.size(), header_.size()), {});
        continue;
      }
      row();
    }
    if (header_.empty()) error("a table without a line of column names", {});
    if (!errors_.empty()) throw config::ConfigErrors(std::move(errors_));
  }

  std::string_view cell(std::string_view column) const {
    const auto at = std::find(header_.begin(), header_.end(), column) - header_.begin();
    return cells_[static_cast<std::size_t>(at)];
  }

  std::int64_t whole(std::string_view column) {
    const std::string_view text = cell(column);
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc{} && end == text.data() + text.size() && value > 0) return value;
    error(fmt::format("\"{}\" is not a positive whole number", text), column);
    return 1;
  }

  Duration microseconds(std::string_view column) {
    const std::string_view text = cell(column);
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc{} && end == text.data() + text.size() && value > 0 && value < 1e12) {
      return Duration::from_ps(std::llround(value * 1e6));
    }
    error(fmt::format("\"{}\" is not a positive number of microseconds", text), column);
    return Duration::from_ps(1);
  }

  template <class T>
  T choice(std::string_view column, std::optional<T> value, std::string_view what) {
    if (!value) error(fmt::format("unknown {} \"{}\"", what, cell(column)), column);
    return value.value_or(T{});
  }

 private:
  bool check_header(std::initializer_list<std::string_view> columns) {
    for (const std::string_view column : columns) {
      if (std::count(header_.begin(), header_.end(), column) != 1) {
        error(fmt::format("column \"{}\" must be there once", column), {});
      }
    }
    for (const std::string_view column : header_) {
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
        error(fmt::format("unknown column \"{}\"", column), {});
      }
    }
    return errors_.empty();
  }

  void error(std::string message, std::string_view column) {
    std::uint32_t place = 0;
    if (!column.empty()) {
      place = static_cast<std::uint32_t>(cell(column).data() - cells_.front().data() + 1);
    }
    errors_.push_back({.file = file_,
                       .line = line_,
                       .column = place,
                       .json_pointer = {},
                       .message = std::move(message),
                       .hint = {}});
  }

  std::string file_, text_;
  std::uint32_t line_ = 0;
  std::vector<std::string_view> header_, cells_;
  std::vector<ConfigError> errors_;
};

}  // namespace

std::vector<CollectiveSample> read_collective_table(const std::filesystem::path& file) {
  std::vector<CollectiveSample> rows;
  Table table(file);
  table.read({"op", "nccl", "dtype", "ranks", "bytes", "us"}, [&] {
    CollectiveSample row;
    row.op = table.choice("op", collective_op_of(table.cell("op")), "collective");
    row.dtype = table.choice("dtype", dtype_of(table.cell("dtype")), "dtype");
    row.ranks = table.whole("ranks");
    row.message = Bytes::from(table.whole("bytes"));
    row.time = table.microseconds("us");
    rows.push_back(row);
  });
  return rows;
}

std::vector<GemmSample> read_gemm_table(const std::filesystem::path& file) {
  std::vector<GemmSample> rows;
  Table table(file);
  table.read({"dtype", "m", "n", "k", "us"}, [&] {
    GemmSample row;
    row.dtype = table.choice("dtype", dtype_of(table.cell("dtype")), "dtype");
    row.m = table.whole("m");
    row.n = table.whole("n");
    row.k = table.whole("k");
    row.time = table.microseconds("us");
    rows.push_back(row);
  });
  return rows;
}

std::vector<AttentionSample> read_attention_table(const std::filesystem::path& file) {
  std::vector<AttentionSample> rows;
  Table table(file);
  table.read({"batch", "seq", "heads", "kv_heads", "head_dim", "us"}, [&] {
    AttentionSample row;
    row.batch = table.whole("batch");
    row.tokens = table.whole("seq");
    row.heads = table.whole("heads");
    row.kv_heads = table.whole("kv_heads");
    row.head_dim = table.whole("head_dim");
    row.time = table.microseconds("us");
    rows.push_back(row);
  });
  return rows;
}

}  // namespace weft::calibration
