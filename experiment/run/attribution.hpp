// SPDX-License-Identifier: Apache-2.0
// `stretto attribute`: where the time of a step goes, by replays with causes idealised, and its critical path.
//
// Replays: every set of the five causes (32), each simulated with the same iterations, seed and replications as the run
// itself, so that replication r meets the same noise in all of them. idealise.hpp says what is taken away; transfer
// order is idealised to the best order known: of the plan's own order and those of the experiment's other policies,
// fifo, tic and tac that have its layout, the one with the least mean time under the same set of causes (tried on the
// first three replications). That is an order that can be used, not a bound: a better one may exist.
// A set without anything drawn is simulated once. Cost: 32 runs, and 16 short ones per order tried.
// Meaning of the shares: analysis/attribution.hpp. Limits: what measured steps of a cluster cost cannot be replayed, so
// this is for simulated steps only.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution.hpp"
#include "experiment/run/runner.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "experiment/spec/spec.hpp"

namespace stretto::experiment {

// Policies by their labels ("tac", "tac(window=2)") or names, at every point; none given: the first policy of each
// point. A name of several labels means all of them. UserError for a policy that a point does not have; a deadlock is a
// result.
analysis::AttributionResult attribute(const Experiment& experiment, const std::vector<std::string>& policies,
                                      const Progress& progress);

// The path with its links in words and its times from its begin.
analysis::NamedPath named_path(const Setup& setup, const plan::Plan& plan, const training::Compiled& compiled,
                               const analysis::CriticalPath& path);

// Mean step times, s, by set of causes and replication.
struct Replays {
  std::optional<std::string> deadlock;
  std::vector<std::vector<double>> times;
  std::size_t best_order = 0;       // index of the order that took part in {order}
  std::size_t best_order_left = 0;  // in the set of all causes
};

// `orders`: plans of one layout, the first is the one that is asked about. `tick` is called kTicks times on the way, on
// the caller's thread.
inline constexpr std::size_t kTicks = 8;
Replays replay_causes(const Setup& setup, const std::vector<plan::Plan>& orders, const SimulateOptions& options,
                      const std::function<void()>& tick = {});

}  // namespace stretto::experiment
