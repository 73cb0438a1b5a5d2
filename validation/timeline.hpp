// SPDX-License-Identifier: Apache-2.0
// The predicted and a measured step side by side, as one Chrome trace. Of a measured transfer only the arrival is
// known: its bar reaches back to the arrival before it on the same channel. The measured step is the one of median
// length. Both begin at 0.
#pragma once

#include <string>

#include "experiment/setup/setup.hpp"
#include "experiment/simulate/simulate.hpp"
#include "models/plan/plan.hpp"
#include "validation/measurement.hpp"

namespace stretto::validation {

// UserError if the measurement names transfers that the plan lacks.
std::string write_timeline(const experiment::Setup& setup, const plan::Plan& plan,
                           const experiment::StepRecords& predicted, const Cell& measured);

}  // namespace stretto::validation
