// SPDX-License-Identifier: Apache-2.0
// One simulated step as a Chrome trace: per worker its device and, per server, its pulls and pushes; per server its
// sums and updates, the services of its messages and what its NIC moves. Times count from the step's first record. A
// message's bar is its time on the wire; what it waited for stands in the bar's arguments, in microseconds.
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

// Where the trace's time begins: when the first activity of the step was ready.
Time trace_origin(const std::vector<program::ActivityRecord>& records);

// Bars of the workers' processes, and of the servers' sums and updates, by process, track and time.
std::vector<Span> step_spans(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                             const training::Compiled& compiled, const std::vector<program::ActivityRecord>& records);

// Bars of the servers' threads (handling of messages) and NICs: the same messages seen from the other end. Processes
// that share a host's NIC each show what they move themselves.
std::vector<Span> server_spans(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                               const training::Compiled& compiled, const std::vector<program::ActivityRecord>& records);

}  // namespace stretto::io
