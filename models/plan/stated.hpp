// SPDX-License-Identifier: Apache-2.0
// A schedule as its file states it, not yet held against a workload: only types and ranges have been checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/plan/schedule.hpp"

namespace stretto::plan {

struct StatedSlice {
  std::int64_t bytes = 1;
  std::int64_t server = 0;
  std::uint32_t pull = kUnranked;
  std::uint32_t push = kUnranked;
  std::uint32_t bucket = kUnranked;  // all-reduce
};

struct StatedParameter {
  std::string name;
  std::int64_t bytes = 1;
  std::vector<StatedSlice> slices;
};

struct StatedSchedule {
  Schedule schedule;   // layout and ranks empty
  std::string sha256;  // of the workload
  std::int64_t servers = 1;
  std::vector<StatedParameter> parameters;
  bool all_reduce = false;
};

}  // namespace stretto::plan
