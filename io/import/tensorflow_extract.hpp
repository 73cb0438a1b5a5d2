// SPDX-License-Identifier: Apache-2.0
// TensorFlow graph (and a traced step of it) -> replica graph of one worker.
//
// The step is what the recorded nodes need; without a trace, what the optimizer's ops need (or, if there are none, all
// that nothing else takes). Of it, the worker's nodes become ops. Nodes that only hand on (Const, Identity, NoOp,
// reads of variables, ...) and those that another op ran inside itself (fused) are left out; whoever waited for one
// waits for all that it waited for, so no dependency is lost or added. A left-out node with many inputs and many users
// stays as an op of its own, so that edges do not multiply. Servers' nodes between two of the worker's count as such a
// dependency. An op reads a parameter if a data path of left-out nodes leads from the variable to it. Backward are:
// nodes in a scope "gradients" (or "gradients_1", "gradient_tape", at any depth), producers of what an optimizer
// takes, and all that depends on one of these. The rest is forward. Cost: O(nodes log nodes + edges x 64).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/import/import.hpp"
#include "io/import/tensorflow_nodes.hpp"
#include "io/import/tensorflow_trace.hpp"
#include "models/graph/graph.hpp"

namespace stretto::io {

// The task whose step is imported: the first that is no server and, if there are tasks with records, has some.
TfDevice choose_worker(const TfGraph& graph, const std::vector<TfDevice>& traced, ImportReport& report);

// `trace` is null for a graph alone: then no op has a time. Throws UserError if the trace does not belong to the graph,
// too many records are missing, or a variable's size is not known. `path` is for messages.
graph::Graph extract_graph(const TfGraph& graph, const TfTrace* trace, const TfDevice& worker, const std::string& path,
                           std::optional<std::int64_t> batch, ImportReport& report);

}  // namespace stretto::io
