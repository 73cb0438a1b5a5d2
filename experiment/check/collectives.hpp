// SPDX-License-Identifier: Apache-2.0
// What the independent checker is told of an all-reduce setup, and the engine's timeline in its terms.
#pragma once

#include <cstdint>

#include "experiment/check/check_run.hpp"
#include "experiment/setup/setup.hpp"
#include "models/plan/plan.hpp"
#include "schedulers/check/collectives.hpp"

namespace stretto::experiment {

check::CollectiveJob make_collective_job(const Setup& setup, const plan::Plan& plan);

// As run_recorded says.
CheckRun<check::CollectiveTimeline> run_collectives_for_check(const Setup& setup, const plan::Plan& plan,
                                                              std::uint32_t steps, std::uint64_t stream = 0);

}  // namespace stretto::experiment
