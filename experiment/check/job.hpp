// SPDX-License-Identifier: Apache-2.0
// What the independent checker (schedulers/check) is told of a setup with servers, and the engine's timeline in its
// terms. All-reduce: collectives.hpp.
#pragma once

#include <cstdint>

#include "experiment/check/check_run.hpp"
#include "experiment/setup/setup.hpp"
#include "models/plan/plan.hpp"
#include "schedulers/check/job.hpp"
#include "schedulers/check/timeline.hpp"

namespace stretto::experiment {

check::Job make_check_job(const Setup& setup, const plan::Plan& plan);

// As run_recorded says.
CheckRun<check::Timeline> run_for_check(const Setup& setup, const plan::Plan& plan, std::uint32_t steps,
                                        std::uint64_t stream = 0);

}  // namespace stretto::experiment
