// SPDX-License-Identifier: Apache-2.0
// Where a training step can be cut in two: at the "loss", the end of all ops that precede every gradient.
//
// before: ops from which a path leads to the gradient op of every pushed parameter, these ops themselves excluded.
// after:  ops that every op of `before` precedes. Backward work of a gradient = its ops in `after`.
// holds:  there are pushed parameters and `before` is not empty, and every parameter that an op reads is needed by an
//         op of `before`. Then in each worker every pull of a step has ended at its loss, and no push has begun.
// Cost: O((ops + edges) x (parameters + ends of `before`) / 64).
#pragma once

#include <vector>

#include "models/graph/bit_matrix.hpp"
#include "models/graph/graph.hpp"

namespace stretto::bounds {

struct Split {
  bool holds = false;
  std::vector<bool> before;  // per op
  std::vector<bool> after;   // per op
  std::vector<bool> needed;  // per parameter: by an op of `before`
  std::vector<bool> pushed;  // per parameter: its gradient follows the loss
};

// A step with several losses, as that of a model with an auxiliary head, where no op precedes every gradient after
// which all pulls have ended. Loss i has a set F of gradients, greatest by inclusion: the end of all ops that precede
// every gradient in F. Whichever loss comes last, all pulls that some loss needs have ended; whichever comes first, no
// push has begun.
struct Losses {
  std::vector<Split> each;
  Split last;   // before: what some loss needs
  Split first;  // after: what follows some loss
};

// Row per op: parameters whose gradient op is this op or follows it.
graph::BitMatrix feeds(const graph::Graph& graph);

// `needs`: graph::needs(graph); `feeds`: as above.
Split split_at_loss(const graph::Graph& graph, const graph::BitMatrix& needs, const graph::BitMatrix& feeds);

// Two losses or more, at most kMostLosses; otherwise `each` is empty.
inline constexpr std::size_t kMostLosses = 8;
Losses losses(const graph::Graph& graph, const graph::BitMatrix& needs, const graph::BitMatrix& feeds);

}  // namespace stretto::bounds
