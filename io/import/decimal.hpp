// SPDX-License-Identifier: Apache-2.0
// Decimal text to a scaled integer by its digits: "10.814" ms -> 10814000000 ps, without binary fractions in between.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stretto::io {

struct Scaled {
  std::int64_t value = 0;
  bool exact = true;  // false: digits below one unit were rounded (half away from zero)
};

// text x 10^shift for text = digits [. digits] [e [+-] digits]. Nothing if the text is something else (a sign, nan,
// spaces) or the result does not fit 64 bits.
std::optional<Scaled> parse_scaled(std::string_view text, int shift);

// All of `text` as a whole number of 64 bits, digits with or without a "-" before them.
std::optional<std::int64_t> parse_whole(std::string_view text);

// value / 10^digits as decimal text without trailing zeros; value >= 0, 0 < digits < 19.
std::string format_scaled(std::int64_t value, int digits);

}  // namespace stretto::io
