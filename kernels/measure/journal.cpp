// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/journal.hpp"

#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "calibration/sample/sample_json.hpp"

namespace weft::kernels {

Journal::Journal(std::filesystem::path file) : file_(std::move(file)) {
  if (!std::filesystem::exists(file_)) return;
  std::ifstream in(file_, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  in.close();
  // What follows the last newline was being written when the run was killed.
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (whole != text.size()) {
    std::filesystem::resize_file(file_, whole);
    text.resize(whole);
  }
  calibration::SampleSet set;
  calibration::read_lines(text, file_.string(), set);
  for (const calibration::Sample& sample : set.samples) keys_.insert(calibration::key(sample.what));
}

void Journal::begin(const calibration::Run& run) {
  write(calibration::to_line(run));
}

void Journal::append(const calibration::Sample& sample) {
  write(calibration::to_line(sample));
  keys_.insert(calibration::key(sample.what));
}

void Journal::write(const std::string& line) {
  std::ofstream out(file_, std::ios::binary | std::ios::app);
  out << line << '\n' << std::flush;
  if (!out) throw std::system_error(errno, std::generic_category(), file_.string());
}

std::vector<calibration::Case> missing(const Journal& journal,
                                       const std::vector<calibration::Case>& cases) {
  std::vector<calibration::Case> left;
  for (const calibration::Case& what : cases)
    if (!journal.has(what)) left.push_back(what);
  return left;
}

double parse_budget(const std::string& text) {
  double amount = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, amount);
  const std::string unit(rest, end);
  const double scale = unit == "ms"    ? 1e-3
                       : unit == "s"   ? 1.0
                       : unit == "min" ? 60.0
                       : unit == "h"   ? 3600.0
                                       : 0.0;
  if (error != std::errc{} || scale == 0.0 || amount <= 0)
    throw std::invalid_argument("a budget is a positive number with ms, s, min or h: \"" + text +
                                "\"");
  return amount * scale;
}

}  // namespace weft::kernels
