// SPDX-License-Identifier: Apache-2.0
// Policies that repeat what a file says (PolicyInput::named).
//   order_file  ranks of one named order; equal ranks go by name. Parameters that it leaves out pass freely, or with
//               `missing: error` are refused.
//   recorded    Unordered with one alternative per named order: TensorFlow's natural order is random but not uniform,
//               and arrival orders that were measured say how. A parameter that a record lacks takes a random place.
// A name that the graph lacks is a UserError with its place in the file.
#pragma once

#include "schedulers/policies/registry.hpp"

namespace stretto::policies {

plan::Order make_order_file(const PolicyInput& input, const PolicyOptions& options);
plan::Order make_recorded(const PolicyInput& input, const PolicyOptions& options);

}  // namespace stretto::policies
