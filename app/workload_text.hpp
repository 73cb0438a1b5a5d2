// SPDX-License-Identifier: Apache-2.0
// A workload's figures for people: ops, times, parameters, the NIC rate of ratio 1, the largest parameters. Names are
// escaped.
#pragma once

#include <string>

#include "models/graph/graph.hpp"

namespace stretto::app {

// `graph` has passed graph::check.
std::string workload_text(const graph::Graph& graph);

// What an experiment leaves out of a workload that has a backward pass and no gradients, and how much of the device's
// time that is; "" for any other workload.
std::string left_out_text(const graph::Graph& graph);

}  // namespace stretto::app
