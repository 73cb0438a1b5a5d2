// SPDX-License-Identifier: Apache-2.0
#include "models/graph/statistics.hpp"

#include "models/graph/order.hpp"

namespace stretto::graph {

Statistics statistics(const Graph& graph) {
  Statistics s;
  s.parameters = graph.parameters.size();
  std::vector<bool> read(graph.parameters.size(), false);
  for (const Op& op : graph.ops) {
    const bool forward = op.phase == Phase::Forward;
    ++(forward ? s.forward_ops : s.backward_ops);
    (forward ? s.forward_time : s.backward_time) += op.time;
    for (const ParameterId p : op.reads) read[p.index()] = true;
  }
  for (const auto& list : successors(graph)) s.edges += list.size();
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    const Parameter& p = graph.parameters[i];
    s.bytes += p.bytes;
    if (!read[i]) ++s.unread_parameters;
    if (p.gradient.valid()) {
      ++s.gradients;
      s.gradient_bytes += p.bytes;
    }
    if (!s.widest.valid() || p.bytes > graph.parameters[s.widest.index()].bytes) s.widest = ParameterId(i);
  }
  s.critical_path = critical_path(graph);
  return s;
}

}  // namespace stretto::graph
