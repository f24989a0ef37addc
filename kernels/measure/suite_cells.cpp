// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/suite_cells.hpp"

#include <algorithm>

namespace weft::kernels {
namespace {

using calibration::Background;
using calibration::Case;

Case named(const Suite& suite, const char* operation, const char* variant = "") {
  Case what;
  what.suite = suite.name;
  what.operation = operation;
  what.figure = "time";
  what.library = "cuda";
  what.variant = variant;
  return what;
}

/// What CTAs that move data keep to: the link's pace where they cross a host link, and its limit where
/// writes and reads of one launch meet there for as long as it multiplies; nothing elsewhere.
void hold_back(const Suite& suite, const Case& base, Case& moved) {
  const bool link = base.backend == "host_link";
  const bool meet = moved.schedule == "device_flag" && base.operation != "ag_gemm";
  moved.pace_bytes_per_second = link ? suite.link_pace_bytes_per_second : 0;
  // Half of the CTAs write and half read.
  if (link && meet && suite.link_in_flight_bytes > 0)
    moved.in_flight_bytes = suite.link_in_flight_bytes / std::max(1, moved.ctas.value_or(1) / 2);
}

bool legal(const Suite& suite, const Case& base, int chunks) {
  const std::int64_t ranks = base.ranks.value_or(1);
  const std::int64_t shard = (base.shape->m + ranks - 1) / ranks;
  return (shard + chunks - 1) / chunks >= suite.least_chunk_rows;
}

Case figure_of(const Case& base, const char* figure) {
  Case what = base;
  what.figure = figure;
  return what;
}

/// B and C by each transport that the suite names; by CTAs with the most that it names.
void add_unfused(const Suite& suite, const Case& base, std::vector<Case>& cases) {
  cases.push_back(figure_of(base, "A"));
  for (const std::string& transport : suite.transports) {
    // NCCL has ranks of its own only where each has a GPU; rows that stay at their owners are no sum.
    if (transport == "library" && (base.backend != "peer_gpus" || base.operation == "gemm_a2a"))
      continue;
    Case moved = figure_of(base, "B");
    moved.transport = transport;
    if (transport == "sm") {
      moved.ctas = suite.ctas.empty() ? 8 : *std::max_element(suite.ctas.begin(), suite.ctas.end());
      hold_back(suite, base, moved);
    }
    Case serial = moved;
    serial.figure = "C";
    serial.schedule = "serial";
    cases.push_back(moved);
    cases.push_back(serial);
  }
}

/// Only kernels of our own know flags. Inside one device a copy may run on SMs, and a product that waits
/// for it can hold them all: there no copy engine serves flags.
bool possible(const Case& base, const std::string& schedule, const std::string& transport) {
  if (transport == "library") return false;  // whole collectives only
  if (schedule != "device_flag") return true;
  return base.library == "weft" && !(base.backend == "virtual_ranks" && transport == "copy_engine");
}

}  // namespace

namespace {

std::vector<Case> primitive_cases_of(const Suite& suite, bool peers) {
  std::vector<Case> cases;
  for (const char* operation :
       {"launch", "launch_race", "event_hop", "stream_write", "signal_hop", "flag"})
    cases.push_back(named(suite, operation));
  if (peers) cases.push_back(named(suite, "peer_flag"));
  for (const char* direction : {"to_device", "to_host", "device"})
    for (const std::int64_t bytes : suite.sizes_bytes)
      for (const char* variant : {"single", "chain"}) {
        Case copy = named(suite, "copy", variant);
        copy.transport = "copy_engine";
        copy.direction = direction;
        copy.bytes = bytes;
        cases.push_back(copy);
      }
  for (const std::int64_t bytes : suite.sizes_bytes) {
    if (bytes < (1 << 18)) continue;
    for (const char* direction : {"both", "to_device", "to_host", "device"}) {
      Case copy = named(suite, "copy", "paired");
      copy.transport = "copy_engine";
      copy.direction = direction;
      copy.bytes = bytes;
      cases.push_back(copy);
    }
  }
  const std::int64_t large = suite.sizes_bytes.empty() ? 0 : suite.sizes_bytes.back();
  for (const char* operation : {"sm_copy", "sm_sum"})
    for (const char* direction : {"to_device", "to_host", "device"}) {
      const bool sum = std::string(operation) == "sm_sum";
      if (sum && std::string(direction) == "to_host") continue;
      for (const int ctas : suite.ctas)
        for (const std::int64_t in_flight : suite.in_flight_bytes)
          for (const std::int64_t pace : suite.paces_bytes_per_second) {
            if (pace > 0 && (std::string(direction) == "device" || in_flight > 0)) continue;
            Case copy = named(suite, operation);
            copy.transport = "sm";
            copy.direction = direction;
            copy.bytes = large;
            copy.ctas = ctas;
            copy.in_flight_bytes = in_flight;
            copy.pace_bytes_per_second = pace;
            cases.push_back(copy);
          }
    }
  return cases;
}

}  // namespace

std::vector<Case> primitive_cases(const Suite& suite) {
  // Without a back end it is the host link's: its cases carry no name of it.
  if (suite.backends.empty()) return primitive_cases_of(suite, false);
  std::vector<Case> cases;
  for (const std::string& backend : suite.backends)
    for (Case& what : primitive_cases_of(suite, backend == "peer_gpus")) {
      what.backend = backend;
      what.ranks = 2;
      cases.push_back(std::move(what));
    }
  return cases;
}

std::vector<Case> wait_cases(const Suite& suite) {
  std::vector<Case> cases;
  const auto add = [&](const char* operation, const char* variant, const char* transport) {
    cases.push_back(named(suite, operation, variant));
    cases.back().transport = transport;
  };
  for (const char* transport : {"sm", "copy_engine"}) {
    for (const char* variant : {"none", "write", "written", "there", "late", "late_written"})
      add("stream_wait", variant, transport);
    for (const char* variant : {"there", "late"}) add("event_wait", variant, transport);
    // Inside one device, in a process of several.
    if (!suite.backends.empty())
      for (const char* operation : {"stream_wait", "event_wait"})
        add(operation, "late_here", transport);
  }
  for (const char* operation : {"stream_wait", "event_wait"}) add(operation, "late_alone", "sm");
  // Behind a kernel that runs on, and beside copies; between GPUs nobody copies from a host.
  if (suite.backends.empty()) {
    add("stream_wait", "late_running", "sm");
    add("stream_wait", "late_running_beside", "sm");
    for (const char* operation : {"stream_wait", "event_wait"}) {
      for (const std::string beside : {"_beside", "_beside_away", "_beside_both"})
        for (const std::string variant : {"none", "there", "late"})
          if (variant != "none" || std::string(operation) == "stream_wait")
            add(operation, (variant + beside).c_str(), "sm");
      for (const char* variant :
           {"none", "there", "late", "none_beside", "there_beside", "late_beside"}) {
        if (std::string(operation) == "event_wait" && std::string(variant).starts_with("none"))
          continue;  // an event is waited for, or the case is the other's
        add(operation, variant, "copy_engine");
        cases.back().direction = "to_host";
      }
    }
  }
  for (const char* variant : {"chain", "written", "awaited"})
    for (const char* direction : {"to_device", "to_host"})
      for (const std::int64_t bytes : suite.sizes_bytes) {
        add("copy", variant, "copy_engine");
        cases.back().direction = direction;
        cases.back().bytes = bytes;
      }
  for (Case& what : cases) {
    if (suite.backends.empty()) continue;
    what.backend = suite.backends.front();
    what.ranks = 2;
  }
  return cases;
}

std::vector<Case> collective_cases(const Suite& suite) {
  std::vector<Case> cases;
  for (const std::string& backend : suite.backends)
    for (const int ranks : suite.ranks)
      for (const char* operation : {"all_gather", "reduce_scatter", "all_reduce", "all_to_all"})
        for (const std::int64_t bytes : suite.sizes_bytes)
          for (const std::string& transport : suite.transports) {
            if (transport == "library") {
              Case what = named(suite, operation);
              what.library = "nccl";
              what.backend = backend;
              what.ranks = ranks;
              what.transport = transport;
              what.bytes = bytes;
              cases.push_back(what);
              continue;
            }
            const bool reduces = std::string(operation).find("reduce") != std::string::npos;
            if (transport == "copy_engine" && reduces) continue;
            for (const int ctas : transport == "sm" ? suite.ctas : std::vector<int>{0}) {
              Case what = named(suite, operation);
              what.library = "weft";
              what.backend = backend;
              what.ranks = ranks;
              what.transport = transport;
              what.bytes = bytes;
              if (ctas > 0) what.ctas = ctas;
              cases.push_back(what);
            }
          }
  std::stable_sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) {
    return std::pair(a.backend, *a.ranks) < std::pair(b.backend, *b.ranks);
  });
  return cases;
}

std::vector<Case> interference_cases(const Suite& suite, const Case& base) {
  std::vector<Case> cases{figure_of(base, "alone")};
  const bool processes = base.backend == "nccl_processes";
  const auto add = [&](const Background& background) {
    Case what = figure_of(base, "beside");
    what.background = background;
    cases.push_back(what);
  };
  if (processes) {
    for (const char* order : {"traffic_first", "gemm_first"}) add({"nccl", "both", order, 0, 0, 0});
    return cases;
  }
  for (const char* direction : {"to_device", "to_host", "device"})
    add({"copy_engine", direction, "traffic_first", 0, 0, 0});
  if (base.backend == "peer_gpus") add({"nccl", "both", "traffic_first", 0, 0, 0});
  for (const int ctas : suite.ctas) {
    for (const char* order : {"traffic_first", "gemm_first"}) {
      add({"spin", "device", order, ctas, 0, 0});
      add({"copy", "device", order, ctas, 0, 0});
      add({"reduce", "device", order, ctas, 0, 0});
      for (const std::int64_t pace : suite.paces_bytes_per_second) {
        add({"copy", "to_device", order, ctas, pace, 0});
        add({"copy", "to_host", order, ctas, pace, 0});
      }
    }
    for (const std::int64_t in_flight : suite.in_flight_bytes) {
      if (in_flight == 0) continue;
      for (const std::int64_t pace : suite.paces_bytes_per_second) {
        add({"copy", "to_device", "traffic_first", ctas, pace, in_flight});
        add({"copy", "to_host", "traffic_first", ctas, pace, in_flight});
      }
    }
  }
  return cases;
}

namespace {

/// Adds a fused cell with its controls, in each order in which its tiles are to be walked, and as `first` of
/// the cells that differ in CTAs also with sums in the epilogue of its tiles, where it has any.
void add_cell(const Suite& suite, const Case& cell, bool first, std::vector<Case>& cases) {
  const bool sums = cell.schedule == "device_flag" && cell.transport == "sm" &&
                    (cell.operation == "gemm_rs" || cell.operation == "gemm_ar") &&
                    cell.backend != "host_link";  // where CTAs of the launch sum
  for (const char* order : {"", "turns"}) {
    if (*order != '\0' && !(sums && suite.both_orders)) continue;
    Case one = cell;
    one.variant = order;
    for (const char* figure : {"D", "A_s", "B_s"}) cases.push_back(figure_of(one, figure));
  }
  const bool adds = cell.schedule == "device_flag" &&
                    (cell.operation == "gemm_rs" || cell.operation == "gemm_ar");
  if (!suite.epilogue_sums || !adds) return;
  Case one = cell;
  one.variant = "epilogue";
  if (sums) {
    // Tiles store and add by themselves: no CTAs besides, whose number then means nothing.
    if (!first) return;
    one.ctas = std::nullopt;
    one.margin = 0;
  }
  for (const char* figure : {"D", "A_s", "B_s"}) cases.push_back(figure_of(one, figure));
}

}  // namespace

std::vector<Case> boundary_cases(const Suite& suite, const Case& base) {
  std::vector<Case> cases;
  add_unfused(suite, base, cases);
  for (const std::string& schedule : suite.schedules) {
    for (const std::string& transport : suite.transports)
      for (const int chunks : suite.chunks) {
        if (!legal(suite, base, chunks) || !possible(base, schedule, transport)) continue;
        for (bool first = true;
             const int ctas : transport == "sm" ? suite.ctas : std::vector<int>{0}) {
          Case cell = base;
          cell.schedule = schedule;
          cell.transport = transport;
          cell.chunks = chunks;
          cell.margin = 0;
          if (transport == "sm") {
            cell.ctas = ctas;
            cell.margin = ctas;
            hold_back(suite, base, cell);
          }
          add_cell(suite, cell, first, cases);
          first = false;
        }
      }
  }
  return cases;
}

std::vector<Case> decision_cases(const Suite& suite, const Case& base) {
  std::vector<Case> cases;
  add_unfused(suite, base, cases);
  for (const std::string& schedule : suite.schedules) {
    for (const int chunks : suite.chunks) {
      if (!legal(suite, base, chunks)) continue;
      for (const std::string& transport : suite.transports) {
        bool first = true;
        for (const int margin : transport == "sm" ? suite.margins : std::vector<int>{0}) {
          // A launch that holds its own communication CTAs leaves at least their SMs.
          if (transport == "sm" && margin == 0 && schedule == "device_flag") continue;
          if (!possible(base, schedule, transport)) continue;
          Case cell = base;
          cell.schedule = schedule;
          cell.transport = transport;
          cell.chunks = chunks;
          cell.margin = margin;
          if (transport == "sm") {
            // The largest declared value up to the margin; 8 where there is none.
            int most = 0;
            for (const int ctas : suite.ctas)
              if (ctas <= margin) most = std::max(most, ctas);
            cell.ctas = margin == 0 ? 8 : most;
            hold_back(suite, base, cell);
          }
          add_cell(suite, cell, first, cases);
          first = false;
        }
      }
    }
  }
  return cases;
}

}  // namespace weft::kernels
