// SPDX-License-Identifier: Apache-2.0
// A workload's figures for people: ops, times, parameters, the NIC rate of ratio 1, the largest parameters. Names are
// escaped.
#pragma once

#include <string>

#include "models/graph/graph.hpp"

namespace stretto::app {

// `graph` has passed graph::check.
std::string workload_text(const graph::Graph& graph);

}  // namespace stretto::app
