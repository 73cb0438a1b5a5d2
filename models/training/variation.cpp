// SPDX-License-Identifier: Apache-2.0
#include "models/training/variation.hpp"

namespace stretto::training {

namespace {

// Keys of late starts, of pauses, of toggles and of ops draw apart.
constexpr std::uint64_t kOfLateStarts = std::uint64_t{1} << 62;
constexpr std::uint64_t kOfPauses = std::uint64_t{1} << 61;

void add_late_starts(const Compiled& compiled, const std::vector<LateStart>& late_starts, program::Variation& v) {
  if (late_starts.empty()) return;
  for (std::uint32_t a = 0; a < compiled.labels.size(); ++a) {
    if (compiled.labels[a].role != Role::Late) continue;
    for (const LateStart& late : late_starts)
      if (late.worker == compiled.labels[a].worker)
        v.chances.push_back({a, late.worker | kOfLateStarts, late.probability, late.spread});
  }
}

// Behind all other activities.
void add_pauses(const Compiled& compiled, const std::vector<Burst>& bursts, program::Variation& v) {
  for (std::uint32_t a = std::min(compiled.program.background, compiled.program.size()); a < compiled.labels.size();
       ++a)
    if (const Label& label = compiled.labels[a]; label.role == Role::Pause && bursts.at(label.item).drawn)
      v.chances.push_back({a, label.item | kOfPauses, 1, true});
}

}  // namespace

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
      // Of a step: a key that no op has, since theirs end in 1 or more.
      const std::uint64_t op = std::uint64_t{label.pass} * compiled.ops + label.item;
      v.key[a] = spec.per_step ? std::uint64_t{label.worker + 1U} << 32 : (std::uint64_t{label.worker} << 32) + op + 1;
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
  add_late_starts(compiled, spec.late_starts, v);
  add_pauses(compiled, spec.bursts, v);
  return v;
}

program::Variation background_variation(const Compiled& background, const std::vector<Burst>& bursts) {
  program::Variation v;
  add_pauses(background, bursts, v);
  return v;
}

}  // namespace stretto::training
