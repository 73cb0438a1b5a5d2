// SPDX-License-Identifier: Apache-2.0
// Orders and dependencies of a checked graph (check.hpp).
#pragma once

#include <vector>

#include "models/graph/bit_matrix.hpp"
#include "models/graph/graph.hpp"

namespace stretto::graph {

// Successors per op, ascending, without duplicates. O(edges log edges).
std::vector<std::vector<OpId>> successors(const Graph& graph);

// The topological order that always takes the smallest op id that is ready. O((ops + edges) log ops).
std::vector<OpId> topological_order(const Graph& graph);

// Row per op: the parameters that it depends on, directly or through other ops. O((ops + edges) x parameters / 64).
BitMatrix needs(const Graph& graph);

// Per op: longest path of op times from its start to the end of the graph. O(ops + edges).
std::vector<Duration> paths_to_end(const Graph& graph);

// Longest path of op times. O(ops + edges).
Duration critical_path(const Graph& graph);

}  // namespace stretto::graph
