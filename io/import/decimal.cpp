// SPDX-License-Identifier: Apache-2.0
#include "io/import/decimal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace stretto::io {

std::optional<Scaled> parse_scaled(std::string_view text, int shift) {
  std::string digits;
  std::size_t i = 0;
  const auto take_digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') digits += text[i++];
    return i - start;
  };
  const std::size_t whole = take_digits();
  std::size_t fraction = 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    fraction = take_digits();
  }
  if (whole + fraction == 0) return std::nullopt;
  std::int64_t exponent = 0;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && text[i] == '+' && i + 1 < text.size() && text[i + 1] != '-') ++i;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + i, end, exponent);
    if (parsed.ec != std::errc() || parsed.ptr != end || exponent < -1'000'000 || exponent > 1'000'000)
      return std::nullopt;
    i = text.size();
  }
  if (i != text.size()) return std::nullopt;

  exponent += shift - static_cast<std::int64_t>(fraction);
  std::string_view significant = digits;
  significant.remove_prefix(std::min(significant.find_first_not_of('0'), significant.size()));
  Scaled result;
  bool round_up = false;
  if (exponent < 0 && !significant.empty()) {
    const auto cut = static_cast<std::size_t>(-exponent);
    const std::size_t keep = significant.size() - std::min(cut, significant.size());
    result.exact = cut <= significant.size() && significant.find_first_not_of('0', keep) == std::string_view::npos;
    round_up = cut <= significant.size() && significant[keep] >= '5';
    significant = significant.substr(0, keep);
  }
  if (significant.empty()) {
    result.value = round_up ? 1 : 0;
    return result;
  }
  const char* end = significant.data() + significant.size();
  if (std::from_chars(significant.data(), end, result.value).ec != std::errc()) return std::nullopt;
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(result.value, 10, &result.value)) return std::nullopt;
  if (round_up && __builtin_add_overflow(result.value, 1, &result.value)) return std::nullopt;
  return result;
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

std::string format_scaled(std::int64_t value, int digits) {
  std::int64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  std::string text = fmt::format("{}.{:0{}}", value / unit, value % unit, digits);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace stretto::io
