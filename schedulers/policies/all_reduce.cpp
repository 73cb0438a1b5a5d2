// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/all_reduce.hpp"

#include <algorithm>

#include "models/plan/fusion.hpp"

namespace stretto::policies {

namespace {
constexpr Bytes kDearBuffer(25'000'000);
}

void fuse_nothing(const PolicyInput& input, const PolicyOptions&, plan::Layout& layout) {
  plan::fuse(input.graph, layout, Bytes());
  layout.split = false;
}

void fuse_split(const PolicyInput& input, const PolicyOptions&, plan::Layout& layout) {
  plan::fuse(input.graph, layout, kDearBuffer);
  layout.split = true;
}

// Layer l of the rule is layers[L - l]. Only the start of the layer looked at is needed: those before it are final.
std::vector<std::uint32_t> merge_gradients(const std::vector<ReadyLayer>& layers, const CollectiveCost& cost) {
  std::vector<std::uint32_t> bucket(layers.size(), 0);
  Duration free;  // when the network has done what comes before
  Bytes bytes;    // of the layer looked at, with those merged into it
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    bucket[i] = number;
    bytes += layers[i].bytes;
    if (i + 1 == layers.size()) break;
    const Duration start = std::max(free, layers[i].at);
    const Duration end =
        start + cost.start + Duration::seconds(cost.per_byte_ps * static_cast<double>(bytes.count()) * 1e-12);
    const Duration next = layers[i + 1].at;
    if (next < end && (start > next || next - start < cost.start)) continue;
    free = end;
    bytes = Bytes();
    ++number;
  }
  return bucket;
}

void fuse_merged(const PolicyInput& input, const PolicyOptions&, plan::Layout& layout) {
  const std::vector<plan::ReadyGradient> ready = plan::gradients_by_readiness(input.graph, layout);
  std::vector<ReadyLayer> layers;
  for (const plan::ReadyGradient& g : ready) layers.push_back({g.at, layout.transfers[g.transfer].bytes});
  const std::vector<std::uint32_t> merged = merge_gradients(layers, input.collective);
  std::vector<std::uint32_t> number(layout.transfers.size());
  for (std::size_t i = 0; i < ready.size(); ++i) number[ready[i].transfer] = merged[i];
  plan::group(input.graph, layout, number);
  layout.split = false;
}

}  // namespace stretto::policies
