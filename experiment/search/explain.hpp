// SPDX-License-Identifier: Apache-2.0
// `stretto explain`: what a schedule does otherwise than the orders that need no search, and what each difference
// gains.
//
// Moves: variables by the place of their first slice, in the schedule and in the reference: for pulls the orders of
// `fifo` and `tac` under the schedule's layout, for pushes the order in which gradients are completed. The largest
// differences are judged: the variable goes back to its place in the reference, all else stays, and the step is
// evaluated again (experiment/search/evaluator.hpp). Losses of single moves need not add up.
// Changes: one dimension at a time goes back to what the experiment itself has: the order of pulls, of pushes, the
// credit, the start offsets of workers, the cutting, the servers of the variables, the whole layout.
// Cost: moves + changes evaluations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/result.hpp"
#include "experiment/spec/spec.hpp"

namespace stretto::experiment {

struct ExplainedMove {
  bool push = false;
  std::string variable;
  std::uint32_t place = 0;  // among the ranked variables of the direction, from 0
  std::uint32_t reference_place = 0;
  std::optional<std::uint32_t> tac_place;  // pulls
  std::optional<double> loss;              // of moving it back, share of the step; none: deadlock
};

struct ExplainedChange {
  std::string change;
  std::optional<double> step_s;  // without it; none: deadlock
  std::optional<double> gain;    // of the change: step without it / step - 1
};

struct Explanation {
  std::string workload;
  std::string policy;
  double step_s = 0;
  std::vector<ExplainedMove> moves;      // of each direction the largest, pulls first
  std::vector<ExplainedChange> changes;  // those that the schedule makes
  std::size_t moved = 0;                 // variables with another place than in the reference, both directions
  std::size_t ranked = 0;
  analysis::Figure bound_s;
  std::string bound_name;
  analysis::Figure any_layout_bound_s;
  std::vector<std::string> sentences;
};

// The first point of the experiment; `moves` are judged per direction. UserError for a schedule of another workload or
// number of servers, and for one whose step never ends.
Explanation explain_schedule(const Experiment& experiment, const std::string& path, std::size_t moves);

std::string explain_json(const Explanation& explanation);

}  // namespace stretto::experiment
