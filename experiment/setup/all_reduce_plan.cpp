// SPDX-License-Identifier: Apache-2.0
#include "experiment/setup/all_reduce_plan.hpp"

#include <algorithm>
#include <utility>

#include "io/import/order_file.hpp"
#include "io/import/schedule.hpp"
#include "models/plan/fusion.hpp"
#include "models/plan/partition.hpp"
#include "schedulers/policies/registry.hpp"

namespace stretto::experiment {

namespace {

const PolicyOption* find_option(const PolicySpec& spec, const char* key) {
  const auto found =
      std::find_if(spec.options.begin(), spec.options.end(), [&](const PolicyOption& o) { return o.key == key; });
  return found == spec.options.end() ? nullptr : &*found;
}

[[noreturn]] void refuse(const PolicySpec& spec, const PolicyOption* option, std::string message, std::string hint) {
  throw UserError(
      {{Severity::Error, (option != nullptr ? option->place : spec.place).span(),
        "policies." + spec.name + (option != nullptr ? "." + option->key : ""), std::move(message), std::move(hint)}});
}

// Ops take what they take on the first worker.
graph::Graph with_speed(const Setup& setup) {
  graph::Graph graph = *setup.graph;
  for (graph::Op& op : graph.ops) op.time = op.time.scaled(1 / setup.cluster.workers[0].device.speed);
  return graph;
}

// The line through the times of a small and a large buffer; pieces are rounded up, so that small ones are taken large
// enough.
policies::CollectiveCost collective_cost(const Setup& setup) {
  constexpr std::int64_t kSmall = 1 << 20;
  constexpr std::int64_t kLarge = 1 << 30;
  const auto time = [&](std::int64_t bytes) {
    return training::collective_time(setup.cluster, setup.training.all_reduce, training::Part::Whole, Bytes(bytes));
  };
  policies::CollectiveCost cost;
  cost.per_byte_ps = static_cast<double>((time(kLarge) - time(kSmall)).ps()) / static_cast<double>(kLarge - kSmall);
  cost.start = time(kSmall) - Duration::seconds(cost.per_byte_ps * static_cast<double>(kSmall) * 1e-12);
  cost.start = std::max(cost.start, Duration());
  return cost;
}

void apply_to_collectives(const OrderOptions& options, const PolicySpec& spec, const policies::Policy& policy,
                          bool split, plan::Order& order) {
  plan::DirectionOrder ranked = std::exchange(order.pull, {});
  Direction direction = Direction::Both;
  if (policy.fuse != nullptr) {
    // All-gathers are ready at once.
    if (ranked.discipline == plan::Discipline::Free) return;
    order.pull = std::move(ranked);
    order.pull.discipline = plan::Discipline::Strict;
    return;
  }
  if (policy.shared == policies::Shared::All) {
    ranked.discipline = options.discipline.value_or(plan::Discipline::Priority);
    ranked.window = options.window;
    ranked.credit = options.credit;
    if (const PolicyOption* asked = find_option(spec, "direction")) {
      direction = options.direction;
      if (direction == Direction::Pull && !split)
        refuse(spec, asked, "there are no all-gathers to rank", "all_reduce.split: true, or direction: push");
    }
  }
  if (direction != Direction::Pull) order.push = ranked;
  if (!split || direction == Direction::Push) return;
  ranked.alternatives.clear();
  order.pull = std::move(ranked);
}

}  // namespace

PolicySpec with_all_reduce_defaults(PolicySpec spec) {
  for (const policies::Policy& policy : policies::policies()) {
    if (policy.name != spec.name) continue;
    for (const auto& [key, text] : policy.all_reduce_defaults)
      if (find_option(spec, key.c_str()) == nullptr) spec.options.push_back({key, text, spec.place, spec.place});
  }
  return spec;
}

plan::Plan make_all_reduce_plan(const Setup& setup, const PolicySpec& spec, const PolicyChoice& choice,
                                std::uint64_t seed) {
  const policies::Policy& policy = *choice.policy;
  if (policy.exchange == policies::For::Servers)
    refuse(spec, nullptr, "this policy is for parameter servers", "training.exchange: parameter_server");
  if (policy.file == policies::FileKind::Schedule)
    return io::read_schedule(choice.file, *setup.graph, {0, static_cast<std::uint32_t>(setup.cluster.workers.size())})
        .plan;
  plan::Plan plan;
  plan.policy = spec.name;
  plan.layout = setup.layout;
  if (const Bytes limit = choice.order.partition; limit > Bytes()) {
    plan.layout = plan::partition(setup.layout, limit);
    plan::fuse(*setup.graph, plan.layout, Bytes());
  }
  std::vector<Duration> time;
  for (const graph::Parameter& p : setup.graph->parameters)
    time.push_back(training::collective_time(setup.cluster, setup.training.all_reduce, training::Part::Whole, p.bytes));
  std::vector<plan::NamedOrder> named;
  if (policy.file == policies::FileKind::Order) named = {io::read_order_file(choice.file)};
  if (policy.file == policies::FileKind::Recorded) named = io::read_arrivals(choice.file);
  const graph::Graph graph = with_speed(setup);
  policies::PolicyInput input{graph, plan.layout, std::move(time), seed, setup.training.barrier, std::move(named)};
  input.workers = static_cast<std::uint32_t>(setup.cluster.workers.size());
  input.collective = collective_cost(setup);
  if (policy.fuse != nullptr) policy.fuse(input, choice.own, plan.layout);
  plan.order = policies::make_order(spec.name, input, choice.own);
  apply_to_collectives(choice.order, spec, policy, plan.layout.split, plan.order);
  return plan;
}

}  // namespace stretto::experiment
