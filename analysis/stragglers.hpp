// SPDX-License-Identifier: Apache-2.0
// What stragglers cost a job: its steps replayed with other durations (Lin et al., OSDI 2025, arXiv 2505.05713).
//
// Every step of every data-parallel rank is replayed by the dependency model of analysis/straggler_graph.hpp: an op
// begins when all that it needs has ended, plus its delay; a computation then takes its duration; a transfer ends at
//   latest begin of its group + transfer,   transfer = measured end - measured latest begin of the group.
// A step lasts from its first begin to the end of its last optimizer. Replayed are
//   measured  with delay = measured begin - latest end of what it needs: the model's check, equal to the trace
//   T         without delays (the host and data loading do not stop anyone)
//   T_ideal   every computation takes the mean of its kind over all ranks, stages and steps, every transfer the median
// and S = mean(T) / mean(T_ideal), 1 without stragglers. Of a rank, stage or kind x: S_x = the same with the measured
// durations of x alone and ideal ones everywhere else. Of a worker: the lesser of S of its dp rank and of its stage.
// M = (T - T of the replay in which some workers alone are ideal) / (T - T_ideal), the share of the slowdown that goes
// with them: M_W for the 3 % of the workers with the largest S (rounded up; the least rank among equals), M_S for the
// last stage. It may exceed 1: the others' ideal is a mean that includes the slow ones.
// Kinds are those of the trace, the four kinds of messages merged into forward and backward. Delays and transfers of
// -10 ms or less (clocks apart) count as 0.
//
// Limits: steps whose ops differ from those of most steps are left out. What is not in the trace has no share.
// Cost: replays x ops; 5 + dp ranks + stages + kinds replays. Validated: a step by hand
// (tests/unit/stragglers_test.cpp), the published results of job ST within 1e-6 (tests/crosscheck/stragglers_test.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/timeline/timeline.hpp"

namespace stretto::analysis {

struct StragglerShare {
  std::string name;     // of the kind; else empty
  std::int32_t id = 0;  // of the dp rank, stage or worker
  double slowdown = 1;  // S_x
};

struct StragglerStep {
  std::int64_t step = 0;
  double measured_s = 0;
  double replayed_s = 0;  // with its delays
  double no_delay_s = 0;  // T
  double slowdown = 1;    // T / T_ideal
};

struct Stragglers {
  std::vector<StragglerStep> steps;  // by number
  std::size_t dropped_steps = 0;     // whose ops are not those of the others
  std::size_t clipped_delays = 0;    // set to 0
  std::size_t clipped_transfers = 0;
  double measured_s = 0;  // means over the steps
  double replayed_s = 0;
  double no_delay_s = 0;
  double ideal_s = 0;
  double slowdown = 1;  // S
  // Largest first.
  std::vector<StragglerShare> kinds;
  std::vector<StragglerShare> dp_ranks;
  std::vector<StragglerShare> stages;
  std::vector<StragglerShare> workers;
  std::vector<std::int32_t> worst_workers;  // whose share M_W is
  // None where the job is not slower than the ideal one.
  std::optional<double> worker_share;      // M_W
  std::optional<double> last_stage_share;  // M_S
};

// `timeline` as io/import/straggler_trace.hpp checks it. UserError if its steps do not fit the model.
Stragglers stragglers(const timeline::Timeline& timeline);

}  // namespace stretto::analysis
