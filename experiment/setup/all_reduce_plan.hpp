// SPDX-License-Identifier: Apache-2.0
// Plans of all-reduce training. What policies rank, transfers by first use, are turns of collectives here:
//   push   reduce-scatters, or whole all-reduces: ranked by priority unless an option says otherwise
//   pull   all-gathers, with all_reduce.split: the same
// A bucket has the least rank of its transfers. `partition` cuts variables, and then nothing is fused.
#pragma once

#include <cstdint>

#include "experiment/setup/order_options.hpp"
#include "experiment/setup/setup.hpp"
#include "models/plan/plan.hpp"

namespace stretto::experiment {

// Options that the policy has other defaults of for all-reduce, where the spec does not give them.
PolicySpec with_all_reduce_defaults(PolicySpec spec);

// `choice` is that of the spec with these defaults. UserError where the policy or an option has no meaning here.
plan::Plan make_all_reduce_plan(const Setup& setup, const PolicySpec& spec, const PolicyChoice& choice,
                                std::uint64_t seed);

}  // namespace stretto::experiment
