// SPDX-License-Identifier: Apache-2.0
#include "config/units_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "sim/base/assert.hpp"

namespace stretto::config {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kMaxDigits = 20;
constexpr auto kMaxValue = static_cast<Wide>(std::numeric_limits<std::int64_t>::max());

struct Unit {
  const char* name;
  std::int64_t factor;  // base units per unit
};

constexpr std::int64_t kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024, kTi = kGi * 1024;

const std::vector<Unit> kDurationUnits = {{"ps", 1},
                                          {"ns", 1'000},
                                          {"us", 1'000'000},
                                          {"ms", 1'000'000'000},
                                          {"s", 1'000'000'000'000},
                                          {"min", 60'000'000'000'000}};

const std::vector<Unit> kByteUnits = {
    {"B", 1},     {"kB", 1'000}, {"MB", 1'000'000}, {"GB", 1'000'000'000}, {"TB", 1'000'000'000'000},
    {"KiB", kKi}, {"MiB", kMi},  {"GiB", kGi},      {"TiB", kTi}};

const std::vector<Unit> kBandwidthUnits = {{"bit/s", 1},
                                           {"kbit/s", 1'000},
                                           {"Mbit/s", 1'000'000},
                                           {"Gbit/s", 1'000'000'000},
                                           {"Tbit/s", 1'000'000'000'000},
                                           {"B/s", 8},
                                           {"kB/s", 8'000},
                                           {"MB/s", 8'000'000},
                                           {"GB/s", 8'000'000'000},
                                           {"TB/s", 8'000'000'000'000},
                                           {"KiB/s", 8 * kKi},
                                           {"MiB/s", 8 * kMi},
                                           {"GiB/s", 8 * kGi},
                                           {"TiB/s", 8 * kTi}};

// Second names, accepted but not listed.
const std::vector<Unit> kBandwidthAliases = {
    {"b/s", 1}, {"kb/s", 1'000}, {"Mb/s", 1'000'000}, {"Gb/s", 1'000'000'000}, {"Tb/s", 1'000'000'000'000}};
const std::vector<Unit> kDurationAliases = {{"\xC2\xB5s", 1'000'000}, {"\xCE\xBCs", 1'000'000}};

// Factors are powers of ten here: picoseconds per byte.
const std::vector<Unit> kPerByteUnits = {{"ps/B", 0}, {"ns/B", 3}, {"us/B", 6}, {"ms/B", 9}};

struct Decimal {
  Wide digits = 0;  // below 10^20
  int exponent = 0;
  std::string_view unit;
  std::string message;
  std::string hint;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return out;
}

bool is_not_finite(std::string_view text) {
  std::string word = lower(text);
  if (!word.empty() && (word[0] == '-' || word[0] == '+')) word.erase(0, 1);
  if (!word.empty() && word[0] == '.') word.erase(0, 1);
  return word == "nan" || word == "inf" || word == "infinity";
}

std::string quoted(std::string_view text) { return fmt::format("'{}'", text); }

// "number unit" of the text; message is set where it is none. `what` is "a duration".
Decimal split(std::string_view text, std::string_view what) {
  Decimal d;
  const auto fail = [&](std::string message, std::string hint = "") {
    d.message = std::move(message);
    d.hint = std::move(hint);
    return d;
  };
  if (is_not_finite(text)) return fail(fmt::format("{} is not finite", quoted(text)));
  if (text.size() > 1 && text[0] == '-' && (is_digit(text[1]) || text[1] == '.'))
    return fail(fmt::format("{} is negative", quoted(text)));
  if (text.empty() || !is_digit(text[0])) return fail(fmt::format("{} is not {}", quoted(text), what));
  std::size_t i = 0;
  int significant = 0;
  const auto take = [&] {
    if (d.digits != 0 || text[i] != '0') {
      if (++significant <= kMaxDigits) d.digits = d.digits * 10 + static_cast<unsigned>(text[i] - '0');
    }
    ++i;
  };
  if (text.size() > 1 && text[0] == '0' && is_digit(text[1])) {
    const std::size_t first = std::min(text.find_first_not_of('0'), text.size());
    const std::string rest(text.substr(first));
    return fail(fmt::format("{} has a leading zero", quoted(text)),
                "write " + (rest.empty() || !is_digit(rest[0]) ? "0" + rest : rest) + "; numbers are decimal");
  }
  while (i < text.size() && is_digit(text[i])) take();
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (i == text.size() || !is_digit(text[i])) return fail(fmt::format("{} is not {}", quoted(text), what));
    while (i < text.size() && is_digit(text[i])) {
      take();
      --d.exponent;
    }
  }
  if (significant > kMaxDigits) return fail(fmt::format("{} has more than {} digits", quoted(text), kMaxDigits));
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::size_t k = i + 1;
    const bool negative = k < text.size() && text[k] == '-';
    if (k < text.size() && (text[k] == '-' || text[k] == '+')) ++k;
    int exponent = 0;
    const std::size_t start = k;
    while (k < text.size() && is_digit(text[k])) exponent = std::min(9999, exponent * 10 + (text[k++] - '0'));
    if (k > start) {
      d.exponent += negative ? -exponent : exponent;
      i = k;
    }
  }
  while (i < text.size() && text[i] == ' ') ++i;
  d.unit = text.substr(i);
  return d;
}

std::string unit_list(const std::vector<Unit>& units) {
  std::string out = "valid units: ";
  for (std::size_t i = 0; i < units.size(); ++i) out += (i > 0 ? ", " : "") + std::string(units[i].name);
  return out;
}

// Names that differ from the unit in case only: "did you mean Mb/s or MB/s? "
std::string same_but_case(std::string_view unit, const std::vector<std::vector<Unit>>& tables) {
  std::string names;
  for (const auto& table : tables)
    for (const Unit& u : table)
      if (lower(u.name) == lower(unit)) names += (names.empty() ? "" : " or ") + std::string(u.name);
  return names.empty() ? "" : "did you mean " + names + "? ";
}

const Unit* find_unit(const std::vector<Unit>& units, std::string_view name) {
  const auto it = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return name == u.name; });
  return it == units.end() ? nullptr : &*it;
}

struct Scaled {
  std::optional<std::int64_t> value;  // nearest; nothing where it does not fit 64 bits
  bool exact = true;
};

// digits * 10^exponent * factor
Scaled scale(const Decimal& d, std::int64_t factor) {
  if (d.digits == 0) return {0, true};
  Wide v = d.digits * static_cast<Wide>(factor);
  if (d.exponent >= 0) {
    for (int k = 0; k < d.exponent; ++k) {
      if (v > kMaxValue) return {std::nullopt, true};
      v *= 10;
    }
    if (v > kMaxValue) return {std::nullopt, true};
    return {static_cast<std::int64_t>(v), true};
  }
  Wide divisor = 1;
  for (int k = 0; k < -d.exponent; ++k) {
    if (divisor > v * 2) return {0, false};
    divisor *= 10;
  }
  const Wide quotient = v / divisor;
  const Wide rest = v % divisor;
  const Wide nearest = quotient + (rest >= divisor - rest ? 1 : 0);
  if (nearest > kMaxValue) return {std::nullopt, rest == 0};
  return {static_cast<std::int64_t>(nearest), rest == 0};
}

// The quantity in base units, with unit hints.
struct Quantity {
  Scaled scaled;
  bool zero = false;  // written as 0
  std::string message;
  std::string hint;
};

Quantity parse_quantity(std::string_view text, std::string_view what, std::string_view example,
                        const std::vector<Unit>& units, const std::vector<Unit>& aliases, std::string_view extra) {
  Quantity q;
  const Decimal d = split(text, what);
  const std::string list = unit_list(units) + std::string(extra);
  if (!d.message.empty()) {
    q.message = d.message;
    q.hint = d.hint.empty() ? fmt::format("for example {}; {}", example, list) : d.hint;
    return q;
  }
  const Unit* unit = find_unit(units, d.unit);
  if (!unit) unit = find_unit(aliases, d.unit);
  if (!unit) {
    if (d.unit.empty()) {
      q.message = fmt::format("{} has no unit", quoted(text));
      q.hint = fmt::format("for example {}; {}", example, list);
      return q;
    }
    q.message = fmt::format("{} has the unknown unit {}", quoted(text), quoted(d.unit));
    std::string guess = same_but_case(d.unit, {units, aliases});
    if (d.unit == "KB" || d.unit == "KB/s")
      guess = d.unit == "KB" ? "did you mean kB (1000 bytes) or KiB (1024 bytes)? "
                             : "did you mean kB/s (1000 bytes) or KiB/s (1024 bytes)? ";
    else if (&units == &kByteUnits && (d.unit.ends_with("b") || d.unit.ends_with("bit")))
      guess = "b is bits, B is bytes; ";
    else if (&units == &kBandwidthUnits &&
             (find_unit(kByteUnits, d.unit) || find_unit(units, std::string(d.unit) + "/s")))
      guess = fmt::format("did you mean {}/s? ", d.unit);
    else if (&units == &kBandwidthUnits && d.unit.ends_with("bps"))
      guess = fmt::format("did you mean {}bit/s? ", d.unit.substr(0, d.unit.size() - 3));
    q.hint = guess + list;
    return q;
  }
  q.zero = d.digits == 0;
  q.scaled = scale(d, unit->factor);
  if (!q.scaled.value) {
    q.message = fmt::format("{} is too large", quoted(text));
    q.hint = "values must fit 64 bits";
  } else if (*q.scaled.value == 0 && !q.zero) {
    q.message = fmt::format("{} is too small", quoted(text));
    q.hint = fmt::format("the smallest step is 1 {}", units.front().name);
  }
  return q;
}

std::string decimal_text(const Decimal& d, int shift) {
  std::string digits;
  for (Wide v = d.digits; v != 0; v /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(v % 10)));
  return fmt::format("{}e{}", digits.empty() ? "0" : digits, d.exponent + shift);
}

// The double nearest to digits * 10^(exponent + shift).
Parsed<double> to_double(const Decimal& d, int shift, std::string_view text) {
  const std::string number = decimal_text(d, shift);
  double v = 0;
  const auto r = std::from_chars(number.data(), number.data() + number.size(), v);
  if (r.ec != std::errc() || !std::isfinite(v)) return {0, fmt::format("{} is out of range", quoted(text)), ""};
  return {v, "", ""};
}

// value / factor as an exact decimal, or "" where that takes more than 12 places.
std::string exact_quotient(std::uint64_t value, std::uint64_t factor) {
  std::string out = std::to_string(value / factor);
  std::uint64_t rest = value % factor;
  if (rest == 0) return out;
  out += '.';
  for (int place = 0; place < 12 && rest != 0; ++place) {
    const Wide next = static_cast<Wide>(rest) * 10;
    out += static_cast<char>('0' + static_cast<int>(next / factor));
    rest = static_cast<std::uint64_t>(next % factor);
  }
  return rest == 0 ? out : "";
}

// The shortest text over all units whose number is at least 1; the larger unit where two are as short.
std::string shortest(std::int64_t value, const std::vector<Unit>& units, std::string_view zero) {
  STRETTO_ASSERT(value >= 0, "{} has no text", value);
  if (value == 0) return std::string(zero);
  std::string best;
  std::int64_t best_factor = 0;
  for (const Unit& unit : units) {
    if (unit.factor > value) continue;
    const std::string number =
        exact_quotient(static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(unit.factor));
    if (number.empty()) continue;
    const std::string text = number + " " + unit.name;
    if (best.empty() || text.size() < best.size() || (text.size() == best.size() && unit.factor > best_factor)) {
      best = text;
      best_factor = unit.factor;
    }
  }
  return best;
}

// A decimal number without exponent where that is short: "0.66" for digits 66, exponent -2.
std::string plain_decimal(const std::string& digits, int exponent) {
  if (exponent >= 0 && exponent < 6) return digits + std::string(static_cast<std::size_t>(exponent), '0');
  const int size = static_cast<int>(digits.size());
  if (exponent < 0 && -exponent < size) {
    const auto point = static_cast<std::size_t>(size + exponent);
    return fmt::format("{}.{}", digits.substr(0, point), digits.substr(point));
  }
  if (exponent < 0 && -exponent < size + 5)
    return "0." + std::string(static_cast<std::size_t>(-exponent - size), '0') + digits;
  return fmt::format("{}e{}", digits, exponent);
}

}  // namespace

Parsed<Duration> parse_duration(std::string_view text) {
  const Quantity q = parse_quantity(text, "a duration", "50 us", kDurationUnits, kDurationAliases, "");
  if (!q.message.empty()) return {{}, q.message, q.hint};
  return {Duration::ps(*q.scaled.value), "", ""};
}

Parsed<Bytes> parse_bytes(std::string_view text) {
  const Quantity q = parse_quantity(text, "an amount of data", "4 MiB", kByteUnits, {}, "");
  if (!q.message.empty()) return {{}, q.message, q.hint};
  if (!q.scaled.exact) return {{}, fmt::format("{} is not a whole number of bytes", quoted(text)), ""};
  return {Bytes(*q.scaled.value), "", ""};
}

Parsed<Bandwidth> parse_bandwidth(std::string_view text) {
  if (text == "unlimited") return {Bandwidth::unlimited(), "", ""};
  const Quantity q =
      parse_quantity(text, "a bandwidth", "10 Gbit/s", kBandwidthUnits, kBandwidthAliases, "; or unlimited");
  if (!q.message.empty()) return {{}, q.message, q.hint};
  if (*q.scaled.value == 0) return {{}, fmt::format("{} carries nothing", quoted(text)), "valid: more than 0"};
  if (Bandwidth(*q.scaled.value).is_unlimited())
    return {{}, fmt::format("{} is too large", quoted(text)), "write unlimited for no limit"};
  return {Bandwidth(*q.scaled.value), "", ""};
}

Parsed<double> parse_per_byte(std::string_view text) {
  const Decimal d = split(text, "a time per byte");
  const std::string list = unit_list(kPerByteUnits);
  if (!d.message.empty()) return {0, d.message, d.hint.empty() ? "for example 0.66 ns/B; " + list : d.hint};
  if (d.unit.empty()) return {0, fmt::format("{} has no unit", quoted(text)), "for example 0.66 ns/B; " + list};
  const Unit* unit = find_unit(kPerByteUnits, d.unit);
  if (!unit) {
    const std::string guess = find_unit(kPerByteUnits, std::string(d.unit) + "/B")
                                  ? fmt::format("did you mean {}/B? ", d.unit)
                                  : same_but_case(d.unit, {kPerByteUnits});
    return {0, fmt::format("{} has the unknown unit {}", quoted(text), quoted(d.unit)), guess + list};
  }
  return to_double(d, static_cast<int>(unit->factor), text);
}

Parsed<double> parse_fraction(std::string_view text) {
  const Decimal d = split(text, "a fraction");
  if (!d.message.empty()) return {0, d.message, d.hint.empty() ? "for example 0.02 or 2 %" : d.hint};
  if (!d.unit.empty() && d.unit != "%")
    return {0, fmt::format("{} has the unknown unit {}", quoted(text), quoted(d.unit)), "for example 0.02 or 2 %"};
  return to_double(d, d.unit.empty() ? 0 : -2, text);
}

Parsed<double> parse_number(std::string_view text) {
  const Decimal d = split(text, "a number");
  if (!d.message.empty()) return {0, d.message, d.hint};
  if (!d.unit.empty()) return {0, fmt::format("{} is not a number", quoted(text)), "this field has no unit"};
  return to_double(d, 0, text);
}

Parsed<std::int64_t> parse_integer(std::string_view text) {
  const std::string_view digits = text.substr(!text.empty() && text[0] == '-' ? 1 : 0);
  if (is_not_finite(text)) return {0, fmt::format("{} is not finite", quoted(text)), ""};
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit))
    return {0, fmt::format("{} is not an integer", quoted(text)), "write decimal digits only"};
  if (digits.size() > 1 && digits[0] == '0') {
    const std::size_t first = digits.find_first_not_of('0');
    const std::string rest(first == std::string_view::npos ? "0" : digits.substr(first));
    return {0, fmt::format("{} has a leading zero", quoted(text)), "write " + rest + "; numbers are decimal"};
  }
  std::int64_t v = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), v).ec != std::errc())
    return {0, fmt::format("{} does not fit 64 bits", quoted(text)), ""};
  return {v, "", ""};
}

std::string format_duration(Duration value) {
  const std::vector<Unit> units(kDurationUnits.begin(), kDurationUnits.end() - 1);
  return shortest(value.ps(), units, "0 us");
}

std::string format_bytes(Bytes value) { return shortest(value.count(), kByteUnits, "0 B"); }

std::string format_bandwidth(Bandwidth value) {
  if (value.is_unlimited()) return "unlimited";
  const std::vector<Unit> units(kBandwidthUnits.begin(), kBandwidthUnits.begin() + 5);
  return shortest(value.bits_per_second(), units, "0 bit/s");
}

std::string format_per_byte(double picoseconds) {
  STRETTO_ASSERT(std::isfinite(picoseconds) && picoseconds >= 0, "{} has no text", picoseconds);
  if (picoseconds == 0) return "0 ns/B";
  const Decimal d = split(format_number(picoseconds), "a number");
  Decimal trimmed = d;
  while (trimmed.digits % 10 == 0) {
    trimmed.digits /= 10;
    ++trimmed.exponent;
  }
  std::string digits = decimal_text(trimmed, 0);
  digits.resize(digits.find('e'));
  return plain_decimal(digits, trimmed.exponent - 3) + " ns/B";
}

std::string format_number(double value) { return fmt::format("{}", value); }

}  // namespace stretto::config
