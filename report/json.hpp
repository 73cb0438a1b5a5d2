// SPDX-License-Identifier: Apache-2.0
// The answer of `stretto run` as JSON: format "stretto-result", version 1. Every key with its unit:
// docs/reference/result.md. Keys in fixed order, shortest numbers that read back equal; an absent value is null and the
// key with "_reason" behind it says why. Equal results give equal bytes. Cost: linear in the result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/result.hpp"

namespace stretto::report {

inline constexpr std::string_view kResultFormat = "stretto-result";
inline constexpr std::int64_t kResultVersion = 1;

std::string json(const analysis::RunResult& result);

}  // namespace stretto::report
