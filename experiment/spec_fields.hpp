// SPDX-License-Identifier: Apache-2.0
// The field table of the experiment format: one row per field. See config/fields.hpp for what a row is.
#pragma once

#include <vector>

#include "config/fields.hpp"
#include "experiment/spec.hpp"

namespace stretto::experiment {

// Rows in the order of the reference and of effective_yaml.
const std::vector<config::Field<Spec>>& spec_fields();

// The rows of the section `search` (spec_search.cpp).
void add_search_fields(std::vector<config::Field<Spec>>& rows);

// Rows and rules of sharing modes and of the hosts of servers (spec_modes.cpp).
void add_training_fields(std::vector<config::Field<Spec>>& rows);
void add_server_host_fields(std::vector<config::Field<Spec>>& rows);
void add_noise_fields(std::vector<config::Field<Spec>>& rows);
void add_loopback_field(std::vector<config::Field<Spec>>& rows);
void check_modes(config::Reader& reader, const config::Node& root, const Spec& spec);

}  // namespace stretto::experiment
