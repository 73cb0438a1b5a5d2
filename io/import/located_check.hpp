// SPDX-License-Identifier: Apache-2.0
// Runs graph::check on an imported graph and gives what it finds a place in the file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/graph.hpp"

namespace stretto::io {

// Where each op and each parameter of a graph was read, as byte offsets into the text.
struct GraphPlaces {
  std::vector<std::size_t> ops;
  std::vector<std::size_t> parameters;
};

// Throws UserError with every finding of graph::check, at most 20 of them.
void check_located(const graph::Graph& graph, std::string_view text, const std::string& path,
                   const GraphPlaces& places);

}  // namespace stretto::io
