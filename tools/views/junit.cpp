// SPDX-License-Identifier: Apache-2.0
#include "tools/views/junit.hpp"

#include <fmt/format.h>

#include "tools/views/xml_text.hpp"

namespace weft::tool {

std::string junit_report(const std::string& suite, const model::CheckResult& result) {
  std::string cases;
  std::size_t failures = 0;
  const auto add = [&](const std::string& name, bool failed, const std::string& sentence) {
    cases += fmt::format("    <testcase classname=\"weft.check\" name=\"{}\"", xml_text(name));
    if (failed) {
      ++failures;
      cases +=
          fmt::format(">\n      <failure message=\"{}\"/>\n    </testcase>\n", xml_text(sentence));
    } else {
      cases += "/>\n";
    }
  };
  add("layout", result.layout_flipped, result.layout_sentence);
  for (const model::CheckedPick& pick : result.picks)
    add(pick.boundary, pick.failed(), pick.sentence);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" "
      "tests=\"{}\" "
      "failures=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
      xml_text(suite), result.picks.size() + 1, failures, cases);
}

}  // namespace weft::tool
