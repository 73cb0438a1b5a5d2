// SPDX-License-Identifier: Apache-2.0
// Units of the whole program: time in picoseconds, data in bytes, rates in bit/s, all int64.
//
// Only operations that make sense exist: time + duration, duration * count, bytes + bytes, bytes / bandwidth
// (through transfer_duration). Bytes + duration does not compile (tests/lint/negative_compile).
// Arithmetic is checked: a result outside int64 raises OutOfRange. int64 picoseconds reach 106 days.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

#include "sim/base/assert.hpp"

namespace stretto {

namespace detail {
inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_add_overflow(a, b, &r)) [[unlikely]]
    raise_out_of_range(fmt::format("{} + {}", a, b));
  return r;
}
inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) [[unlikely]]
    raise_out_of_range(fmt::format("{} x {}", a, b));
  return r;
}
}  // namespace detail

// A length of time in picoseconds. May be negative (differences).
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration ps(std::int64_t v) { return Duration(v); }
  static Duration ns(std::int64_t v) { return Duration(detail::checked_mul(v, 1'000)); }
  static Duration us(std::int64_t v) { return Duration(detail::checked_mul(v, 1'000'000)); }
  static Duration ms(std::int64_t v) { return Duration(detail::checked_mul(v, 1'000'000'000)); }
  // Nearest picosecond; asserts that the value is finite and fits.
  static Duration seconds(double s) {
    const double v = s * 1e12;
    if (!(std::abs(v) < 9.2e18)) [[unlikely]]
      raise_out_of_range(fmt::format("{} s", s));
    return Duration(std::llround(v));
  }
  constexpr std::int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }
  constexpr auto operator<=>(const Duration&) const = default;
  friend Duration operator+(Duration a, Duration b) { return Duration(detail::checked_add(a.ps_, b.ps_)); }
  friend Duration operator-(Duration a, Duration b) { return Duration(detail::checked_add(a.ps_, -b.ps_)); }
  friend Duration operator*(Duration a, std::int64_t n) { return Duration(detail::checked_mul(a.ps_, n)); }
  // Nearest picosecond of a * f; f finite and >= 0.
  Duration scaled(double f) const {
    const double v = static_cast<double>(ps_) * f;
    if (!(std::abs(v) < 9.2e18)) [[unlikely]]
      raise_out_of_range(fmt::format("{} ps x {}", ps_, f));
    return f == 1.0 ? *this : Duration(std::llround(v));
  }
  Duration& operator+=(Duration b) { return *this = *this + b; }
  Duration& operator-=(Duration b) { return *this = *this - b; }

 private:
  explicit constexpr Duration(std::int64_t v) : ps_(v) {}
  std::int64_t ps_ = 0;
};

// An instant of simulated time, picoseconds since the start of the simulation.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time ps(std::int64_t v) { return Time(v); }
  static constexpr Time never() { return Time(std::numeric_limits<std::int64_t>::max()); }
  constexpr std::int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }
  constexpr auto operator<=>(const Time&) const = default;
  friend Time operator+(Time t, Duration d) { return Time(detail::checked_add(t.ps_, d.ps())); }
  friend Duration operator-(Time a, Time b) { return Duration::ps(detail::checked_add(a.ps_, -b.ps_)); }

 private:
  explicit constexpr Time(std::int64_t v) : ps_(v) {}
  std::int64_t ps_ = 0;
};

// An amount of data in bytes.
class Bytes {
 public:
  constexpr Bytes() = default;
  explicit constexpr Bytes(std::int64_t v) : v_(v) {}
  constexpr std::int64_t count() const { return v_; }
  constexpr auto operator<=>(const Bytes&) const = default;
  friend Bytes operator+(Bytes a, Bytes b) { return Bytes(detail::checked_add(a.v_, b.v_)); }
  friend Bytes operator-(Bytes a, Bytes b) { return Bytes(detail::checked_add(a.v_, -b.v_)); }
  friend Bytes operator*(Bytes a, std::int64_t n) { return Bytes(detail::checked_mul(a.v_, n)); }
  Bytes& operator+=(Bytes b) { return *this = *this + b; }
  Bytes& operator-=(Bytes b) { return *this = *this - b; }

 private:
  std::int64_t v_ = 0;
};

// A rate in bit/s, > 0; unlimited() stands for "no limit".
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  explicit constexpr Bandwidth(std::int64_t bits_per_second) : v_(bits_per_second) {}
  static constexpr Bandwidth unlimited() { return Bandwidth(std::numeric_limits<std::int64_t>::max()); }
  static Bandwidth bytes_per_second(std::int64_t v) { return Bandwidth(detail::checked_mul(v, 8)); }
  constexpr std::int64_t bits_per_second() const { return v_; }
  constexpr bool is_unlimited() const { return v_ == std::numeric_limits<std::int64_t>::max(); }
  constexpr double bytes_per_ps() const {
    return is_unlimited() ? std::numeric_limits<double>::infinity() : static_cast<double>(v_) / 8e12;
  }
  constexpr auto operator<=>(const Bandwidth&) const = default;
  // Nearest bit/s of b * f, at least 1; an unlimited rate stays unlimited.
  Bandwidth scaled(double f) const {
    if (is_unlimited()) return *this;
    const double v = static_cast<double>(v_) * f;
    if (!(v >= 0 && v < 9.2e18)) [[unlikely]]
      raise_out_of_range(fmt::format("{} bit/s x {}", v_, f));
    return Bandwidth(std::max<std::int64_t>(1, std::llround(v)));
  }

 private:
  std::int64_t v_ = 0;
};

// Time that `bytes` take alone at `rate`: ceil(bytes * 8e12 / rate) ps, in 128-bit integers. The only place where
// bytes become time outside the fluid solver.
inline Duration transfer_duration(Bytes bytes, Bandwidth rate) {
  STRETTO_ASSERT(bytes.count() >= 0 && rate.bits_per_second() > 0, "{} bytes at {} bit/s", bytes.count(),
                 rate.bits_per_second());
  if (rate.is_unlimited() || bytes.count() == 0) return Duration();
  __extension__ using Wide = unsigned __int128;
  const Wide work = static_cast<Wide>(bytes.count()) * 8'000'000'000'000ULL;
  const Wide r = static_cast<Wide>(rate.bits_per_second());
  const Wide ps = (work + r - 1) / r;
  if (ps > static_cast<Wide>(std::numeric_limits<std::int64_t>::max())) [[unlikely]]
    raise_out_of_range(fmt::format("{} bytes at {} bit/s", bytes.count(), rate.bits_per_second()));
  return Duration::ps(static_cast<std::int64_t>(ps));
}

}  // namespace stretto
