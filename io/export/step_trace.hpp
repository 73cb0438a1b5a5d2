// SPDX-License-Identifier: Apache-2.0
// One simulated step as a Chrome trace: per worker its device and, per server, its pulls and pushes; per server its
// updates. Times count from the step's first record. A message's bar is its time on the wire; what it waited for stands
// in the bar's arguments, in microseconds.
#pragma once

#include <string>
#include <vector>

#include "io/export/chrome_trace.hpp"
#include "models/cluster/cluster.hpp"
#include "models/graph/graph.hpp"
#include "models/plan/plan.hpp"
#include "models/training/compile.hpp"
#include "sim/program/observer.hpp"

namespace stretto::io {

// The bars themselves, by process, track and time.
std::vector<Span> step_spans(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                             const training::Compiled& compiled, const std::vector<program::ActivityRecord>& records);

std::string write_step_trace(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                             const training::Compiled& compiled, const std::vector<program::ActivityRecord>& records);

}  // namespace stretto::io
