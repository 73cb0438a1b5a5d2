// SPDX-License-Identifier: Apache-2.0
#include "models/plan/fusion.hpp"

#include <algorithm>
#include <map>

#include "models/graph/order.hpp"
#include "sim/base/assert.hpp"

namespace stretto::plan {

std::vector<ReadyGradient> gradients_by_readiness(const graph::Graph& graph, const Layout& layout) {
  std::vector<Duration> end(graph.ops.size());
  std::vector<std::size_t> place(graph.ops.size());
  Duration now;
  std::size_t next = 0;
  for (const graph::OpId op : graph::topological_order(graph)) {
    now += graph.ops[op.index()].time;
    end[op.index()] = now;
    place[op.index()] = next++;
  }
  const auto op_of = [&](std::uint32_t t) { return graph.parameters[layout.transfers[t].parameter.index()].gradient; };
  std::vector<ReadyGradient> list;
  for (std::uint32_t t = 0; t < layout.transfers.size(); ++t)
    if (op_of(t).valid()) list.push_back({t, end[op_of(t).index()]});
  std::stable_sort(list.begin(), list.end(), [&](const ReadyGradient& a, const ReadyGradient& b) {
    return place[op_of(a.transfer).index()] < place[op_of(b.transfer).index()];
  });
  return list;
}

void fuse(const graph::Graph& graph, Layout& layout, Bytes limit) {
  layout.bucket.assign(layout.transfers.size(), kUnranked);
  std::uint32_t buckets = 0;
  Bytes sum;
  for (const ReadyGradient& g : gradients_by_readiness(graph, layout)) {
    const Bytes bytes = layout.transfers[g.transfer].bytes;
    if (buckets == 0 || sum + bytes > limit) {
      ++buckets;
      sum = Bytes();
    }
    sum += bytes;
    layout.bucket[g.transfer] = buckets - 1;
  }
}

void group(const graph::Graph& graph, Layout& layout, const std::vector<std::uint32_t>& number) {
  STRETTO_ASSERT(number.size() == layout.transfers.size(), "{} numbers for {} transfers", number.size(),
                 layout.transfers.size());
  layout.bucket.assign(layout.transfers.size(), kUnranked);
  std::map<std::uint32_t, std::uint32_t> dense;
  for (const ReadyGradient& g : gradients_by_readiness(graph, layout))
    layout.bucket[g.transfer] =
        dense.try_emplace(number[g.transfer], static_cast<std::uint32_t>(dense.size())).first->second;
}

std::vector<Bytes> bucket_bytes(const Layout& layout) {
  std::vector<Bytes> bytes;
  for (std::size_t t = 0; t < layout.bucket.size(); ++t) {
    const std::uint32_t b = layout.bucket[t];
    if (b == kUnranked) continue;
    if (bytes.size() <= b) bytes.resize(b + 1);
    bytes[b] += layout.transfers[t].bytes;
  }
  return bytes;
}

}  // namespace stretto::plan
