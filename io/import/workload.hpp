// SPDX-License-Identifier: Apache-2.0
// stretto's own workload file: a replica graph as JSON, "format": "stretto-workload", "version": 1 or 2. 2 has an op's
// class and fixed_bytes; a graph without them is written as version 1. Ops and parameters refer to each other by name.
// Reading is strict: an unknown or doubled key, a wrong type, a name that does not exist or a newer version is an error
// with its place; all errors of a file come at once. docs/reference/workload.md lists every key.
#pragma once

#include <string>
#include <string_view>

#include "io/import/import.hpp"
#include "models/graph/graph.hpp"

namespace stretto::io {

inline constexpr std::string_view kWorkloadFormat = "stretto-workload";
inline constexpr std::int64_t kWorkloadVersion = 2;

// Reads a workload file (gzip or plain).
graph::Graph read_workload(const std::string& path);
// The same from memory; `path` is for messages.
graph::Graph parse_workload(const std::string& text, const std::string& path);

// The file's text: fixed key order, one op or parameter per line, ends with a newline. parse_workload of it gives the
// same graph; writing that again gives the same bytes.
std::string write_workload(const graph::Graph& graph);

bool is_workload(std::string_view text);
ImportResult import_workload(const std::string& text, const std::string& path, const ImportOptions& options);

}  // namespace stretto::io
