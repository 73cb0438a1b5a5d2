// SPDX-License-Identifier: Apache-2.0
// The answer of `stretto attribute` for people and as JSON. Keys and units: docs/reference/attribution.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/attribution.hpp"

namespace stretto::report {

inline constexpr std::string_view kAttributionFormat = "stretto-attribution";
inline constexpr std::uint32_t kAttributionVersion = 1;

std::string attribution_text(const analysis::AttributionResult& result);
std::string attribution_json(const analysis::AttributionResult& result);

}  // namespace stretto::report
