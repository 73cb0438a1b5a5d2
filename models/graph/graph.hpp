// SPDX-License-Identifier: Apache-2.0
// Replica graph: one worker's step as plain data (ops, parameters, dependencies). See docs/model.md, section 1.
//
// A step is: pulls (each parameter, needed by the ops that read it), forward ops, and in training backward ops, pushes
// (each gradient, after the op that completes it) and the update at the server. The graph says nothing of clusters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/id.hpp"
#include "sim/base/units.hpp"

namespace stretto::graph {

using OpId = Id<struct OpTag>;
using ParameterId = Id<struct ParameterTag>;

enum class Phase : std::uint8_t { Forward, Backward };

// A compute op. `time` is its duration on the profiled device at speed 1 (>= 0).
struct Op {
  std::string name;  // unique in the graph
  Phase phase = Phase::Forward;
  Duration time;
  std::vector<OpId> inputs;        // ops that must end first
  std::vector<ParameterId> reads;  // parameters that must have been pulled first
  double flops = 0;                // operations and bytes of memory traffic, from which a device can tell the time
  double memory_bytes = 0;         // (models/device); 0: not known
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
