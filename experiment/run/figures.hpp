// SPDX-License-Identifier: Apache-2.0
// The figures of an answer that follow from one measured plan alone, and the words around them.
#pragma once

#include <string>
#include <vector>

#include "analysis/result.hpp"
#include "experiment/bounds/bounds.hpp"
#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "experiment/spec/spec.hpp"
#include "models/plan/plan.hpp"

namespace stretto::experiment {

// Samples whose gradients take effect in a step: those of all workers, without those that backup workers replace.
double samples_per_step(const Setup& setup);

// All of `result` but names, gains, scaling, servers, what-ifs and the verdict.
// `point`: point_bounds(setup). `alone`: no other job uses the setup's links.
void fill_figures(const Setup& setup, const PointBounds& point, const plan::Plan& plan, const Measured& measured,
                  bool alone, analysis::PolicyResult& result);

// What there is to say of a plan that ends in a deadlock: `text`, and why the figures are absent.
void fill_deadlock(const std::string& text, analysis::PolicyResult& result);

// "VGG-16 training, 8 workers (v100), 2 servers, 10 Gbit/s, sync with barrier".
std::string describe(const Spec& spec, const Setup& setup);

// What an answer for the setup rests on.
std::vector<std::string> assumptions(const Setup& setup);

}  // namespace stretto::experiment
