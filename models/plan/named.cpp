// SPDX-License-Identifier: Apache-2.0
#include "models/plan/named.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "models/plan/partition.hpp"
#include "sim/base/assert.hpp"

namespace stretto::plan {

namespace {

constexpr std::size_t kMostFindings = 20;
constexpr std::size_t kMostNames = 10'000;  // beyond this a suggestion costs more than it helps

// Index into `order` per parameter; order.size() where it is not named.
std::vector<std::size_t> match(const NamedOrder& order, const graph::Graph& graph) {
  std::map<std::string_view, std::size_t> index;
  std::vector<std::string> names;
  for (const graph::Parameter& p : graph.parameters) {
    index.emplace(p.name, names.size());
    names.push_back(p.name);
  }
  if (names.size() > kMostNames) names.clear();
  std::vector<std::size_t> entry(graph.parameters.size(), order.size());
  std::vector<Diagnostic> wrong;
  for (std::size_t i = 0; i < order.size() && wrong.size() < kMostFindings; ++i) {
    const auto found = index.find(order[i].name);
    if (found == index.end()) {
      const std::string nearest = nearest_name(order[i].name, names);
      wrong.push_back({Severity::Error, order[i].span, "",
                       fmt::format("the workload has no parameter '{}'", order[i].name),
                       nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest)});
    } else if (entry[found->second] != order.size()) {
      wrong.push_back({Severity::Error, order[i].span, "", fmt::format("'{}' stands here twice", order[i].name),
                       "name each parameter once"});
    } else {
      entry[found->second] = i;
    }
  }
  if (!wrong.empty()) throw UserError(std::move(wrong));
  return entry;
}

}  // namespace

std::vector<std::uint32_t> ranks_of(const NamedOrder& order, const graph::Graph& graph, const Layout& layout,
                                    Slices slices) {
  STRETTO_ASSERT(layout.first.size() == graph.parameters.size() + 1, "layout of {} parameters for {}",
                 layout.first.size(), graph.parameters.size());
  const std::vector<std::size_t> entry = match(order, graph);
  std::vector<std::size_t> named;
  for (std::size_t p = 0; p < entry.size(); ++p)
    if (entry[p] != order.size()) named.push_back(p);
  std::sort(named.begin(), named.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(order[entry[a]].rank, order[entry[a]].name) < std::tie(order[entry[b]].rank, order[entry[b]].name);
  });
  std::vector<std::uint32_t> rank(layout.transfers.size(), kUnranked);
  std::uint32_t next = 0;
  for (const std::size_t p : named)
    for (const std::uint32_t t : slices_in_turn(layout, p))
      rank[t] = slices == Slices::Adjacent ? next++ : order[entry[p]].rank;
  return rank;
}

}  // namespace stretto::plan
