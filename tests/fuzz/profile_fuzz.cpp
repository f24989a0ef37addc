// SPDX-License-Identifier: Apache-2.0
// Any bytes as a profile: the reader returns one that survives being written and prices without a crash, or throws
// ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "configs/reader/json_writer.hpp"
#include "models/cost/collective.hpp"
#include "models/cost/gemm.hpp"
#include "models/profile/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const model::Profile profile =
        model::read_profile(config::Document::parse(text, "profile.json"));
    const std::string again = config::to_json(model::to_value(profile));
    if (!(model::read_profile(config::Document::parse(again, "again.json")) == profile)) {
      __builtin_trap();
    }
    const auto problem = model::CollectiveProblem::in_node(CollectiveOp::all_reduce, 8);
    (void)choose_collective(profile, fabric_of(profile), problem, Bytes::from(1 << 20));
    (void)gemm_cost(profile, {.m = 4096, .n = 4096, .k = 4096}, model::SmBudget::of(64));
  } catch (const config::ConfigErrors&) {
    return 0;
  } catch (const model::MissingConstant&) {
    return 0;
  } catch (const std::overflow_error&) {
    return 0;  // figures whose product leaves 64 bits
  }
  return 0;
}
