// SPDX-License-Identifier: Apache-2.0
// From the cells of `nvidia-smi topo -m` to a survey. The legend of the tool gives the distances:
// PIX at most one PCIe bridge, PXB several, PHB a host bridge, NODE several host bridges of one NUMA
// node, SYS the link between NUMA nodes. Two GPUs joined by NVLink show that and not their PCIe
// distance, so the tree is found over NICs and the NUMA column. Rates and latencies are not in the
// matrix and stay unknown.
#include "topologies/import/topo_matrix.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/units/nearest.hpp"
#include "sim/units/quote.hpp"
#include "topologies/import/matrix_text.hpp"

namespace weft::topology {
namespace {

using config::Findings;

// The most NVLinks that a GPU has had: 18 on Hopper and Blackwell (NVIDIA H100 and B200 datasheets).
constexpr std::int64_t kMostNvlinks = 18;

/// Text that is taken for a matrix, by a line that only it has.
struct LookAlike {
  std::string_view mark;
  std::string_view what;
  std::string_view instead;
};
constexpr LookAlike kPeerAccess = {"Chipset not supported",
                                   "`nvidia-smi topo -p2p`: which pairs may read each other",
                                   "`nvidia-smi topo -m` says how they are joined"};
constexpr LookAlike kLookAlikes[] = {
    kPeerAccess,
    {"Link Type between two GPUs", "`rocm-smi --showtopo` of AMD GPUs",
     "only matrices of `nvidia-smi topo -m` are read"},
    {"Persistence-M", "the table of `nvidia-smi`", "`nvidia-smi topo -m` says how GPUs are joined"},
    {"<inactive>", "`nvidia-smi nvlink --status`", "`nvidia-smi topo -m` says how GPUs are joined"},
    {"NUMANode L#", "the tree of hwloc's `lstopo`", "`nvidia-smi topo -m` or NCCL's topology XML"},
};

/// A row of `nvidia-smi topo -p2p`, whose legend may have been left out: "GPU1 OK X CNS".
bool is_peer_access(std::string_view line) {
  constexpr std::string_view kStates[] = {"OK", "CNS", "GNS", "TNS", "NS", "U"};
  const auto words = config::words_of(line);
  if (words.size() < 2 || !is_gpu_name(words[0])) return false;
  bool states = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "X") continue;
    if (std::find(std::begin(kStates), std::end(kStates), words[i]) == std::end(kStates))
      return false;
    states = true;
  }
  return states;
}

const LookAlike* look_alike(std::string_view text) {
  for (const LookAlike& each : kLookAlikes) {
    if (text.find(each.mark) != std::string_view::npos) return &each;
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (is_peer_access(text.substr(begin, end - begin))) return &kPeerAccess;
    begin = end + 1;
  }
  return nullptr;
}

/// Sets that grow together.
class Groups {
 public:
  explicit Groups(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }
  std::size_t members(std::size_t i) {
    std::size_t count = 0;
    for (std::size_t j = 0; j < parent_.size(); ++j) count += find(j) == find(i) ? 1U : 0U;
    return count;
  }

 private:
  std::vector<std::size_t> parent_;
};

class MatrixSurveyor {
 public:
  MatrixSurveyor(const MatrixText& matrix, Findings& findings)
      : matrix_(matrix), findings_(findings), count_(matrix.columns.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (is_gpu_name(matrix_.columns[i])) gpus_.push_back(i);
    }
  }

  void survey(Survey& survey) {
    check_rows();
    find_hidden(survey);
    place_parts(survey);
    find_nvlink(survey);
    flag_odd_ones(survey, findings_);
  }

 private:
  const MatrixRow* row(std::size_t i) const {
    const auto found = matrix_.rows.find(matrix_.columns[i]);
    return found == matrix_.rows.end() ? nullptr : &found->second;
  }
  std::uint32_t line(std::size_t i) const {
    return row(i) != nullptr ? row(i)->line : matrix_.header_line;
  }

  /// The cell of a pair, from either of its two places; none where neither row has it.
  std::optional<MatrixCell> cell(std::size_t i, std::size_t j) const {
    if (const MatrixRow* own = row(i); own != nullptr && j < own->cells.size()) {
      return own->cells[j];
    }
    if (const MatrixRow* other = row(j); other != nullptr && i < other->cells.size()) {
      return other->cells[i];
    }
    return std::nullopt;
  }

  void check_rows() {
    for (std::size_t i = 0; i < count_; ++i) {
      const std::string& name = matrix_.columns[i];
      if (std::find(matrix_.columns.begin(),
                    matrix_.columns.begin() + static_cast<std::ptrdiff_t>(i),
                    name) != matrix_.columns.begin() + static_cast<std::ptrdiff_t>(i)) {
        findings_.error(matrix_.header_line, fmt::format("two columns are called {}", name));
      }
      if (row(i) == nullptr) {
        findings_.note(matrix_.header_line,
                       fmt::format("the row of {} is missing: taken from the other rows", name));
      }
      if (const auto self = cell(i, i); self && self->nearness != Nearness::self) {
        findings_.error(line(i), fmt::format("{} to itself is not X", name));
      }
      for (std::size_t j = 0; j < i; ++j) check_pair(i, j);
    }
    if (gpus_.empty()) findings_.error(matrix_.header_line, "no column is a GPU");
  }

  void check_pair(std::size_t i, std::size_t j) {
    const MatrixRow *a = row(i), *b = row(j);
    if (a == nullptr || b == nullptr || j >= a->cells.size() || i >= b->cells.size()) {
      if (!cell(i, j)) {
        findings_.note(line(i), fmt::format("how {} and {} are joined is missing: unknown",
                                            matrix_.columns[i], matrix_.columns[j]));
      }
      return;
    }
    if (a->cells[j] != b->cells[i]) {
      findings_.error(a->line, fmt::format("{} and {} are joined in one way here and in another on "
                                           "line {}",
                                           matrix_.columns[i], matrix_.columns[j], b->line));
    } else if (a->cells[j].nearness == Nearness::self) {
      findings_.error(a->line, fmt::format("{} and {} are two parts, not one", matrix_.columns[i],
                                           matrix_.columns[j]));
    }
  }

  /// Three GPUs or more that are all equally far from each other over the host: a container or a
  /// virtual machine shows this whatever is below it, and no server is built so.
  void find_hidden(Survey& survey) {
    std::set<Nearness> seen;
    for (const std::size_t a : gpus_) {
      for (const std::size_t b : gpus_) {
        const auto joined = a < b ? cell(a, b) : std::nullopt;
        if (joined) seen.insert(joined->nearness);
      }
    }
    hidden_ = gpus_.size() >= 3 && seen.size() == 1 &&
              (seen.contains(Nearness::sys) || seen.contains(Nearness::phb));
    survey.pcie_known = !hidden_;
    if (!hidden_) return;
    findings_.note(matrix_.header_line,
                   fmt::format("all {} GPUs are {} from each other: a container or virtual machine "
                               "hides how they are joined, so NVLink and the PCIe tree are unknown",
                               gpus_.size(), seen.contains(Nearness::sys) ? "SYS" : "PHB"),
                   "run it on the host, or complete it from a named machine");
  }

  void place_parts(Survey& survey) {
    Groups pix(count_), pxb(count_), numa(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = 0; j < i; ++j) join(i, j, pix, pxb, numa);
    }
    std::map<std::int64_t, std::size_t> first_of_numa;
    for (std::size_t i = 0; i < count_; ++i) {
      if (row(i) == nullptr || !row(i)->numa) continue;
      const auto [place, fresh] = first_of_numa.emplace(*row(i)->numa, i);
      if (!fresh) numa.join(i, place->second);
    }
    check_numa(numa);
    std::map<std::size_t, std::size_t> roots, lower, upper;
    const bool no_clue =
        !hidden_ && first_of_numa.empty() && gpus_.size() == count_ && all_nvlink();
    if (hidden_ || no_clue) {
      survey.numa.emplace_back();
      survey.pcie_known = false;
      if (no_clue) {
        findings_.note(
            matrix_.header_line,
            "neither NICs nor a NUMA column say how the GPUs hang on their hosts: unknown");
      }
    }
    for (std::size_t i = 0; i < count_; ++i) {
      PciePlace place;
      if (survey.pcie_known) {
        place.root = root_of(numa.find(i), roots, survey);
        std::optional<std::size_t> above;
        if (pxb.members(i) > pix.members(i)) {
          above = switch_of(pxb.find(i), upper,
                            {.under = {}, .root = place.root, .uplink_per_direction = {}}, survey);
        }
        place.under = above;
        if (pix.members(i) > 1) {
          place.under =
              switch_of(pix.find(i), lower,
                        {.under = above, .root = place.root, .uplink_per_direction = {}}, survey);
        }
      }
      add_part(i, place, survey);
    }
    for (const auto& [group, root] : roots) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (numa.find(i) == group && row(i) != nullptr && row(i)->numa) {
          survey.numa[root] = row(i)->numa;
        }
      }
    }
  }

  void join(std::size_t i, std::size_t j, Groups& pix, Groups& pxb, Groups& numa) const {
    const auto joined = cell(i, j);
    if (!joined || joined->nearness == Nearness::nvlink || joined->nearness == Nearness::sys)
      return;
    numa.join(i, j);
    if (joined->nearness <= Nearness::pxb) pxb.join(i, j);
    if (joined->nearness == Nearness::pix) pix.join(i, j);
  }

  bool all_nvlink() const {
    for (const std::size_t a : gpus_) {
      for (const std::size_t b : gpus_) {
        const auto joined = a < b ? cell(a, b) : std::nullopt;
        if (joined && joined->nearness != Nearness::nvlink) return false;
      }
    }
    return gpus_.size() > 1;
  }

  void check_numa(Groups& numa) {
    std::map<std::size_t, std::size_t> first;
    for (std::size_t i = 0; i < count_; ++i) {
      if (row(i) == nullptr || !row(i)->numa) continue;
      const auto [place, fresh] = first.emplace(numa.find(i), i);
      const MatrixRow& other = *row(place->second);
      if (fresh || other.numa == row(i)->numa) continue;
      findings_.note(line(i), fmt::format("{} is of NUMA node {} and {} of {}, but the cells put "
                                          "them into one: the cells count",
                                          matrix_.columns[i], *row(i)->numa,
                                          matrix_.columns[place->second], *other.numa));
    }
  }

  static std::size_t root_of(std::size_t group, std::map<std::size_t, std::size_t>& roots,
                             Survey& survey) {
    const auto [place, fresh] = roots.emplace(group, survey.numa.size());
    if (fresh) survey.numa.emplace_back();
    return place->second;
  }

  static std::size_t switch_of(std::size_t group, std::map<std::size_t, std::size_t>& switches,
                               const PciePlace& above, Survey& survey) {
    const auto [place, fresh] = switches.emplace(group, survey.switches.size());
    if (fresh) survey.switches.push_back(above);
    return place->second;
  }

  void add_part(std::size_t i, const PciePlace& place, Survey& survey) {
    const std::string& name = matrix_.columns[i];
    if (is_gpu_name(name)) {
      survey.gpus.push_back(
          {.name = name, .pcie = place, .line = line(i), .sm_version = {}, .fabric_links = {}});
      return;
    }
    const auto known = matrix_.legend.find(name);
    survey.nics.push_back({.name = known == matrix_.legend.end() ? name : known->second,
                           .pcie = place,
                           .port_per_direction = {}});
  }

  /// Direct links where each GPU has enough for all of its peers, else a switch between them.
  void find_nvlink(Survey& survey) {
    std::map<std::int64_t, std::size_t> pairs_by_links;
    std::vector<std::int64_t> sum(gpus_.size()), most(gpus_.size());
    std::size_t pairs = 0, missing = 0;
    for (std::size_t a = 0; a < gpus_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        ++pairs;
        const auto joined = cell(gpus_[a], gpus_[b]);
        missing += joined ? 0U : 1U;
        if (!joined || joined->nearness != Nearness::nvlink) continue;
        ++pairs_by_links[joined->links];
        survey.direct.push_back({b, a, joined->links});
        for (const std::size_t each : {a, b}) {
          sum[each] += joined->links;
          most[each] = std::max(most[each], joined->links);
        }
      }
    }
    if (survey.direct.empty()) {
      const bool unknown = hidden_ || missing > 0 || gpus_.size() == 1;
      survey.nvlink = unknown ? NvlinkShape::hidden : NvlinkShape::none;
      if (gpus_.size() == 1) {
        findings_.note(matrix_.header_line, "one GPU alone: whether it has NVLink is unknown");
      }
      return;
    }
    if (*std::max_element(sum.begin(), sum.end()) > kMostNvlinks) {
      survey.nvlink = NvlinkShape::switched;
      flag_odd_pair(survey.direct, most);
      survey.direct.clear();
      for (std::size_t i = 0; i < gpus_.size(); ++i) survey.gpus[i].fabric_links = most[i];
      return;
    }
    survey.nvlink = NvlinkShape::direct;
    if (gpus_.size() == 2 && pairs == 1) {
      findings_.note(line(gpus_[1]),
                     fmt::format("two GPUs with {} links look the same with a switch between them "
                                 "and without: taken as direct, without multicast",
                                 survey.direct.front().links));
    }
  }

  /// Over a switch a pair has the links of the one that has fewer.
  void flag_odd_pair(const std::vector<DirectLinks>& pairs, const std::vector<std::int64_t>& most) {
    for (const DirectLinks& pair : pairs) {
      const std::int64_t usual = std::min(most[pair.a], most[pair.b]);
      if (pair.links == usual) continue;
      findings_.note(
          line(gpus_[pair.a]),
          fmt::format("odd one out: {} and {} are joined by {} NVLinks, each by {} to others",
                      matrix_.columns[gpus_[pair.a]], matrix_.columns[gpus_[pair.b]], pair.links,
                      usual));
      return;
    }
  }

  const MatrixText& matrix_;
  Findings& findings_;
  std::size_t count_;
  std::vector<std::size_t> gpus_;  ///< columns
  bool hidden_ = false;
};

}  // namespace

bool looks_like_topo_matrix(std::string_view text) {
  if (look_alike(text) != nullptr) return true;
  Findings findings("");
  return !read_matrix_text(text.substr(0, std::size_t{1} << 16), findings).columns.empty();
}

Survey read_topo_matrix(std::string_view text, const std::string& name) {
  Findings findings(name);
  if (const LookAlike* other = look_alike(text)) {
    findings.error(0, fmt::format("this is {}", other->what), std::string(other->instead));
    findings.throw_errors();
  }
  const MatrixText matrix = read_matrix_text(text, findings);
  findings.throw_errors();
  Survey survey;
  survey.tool = "nvidia-smi topo -m";
  survey.file = name;
  MatrixSurveyor(matrix, findings).survey(survey);
  findings.throw_errors();
  survey.notes = findings.take_notes();
  return survey;
}

}  // namespace weft::topology
