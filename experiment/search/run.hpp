// SPDX-License-Identifier: Apache-2.0
// `stretto search`: the best plan of an experiment that its section `search` allows, what is proven about it, and what
// each policy of the experiment reaches on the same setup.
//
// Two stages. Layouts: the experiment's own, those of its policies, and those of search.servers, search.partition and
// search.placement are each judged by the best of their starting orders; ranges of partition, fusion, credit, group and
// window are searched by Bayesian optimisation. Orders: the best layout's orders are searched
// (schedulers/search/search.hpp). The first stage takes at most half of the budget. Evaluations are on a graph reduced
// exactly where it can be; the answer is simulated as `stretto run` does it, with the same replications for the
// policies (paired).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/result.hpp"
#include "experiment/spec/spec.hpp"
#include "models/plan/plan.hpp"
#include "schedulers/search/search.hpp"

namespace stretto::experiment {

struct SearchProgress {
  std::string stage;
  std::optional<double> best_s;
  std::optional<double> bound_s;
  std::uint64_t evaluations = 0;
  double seconds = 0;
  const search::State* state = nullptr;  // in the second stage, after a round
};

struct SearchRunOptions {
  std::uint64_t evaluations = 20'000;
  std::optional<double> seconds;  // in place of evaluations; the answer then depends on the machine
  std::uint64_t seed = 1;
  std::size_t threads = 1;
  std::function<double()> clock;                        // seconds of wall time
  std::function<bool(const SearchProgress&)> progress;  // false: stop and keep the best; may be empty
  std::optional<search::State> resume;                  // of the same experiment and options
};

struct SearchedPolicy {
  std::string policy;
  std::optional<double> step_s;  // none: deadlock
  analysis::Gain gain;           // of the found plan over this policy
};

struct LayoutTried {
  std::string layout;
  std::optional<double> step_s;  // best of its starting orders
};

struct SearchResult {
  std::string setup;  // what was searched, for people
  std::string workload;
  plan::Plan plan;
  std::string layout;  // how the layout came to be
  std::string found_by;
  double step_s = 0;  // simulated as `run` does
  double ci95_low_s = 0;
  double ci95_high_s = 0;
  std::uint64_t replications = 1;
  analysis::Figure bound_s;  // of any order with this layout
  std::string bound_name;
  analysis::Figure any_layout_bound_s;
  analysis::Figure gap;  // step / bound - 1
  bool optimal = false;  // proven, with this layout
  bool stopped = false;  // by the caller
  std::uint64_t evaluations = 0;
  double seconds = 0;
  bool reproducible = true;
  std::size_t ops = 0;  // of the graph, and after reduction
  std::size_t reduced_ops = 0;
  std::vector<LayoutTried> layouts;
  std::vector<SearchedPolicy> policies;
  std::vector<std::string> proven;  // sentences
  // Sentences: dimensions that the section `search` leaves out, and what workers that start one after the other would
  // do, where neither section nor policies ask for it.
  std::vector<std::string> not_searched;
};

// The first point of the experiment; UserError if there are more.
SearchResult search_plan(const Experiment& experiment, const SearchRunOptions& options, graph::Graph* graph = nullptr);

}  // namespace stretto::experiment
