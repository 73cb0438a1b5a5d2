// SPDX-License-Identifier: Apache-2.0
// One text per replica graph, for hashes that say whether a file belongs to a workload: names, bytes and flags of the
// parameters, names, phases and dependencies of the ops, in the order of the graph. Times, batch and source are left
// out: an order stays valid when a model is profiled again. Cost: linear in the graph.
#pragma once

#include <string>

#include "models/graph/graph.hpp"

namespace stretto::graph {

// Two graphs have equal texts if and only if they agree in all of the above.
std::string canonical_text(const Graph& graph);

}  // namespace stretto::graph
