// SPDX-License-Identifier: Apache-2.0
// The reader on any bytes: it gives a document that round-trips or ConfigErrors, in both dialects, and the
// errors lie inside the text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "configs/reader/document.hpp"
#include "configs/reader/json_writer.hpp"
#include "sim/units/parse.hpp"
#include "tests/configs/reader/example.hpp"

namespace {

using weft::config::ConfigErrors;
using weft::config::Dialect;
using weft::config::Document;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_places(const ConfigErrors& errors, std::string_view text) {
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const auto& error : errors.errors()) {
    require(error.line <= lines);
    require(error.column <= text.size() + 1);
    require(!error.message.empty());
  }
}

void read(std::string_view text, Dialect dialect) {
  try {
    const Document document = Document::parse(text, "fuzz", {.dialect = dialect, .max_depth = 32});
    const std::string written = weft::config::to_json(document.root());
    require(Document::parse(written, "again").root() == document.root());
    weft::config::example::read(document);
  } catch (const ConfigErrors& errors) {
    check_places(errors, text);
  }
}

template <class T>
void check_quantity(const weft::Parsed<T>& parsed, weft::Parsed<T> (*parse)(std::string_view)) {
  require(parsed.value.has_value() == parsed.error.empty());
  if (parsed.value) require(parse(weft::to_text(*parsed.value)).value == parsed.value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  read(text, Dialect::strict);
  read(text, Dialect::tolerant);
  check_quantity(weft::parse_duration(text), weft::parse_duration);
  check_quantity(weft::parse_bytes(text), weft::parse_bytes);
  check_quantity(weft::parse_bandwidth(text), weft::parse_bandwidth);
  check_quantity(weft::parse_flops(text), weft::parse_flops);
  check_quantity(weft::parse_flop_rate(text), weft::parse_flop_rate);
  return 0;
}
