// SPDX-License-Identifier: Apache-2.0
// Variation of a training job in its own words, and its translation for the engine (sim/program/variation.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/training/compile.hpp"
#include "sim/base/units.hpp"
#include "sim/program/variation.hpp"

namespace stretto::training {

// Ops of `worker` that start in [from, until) take `slowdown` times as long.
struct SlowWorker {
  std::uint32_t worker = 0;
  double slowdown = 1;  // > 0
  Time from;
  Time until = Time::never();
  bool operator==(const SlowWorker&) const = default;
};

// From `at` on both directions of a host's NIC have `factor` times their rate.
struct NicChange {
  bool server = false;
  std::uint32_t host = 0;
  Time at;
  double factor = 1;  // > 0
  bool operator==(const NicChange&) const = default;
};

// Each worker is slow and normal in turn, on its own. An op that starts while its worker is slow takes `slowdown` times
// as long.
struct Stragglers {
  double slowdown = 1;  // > 0
  Duration mean_on;     // slow
  Duration mean_off;    // normal
  bool fixed = false;   // times are their means, else exponential
  bool operator==(const Stragglers&) const = default;
};

// Each step of the worker begins later by `delay` with this probability (spread: by an exponential time of this mean).
// At most one per worker.
struct LateStart {
  std::uint32_t worker = 0;
  Duration delay;          // > 0
  double probability = 1;  // (0, 1]
  bool spread = false;
  bool operator==(const LateStart&) const = default;
};

inline bool drawn_bursts(const std::vector<Burst>& bursts) {
  return std::any_of(bursts.begin(), bursts.end(), [](const Burst& burst) { return burst.drawn; });
}

struct VariationSpec {
  double compute_cv = 0;  // coefficient of variation of each worker op's time, 0 = none
  program::NoiseLaw law = program::NoiseLaw::Lognormal;
  std::vector<double> factors;  // law Empirical: op times are multiplied by one of them; mean 1
  bool per_step = false;        // all ops of a worker's step take the same factor
  std::optional<Stragglers> stragglers;
  std::vector<SlowWorker> slow_workers;
  std::vector<NicChange> nics;
  std::vector<LateStart> late_starts;
  std::vector<Burst> bursts = {};
  bool noisy() const { return law == program::NoiseLaw::Empirical ? !factors.empty() : compute_cv > 0; }
  // Nothing varies but background traffic.
  bool noiseless() const {
    return !noisy() && !stragglers && slow_workers.empty() && nics.empty() && late_starts.empty();
  }
  bool none() const { return noiseless() && bursts.empty(); }
  // Replications differ.
  bool drawn() const {
    return noisy() || stragglers || drawn_bursts(bursts) ||
           std::any_of(late_starts.begin(), late_starts.end(),
                       [](const LateStart& late) { return late.spread || late.probability < 1; });
  }
  bool operator==(const VariationSpec&) const = default;
};

// Delays of starts for Options::late.
std::vector<Duration> late_delays(const VariationSpec& spec);

// `stream` keys the draws; the same stream gives the same op the same noise under every layout and order. Changes of
// hosts that `compiled` lacks are left out. Updates at servers and copies carry no noise. Late starts and bursts must
// be those that `compiled` was made with.
program::Variation compile_variation(const Compiled& compiled, const VariationSpec& spec, std::uint64_t stream);

// Of compile_background's program.
program::Variation background_variation(const Compiled& background, const std::vector<Burst>& bursts);

}  // namespace stretto::training
