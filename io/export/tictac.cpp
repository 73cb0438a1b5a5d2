// SPDX-License-Identifier: Apache-2.0
#include "io/export/tictac.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

std::string write_tictac_order(const graph::Graph& graph, const plan::Layout& layout, const plan::Order& order) {
  const std::size_t n = graph.parameters.size();
  const std::vector<std::uint32_t>& rank = order.pull.rank;
  STRETTO_ASSERT(layout.first.size() == n + 1, "layout of {} parameters for a graph of {}", layout.first.size(), n);
  if (rank.empty())
    throw UserError("the plan gives pulls no order, so there is nothing to write into an order file",
                    "choose a policy that ranks transfers, such as tac");
  STRETTO_ASSERT(rank.size() == layout.transfers.size(), "{} ranks for {} transfers", rank.size(),
                 layout.transfers.size());
  std::vector<std::pair<std::uint32_t, std::size_t>> ranked;
  for (std::size_t p = 0; p < n; ++p) {
    const std::string& name = graph.parameters[p].name;
    if (layout.first[p + 1] - layout.first[p] != 1)
      throw UserError(fmt::format("parameter \"{}\" is cut into {} slices; an order file names whole parameters", name,
                                  layout.first[p + 1] - layout.first[p]),
                      "write the order of a plan without partition");
    const bool control =
        std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
    if (control)
      throw UserError(fmt::format("the name \"{}\" holds a control character, which breaks an order file", name));
    if (rank[layout.first[p]] != plan::kUnranked) ranked.emplace_back(rank[layout.first[p]], p);
  }
  std::sort(ranked.begin(), ranked.end());
  std::string out;
  std::size_t priority = 0;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (i > 0 && ranked[i].first != ranked[i - 1].first) ++priority;
    out += fmt::format("{}\t{}\n", graph.parameters[ranked[i].second].name, priority);
  }
  return out;
}

}  // namespace stretto::io
