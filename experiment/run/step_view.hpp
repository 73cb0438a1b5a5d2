// SPDX-License-Identifier: Apache-2.0
// Steps of an experiment's first point, to be drawn: the first measured step of replication 0 of every policy.
//
// A step of more than `most_bars` bars is drawn with fewer workers: those on its critical path first, then the others
// by number. The use of resources is the mean between moments of the simulation, kMoments a step at most, exact in sum.
// Cost: three simulations of the warm-up and a step per policy, and memory of some 100 B per bar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/result.hpp"
#include "analysis/step_view.hpp"
#include "experiment/run/runner.hpp"
#include "experiment/spec/spec.hpp"

namespace stretto::experiment {

inline constexpr std::uint32_t kMoments = 240;

// Of one policy. `options` are those that recorded the step.
analysis::StepView step_view(const Timeline& timeline, const SimulateOptions& options, std::size_t most_bars);

// Of all policies (with the baselines, in their order) but those that `result` says end in a deadlock. `result` is that
// of the experiment.
std::vector<analysis::StepView> step_views(const Experiment& experiment, const analysis::RunResult& result,
                                           std::size_t most_bars, const Progress& progress);

}  // namespace stretto::experiment
