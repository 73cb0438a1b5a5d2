// SPDX-License-Identifier: Apache-2.0
// What the independent checker (schedulers/check) is told of a setup with servers, and the engine's timeline in its
// terms. All-reduce: check_collectives.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiment/setup/setup.hpp"
#include "models/plan/plan.hpp"
#include "schedulers/check/job.hpp"
#include "schedulers/check/timeline.hpp"

namespace stretto::experiment {

// From the description of the cluster; noise is left out.
check::Job make_check_job(const Setup& setup, const plan::Plan& plan);

struct EngineRun {
  check::Timeline timeline;
  std::optional<std::string> deadlock;  // then the timeline is of what happened
};

// All of `steps` steps from time 0, to the end of the last message, without noise. `stream` keys drawn orders.
EngineRun run_for_check(const Setup& setup, const plan::Plan& plan, std::uint32_t steps, std::uint64_t stream = 0);

}  // namespace stretto::experiment
