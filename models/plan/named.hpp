// SPDX-License-Identifier: Apache-2.0
// Orders by names, as files say them, and their translation into the ranks of a layout. Several parameters may share a
// rank. What a file names must exist; what it leaves out stays without a rank (kUnranked).
// Cost: O(names log parameters + transfers).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/graph/graph.hpp"
#include "models/plan/plan.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::plan {

struct RankedName {
  std::string name;  // of a parameter
  std::uint32_t rank = 0;
  Span span;  // where the file says it
};

using NamedOrder = std::vector<RankedName>;

enum class Slices : std::uint8_t {
  Adjacent,  // ranks of their own, next to each other, servers in turn: all ranks of the result differ
  Equal,     // the rank of their parameter
};

// Rank per transfer. Equal ranks go by name where ranks must differ. UserError with the place of every name that the
// graph lacks or that stands twice, at most 20.
std::vector<std::uint32_t> ranks_of(const NamedOrder& order, const graph::Graph& graph, const Layout& layout,
                                    Slices slices);

}  // namespace stretto::plan
