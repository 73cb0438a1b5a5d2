// SPDX-License-Identifier: Apache-2.0
#include "models/graph/canonical.hpp"

#include <fmt/format.h>

namespace stretto::graph {

std::string canonical_text(const Graph& graph) {
  std::string out = fmt::format("graph 1 {} {}\n", graph.parameters.size(), graph.ops.size());
  // The length before a name keeps names that hold blanks or newlines apart.
  for (const Parameter& p : graph.parameters) {
    out += fmt::format("parameter {}:{} {} {}", p.name.size(), p.name, p.bytes.count(), p.trainable ? 1 : 0);
    if (p.gradient.valid()) out += fmt::format(" {}", p.gradient.index());
    out += '\n';
  }
  for (const Op& op : graph.ops) {
    out += fmt::format("op {}:{} {}", op.name.size(), op.name, op.phase == Phase::Forward ? 'f' : 'b');
    for (const OpId input : op.inputs) out += fmt::format(" {}", input.index());
    out += " reads";
    for (const ParameterId p : op.reads) out += fmt::format(" {}", p.index());
    out += '\n';
  }
  return out;
}

}  // namespace stretto::graph
