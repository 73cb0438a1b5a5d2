// SPDX-License-Identifier: Apache-2.0
// Roofline cost of an op on a device, after Williams, Waterman, Patterson (2009):
//   time = max(flops / (peak_flops x f), memory_bytes / (memory_bandwidth x m)) + launch
//   f = flops_efficiency, m = memory_efficiency, but for the efficiency of the op's class and phase where one is given:
//   of convolutions and matrix products it stands for f, of elementwise ops, pooling and normalisation for m. A
//   backward op without one of its own takes that of the forward class.
// f may exceed 1: `flops` are those of the direct method, and Winograd's F(2x2, 3x3) kernels do 2.25 times fewer
// (Lavin and Gray 2016). Assumptions: one op uses the whole device, work and traffic overlap fully, caches do not help
// between ops, an op's efficiency depends on its class alone, not on its size. Units: operations/s (a multiply-add
// counts 2), bytes/s, seconds. Validated in results/validation/devices.md.
// An op of which neither operations nor bytes are known (0) takes `launch` alone. Cost: O(ops).
#pragma once

#include <array>
#include <cstddef>

#include "models/graph/graph.hpp"
#include "sim/base/units.hpp"

namespace stretto::device {

// By graph::OpClass; 0: none given.
using ClassEfficiency = std::array<double, graph::kOpClassNames.size()>;
inline constexpr double kMaxClassEfficiency = 4;

// What an efficiency of the class is a share of.
constexpr bool is_of_memory(graph::OpClass c) {
  return c == graph::OpClass::Elementwise || c == graph::OpClass::Pooling || c == graph::OpClass::Normalization;
}

struct Roofline {
  double peak_flops = 0;         // operations/s, > 0
  double memory_bandwidth = 0;   // bytes/s, > 0
  double flops_efficiency = 1;   // share of the peak that kernels reach, in (0, 1]
  double memory_efficiency = 1;  // the same of the bandwidth
  Duration launch;               // added to every op, >= 0
  ClassEfficiency forward{};     // each 0 or in (0, kMaxClassEfficiency]; none of class Other
  ClassEfficiency backward{};
};

// The figures' ranges. A reader of devices refuses what is outside; op_time asserts it.
bool is_sound(const Roofline& device);

// Nearest picosecond. Times over graph::kMaxTotalTime are cut to it, so that graph::check finds them.
Duration op_time(const graph::Op& op, const Roofline& device);

struct Filled {
  std::size_t ops = 0;      // that got a time
  std::size_t unknown = 0;  // of these, without operations and bytes
  std::size_t compute_bound = 0;
};

// Replaces the times of all ops.
Filled fill_times(graph::Graph& graph, const Roofline& device);

// Whether no op has a time: a graph that no device has run.
bool lacks_times(const graph::Graph& graph);

}  // namespace stretto::device
