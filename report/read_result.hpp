// SPDX-License-Identifier: Apache-2.0
// Reads what report/json.hpp writes: result.json of `stretto run --out`. Writing what was read gives the same bytes.
// Cost: linear in the text.
#pragma once

#include <string>

#include "analysis/result.hpp"

namespace stretto::report {

// Throws UserError with places for anything that is no result of this version; `path` is for messages.
analysis::RunResult read_result(const std::string& text, const std::string& path);

}  // namespace stretto::report
