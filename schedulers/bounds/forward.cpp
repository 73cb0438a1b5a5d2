// SPDX-License-Identifier: Apache-2.0
#include "schedulers/bounds/forward.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/graph/order.hpp"

namespace stretto::bounds {

namespace {

Duration total(const std::vector<Duration>& times) { return std::accumulate(times.begin(), times.end(), Duration()); }

}  // namespace

ForwardProblem forward_problem(const graph::Graph& graph, std::vector<Duration> transfer_time) {
  STRETTO_ASSERT(transfer_time.size() == graph.parameters.size(), "{} transfer times for {} parameters",
                 transfer_time.size(), graph.parameters.size());
  ForwardProblem problem;
  problem.transfer = std::move(transfer_time);
  for (const graph::Op& op : graph.ops) problem.compute.push_back(op.time);
  problem.needs = graph::needs(graph);
  return problem;
}

Duration makespan(const ForwardProblem& problem, const std::vector<std::uint32_t>& order) {
  const auto n = problem.transfer.size();
  STRETTO_ASSERT(order.size() == n, "an order of {} for {} transfers", order.size(), n);
  std::vector<std::size_t> place(n);
  for (std::size_t k = 0; k < n; ++k) place[order[k]] = k;
  std::vector<Duration> complete(n + 1);  // [k]: work of the ops whose last transfer is the k-th; [0]: none needed
  for (std::size_t o = 0; o < problem.compute.size(); ++o) {
    std::size_t last = 0;
    graph::for_each_bit(problem.needs.row(o), [&](std::size_t r) { last = std::max(last, place[r] + 1); });
    complete[last] += problem.compute[o];
  }
  Duration sent;
  Duration done;  // f(S_{k-1})
  Duration idle;
  for (std::size_t k = 0; k < n; ++k) {
    sent += problem.transfer[order[k]];
    done += complete[k];
    idle = std::max(idle, sent - done);
  }
  return total(problem.compute) + idle;
}

Duration load_bound(const ForwardProblem& problem) { return std::max(total(problem.compute), total(problem.transfer)); }

Duration head_bound(const ForwardProblem& problem) {
  std::vector<std::pair<Duration, Duration>> ops;  // least start, time
  for (std::size_t o = 0; o < problem.compute.size(); ++o) {
    Duration start;
    graph::for_each_bit(problem.needs.row(o), [&](std::size_t r) { start += problem.transfer[r]; });
    ops.emplace_back(start, problem.compute[o]);
  }
  std::sort(ops.rbegin(), ops.rend());
  Duration work;
  Duration bound;
  for (const auto& [start, time] : ops) {
    work += time;
    bound = std::max(bound, start + work);
  }
  return bound;
}

Duration tail_bound(const ForwardProblem& problem) {
  std::vector<std::pair<Duration, Duration>> transfers;  // tail, time
  for (const Duration m : problem.transfer) transfers.emplace_back(Duration(), m);
  for (std::size_t o = 0; o < problem.compute.size(); ++o)
    graph::for_each_bit(problem.needs.row(o), [&](std::size_t r) { transfers[r].first += problem.compute[o]; });
  std::sort(transfers.rbegin(), transfers.rend());
  Duration sent;
  Duration bound;
  for (const auto& [tail, time] : transfers) {
    sent += time;
    bound = std::max(bound, sent + tail);
  }
  return bound;
}

}  // namespace stretto::bounds
