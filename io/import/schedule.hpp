// SPDX-License-Identifier: Apache-2.0
// Reader of schedule files (io/export/schedule.hpp), versions 1 to 3. Version 1 knew neither credit_skip nor start
// offsets, version 2 not all-reduce; they are read as they are. A schedule is taken for the workload that it was made
// for, or refused with the differences: parameters that are missing, superfluous or of another size, at most 10 of
// them; or other ops where the parameters agree; or another number of servers or, with start offsets, of workers.
// Reading is strict, as for workload files. Limits: 256 MiB, 20 million slices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/graph/graph.hpp"
#include "models/plan/schedule.hpp"
#include "models/plan/stated.hpp"

namespace stretto::io {

inline constexpr std::string_view kScheduleFormat = "stretto-schedule";
inline constexpr std::int64_t kScheduleVersion = 3;

// How many there are; 0 servers: all-reduce.
struct Processes {
  std::uint32_t servers = 1;
  std::uint32_t workers = 1;
};

// The schedule's layout has the parameters in the order of `graph`.
plan::Schedule read_schedule(const std::string& path, const graph::Graph& graph, Processes there);
plan::Schedule parse_schedule(const std::string& text, const std::string& path, const graph::Graph& graph,
                              Processes there);

// What the file says, with types and ranges checked and nothing else: for a checker of schedules.
plan::StatedSchedule parse_stated_schedule(const std::string& text, const std::string& path);

// A schedule without its workload: sound in itself, held against nothing.
struct ScheduleAlone {
  plan::Schedule schedule;
  graph::Graph parameters;  // names and bytes in the order of the file; no ops
};
ScheduleAlone parse_schedule_alone(const std::string& text, const std::string& path);

// The bytes of a schedule file, within the limits.
std::string read_schedule_text(const std::string& path);

}  // namespace stretto::io
