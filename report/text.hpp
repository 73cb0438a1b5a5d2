// SPDX-License-Identifier: Apache-2.0
// The answer of `stretto run` for a terminal: per point of `vary` one table (a row per policy, and the bound that no
// layout can beat), the verdict on the fastest policy, its busiest resources and what each server holds. Every number
// has its unit, every gain its baseline and interval; an absent value is "-", with the reason below the table.
// Names are escaped. Lines are 80 to 100 characters long at most, as wide as the table needs (only a longer single word
// exceeds that). Cost: linear in the result.
#pragma once

#include <string>

#include "analysis/result.hpp"

namespace stretto::report {

std::string text(const analysis::RunResult& result);

}  // namespace stretto::report
