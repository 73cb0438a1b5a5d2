// SPDX-License-Identifier: Apache-2.0
// Quantities in text: "50 us", "4 MiB", "10 Gbit/s", "2 %", "0.66 ns/B".
//
// A quantity is a decimal number (no sign, no leading zero, at most 20 digits, optional exponent), optional blanks and
// a unit. SI prefixes are powers of 1000, Ki Mi Gi Ti powers of 1024; b and bit are bits, B is bytes. The conversion is
// exact decimal arithmetic in 128-bit integers: durations are rounded to the nearest picosecond and rates to the
// nearest bit/s, but never to 0; amounts must be whole bytes. Formatting gives the shortest text that reads back to the
// same value, with a number of at least 1 where a unit allows it.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/units.hpp"

namespace stretto::config {

// A value or why there is none: `message` says what is wrong, `hint` names the valid units.
template <class T>
struct Parsed {
  T value{};
  std::string message;
  std::string hint;
  bool ok() const { return message.empty(); }
};

Parsed<Duration> parse_duration(std::string_view text);     // ps ns us ms s min
Parsed<Bytes> parse_bytes(std::string_view text);           // B kB MB GB TB KiB MiB GiB TiB
Parsed<Bandwidth> parse_bandwidth(std::string_view text);   // bit/s kbit/s ... TiB/s, "unlimited"; more than 0
Parsed<double> parse_per_byte(std::string_view text);       // picoseconds per byte: ps/B ns/B us/B ms/B
Parsed<double> parse_fraction(std::string_view text);       // "0.02" or "2 %"
Parsed<double> parse_number(std::string_view text);         // finite, not negative
Parsed<std::int64_t> parse_integer(std::string_view text);  // decimal digits, may have a minus sign

std::string format_duration(Duration value);  // value >= 0
std::string format_bytes(Bytes value);        // value >= 0
std::string format_bandwidth(Bandwidth value);
std::string format_per_byte(double picoseconds);  // finite, >= 0
std::string format_number(double value);          // shortest text that reads back

}  // namespace stretto::config
