// SPDX-License-Identifier: Apache-2.0
// Columns are taken from the header line. A row's cells are split by their vocabulary and not by
// blanks, because wrapped terminals glue them; what follows the last cell is the row's tail, whose
// fields may be empty between tabs.
#include "topologies/import/matrix_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/units/quote.hpp"

namespace weft::topology {
namespace {

using config::TextLine;
using config::whole_number;
using config::words_of;

constexpr std::size_t kMostColumns = 512;
constexpr std::int64_t kMostLinksOfAPair = 36;  // GB200 with both dies: twice 18

constexpr std::pair<std::string_view, Nearness> kWords[] = {
    {"NODE", Nearness::node}, {"PIX", Nearness::pix}, {"PXB", Nearness::pxb},
    {"PHB", Nearness::phb},   {"SYS", Nearness::sys}, {"X", Nearness::self},
};

bool digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_part(std::string_view word) {
  return is_gpu_name(word) || is_nic_name(word);
}

/// The line without what stands before its first part: a prompt, a log's prefix.
std::string_view from_first_part(std::string_view line) {
  for (const std::string_view word : words_of(line)) {
    if (is_part(word)) return line.substr(static_cast<std::size_t>(word.data() - line.data()));
    if (word == "X" || cells_of(word)) return line;
  }
  return {};
}

/// The columns of a header line: two parts or more before anything else, or one before "CPU Affinity".
std::vector<std::string> header_of(std::string_view line) {
  std::vector<std::string> columns;
  const auto words = words_of(from_first_part(line));
  std::size_t i = 0;
  while (i < words.size() && is_part(words[i])) columns.emplace_back(words[i++]);
  const bool tail = i == words.size() || words[i] == "CPU" || words[i] == "NUMA";
  const bool header = tail && (columns.size() >= 2 || (columns.size() == 1 && i < words.size()));
  if (!header || columns.size() > kMostColumns) return {};
  return columns;
}

std::size_t tail_columns(std::string_view header) {
  std::size_t count = header.find("CPU Affinity") != std::string_view::npos ? 1 : 0;
  const std::size_t numa = header.find("NUMA Affinity");
  if (numa != std::string_view::npos) ++count;
  if (header.find("GPU NUMA ID") != std::string_view::npos) ++count;
  return count;
}

/// The fields after the last cell: without the empty ones where that gives the header's number,
/// else by position.
std::vector<std::string_view> tail_fields(std::string_view tail, std::size_t wanted) {
  const std::vector<std::string_view> words = words_of(tail);
  if (words.size() == wanted || tail.find('\t') == std::string_view::npos) return words;
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= tail.size();) {
    const std::size_t end = std::min(tail.find('\t', begin), tail.size());
    fields.push_back(config::trimmed(tail.substr(begin, end - begin)));
    begin = end + 1;
  }
  if (!fields.empty() && fields.front().empty()) fields.erase(fields.begin());
  return fields;
}

class MatrixReader {
 public:
  MatrixReader(MatrixText& matrix, config::Findings& findings)
      : matrix_(matrix), findings_(findings) {}

  void read(const TextLine& line) {
    const std::string_view text = line.text;
    if (const auto columns = header_of(text); !columns.empty()) {
      header(line, columns);
    } else if (read_legend(text)) {
      return;
    } else if (!matrix_.columns.empty()) {
      row(line, from_first_part(text));
    }
  }

 private:
  void header(const TextLine& line, const std::vector<std::string>& columns) {
    if (matrix_.header_line != 0) {
      if (columns != matrix_.columns) {
        findings_.error(line.number, "a second matrix with other columns",
                        "one file a node; import each by itself");
      }
      return;
    }
    matrix_.columns = columns;
    matrix_.header_line = line.number;
    tail_columns_ = tail_columns(line.text);
    has_cpu_ = line.text.find("CPU Affinity") != std::string::npos;
    has_numa_ = line.text.find("NUMA Affinity") != std::string::npos;
  }

  bool read_legend(std::string_view text) {
    const auto words = words_of(text);
    if (words.size() != 2 || !words[0].ends_with(':')) return false;
    const std::string_view name = words[0].substr(0, words[0].size() - 1);
    if (!is_nic_name(name) || matrix_.columns.empty()) return false;
    matrix_.legend.emplace(name, words[1]);
    return true;
  }

  void row(const TextLine& line, std::string_view text) {
    const auto words = words_of(text);
    if (words.size() < 2 || !is_part(words[0]) || is_part(words[1])) return;
    const std::string name(words[0]);
    if (std::find(matrix_.columns.begin(), matrix_.columns.end(), name) == matrix_.columns.end()) {
      findings_.note(line.number, fmt::format("row {} has no column and is ignored", name));
      return;
    }
    MatrixRow row{line.number, {}, {}};
    const char* end = words[0].data() + words[0].size();
    std::size_t i = 1;
    for (; i < words.size() && row.cells.size() < matrix_.columns.size(); ++i) {
      const auto cells = cells_of(words[i]);
      if (!cells || row.cells.size() + cells->size() > matrix_.columns.size()) break;
      row.cells.insert(row.cells.end(), cells->begin(), cells->end());
      end = words[i].data() + words[i].size();
    }
    if (row.cells.empty()) return;
    if (row.cells.size() < matrix_.columns.size()) {
      findings_.note(
          line.number,
          fmt::format("row {} is cut after {} of {} cells{}", name, row.cells.size(),
                      matrix_.columns.size(),
                      i < words.size() ? fmt::format(", at {}", in_quotes(words[i])) : ""));
    } else {
      read_tail(line, text.substr(static_cast<std::size_t>(end - text.data())), row);
    }
    const auto [place, fresh] = matrix_.rows.emplace(name, row);
    if (!fresh && place->second.cells != row.cells) {
      findings_.error(line.number, fmt::format("row {} is there twice and differs from line {}",
                                               name, place->second.line));
    }
  }

  void read_tail(const TextLine& line, std::string_view tail, MatrixRow& row) {
    if (!has_numa_) return;
    const auto fields = tail_fields(tail, tail_columns_);
    const std::size_t at = has_cpu_ ? 1 : 0;
    if (fields.size() <= at || fields[at].empty() || fields[at] == "N/A") return;
    const std::string_view field = fields[at];
    const std::string_view first = field.substr(0, field.find_first_of(",-"));
    row.numa = whole_number(first);
    if (!row.numa || *row.numa < 0) {
      findings_.note(line.number,
                     fmt::format("NUMA affinity {} is no number: unknown", in_quotes(field)));
      row.numa.reset();
    } else if (first.size() != field.size()) {
      findings_.note(line.number,
                     fmt::format("NUMA affinity {} is a list: its first, {}, is taken as the one "
                                 "with the CPU",
                                 in_quotes(field), *row.numa));
    }
  }

  MatrixText& matrix_;
  config::Findings& findings_;
  std::size_t tail_columns_ = 0;
  bool has_cpu_ = false, has_numa_ = false;
};

}  // namespace

bool is_gpu_name(std::string_view word) {
  return word.starts_with("GPU") && word.size() <= 6 && digits(word.substr(3));
}

bool is_nic_name(std::string_view word) {
  if (word.starts_with("NIC")) return word.size() <= 6 && digits(word.substr(3));
  for (const std::string_view driver : {"mlx4_", "mlx5_", "bnxt_re", "irdma", "efa_", "rdmap",
                                        "hfi1_", "rocep", "ibp", "mlx5_bond_"}) {
    if (word.starts_with(driver) && word.size() > driver.size() && word.size() <= 24 &&
        word.find(':') == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::optional<std::vector<MatrixCell>> cells_of(std::string_view word) {
  std::vector<MatrixCell> cells;
  while (!word.empty()) {
    std::size_t used = 0;
    for (const auto& [name, nearness] : kWords) {
      if (!word.starts_with(name)) continue;
      cells.push_back({nearness, 0});
      used = name.size();
      break;
    }
    if (used == 0 && word.starts_with("NV")) {
      std::size_t end = 2;
      while (end < word.size() && word[end] >= '0' && word[end] <= '9') ++end;
      const auto links = whole_number(word.substr(2, end - 2));
      if (!links || *links < 1 || *links > kMostLinksOfAPair) return std::nullopt;
      cells.push_back({Nearness::nvlink, *links});
      used = end;
    }
    if (used == 0 || cells.size() > kMostColumns) return std::nullopt;
    word.remove_prefix(used);
  }
  if (cells.empty()) return std::nullopt;
  return cells;
}

MatrixText read_matrix_text(std::string_view text, config::Findings& findings) {
  MatrixText matrix;
  MatrixReader reader(matrix, findings);
  for (const TextLine& line : config::text_lines(text)) reader.read(line);
  if (matrix.columns.empty() && findings.good()) {
    findings.error(0, "no line names GPU0 and the other columns of a topology matrix",
                   "the output of `nvidia-smi topo -m`, header included");
  }
  return matrix;
}

}  // namespace weft::topology
