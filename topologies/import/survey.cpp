// SPDX-License-Identifier: Apache-2.0
#include "topologies/import/survey.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft::topology {
namespace {

/// The switches over a part, from the root down.
std::vector<std::size_t> switches_over(const Survey& survey, const PciePlace& place) {
  std::vector<std::size_t> path;
  for (auto at = place.under; at && path.size() <= survey.switches.size();
       at = survey.switches[*at].under) {
    path.push_back(*at);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<std::int64_t> links_by_gpu(const Survey& survey) {
  std::vector<std::int64_t> links(survey.gpus.size());
  for (std::size_t i = 0; i < links.size(); ++i) links[i] = survey.gpus[i].fabric_links.value_or(0);
  for (const DirectLinks& each : survey.direct) {
    links[each.a] += each.links;
    links[each.b] += each.links;
  }
  return links;
}

void flag_fewer_links(const Survey& survey, config::Findings& findings) {
  const std::vector<std::int64_t> links = links_by_gpu(survey);
  std::map<std::int64_t, std::size_t> votes;
  for (const std::int64_t each : links) ++votes[each];
  if (votes.size() < 2) return;
  const auto usual = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
    return a.second <= b.second;
  });
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i] >= usual->first) continue;
    findings.note(survey.gpus[i].line,
                  fmt::format("odd one out: {} has {} NVLinks, its peers have {}",
                              survey.gpus[i].name, links[i], usual->first),
                  "`nvidia-smi nvlink --status` shows links that are down");
  }
}

void flag_shared_nics(const Survey& survey, config::Findings& findings) {
  if (survey.nics.size() < 2) return;
  std::map<std::size_t, std::vector<std::size_t>> users;
  for (std::size_t i = 0; i < survey.gpus.size(); ++i) {
    const auto nearest = nearest_nics(survey, i);
    if (nearest.size() == 1) users[nearest.front()].push_back(i);
  }
  for (const auto& [nic, gpus] : users) {
    if (gpus.size() < 2) continue;
    std::vector<std::string> names;
    for (const std::size_t gpu : gpus) names.push_back(survey.gpus[gpu].name);
    findings.note(survey.gpus[gpus[1]].line,
                  fmt::format("odd one out: {} is the nearest NIC of {}", survey.nics[nic].name,
                              fmt::join(names, " and ")));
  }
}

}  // namespace

void flag_odd_ones(const Survey& survey, config::Findings& findings) {
  if (survey.nvlink == NvlinkShape::direct || survey.nvlink == NvlinkShape::switched) {
    flag_fewer_links(survey, findings);
  }
  flag_shared_nics(survey, findings);
}

std::vector<std::size_t> nearest_nics(const Survey& survey, std::size_t gpu) {
  std::vector<std::size_t> nearest;
  if (!survey.pcie_known) return nearest;
  const PciePlace& place = survey.gpus[gpu].pcie;
  const auto own = switches_over(survey, place);
  std::size_t best = 0;
  for (std::size_t i = 0; i < survey.nics.size(); ++i) {
    const PciePlace& other = survey.nics[i].pcie;
    const auto path = switches_over(survey, other);
    std::size_t shared = other.root == place.root ? 1 : 0;
    for (std::size_t k = 0; k < std::min(own.size(), path.size()) && own[k] == path[k]; ++k)
      ++shared;
    if (shared > best) nearest.clear();
    best = std::max(best, shared);
    if (shared == best) nearest.push_back(i);
  }
  return nearest;
}

}  // namespace weft::topology
