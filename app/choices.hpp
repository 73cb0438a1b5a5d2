// SPDX-License-Identifier: Apache-2.0
// Words that options of several commands, or of one that lists none of its own, choose from.
#pragma once

#include <string>
#include <vector>

namespace stretto::app {

// Of --format, where it says what is printed.
const std::vector<std::string>& output_formats();
// UserError for a --format that is none of them.
void check_output_format(const std::string& format);

// Of --network.
const std::vector<std::string>& network_kinds();

}  // namespace stretto::app
