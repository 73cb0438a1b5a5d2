// SPDX-License-Identifier: Apache-2.0
// Order file of TicTac: text, one line per parameter, name TAB priority, least priority first on the wire. Priorities
// are 0, 1, 2, ... in the order of the plan's pull ranks (equal ranks share one). Parameters without a rank are left
// out: they pass freely. The format knows whole parameters only.
#pragma once

#include <string>

#include "models/graph/graph.hpp"
#include "models/plan/plan.hpp"

namespace stretto::io {

// Lines in the order of priority. UserError if the order of pulls has no ranks, if a parameter is cut into slices, or
// if a name holds a tab, newline or another control character.
std::string write_tictac_order(const graph::Graph& graph, const plan::Layout& layout, const plan::Order& order);

}  // namespace stretto::io
