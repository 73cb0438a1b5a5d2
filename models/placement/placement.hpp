// SPDX-License-Identifier: Apache-2.0
// Placement: on which parameter server each variable lives, and how it is cut. Pure functions from graph and server
// count to plan::Layout; every result places each parameter whole or in slices that sum to its bytes exactly.
//   round_robin  variable i on server i mod S, in creation order, non-trainable ones included (TensorFlow's default)
//   greedy       in creation order to the server with the fewest bytes so far, the lowest index among equals
//                (TensorFlow's GreedyLoadBalancingStrategy with byte_size_load_fn)
//   partitioned  each variable cut in `parts` equal slices (default S), or in the fewest equal slices of at most
//                `slice` bytes; slice i goes to server (start + i) mod S, and the next variable starts at the server
//                after the last slice. Slices hold whole 4-byte elements when the variable does, and differ by at most
//                one element (one byte otherwise). A variable with fewer elements than parts gets one slice an element.
//   by_name      each variable whole on the server that the list names
// Cost: O(parameters log S + transfers).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/graph/graph.hpp"
#include "models/plan/plan.hpp"

namespace stretto::placement {

// What a placement may be told. An option that the chosen placement does not take is a UserError.
struct Options {
  std::optional<std::uint32_t> parts;                          // partitioned: slices per variable, >= 1
  std::optional<Bytes> slice;                                  // partitioned: most bytes per slice, > 0
  std::vector<std::pair<std::string, std::uint32_t>> servers;  // by_name: variable -> server index
};

struct Placement {
  std::string_view name;
  std::string_view help;     // one line
  std::string_view options;  // names of the options it takes, separated by spaces; may be empty
  plan::Layout (*place)(const graph::Graph& graph, std::uint32_t servers, const Options& options);
};

// The registry, in the order of `stretto list placements`.
std::span<const Placement> placements();
std::vector<std::string> placement_names();

// UserError with the nearest or all names if there is none of this name.
const Placement& find_placement(std::string_view name);

// Checks the options, then places. `servers` >= 1, else UserError.
plan::Layout place(std::string_view name, const graph::Graph& graph, std::uint32_t servers,
                   const Options& options = {});

}  // namespace stretto::placement
