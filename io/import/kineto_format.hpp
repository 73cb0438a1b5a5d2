// SPDX-License-Identifier: Apache-2.0
// What both readers of Kineto traces know of the format: categories, usable times, streams.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/import/chrome_events.hpp"
#include "io/import/common.hpp"
#include "io/import/decimal.hpp"

namespace stretto::io::kineto {

inline constexpr std::int64_t kMostNs = 100'000'000'000'000;          // 28 hours
inline constexpr std::int64_t kLatestNs = 4'000'000'000'000'000'000;  // the year 2096
inline constexpr const char* kTimeless = "events without begin or duration, or of more than 28 hours";

inline bool is_device_work(std::string_view category) {
  return same_word(category, "kernel") || same_word(category, "gpu_memcpy") || same_word(category, "gpu_memset");
}

inline bool is_runtime_call(std::string_view category) {
  return same_word(category, "cuda_runtime") || same_word(category, "cuda_driver");
}

// Microseconds as nanoseconds, by their digits.
inline std::optional<std::int64_t> time_of(const json::Cell& cell) {
  constexpr int kUsToNs = 3;
  const auto scaled = parse_scaled(cell.text, kUsToNs);
  return scaled ? std::optional(scaled->value) : std::nullopt;
}

inline bool usable(std::optional<std::int64_t> start, std::optional<std::int64_t> length) {
  return start && *start <= kLatestNs && length && *length <= kMostNs;
}

inline std::optional<std::int64_t> whole_of(const json::Cell& cell) {
  const auto scaled = parse_scaled(cell.text, 0);
  return scaled && scaled->exact ? std::optional(scaled->value) : std::nullopt;
}

// The cell that names the stream of a work: traces without streams have a lane of the device for each.
inline const json::Cell& stream_of(const json::Cell& stream, const json::Cell& thread) {
  return stream.text.empty() ? thread : stream;
}

// Refuses a trace without works; `timeless` works had no usable times.
[[noreturn]] inline void refuse_no_work(const std::string& path, std::size_t timeless, const char* hint) {
  if (timeless > 0)
    refuse_file(
        path,
        fmt::format("{} on a device, and none has a usable begin and duration (ts, dur)", plural(timeless, "event")),
        "times are microseconds, of at most 28 hours and before 2096");
  refuse_file(path, "no event on a device (category kernel, gpu_memcpy or gpu_memset)", hint);
}

}  // namespace stretto::io::kineto
