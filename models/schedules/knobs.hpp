// SPDX-License-Identifier: Apache-2.0
// The settings of a schedule: finite lists that it declares, with defaults and its own system's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weft::model {

/// A count ("chunks": 8) or a name ("transport": "copy_engine").
using KnobValue = std::variant<std::int64_t, std::string>;

/// Returns the value as a user would write it.
[[nodiscard]] std::string to_text(const KnobValue& value);

/// One setting: what it means and what it may be.
struct KnobSpec {
  std::string name;
  std::string meaning;            ///< one sentence
  std::vector<KnobValue> values;  ///< every legal one, in the order that a search takes them
  KnobValue default_value;
  std::string system_name{};  ///< what the real system calls it; empty: it has no name there
  std::string
      open{};  ///< not empty: others than `values` are legal too where the schedule's rules take them; says what
  friend bool operator==(const KnobSpec&, const KnobSpec&) = default;
};

/// A value for every knob of one schedule, in the order of its declaration.
class Knobs {
 public:
  Knobs() = default;
  /// Every knob at its default.
  explicit Knobs(const std::vector<KnobSpec>& specs);

  /// Returns a count; CheckFailure if the schedule has no such knob or it is a name.
  [[nodiscard]] std::int64_t count(std::string_view name) const;
  /// Returns a name; CheckFailure if the schedule has no such knob or it is a count.
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  void set(std::string_view name, KnobValue value);
  [[nodiscard]] const std::vector<std::pair<std::string, KnobValue>>& values() const {
    return values_;
  }
  /// "chunks=8 transport=sm ctas=16"
  [[nodiscard]] std::string to_text() const;
  friend bool operator==(const Knobs&, const Knobs&) = default;

 private:
  std::vector<std::pair<std::string, KnobValue>> values_;
};

/// Why these values are not legal for these knobs (unknown name, value not in its list, with what is); empty if
/// they are.
[[nodiscard]] std::vector<std::string> faults_of(const Knobs& knobs,
                                                 const std::vector<KnobSpec>& specs);

/// Every combination of the knobs' values, the last knob fastest; `fixed` pins some of them.
[[nodiscard]] std::vector<Knobs> all_combinations(const std::vector<KnobSpec>& specs,
                                                  const Knobs& fixed = {});

}  // namespace weft::model
