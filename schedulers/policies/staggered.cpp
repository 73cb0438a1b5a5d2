// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/staggered.hpp"

#include <algorithm>
#include <vector>

#include "models/graph/order.hpp"
#include "schedulers/policies/fifo.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::policies {

namespace {

constexpr double kMostDelay = 1e6;  // seconds; more is a typing error

std::optional<std::int64_t> option(const PolicyOptions& options, const char* name) {
  const auto found = options.find(name);
  return found == options.end() ? std::nullopt : number_of(found->second);
}

// Times in ps; doubles, since a million workers' pulls may not fit a Duration.
class StepOfGroups {
 public:
  explicit StepOfGroups(const PolicyInput& input) : input_(input), order_(graph::topological_order(input.graph)) {
    const graph::Graph& g = input.graph;
    double sum = 0;
    for (const graph::ParameterId p : fifo_order(g)) sum += static_cast<double>(g.parameters[p.index()].bytes.count());
    arrival_.resize(g.parameters.size());
    double before = 0;
    for (const graph::ParameterId p : fifo_order(g)) {
      const double share = static_cast<double>(g.parameters[p.index()].bytes.count()) / sum;
      arrival_[p.index()] = before += share;
      if (const graph::OpId gradient = g.parameters[p.index()].gradient; gradient.valid()) {
        pushed_.resize(g.ops.size());
        pushed_[gradient.index()] += share;
      }
    }
  }

  double step(std::int64_t group) const {
    const std::int64_t groups = (input_.workers + group - 1) / group;
    const double pulls = pulls_of(group);
    if (groups == 1) return alone(pulls);
    const double last = pulls_of(input_.workers - (groups - 1) * group);
    const double late = static_cast<double>(groups - 1) * pulls;
    return std::max(late - pulls + alone(pulls) + last, late + alone(last));
  }

 private:
  double pulls_of(std::int64_t workers) const {
    return std::max(static_cast<double>(input_.pulls_at_worker.ps()),
                    static_cast<double>(input_.pulls_at_server.ps()) * static_cast<double>(workers));
  }

  double alone(double pulls) const {
    double op_end = 0;
    double push_end = 0;
    for (const graph::OpId o : order_) {
      const graph::Op& op = input_.graph.ops[o.index()];
      for (const graph::ParameterId p : op.reads) op_end = std::max(op_end, arrival_[p.index()] * pulls);
      op_end += static_cast<double>(op.time.ps()) / input_.speed;
      if (!pushed_.empty() && pushed_[o.index()] > 0)
        push_end = std::max(push_end, op_end) + pushed_[o.index()] * pulls;
    }
    return std::max({pulls, op_end, push_end});
  }

  const PolicyInput& input_;
  const std::vector<graph::OpId> order_;
  std::vector<double> arrival_;  // by parameter, shares of the time of all pulls
  std::vector<double> pushed_;   // by op, the same of the gradients that it completes
};

// Of the groups of one number only the smallest, which are nearest to equal.
std::int64_t shortest_group(const PolicyInput& input) {
  constexpr double kLess = 1 - 1e-9;  // sums are rounded
  const StepOfGroups steps(input);
  const std::int64_t workers = input.workers;
  std::int64_t best = 1;
  double least = steps.step(1);
  for (std::int64_t group = 2; group <= workers; ++group) {
    const std::int64_t groups = (workers + group - 1) / group;
    if (group != (workers + groups - 1) / groups) continue;
    const double step = steps.step(group);
    if (step >= least * kLess) continue;
    best = group;
    least = step;
  }
  return best;
}

}  // namespace

plan::Order make_staggered(const PolicyInput& input, const PolicyOptions& options) {
  plan::Order order = make_fifo(input, {});
  const auto asked = option(options, "group");
  const std::int64_t group = asked ? *asked : shortest_group(input);
  const std::int64_t together = std::min<std::int64_t>(group, input.workers);
  const auto given = option(options, "offset");
  const Duration offset =
      given ? Duration::ps(*given) : std::max(input.pulls_at_worker, input.pulls_at_server * together);
  if (offset.seconds() * static_cast<double>((input.workers - 1) / group) > kMostDelay)
    throw UserError("the last group of workers would start more than 1e6 s late", "a shorter offset, or larger groups");
  for (std::int64_t w = 0; w < input.workers; ++w) order.start_offsets.push_back(offset * (w / group));
  return order;
}

}  // namespace stretto::policies
