// SPDX-License-Identifier: Apache-2.0
// Costs of a cluster that measurements can tell (docs/model.md, sections 3 to 7), as a table of numbers that a fit can
// change. One value each holds for all processes, both ends of a message and both directions.
//
//   per_message    service of one message at each end, s
//   per_byte       service of one byte at each end, ps
//   latency        one way, s
//   efficiency     payload / wire
//   step_overhead  s
//   update_rate    as the time of one byte, ps; 0: unlimited
//   rate_cap       of a connection, as the time of one byte, ps; 0: unlimited
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/cluster.hpp"

namespace stretto::validation {

struct Cost {
  std::string_view name;
  double least;
  double most;
  double scale;  // a change of moderate size
  double (*get)(const cluster::Cluster&);
  void (*set)(cluster::Cluster&, double);
  std::string (*format)(double);  // with its unit, as experiment files say it
};

std::span<const Cost> costs();

// UserError with the names there are.
const Cost& cost(std::string_view name);

// `value` to four digits: what is printed, written and simulated.
double rounded(double value);

// A cluster file to be included: the costs of `cluster`, the threads they are of, and streams. `comments`: lines that
// go first.
std::string write_costs(const cluster::Cluster& cluster, const std::vector<std::string>& comments);

}  // namespace stretto::validation
