// SPDX-License-Identifier: Apache-2.0
// The metrics of "Communication Scheduling as a First-Class Citizen in Distributed Machine Learning Systems" (Hashemi,
// Jyothi, Campbell, arXiv 1803.03288) for one worker and one step, and its straggler effect.
//
//   U = sum over all ops of their times: the makespan if nothing overlaps (the worst)
//   L = max over resources of the sum of the op times on it: the makespan if nothing waits (ideal, no dependencies)
//   m = realised makespan
//   E = (U - m) / (U - L)   ordering efficiency: 1 = ideal, 0 = nothing overlaps
//   S = (U - L) / L         largest speed-up that any order can give over the worst one
//
// Resources: the worker's device, its pulls and its pushes (the two directions of its NIC). The time of a transfer is
// its time alone on its route. All times in seconds. Limits: m can leave [L, U] (latency and service costs are in no
// sum; several servers or cores work at once), so E can leave [0, 1]; it is reported as it is. Cost: constant.
#pragma once

#include <optional>
#include <span>

namespace stretto::analysis {

// Sums over the ops of one worker in one step, s.
struct OpSums {
  double compute = 0;  // realised compute times on the device
  double pull = 0;     // times alone on the route of everything pulled
  double push = 0;     // and of everything pushed
};

double worst_makespan(const OpSums& sums);  // U
double ideal_makespan(const OpSums& sums);  // L

// E; none where U = L (a single resource is used: every order is equal).
std::optional<double> ordering_efficiency(const OpSums& sums, double makespan);

// S; none where L = 0 (no op takes time).
std::optional<double> speedup_limit(const OpSums& sums);

// Straggler effect of one synchronous step: (latest - earliest arrival of a worker at the barrier) / step time.
// Arrivals in seconds on one clock, not empty; step_time > 0.
double straggler_effect(std::span<const double> arrivals, double step_time);

}  // namespace stretto::analysis
