// SPDX-License-Identifier: Apache-2.0
// The two random policies.
//   random        a fresh permutation for every worker and step, drawn by the engine (Unordered): what TensorFlow does,
//                 taken as uniform. Its result is a distribution.
//   fixed_random  one permutation of the parameters, from the seed, for all workers and steps: separates the gain of
//                 any consistent order from that of a good one.
#pragma once

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

plan::Order make_random(const PolicyInput& input, const PolicyOptions& options);
plan::Order make_fixed_random(const PolicyInput& input, const PolicyOptions& options);

}  // namespace stretto::policies
