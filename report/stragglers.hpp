// SPDX-License-Identifier: Apache-2.0
// The answer of `stretto stragglers` for people and as JSON. Keys and units: docs/reference/stragglers.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/stragglers.hpp"

namespace stretto::report {

inline constexpr std::string_view kStragglersFormat = "stretto-stragglers";
inline constexpr std::uint32_t kStragglersVersion = 1;

// `name` is the trace's, for the title.
std::string stragglers_text(const analysis::Stragglers& result, std::string_view name);
std::string stragglers_json(const analysis::Stragglers& result, std::string_view name);

}  // namespace stretto::report
