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

struct VariationSpec {
  double compute_cv = 0;  // coefficient of variation of each worker op's time, 0 = none
  program::NoiseLaw law = program::NoiseLaw::Lognormal;
  std::vector<double> factors;  // law Empirical: op times are multiplied by one of them; mean 1
  std::optional<Stragglers> stragglers;
  std::vector<SlowWorker> slow_workers;
  std::vector<NicChange> nics;
  std::vector<LateStart> late_starts;
  bool noisy() const { return law == program::NoiseLaw::Empirical ? !factors.empty() : compute_cv > 0; }
  bool none() const { return !drawn() && slow_workers.empty() && nics.empty() && late_starts.empty(); }
  // Replications differ.
  bool drawn() const {
    return noisy() || stragglers || std::any_of(late_starts.begin(), late_starts.end(), [](const LateStart& late) {
             return late.spread || late.probability < 1;
           });
  }
  bool operator==(const VariationSpec&) const = default;
};

// `stream` keys the draws; the same stream gives the same op the same noise under every layout and order. Changes of
// hosts that `compiled` lacks are left out. Updates at servers and copies carry no noise.
// Delays of starts for Options::late.
std::vector<Duration> late_delays(const VariationSpec& spec);

program::Variation compile_variation(const Compiled& compiled, const VariationSpec& spec, std::uint64_t stream);

}  // namespace stretto::training
