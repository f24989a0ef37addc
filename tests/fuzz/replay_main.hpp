// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target once on every file of the corpora named on the command line, in the order of
// their names, so that inputs which once broke a reader are tried again without a fuzzer. Included by
// the one source that holds all targets, which the build writes (weft_fuzz_replay).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

struct ReplayTarget {
  std::string_view name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

extern const std::vector<ReplayTarget> replay_targets;

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const std::string_view name = argc > 1 ? argv[1] : "";
  const auto target = std::find_if(replay_targets.begin(), replay_targets.end(),
                                   [&](const ReplayTarget& t) { return t.name == name; });
  if (target == replay_targets.end()) {
    std::fputs("usage: weft_replay TARGET CORPUS...\n", stderr);
    return 2;
  }
  std::vector<fs::path> inputs;
  for (int i = 2; i < argc; ++i) {
    for (const auto& entry : fs::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) inputs.push_back(entry.path());
    }
  }
  if (inputs.empty()) {
    std::fputs("no corpus file to replay\n", stderr);
    return 1;
  }
  std::sort(inputs.begin(), inputs.end());
  for (const auto& path : inputs) {
    std::printf("replay %s\n", path.c_str());
    std::fflush(stdout);
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    target->run(bytes.data(), bytes.size());
  }
  std::printf("%zu inputs replayed\n", inputs.size());
  return 0;
}
