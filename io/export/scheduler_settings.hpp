// SPDX-License-Identifier: Apache-2.0
// What schedulers with one partition size and one credit make of a plan: shared by bytescheduler and byteps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/graph/graph.hpp"
#include "models/plan/schedule.hpp"

namespace stretto::io {

struct SchedulerSettings {
  Bytes partition;  // the largest slice
  Bytes total;      // of all slices
  Bytes credit;     // 0: neither direction has one
  std::vector<std::uint32_t>
      ranking;  // variables by their first slice's rank: pushes', else pulls'; unranked ones last
  bool ranked = false;
  std::vector<std::string> lost;
};

SchedulerSettings scheduler_settings(const plan::Schedule& schedule, const graph::Graph& parameters);

// "# " and a line of text that cannot end the line.
std::string comment(const std::string& text);

}  // namespace stretto::io
