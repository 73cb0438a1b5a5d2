// SPDX-License-Identifier: Apache-2.0
#include "models/graph/transform.hpp"

#include <algorithm>
#include <cmath>

#include "models/graph/order.hpp"
#include "sim/base/assert.hpp"

namespace stretto::graph {

Graph with_batch(const Graph& graph, std::int64_t batch, double fixed_share) {
  STRETTO_ASSERT(batch > 0 && fixed_share >= 0 && fixed_share <= 1, "batch {}, fixed share {}", batch, fixed_share);
  Graph out = graph;
  const double ratio = static_cast<double>(batch) / static_cast<double>(graph.batch);
  out.batch = batch;
  for (Op& op : out.ops) {
    op.time = op.time.scaled(fixed_share + (1 - fixed_share) * ratio);
    // An op whose traffic is all fixed works on weights alone.
    if (op.memory_bytes == 0 || op.fixed_bytes < op.memory_bytes) op.flops *= ratio;
    op.memory_bytes = op.fixed_bytes + (op.memory_bytes - op.fixed_bytes) * ratio;
  }
  return out;
}

Bytes share_of(Bytes bytes, double ratio) {
  STRETTO_ASSERT(ratio > 0 && ratio <= 1, "ratio {}", ratio);
  const auto share = static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes.count()) * ratio));
  return Bytes(std::clamp<std::int64_t>(share, 1, bytes.count()));
}

Graph with_bytes(const Graph& graph, double ratio) {
  Graph out = graph;
  for (Parameter& p : out.parameters) p.bytes = share_of(p.bytes, ratio);
  return out;
}

bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;  // the last * met, and what it stands for so far ends at `after`
  std::size_t after = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Frozen freeze(const Graph& graph, const std::vector<std::string>& patterns) {
  Frozen out;
  const std::size_t n = graph.ops.size();
  std::vector<bool> frozen(graph.parameters.size(), false);
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    bool idle = true;
    for (std::size_t i = 0; i < frozen.size(); ++i)
      if (matches(patterns[k], graph.parameters[i].name)) {
        frozen[i] = true;
        idle = false;
      }
    if (idle) out.idle_patterns.push_back(k);
  }
  std::vector<bool> serves_trained(n, false);
  std::vector<bool> serves_frozen(n, false);
  for (std::size_t i = 0; i < frozen.size(); ++i) {
    const Parameter& p = graph.parameters[i];
    if (frozen[i] && (p.trainable || p.gradient.valid())) ++out.parameters;
    if (p.gradient.valid()) (frozen[i] ? serves_frozen : serves_trained)[p.gradient.index()] = true;
  }
  const std::vector<OpId> order = topological_order(graph);
  for (auto it = order.rbegin(); it != order.rend(); ++it)
    for (const OpId input : graph.ops[it->index()].inputs) {
      if (serves_trained[it->index()]) serves_trained[input.index()] = true;
      if (serves_frozen[it->index()]) serves_frozen[input.index()] = true;
    }
  std::vector<bool> dropped(n, false);
  for (const OpId id : order) {
    const Op& op = graph.ops[id.index()];
    if (op.phase == Phase::Forward || serves_trained[id.index()]) continue;
    dropped[id.index()] = serves_frozen[id.index()] ||
                          std::any_of(op.inputs.begin(), op.inputs.end(), [&](OpId i) { return dropped[i.index()]; });
  }
  std::vector<OpId> new_id(n);
  out.graph.name = graph.name;
  out.graph.source = graph.source;
  out.graph.batch = graph.batch;
  for (std::size_t o = 0; o < n; ++o) {
    if (dropped[o]) {
      ++out.dropped_ops;
      continue;
    }
    new_id[o] = OpId(out.graph.ops.size());
    out.graph.ops.push_back(graph.ops[o]);
  }
  for (Op& op : out.graph.ops) {
    for (OpId& input : op.inputs) {
      STRETTO_ASSERT(!dropped[input.index()], "op {} needs a dropped op", op.name);
      input = new_id[input.index()];
    }
  }
  out.graph.parameters = graph.parameters;
  for (std::size_t i = 0; i < frozen.size(); ++i) {
    Parameter& p = out.graph.parameters[i];
    if (frozen[i]) {
      p.trainable = false;
      p.gradient = OpId();
    } else if (p.gradient.valid()) {
      p.gradient = new_id[p.gradient.index()];
    }
  }
  return out;
}

LeftOut leave_out(const Graph& graph, const std::vector<std::string>& patterns) {
  LeftOut out;
  const std::size_t n = graph.ops.size();
  std::vector<bool> left_out(n, false);
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    bool idle = true;
    for (std::size_t o = 0; o < n; ++o)
      if (matches(patterns[k], graph.ops[o].name)) {
        left_out[o] = true;
        idle = false;
      }
    if (idle) out.idle_patterns.push_back(k);
  }
  for (const Parameter& p : graph.parameters)
    if (p.gradient.valid() && left_out[p.gradient.index()]) {
      left_out[p.gradient.index()] = false;
      out.gradients.push_back(p.gradient);
    }
  // What stands for each op in the lists of its users: itself, or what it waited for.
  std::vector<std::vector<OpId>> inputs(n);
  std::vector<std::vector<ParameterId>> reads(n);
  const auto add = [](auto& list, const auto& more) {
    for (const auto& id : more)
      if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
  };
  for (const OpId id : topological_order(graph)) {
    const Op& op = graph.ops[id.index()];
    add(reads[id.index()], op.reads);
    for (const OpId input : op.inputs) {
      if (!left_out[input.index()]) {
        add(inputs[id.index()], std::vector<OpId>{input});
        continue;
      }
      add(inputs[id.index()], inputs[input.index()]);
      add(reads[id.index()], reads[input.index()]);
    }
  }
  std::vector<OpId> new_id(n);
  out.graph.name = graph.name;
  out.graph.source = graph.source;
  out.graph.batch = graph.batch;
  for (std::size_t o = 0; o < n; ++o) {
    if (left_out[o]) {
      ++out.ops;
      continue;
    }
    new_id[o] = OpId(out.graph.ops.size());
    out.graph.ops.push_back(graph.ops[o]);
    out.graph.ops.back().inputs = std::move(inputs[o]);
    out.graph.ops.back().reads = std::move(reads[o]);
  }
  for (Op& op : out.graph.ops)
    for (OpId& input : op.inputs) input = new_id[input.index()];
  out.graph.parameters = graph.parameters;
  for (Parameter& p : out.graph.parameters)
    if (p.gradient.valid()) p.gradient = new_id[p.gradient.index()];
  return out;
}

}  // namespace stretto::graph
