// SPDX-License-Identifier: Apache-2.0
// Reads machine files (weft.machine/1) and the device files they name (weft.device/1). docs/machines.md.
#pragma once

#include <filesystem>
#include <vector>

#include "configs/reader/document.hpp"
#include "configs/reader/schema.hpp"
#include "configs/reader/search_path.hpp"
#include "configs/reader/spot.hpp"
#include "topologies/machine_spec.hpp"

namespace weft::topology {

/// A machine and every sourced number of its files.
struct MachineFile {
  MachineSpec spec;
  std::vector<config::SourcedUse> sources;
};

/// Reads a machine and its device; throws config::ConfigErrors with everything that is wrong in both files: besides
/// what each key accepts, link groups that do not fit and names of parts that the machine does not have.
[[nodiscard]] MachineFile read_machine(const std::filesystem::path& file,
                                       const config::SearchPath& search = {});
/// The same of a document; its device is looked up beside its name.
[[nodiscard]] MachineFile read_machine(const config::Document& document,
                                       const config::SearchPath& search = {});

/// What the two formats accept.
[[nodiscard]] config::TypeDescription describe_machine();
[[nodiscard]] config::TypeDescription describe_device();

}  // namespace weft::topology
