// SPDX-License-Identifier: Apache-2.0
#include "models/device/roofline.hpp"

#include <algorithm>
#include <cmath>

#include "models/graph/check.hpp"

namespace stretto::device {

namespace {

// 0: none given.
double class_efficiency(const graph::Op& op, const Roofline& d) {
  const auto c = static_cast<std::size_t>(op.op_class);
  return op.phase == graph::Phase::Backward && d.backward[c] > 0 ? d.backward[c] : d.forward[c];
}

double compute_seconds(const graph::Op& op, const Roofline& d) {
  const double own = is_of_memory(op.op_class) ? 0 : class_efficiency(op, d);
  return op.flops / (d.peak_flops * (own > 0 ? own : d.flops_efficiency));
}

double memory_seconds(const graph::Op& op, const Roofline& d) {
  const double own = is_of_memory(op.op_class) ? class_efficiency(op, d) : 0;
  return op.memory_bytes / (d.memory_bandwidth * (own > 0 ? own : d.memory_efficiency));
}

}  // namespace

bool is_sound(const Roofline& d) {
  const auto positive = [](double x) { return x > 0 && std::isfinite(x); };
  const auto share = [](double x) { return x > 0 && x <= 1; };
  const auto known = [](const ClassEfficiency& e) {
    return e[static_cast<std::size_t>(graph::OpClass::Other)] == 0 &&
           std::all_of(e.begin(), e.end(), [](double x) { return x >= 0 && x <= kMaxClassEfficiency; });
  };
  return known(d.forward) && known(d.backward) && positive(d.peak_flops) && positive(d.memory_bandwidth) &&
         share(d.flops_efficiency) && share(d.memory_efficiency) && d.launch >= Duration() &&
         d.launch <= graph::kMaxTotalTime;
}

Duration op_time(const graph::Op& op, const Roofline& device) {
  STRETTO_ASSERT(is_sound(device), "peak {} operations/s, bandwidth {} bytes/s", device.peak_flops,
                 device.memory_bandwidth);
  const double seconds = std::max(compute_seconds(op, device), memory_seconds(op, device));
  if (seconds >= graph::kMaxTotalTime.seconds()) return graph::kMaxTotalTime;
  return std::min(graph::kMaxTotalTime, device.launch + Duration::seconds(seconds));
}

Filled fill_times(graph::Graph& graph, const Roofline& device) {
  Filled filled;
  for (graph::Op& op : graph.ops) {
    op.time = op_time(op, device);
    ++filled.ops;
    filled.unknown += op.flops == 0 && op.memory_bytes == 0 ? 1U : 0U;
    filled.compute_bound += compute_seconds(op, device) > memory_seconds(op, device) ? 1U : 0U;
  }
  return filled;
}

bool lacks_times(const graph::Graph& graph) {
  return std::all_of(graph.ops.begin(), graph.ops.end(), [](const graph::Op& op) { return op.time == Duration(); });
}

}  // namespace stretto::device
