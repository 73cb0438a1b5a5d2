// SPDX-License-Identifier: Apache-2.0
// Measured cells as cases that can be simulated: a cluster, a plan, and the steps that were measured.
//
// A cell says all of that itself where its workload is a chain of layers with one variable each (keys `forward_us` and
// `backward_us`, docs/reference/harness.md): read are measurements of the harness with any number of cells, and files
// of one cell. Everything else needs an experiment beside the measured steps.
//
// A step lasts, with a barrier, as long as that of its slowest worker; without one, the mean over the workers.
#pragma once

#include <string>
#include <vector>

#include "experiment/setup/setup.hpp"
#include "experiment/spec/spec.hpp"
#include "models/plan/plan.hpp"

namespace stretto::validation {

struct Case {
  std::string name;  // for people
  experiment::Setup setup;
  plan::Plan plan;
  std::vector<double> steps_s;  // measured, at least one
};

// The cells of a file, on the cluster that they say with the costs of `base` (its numbers, NICs and placement do not
// count). UserError with places in the file.
std::vector<Case> read_cells(const std::string& path, const experiment::Spec& base);

// An experiment of one point with its measured steps: a measurement of the harness, whose cells are those of the
// experiment's policies, or {"T": [seconds]} for an experiment with one policy. Orders are held by `window` where the
// policy does not say.
std::vector<Case> read_case(const std::string& experiment, const std::string& measured, std::uint32_t window,
                            const experiment::Options& options);

}  // namespace stretto::validation
