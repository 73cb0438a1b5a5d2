// SPDX-License-Identifier: Apache-2.0
#include "analysis/words.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace stretto::analysis {

namespace {

// Percentage rounded to one decimal, without a negative zero.
double rounded_percent(double fraction) {
  const double value = std::round(fraction * 1000) / 10;
  return value == 0 ? 0 : value;
}

}  // namespace

std::string percent(double fraction) { return fmt::format("{:.1f} %", rounded_percent(fraction)); }

std::string signed_percent(double fraction) { return fmt::format("{:+.1f} %", rounded_percent(fraction)); }

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && std::abs(bytes) >= 1023.95) {
    bytes /= 1024;
    ++unit;
  }
  const bool whole = std::abs(bytes) >= 99.95 || std::abs(bytes - std::round(bytes)) < 0.05;
  return fmt::format("{:.{}f} {}", bytes, whole ? 0 : 1, kUnits[unit]);
}

std::string seconds_text(double seconds) {
  constexpr std::array<const char*, 5> kUnits{"s", "ms", "us", "ns", "ps"};
  if (seconds == 0) return "0 s";
  std::size_t unit = 0;
  double value = seconds;
  while (unit + 1 < kUnits.size() && std::abs(value) < 1) {
    value *= 1000;
    ++unit;
  }
  const double size = std::abs(value);
  const int decimals = size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

}  // namespace stretto::analysis
