// SPDX-License-Identifier: Apache-2.0
// Reader of schedule files (io/export/schedule.hpp). A schedule is taken for the workload that it was made for, or
// refused with the differences: parameters that are missing, superfluous or of another size, at most 10 of them; or
// other ops where the parameters agree. Reading is strict, as for workload files. Limits: 256 MiB, 20 million slices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/graph/graph.hpp"
#include "models/plan/schedule.hpp"

namespace stretto::io {

inline constexpr std::string_view kScheduleFormat = "stretto-schedule";
inline constexpr std::int64_t kScheduleVersion = 1;

// The schedule's layout has the parameters in the order of `graph`. `servers` is the number that there are.
plan::Schedule read_schedule(const std::string& path, const graph::Graph& graph, std::uint32_t servers);
plan::Schedule parse_schedule(const std::string& text, const std::string& path, const graph::Graph& graph,
                              std::uint32_t servers);

}  // namespace stretto::io
