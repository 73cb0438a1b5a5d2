// SPDX-License-Identifier: Apache-2.0
// What the independent checker is told of an all-reduce setup, and the engine's timeline in its terms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiment/setup/setup.hpp"
#include "models/plan/plan.hpp"
#include "schedulers/check/collectives.hpp"

namespace stretto::experiment {

// From the description of the cluster; noise is left out.
check::CollectiveJob make_collective_job(const Setup& setup, const plan::Plan& plan);

struct CollectiveRun {
  check::CollectiveTimeline timeline;
  std::optional<std::string> deadlock;  // then the timeline is of what happened
};

// All of `steps` steps from time 0, with the messages of all workers, without noise. `stream` keys drawn orders.
CollectiveRun run_collectives_for_check(const Setup& setup, const plan::Plan& plan, std::uint32_t steps,
                                        std::uint64_t stream = 0);

}  // namespace stretto::experiment
