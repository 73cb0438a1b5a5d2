// SPDX-License-Identifier: Apache-2.0
// The answer of `stretto critical-path` for people and as JSON. Keys and units: docs/reference/critical_path.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/trace_path.hpp"

namespace stretto::report {

inline constexpr std::string_view kTracePathFormat = "stretto-critical-path";
inline constexpr std::uint32_t kTracePathVersion = 1;

// `name` is the trace's, for the title.
std::string trace_path_text(const analysis::TracePath& path, const timeline::HostDevice& trace, std::string_view name);
std::string trace_path_json(const analysis::TracePath& path, const timeline::HostDevice& trace, std::string_view name);

}  // namespace stretto::report
