// SPDX-License-Identifier: Apache-2.0
// Work of an op by shape formulas: floating point operations (a multiply-add counts 2) and bytes of memory read and
// written, each input and output once.
//   convolution, MatMul: 2 x output elements x terms of each sum; each of a convolution's gradients: as its forward op
//   pooling: elements of the window per output; its gradient the same
//   batch normalisation: 5 per element in training, 2 in inference; its gradient 8 (two sums, one affine map)
//   reductions, L2Loss: 1 and 2 per input element; softmax losses: 5 per logit; AddN: inputs - 1 per element
//   elementwise: 1 per output element; ops that only move data: 0 and their bytes; ops that only rename: neither
// An op of a kind that is not known has its bytes and no operations; `known` says whether all shapes were there.
// TensorFlow's profiler counts other things (VALID convolution gradients too high, nothing for batch normalisation).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "io/import/tensorflow_nodes.hpp"
#include "models/graph/graph.hpp"

namespace stretto::io {

struct TfCost {
  double flops = 0;
  double memory_bytes = 0;
  double fixed_bytes = 0;  // of tensors whose first dimension is not the batch
  graph::OpClass op_class = graph::OpClass::Other;
  bool known = true;
};

// The shape of an output, if it is known.
using TfShapes = std::function<std::optional<TfShape>(std::uint32_t node, std::int32_t slot)>;

// `type` is the op's element type by its attributes; 0 counts as 4 bytes an element. A tensor counts as one of samples,
// whose bytes grow with the batch, if its first dimension is `batch`. O(inputs).
TfCost cost_of(const TfGraph& graph, std::uint32_t node, const TfShapes& shapes, std::int64_t batch);

}  // namespace stretto::io
