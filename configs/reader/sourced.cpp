// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/sourced.hpp"

#include "configs/reader/json_writer.hpp"

namespace weft::config::detail {

Source read_source(StrictObject& object) {
  Source source;
  source.kind = object.required<SourceKind>({"kind", "how the value was obtained"});
  source.reference = object.required<std::string>(
      {"reference", "document and table, sample set, or the reason of an assumption"});
  return source;
}

Value write_source(const Source& source) {
  return Value::object({{"kind", to_value(source.kind)}, {"reference", Value(source.reference)}});
}

void record_source(const Spot& spot, const Value& value, const Source& source) {
  Reading& reading = spot.reading();
  reading.sources.push_back(
      {reading.file, spot.pointer(),
       value.is_string() ? value.as_string() : to_json(value, Layout::compact),
       to_value(source.kind).as_string(), source.reference});
}

void report_bare(const Spot& spot) {
  spot.expected("a value with its source",
                "write {\"value\": " + to_json(spot.value(), Layout::compact) +
                    ", \"source\": {\"kind\": \"datasheet\", \"reference\": \"...\"}}");
}

}  // namespace weft::config::detail
