// SPDX-License-Identifier: Apache-2.0
// What a dump of a node's topology says, whichever tool printed it: GPUs, NICs, NVLink and the PCIe
// tree, each number only where the dump has it. Readers fill it in, draft.hpp makes a machine of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "configs/reader/error.hpp"
#include "configs/reader/foreign_text.hpp"
#include "sim/units/rates.hpp"

namespace weft::topology {

/// Where a part hangs on the PCIe tree: under a switch of the survey, or else on its root.
struct PciePlace {
  std::optional<std::size_t> under;  ///< PCIe switch
  std::size_t root = 0;
  std::optional<Bandwidth> uplink_per_direction;
};

struct SurveyGpu {
  std::string name;  ///< as the dump calls it
  PciePlace pcie;
  std::uint32_t line = 0;                    ///< of the dump
  std::optional<int> sm_version;             ///< 90 for sm_90
  std::optional<std::int64_t> fabric_links;  ///< NVLinks to switches
};

struct SurveyNic {
  std::string name;
  PciePlace pcie;
  std::optional<Bandwidth> port_per_direction;
};

/// NVLinks straight from one GPU to another.
struct DirectLinks {
  std::size_t a = 0;
  std::size_t b = 0;
  std::int64_t links = 0;
};

/// How the GPUs' NVLinks run, where that can be told.
enum class NvlinkShape : std::uint8_t { hidden, none, direct, switched };

struct Survey {
  std::string tool;  ///< "nvidia-smi topo -m"
  std::string file;
  std::int64_t nodes = 1;  ///< equal ones
  std::vector<SurveyGpu> gpus;
  std::vector<SurveyNic> nics;
  std::vector<PciePlace> switches;                ///< of PCIe
  std::vector<std::optional<std::int64_t>> numa;  ///< of each root: its NUMA node's number
  bool pcie_known = true;                         ///< false: the dump hides the PCIe tree
  NvlinkShape nvlink = NvlinkShape::hidden;
  std::vector<DirectLinks> direct;
  std::vector<config::ConfigError> notes;
};

/// Returns the NICs that share the most of the PCIe tree with a GPU, in their order.
[[nodiscard]] std::vector<std::size_t> nearest_nics(const Survey& survey, std::size_t gpu);

/// Notes what one GPU has otherwise than its peers: fewer NVLinks, a NIC that is another's too.
void flag_odd_ones(const Survey& survey, config::Findings& findings);

}  // namespace weft::topology
