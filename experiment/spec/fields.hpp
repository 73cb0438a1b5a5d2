// SPDX-License-Identifier: Apache-2.0
// The field table of the experiment format: one row per field. See config/fields.hpp for what a row is.
#pragma once

#include <vector>

#include "config/fields.hpp"
#include "experiment/spec/spec.hpp"

namespace stretto::experiment {

// Rows in the order of the reference and of effective_yaml.
const std::vector<config::Field<Spec>>& spec_fields();

}  // namespace stretto::experiment
