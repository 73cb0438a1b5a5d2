// SPDX-License-Identifier: Apache-2.0
// Figures as words for people: rounded, with their unit. Files for machines carry full precision (report/json.hpp).
#pragma once

#include <cstdint>
#include <string>

namespace stretto::analysis {

// 0.1234 -> "12.3 %"; never "-0.0 %".
std::string percent(double fraction);

// 0.1234 -> "+12.3 %", -0.02 -> "-2.0 %", 0 -> "+0.0 %".
std::string signed_percent(double fraction);

// 411041792 -> "392 MiB": binary prefixes; one decimal below 100, none from there on or for whole values.
std::string bytes_text(double bytes);

// 0.01234 -> "12.34 ms": the largest of s, ms, us, ns, ps that gives at least 1; four significant digits.
std::string seconds_text(double seconds);

}  // namespace stretto::analysis
