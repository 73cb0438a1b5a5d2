// SPDX-License-Identifier: Apache-2.0
// Schedule: a complete plan that leaves the program, with the workload that it belongs to and what was predicted for
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/plan/plan.hpp"

namespace stretto::plan {

// Seconds of one step; the 95 % interval is a point where there is one replication.
struct Prediction {
  double mean_s = 0;
  double ci95_low_s = 0;
  double ci95_high_s = 0;
  std::uint64_t replications = 1;
  std::optional<double> lower_bound_s;
};

struct Schedule {
  Plan plan;
  std::string workload;  // name of the graph
  std::string found_by;  // how it came to be, for people
  std::optional<Prediction> prediction;
};

}  // namespace stretto::plan
