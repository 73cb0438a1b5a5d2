// SPDX-License-Identifier: Apache-2.0
// Schedule file: a plan as JSON, "format": "stretto-schedule", "version": 1. It holds the complete layout (every slice
// with its bytes and server) and order (discipline and ranks of both directions), the SHA-256 of the workload's
// canonical text (models/graph/canonical.hpp), and what was predicted. docs/reference/schedule.md lists every key; the
// reader is io/import/schedule.hpp.
#pragma once

#include <string>

#include "models/graph/graph.hpp"
#include "models/plan/schedule.hpp"

namespace stretto::io {

// The file's text: fixed key order, one parameter per line.
std::string write_schedule(const graph::Graph& graph, const plan::Schedule& schedule);

}  // namespace stretto::io
