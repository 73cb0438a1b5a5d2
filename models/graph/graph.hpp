// SPDX-License-Identifier: Apache-2.0
// Replica graph: one worker's step as plain data (ops, parameters, dependencies). See docs/model.md, section 1.
//
// A step is: pulls (each parameter, needed by the ops that read it), forward ops, and in training backward ops, pushes
// (each gradient, after the op that completes it) and the update at the server. The graph says nothing of clusters.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/id.hpp"
#include "sim/base/units.hpp"

namespace stretto::graph {

using OpId = Id<struct OpTag>;
using ParameterId = Id<struct ParameterTag>;

enum class Phase : std::uint8_t { Forward, Backward };

// Kinds of ops that devices run with different efficiency (models/device). A gradient has the class of its forward op.
enum class OpClass : std::uint8_t {
  Other,          // not known
  Conv1x1,        // convolution, every filter 1 x 1
  Conv3x3,        // 3 x 3 filters moved by 1: what Winograd's kernels can do
  ConvLarge,      // square filters of 5 x 5 and more, moved by 1: what kernels by Fourier transforms can do
  Conv,           // any other convolution: moved by more than 1, not square
  Depthwise,      // convolution of each channel by itself
  Matmul,         // also a convolution whose output is one position (a dense layer)
  Elementwise,    // also reductions, losses and moves of data
  Pooling,        //
  Normalization,  // of batches
};
inline constexpr std::array<std::string_view, 10> kOpClassNames = {"other",   "conv_1x1",     "conv_3x3", "conv_large",
                                                                   "conv",    "depthwise",    "matmul",   "elementwise",
                                                                   "pooling", "normalization"};

// A compute op. `time` is its duration on the profiled device at speed 1 (>= 0).
struct Op {
  std::string name;  // unique in the graph
  Phase phase = Phase::Forward;
  Duration time;
  std::vector<OpId> inputs;        // ops that must end first
  std::vector<ParameterId> reads;  // parameters that must have been pulled first
  double flops = 0;                // operations and bytes of memory traffic, from which a device can tell the time
  double memory_bytes = 0;         // (models/device); 0: not known
  double fixed_bytes = 0;          // of memory_bytes, those that do not grow with the batch (weights)
  OpClass op_class = OpClass::Other;
};

// A variable of the parameter servers. `gradient` is the op that completes its gradient (none: never pushed).
struct Parameter {
  std::string name;  // unique in the graph
  Bytes bytes;       // > 0
  bool trainable = true;
  OpId gradient;
  std::int32_t server = -1;  // where it lay when it was traced; -1: not known. A hint for placement
};

struct Graph {
  std::string name;                   // "vgg_16"
  std::string source;                 // where the figures come from, free text
  std::int64_t batch = 1;             // samples per worker and step
  std::vector<Op> ops;                // any order
  std::vector<Parameter> parameters;  // creation order (placement depends on it)
};

}  // namespace stretto::graph
