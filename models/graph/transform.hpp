// SPDX-License-Identifier: Apache-2.0
// Workloads that were not profiled, from one that was. Each result is a checked graph again; what it assumes is said
// here and, by the caller, in the answer.
//   with_batch      another number of samples: an op's time becomes time x (f + (1 - f) x batch / old batch), f the
//                   share that does not grow with the batch (kernel launches, small kernels that leave the device
//                   idle). Operations and memory traffic grow in proportion. Parameters stay.
//   with_bytes      parameters of ratio x bytes, rounded up to whole bytes and at least 1: what a smaller precision or
//                   a compression sends. Ops stay.
//   freeze          parameters whose name matches a pattern are pulled, but have no gradient and are never pushed. A
//                   backward op is dropped if no remaining gradient depends on it, and it served a frozen one or
//                   depends on an op that is dropped. Ops that stay keep their times, also where a part of the time
//                   made a frozen gradient.
//   leave_out       ops whose name matches a pattern are not run: whoever waits for one waits for all that it waits
//                   for, ops and parameters, so that no dependency is lost. For work that the traced worker did and the
//                   simulated one does not, such as losses that TensorFlow 1 places beside their variables.
// Patterns: * stands for any text, ? for one character, everything else for itself.
// Cost: linear in the graph; freeze and leave_out O(patterns x names + ops + edges), and what ops inherit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/graph.hpp"

namespace stretto::graph {

// `batch` > 0, 0 <= fixed_share <= 1.
Graph with_batch(const Graph& graph, std::int64_t batch, double fixed_share);

// ratio x bytes, rounded up, at least 1 and at most `bytes`; 0 < ratio <= 1.
Bytes share_of(Bytes bytes, double ratio);

// 0 < ratio <= 1.
Graph with_bytes(const Graph& graph, double ratio);

struct Frozen {
  Graph graph;
  std::size_t parameters = 0;  // that are frozen now and were trained before
  std::size_t dropped_ops = 0;
  std::vector<std::size_t> idle_patterns;  // indices of patterns that match no parameter
};

Frozen freeze(const Graph& graph, const std::vector<std::string>& patterns);

struct LeftOut {
  Graph graph;
  std::size_t ops = 0;                     // left out
  std::vector<std::size_t> idle_patterns;  // indices of patterns that match no op
  std::vector<OpId> gradients;             // of the given graph: matching ops that complete a gradient. They stay
};

LeftOut leave_out(const Graph& graph, const std::vector<std::string>& patterns);

bool matches(std::string_view pattern, std::string_view name);

}  // namespace stretto::graph
