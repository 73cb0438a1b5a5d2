// SPDX-License-Identifier: Apache-2.0
#include "experiment/search/starts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "config/units_text.hpp"
#include "experiment/bounds/bounds.hpp"
#include "experiment/bounds/step_facts.hpp"
#include "experiment/run/comparison.hpp"
#include "models/graph/order.hpp"
#include "models/graph/reduce.hpp"
#include "schedulers/bounds/split.hpp"
#include "schedulers/bounds/stages.hpp"
#include "schedulers/policies/registry.hpp"

namespace stretto::experiment {

namespace {

using plan::Discipline;
using Sequence = std::vector<std::uint32_t>;  // transfers

// Transfers by falling weight of their parameter; slices stay together.
Sequence by_weight(const plan::Layout& layout, const std::vector<Duration>& weight) {
  Sequence list(layout.transfers.size());
  std::iota(list.begin(), list.end(), 0U);
  std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
    return weight[layout.transfers[a].parameter.index()] > weight[layout.transfers[b].parameter.index()];
  });
  return list;
}

std::vector<Duration> work_of_rows(const graph::Graph& graph, const graph::BitMatrix& rows,
                                   const std::vector<bool>* only) {
  std::vector<Duration> sum(graph.parameters.size());
  for (std::size_t o = 0; o < graph.ops.size(); ++o)
    if (only == nullptr || (*only)[o])
      graph::for_each_bit(rows.row(o), [&](std::size_t p) { sum[p] += graph.ops[o].time; });
  return sum;
}

Sequence first_use(const Setup& setup) {
  const policies::PolicyInput input{*setup.graph, setup.layout, std::vector<Duration>(setup.graph->parameters.size())};
  const plan::Order order = policies::make_order("fifo", input);
  Sequence list(setup.layout.transfers.size());
  for (std::uint32_t t = 0; t < list.size(); ++t) list[order.pull.rank[t]] = t;
  return list;
}

plan::DirectionOrder direction(Discipline discipline, const Sequence& sequence, Bytes credit = Bytes()) {
  plan::DirectionOrder order;
  order.discipline = discipline;
  if (discipline == Discipline::Free) return order;
  order.credit = discipline == Discipline::Credit ? credit : Bytes();
  order.rank.assign(sequence.size(), plan::kUnranked);
  for (std::uint32_t place = 0; place < sequence.size(); ++place) order.rank[sequence[place]] = place;
  return order;
}

struct Named {
  std::string name;
  plan::DirectionOrder order;
};

bounds::ForwardProblem problem_of(const graph::Graph& graph, const graph::BitMatrix& needs,
                                  const std::vector<bool>* only, double speed, const std::vector<std::size_t>& columns,
                                  Bandwidth rate) {
  bounds::ForwardProblem problem;
  std::vector<std::size_t> column(graph.parameters.size(), columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    column[columns[c]] = c;
    // Rounded down: never more than the simulator takes.
    const Duration up = transfer_duration(graph.parameters[columns[c]].bytes, rate);
    problem.transfer.push_back(std::max(Duration(), up - Duration::ps(1)));
  }
  std::vector<std::size_t> ops;
  for (std::size_t o = 0; o < graph.ops.size(); ++o)
    if (only == nullptr || (*only)[o]) ops.push_back(o);
  problem.needs = graph::BitMatrix(ops.size(), columns.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    problem.compute.push_back(graph.ops[ops[i]].time.scaled(1 / speed));
    graph::for_each_bit(needs.row(ops[i]), [&](std::size_t p) {
      if (column[p] < columns.size()) problem.needs.set(i, column[p]);
    });
  }
  return problem;
}

std::vector<std::vector<std::uint32_t>> slices_of(const plan::Layout& layout, const std::vector<std::size_t>& columns) {
  std::vector<std::vector<std::uint32_t>> lists;
  for (const std::size_t p : columns) {
    lists.emplace_back(layout.first[p + 1] - layout.first[p]);
    std::iota(lists.back().begin(), lists.back().end(), layout.first[p]);
  }
  return lists;
}

// What one message direction of the worker can carry: its NIC, and the only server's if there is one.
Bandwidth channel_rate(const Setup& setup, bool push) {
  const cluster::Cluster& c = setup.cluster;
  if (c.servers.size() == 1 && c.network.streams == 1) return push ? push_rate(c, 0, 0) : pull_rate(c, 0, 0);
  const cluster::Nic& nic = c.workers.front().nic;
  return (push ? nic.up : nic.down).scaled(c.network.efficiency);
}

PolicySpec policy_of(std::string name, std::vector<std::pair<std::string, std::string>> options) {
  PolicySpec spec;
  spec.name = std::move(name);
  for (auto& [key, text] : options) spec.options.push_back({std::move(key), std::move(text), {}, {}});
  return spec;
}

// Turns of collectives.
std::vector<search::Start> collective_starts(const Setup& setup, const std::vector<Bytes>& credits) {
  std::vector<search::Start> starts{{"as they are ready", {}}};
  const auto add = [&](std::string name, const PolicySpec& policy) {
    starts.push_back({std::move(name), make_plan(setup, policy, 1).order});
  };
  add("first use, priority", policy_of("fifo", {}));
  for (const Bytes credit : credits) {
    const std::string text = config::format_bytes(credit);
    add("first use, credit " + text, policy_of("fifo", {{"credit", text}}));
  }
  return starts;
}

}  // namespace

PolicySpec in_groups(std::uint32_t workers) { return policy_of("staggered", {{"group", std::to_string(workers)}}); }

std::vector<PolicySpec> with_window(std::uint32_t places) {
  const std::string text = std::to_string(places);
  return {policy_of("fifo", {{"window", text}}), policy_of("fifo", {{"discipline", "chain_window"}, {"window", text}})};
}

bool same_layout(const plan::Layout& a, const plan::Layout& b) {
  return a.servers == b.servers && a.first == b.first && a.bucket == b.bucket && a.split == b.split &&
         std::equal(a.transfers.begin(), a.transfers.end(), b.transfers.begin(), b.transfers.end(),
                    [](const plan::Transfer& x, const plan::Transfer& y) {
                      return x.parameter == y.parameter && x.bytes == y.bytes && x.server == y.server;
                    });
}

Setup reduced(const Setup& setup) {
  Setup result = setup;
  const bool exact =
      setup.training.exchange == training::Exchange::ParameterServer && !setup.variation.drawn() &&
      setup.variation.slow_workers.empty() &&
      std::all_of(setup.cluster.workers.begin(), setup.cluster.workers.end(), [](const cluster::Worker& w) {
        return w.device.speed == 1.0 && w.device.order == cluster::OpOrder::Fifo;
      });
  if (exact) result.graph = std::make_shared<const graph::Graph>(graph::reduce(*setup.graph).graph);
  return result;
}

bool is_unordered(const plan::Order& order) {
  return order.pull.discipline == Discipline::Unordered || order.push.discipline == Discipline::Unordered;
}

std::vector<search::Start> make_starts(const Setup& setup, const std::vector<PolicySpec>& policies,
                                       const std::vector<Bytes>& credits, std::uint64_t seed) {
  std::vector<search::Start> starts;
  for (const PolicySpec& policy : policies) {
    plan::Plan plan = make_plan(setup, policy, seed);
    if (!is_unordered(plan.order) && same_layout(plan.layout, setup.layout))
      starts.push_back({label(policy), std::move(plan.order)});
  }
  if (setup.training.exchange == training::Exchange::AllReduce) {
    for (search::Start& s : collective_starts(setup, credits)) starts.push_back(std::move(s));
    return starts;
  }
  const graph::Graph& graph = *setup.graph;
  const graph::BitMatrix needs = graph::needs(graph);
  const graph::BitMatrix feeds = bounds::feeds(graph);
  const bool training = setup.training.mode == training::Mode::Training;
  const bounds::Split split = training ? bounds::split_at_loss(graph, needs, feeds) : bounds::Split();
  const std::vector<bool>* before = split.holds ? &split.before : nullptr;
  const std::vector<std::pair<std::string, Sequence>> forward{
      {"first use", first_use(setup)}, {"tail", by_weight(setup.layout, work_of_rows(graph, needs, before))}};
  std::vector<Named> pulls;
  for (const auto& [name, sequence] : forward) {
    pulls.push_back({name + ", strict", direction(Discipline::Strict, sequence)});
    if (setup.training.barrier) continue;
    pulls.push_back({name + ", priority", direction(Discipline::Priority, sequence)});
    for (const Bytes credit : credits)
      pulls.push_back({fmt::format("{}, credit {}", name, config::format_bytes(credit)),
                       direction(Discipline::Credit, sequence, credit)});
  }
  std::vector<Named> pushes{{"free", {}}};
  if (training) {
    std::vector<std::pair<std::string, Sequence>> backward;
    if (setup.training.barrier && split.holds) {
      // Reversed in time the largest tail goes first.
      Sequence sequence = by_weight(setup.layout, work_of_rows(graph, feeds, &split.after));
      std::reverse(sequence.begin(), sequence.end());
      backward.emplace_back("reversed tail", std::move(sequence));
    } else {
      backward.push_back(forward.front());
      backward.push_back(forward.back());
    }
    // Without a barrier it may pay that a channel waits for what is not there yet, which only strict does
    // (docs/bounds.md).
    if (!setup.training.barrier)
      for (const auto& [name, sequence] : backward)
        pushes.push_back({name + ", strict", direction(Discipline::Strict, sequence)});
    for (const auto& [name, sequence] : backward)
      for (const Bytes credit : credits)
        pushes.push_back({fmt::format("{}, credit {}", name, config::format_bytes(credit)),
                          direction(Discipline::Credit, sequence, credit)});
  }
  for (const Named& pull : pulls)
    for (const Named& push : pushes) {
      // Both directions follow one credit where both have one.
      if (pull.order.discipline == Discipline::Credit && push.order.discipline == Discipline::Credit &&
          pull.order.credit != push.order.credit)
        continue;
      starts.push_back({fmt::format("pulls {}; pushes {}", pull.name, push.name), {pull.order, push.order}});
    }
  return starts;
}

std::vector<search::Start> make_few_starts(const Setup& setup, const std::vector<Bytes>& credits) {
  if (setup.training.exchange == training::Exchange::AllReduce) return collective_starts(setup, credits);
  const Sequence sequence = first_use(setup);
  std::vector<search::Start> starts{{"first use", {direction(Discipline::Strict, sequence), {}}}};
  if (!setup.training.barrier)
    starts.push_back({"first use by priority", {direction(Discipline::Priority, sequence), {}}});
  if (setup.training.mode != training::Mode::Training) return starts;
  for (const Bytes credit : credits) {
    const plan::DirectionOrder push = direction(Discipline::Credit, sequence, credit);
    const plan::DirectionOrder pull =
        direction(setup.training.barrier ? Discipline::Strict : Discipline::Credit, sequence, credit);
    starts.push_back({fmt::format("first use, credit {}", config::format_bytes(credit)), {pull, push}});
  }
  return starts;
}

namespace {

// More messages are small beside a step, and their bounds as divisible work close to it.
constexpr std::size_t kMostTrips = 1'000;

// The flow shop of a steady step, where each connection moves one message at a time.
std::optional<search::Relaxation> steady_relaxation(const Setup& setup) {
  const cluster::Cluster& c = setup.cluster;
  if (c.workers.size() != 1 || c.servers.size() != 1 || c.network.streams != 1 || c.servers.front().on_worker ||
      c.network.fabric.kind != cluster::FabricKind::Star || !setup.variation.none() || setup.random_ops() ||
      setup.training.synchronization != training::Synchronization::Sync || setup.training.passes != 1 ||
      setup.layout.transfers.size() > kMostTrips)
    return std::nullopt;
  const bounds::Stage stage(*setup.graph, c, setup.layout, true, false, nullptr, step_facts(setup));
  if (!stage.split().holds) return std::nullopt;
  search::Relaxation relaxation;
  for (const bounds::RoundTrip& trip : stage.round_trips()) {
    relaxation.trips.push_back(trip.job);
    relaxation.trip.push_back(trip.transfer);
  }
  if (relaxation.trips.empty()) return std::nullopt;
  return relaxation;
}

}  // namespace

std::optional<search::Relaxation> make_relaxation(const Setup& setup) {
  if (setup.training.exchange == training::Exchange::AllReduce) return std::nullopt;
  const cluster::Worker& worker = setup.cluster.workers.front();
  const bool training = setup.training.mode == training::Mode::Training;
  if (training && !setup.training.barrier) return steady_relaxation(setup);
  if (setup.cluster.workers.size() != 1 || worker.device.cores != 1 || setup.random_ops() || !setup.variation.none())
    return std::nullopt;
  const graph::Graph& graph = *setup.graph;
  const graph::BitMatrix needs = graph::needs(graph);
  search::Relaxation relaxation;
  relaxation.before = setup.cluster.step_overhead;
  std::vector<std::size_t> pulled(graph.parameters.size());
  std::iota(pulled.begin(), pulled.end(), std::size_t{0});
  const Bandwidth down = channel_rate(setup, false);
  if (!training) {
    relaxation.pulls = problem_of(graph, needs, nullptr, worker.device.speed, pulled, down);
    relaxation.pull = slices_of(setup.layout, pulled);
    return relaxation;
  }
  const graph::BitMatrix feeds = bounds::feeds(graph);
  const bounds::Split split = bounds::split_at_loss(graph, needs, feeds);
  if (!split.holds) return std::nullopt;
  std::vector<bool> read(graph.parameters.size(), false);
  for (const graph::Op& op : graph.ops)
    for (const graph::ParameterId p : op.reads) read[p.index()] = true;
  std::erase_if(pulled, [&](std::size_t p) { return !read[p]; });
  std::vector<std::size_t> pushed;
  for (std::size_t p = 0; p < graph.parameters.size(); ++p)
    if (graph.parameters[p].gradient.valid()) pushed.push_back(p);
  std::vector<bool> at_loss = split.before;
  if (const bounds::Facts facts = step_facts(setup); !facts.by_loss.empty())
    for (std::size_t o = 0; o < at_loss.size(); ++o) at_loss[o] = at_loss[o] || facts.by_loss[o];
  relaxation.pulls = problem_of(graph, needs, &at_loss, worker.device.speed, pulled, down);
  relaxation.pull = slices_of(setup.layout, pulled);
  relaxation.pushes = problem_of(graph, feeds, &split.after, worker.device.speed, pushed, channel_rate(setup, true));
  relaxation.push = slices_of(setup.layout, pushed);
  return relaxation;
}

bounds::Bound lower_bound(const Setup& setup, const bounds::Facts& facts) {
  if (!setup.variation.none()) return {{}, "", "op times or rates vary"};
  return layout_bound(setup, setup.layout, facts);
}

bounds::Bound lower_bound(const Setup& setup) { return lower_bound(setup, step_facts(setup)); }

bounds::Bound any_layout_lower_bound(const Setup& setup) {
  if (!setup.variation.none()) return {{}, "", "op times or rates vary"};
  return any_layout_bound(setup);
}

}  // namespace stretto::experiment
