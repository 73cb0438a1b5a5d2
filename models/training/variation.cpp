// SPDX-License-Identifier: Apache-2.0
#include "models/training/variation.hpp"

namespace stretto::training {

std::vector<Duration> late_delays(const VariationSpec& spec) {
  std::vector<Duration> delays;
  for (const LateStart& late : spec.late_starts) {
    delays.resize(std::max<std::size_t>(delays.size(), late.worker + 1));
    delays[late.worker] = late.delay;
  }
  return delays;
}

program::Variation compile_variation(const Compiled& compiled, const VariationSpec& spec, std::uint64_t stream) {
  program::Variation v;
  v.stream = stream;
  v.law = spec.law;
  v.cv = spec.compute_cv;
  if (spec.noisy()) {
    v.factors = spec.factors;
    v.key.resize(compiled.labels.size());
    for (std::size_t a = 0; a < compiled.labels.size(); ++a) {
      const Label& label = compiled.labels[a];
      if (label.role != Role::Op) continue;
      const std::uint64_t op = std::uint64_t{label.pass} * compiled.ops + label.item;
      v.key[a] = (std::uint64_t{label.worker} << 32) + op + 1;
    }
  }
  if (spec.stragglers) {
    v.toggle = {spec.stragglers->slowdown, spec.stragglers->mean_on, spec.stragglers->mean_off, spec.stragglers->fixed};
    v.toggle_key.assign(compiled.program.pools.size(), 0);
    for (std::uint32_t w = 0; w < compiled.workers; ++w) v.toggle_key[compiled.device[w].index()] = w + 1;
  }
  for (const SlowWorker& s : spec.slow_workers)
    if (s.worker < compiled.workers) v.slow.push_back({compiled.device[s.worker].index(), s.slowdown, s.from, s.until});
  for (const NicChange& n : spec.nics) {
    const auto& hosts = n.server ? compiled.server_links : compiled.worker_links;
    if (n.host >= hosts.size()) continue;
    v.links.push_back({hosts[n.host].up, n.at, n.factor});
    v.links.push_back({hosts[n.host].down, n.at, n.factor});
  }
  if (spec.late_starts.empty()) return v;
  // Keys of late starts, of toggles and of ops draw apart.
  constexpr std::uint64_t kApart = std::uint64_t{1} << 62;
  for (std::uint32_t a = 0; a < compiled.labels.size(); ++a) {
    if (compiled.labels[a].role != Role::Late) continue;
    for (const LateStart& late : spec.late_starts)
      if (late.worker == compiled.labels[a].worker)
        v.chances.push_back({a, late.worker | kApart, late.probability, late.spread});
  }
  return v;
}

}  // namespace stretto::training
