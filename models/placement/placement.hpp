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
//   hash         slice i of variable v has the key 65536 v + i and lies on server djb2(decimal digits of the key) mod S
//                (BytePS's default); djb2: h = 5381, then h = 33 h + c for each character, mod 2^64
//   p3           variables of more than `slice` bytes cut in slices, slice i on server i mod S; smaller ones whole on
//                server 9973 v mod S (P3)
//   byteps       BytePS's best split over n workers' hosts with a server each (the first n servers) and k hosts of
//                servers alone, 0 <= k <= n: each host of the first kind holds the share (n - k) / D of the bytes, each
//                of the second 2 (n - 1) / D, D = n^2 + k n - 2 k (n = k: 0 and 1 / k). Each NIC direction then carries
//                2 n (n - 1) M / D of the M bytes of all variables per step, pushes and pulls together. Slices go in
//                order to the server whose load after it, over its share, is least; lowest index among equals
// hash, p3 and byteps number variables v from 0 in creation order and cut what is larger than `slice` in slices of that
// many bytes, the last one with the rest. Defaults: hash whole variables, p3 200,000 B (50,000 elements of 4 bytes),
// byteps 4,096,000 B (the default partition of BytePS).
// Cost: O(parameters log S + transfers); byteps O(transfers S).
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
  std::optional<Bytes> slice;                                  // most bytes per slice, > 0; option `size`
  std::vector<std::pair<std::string, std::uint32_t>> servers;  // by_name: variable -> server index
};

// Where server processes run. The first `on_workers` servers are on workers' hosts, the others on hosts of their own.
struct Hosts {
  std::uint32_t servers = 1;
  std::uint32_t workers = 1;
  std::uint32_t on_workers = 0;
  bool shared = false;  // several server processes on one host
};

struct Placement {
  std::string_view name;
  std::string_view help;     // one line
  std::string_view options;  // names of the options it takes, separated by spaces; may be empty
  plan::Layout (*place)(const graph::Graph& graph, const Hosts& hosts, const Options& options);
};

// The registry, in the order of `stretto list placements`.
std::span<const Placement> placements();
std::vector<std::string> placement_names();

// UserError with the nearest or all names if there is none of this name.
const Placement& find_placement(std::string_view name);

// Checks the options, then places. At least one server, else UserError.
plan::Layout place(std::string_view name, const graph::Graph& graph, const Hosts& hosts, const Options& options = {});
// The same for servers on hosts of their own.
plan::Layout place(std::string_view name, const graph::Graph& graph, std::uint32_t servers,
                   const Options& options = {});

// BytePS's best split; k <= n, 1 <= n.
struct BestSplit {
  double per_worker_host = 0;  // share of the bytes
  double per_server_host = 0;
  double nic_load = 0;  // bytes per step and NIC direction, over those of all variables
};
BestSplit best_split(std::uint32_t n, std::uint32_t k);

}  // namespace stretto::placement
