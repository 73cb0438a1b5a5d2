// SPDX-License-Identifier: Apache-2.0
#include "experiment/run/sweep_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <string>
#include <unordered_map>

#include "experiment/run/comparison.hpp"
#include "experiment/setup/setup.hpp"
#include "models/training/compile.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/parallel.hpp"

namespace stretto::experiment {

namespace {

// Names on a path that say how fast or how late something is. A name that is missing here costs time, not correctness.
constexpr std::array<std::string_view, 21> kRates = {
    "nic",         "pcie",     "nvlink",      "latency",        "efficiency", "rate_cap",           "loopback",
    "speed",       "copy_in",  "copy_out",    "copy_launch",    "launch",     "peak_gflops",        "memory_gbytes",
    "per_message", "per_byte", "update_rate", "aggregate_rate", "seed",       "comm_compute_ratio", "step_overhead"};

std::uint64_t cost_of(SweepPoints& points, std::size_t i, Workloads& workloads) {
  std::uint64_t cost = kPointCost;
  try {
    const std::optional<Point> point = points.point(i);
    if (!point) return cost;
    const Spec& spec = point->spec;
    const Setup setup = make_setup(spec, workloads);
    const SimulateOptions options = simulate_options(spec.runs, 1);
    for (const PolicySpec& policy : with_baselines(spec.policies)) {
      const plan::Plan plan = make_plan(setup, policy, options.seed);
      const std::uint64_t replications = is_random(setup, plan) ? options.min_replications : 1;
      cost += training::most_activities(*setup.graph, setup.cluster, plan.layout, setup.training) * options.iterations *
              replications;
    }
  } catch (const UserError&) {  // each of these will be stored as the reason why the point failed
  } catch (const OutOfRange&) {
  } catch (const std::bad_alloc&) {  // another cost here would be another division than that of the other machines
    throw UserError(fmt::format("out of memory while the cost of point {} was predicted: the sweep is not divided", i),
                    "a machine with more memory, or fewer workers, servers or slices; without --shard the other points "
                    "are run");
  }
  return cost;
}

}  // namespace

bool decides_cost(std::string_view path) {
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('.', at), path.size());
    if (std::find(kRates.begin(), kRates.end(), path.substr(at, end - at)) != kRates.end()) return false;
    at = end + 1;
  }
  return true;
}

std::vector<std::uint64_t> sweep_costs(const SweepPoints& points, std::size_t threads) {
  constexpr std::size_t kChunk = 64;
  const std::vector<std::string> paths = points.paths();
  std::vector<bool> decides;
  for (const std::string& path : paths) decides.push_back(decides_cost(path) || points.is_constrained(path));
  // Points with equal values of these fields cost the same.
  std::unordered_map<std::string, std::size_t> groups;
  std::vector<std::size_t> group(points.size());
  std::vector<std::size_t> first;  // point of each group
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::vector<std::string> values = points.values(i);
    std::string key;
    for (std::size_t v = 0; v < values.size(); ++v)
      if (decides[v]) key += values[v] + '\n';
    const auto [at, fresh] = groups.try_emplace(std::move(key), first.size());
    if (fresh) first.push_back(i);
    group[i] = at->second;
  }
  std::vector<std::uint64_t> cost(first.size());
  parallel_for((first.size() + kChunk - 1) / kChunk, threads, [&](std::size_t chunk) {
    SweepPoints mine = points;
    Workloads workloads;
    for (std::size_t g = chunk * kChunk; g < std::min(first.size(), (chunk + 1) * kChunk); ++g)
      cost[g] = cost_of(mine, first[g], workloads);
  });
  std::vector<std::uint64_t> costs;
  costs.reserve(points.size());
  for (const std::size_t g : group) costs.push_back(cost[g]);
  return costs;
}

}  // namespace stretto::experiment
