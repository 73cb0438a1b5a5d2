// SPDX-License-Identifier: Apache-2.0
// No simulated step beats its lower bound: random graphs, clusters with every kind of cost, layouts and policies.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/placement/placement.hpp"
#include "models/training/compile.hpp"
#include "schedulers/bounds/step.hpp"
#include "schedulers/policies/registry.hpp"
#include "sim/program/simulation.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/random_topology.hpp"
#include "tests/support/trials.hpp"

namespace stretto {
namespace {

constexpr Duration kRounding = Duration::ps(1000);  // of the fluid solver, over a step

cluster::ServiceCost random_cost(RandomStream& random) {
  if (random.below(2) == 0) return {};
  return {Duration::ns(static_cast<std::int64_t>(random.below(1500))), static_cast<double>(random.below(3)) * 20'000};
}

Bandwidth random_rate(RandomStream& random) {
  return Bandwidth::bytes_per_second(static_cast<std::int64_t>(1 + random.below(8)) * 2'000'000);
}

// Op times are a few us, transfers 4 to 24 bytes, rates 2 to 16 bytes per us.
cluster::Cluster random_cluster(RandomStream& random) {
  cluster::Cluster c;
  const bool equal = random.below(2) == 0;
  const auto workers = 1 + random.below(3);
  for (std::uint64_t w = 0; w < workers; ++w) {
    cluster::Worker worker;
    if (w > 0 && equal) {
      worker = c.workers.front();
    } else {
      worker.device.speed = random.below(2) == 0 ? 1.0 : 0.7;
      worker.device.cores = random.below(3) == 0 ? 3 : 1;
      worker.nic = {random_rate(random), random_rate(random)};
      worker.threads = static_cast<std::uint32_t>(random.below(3));
      worker.send = random_cost(random);
      worker.receive = random_cost(random);
    }
    worker.name = fmt::format("worker {}", w);
    c.workers.push_back(worker);
  }
  for (std::uint64_t s = 1 + random.below(3); s-- > 0;) {
    cluster::Server server;
    server.name = fmt::format("server {}", c.servers.size());
    server.nic = {random_rate(random), random_rate(random)};
    server.threads = static_cast<std::uint32_t>(random.below(3));
    server.send = random_cost(random);
    server.receive = random_cost(random);
    if (random.below(2) == 0) server.update_rate = random_rate(random);
    c.servers.push_back(server);
  }
  c.network.model = random.below(3) == 0 ? cluster::LinkModel::Fifo : cluster::LinkModel::Fluid;
  if (c.network.model == cluster::LinkModel::Fifo && random.below(2) == 0) c.network.chunk = Bytes(8);
  c.network.latency = Duration::ns(static_cast<std::int64_t>(random.below(3)) * 700);
  c.network.efficiency = random.below(2) == 0 ? 1.0 : 0.9;
  c.network.streams = static_cast<std::uint32_t>(random.below(3));
  if (random.below(3) == 0) c.network.rate_cap = random_rate(random);
  c.step_overhead = Duration::us(static_cast<std::int64_t>(random.below(3)));
  if (random.below(2) == 0) test::random_topology(random, c, [&] { return random_rate(random); });
  return c;
}

struct Case {
  graph::Graph graph;
  cluster::Cluster cluster;
  plan::Layout layout;
  bool training = true;
  bool barrier = true;
};

// Makes backward ops start after some forward op instead of all of them: gradients then come before other pulls.
void loosen(graph::Graph& g, RandomStream& random) {
  for (graph::Op& op : g.ops) {
    if (op.phase != graph::Phase::Backward) continue;
    const auto forward = [&](graph::OpId input) { return g.ops[input.index()].phase == graph::Phase::Forward; };
    const auto first = std::find_if(op.inputs.begin(), op.inputs.end(), forward);
    if (first == op.inputs.end()) continue;
    const graph::OpId kept =
        *(first + static_cast<std::ptrdiff_t>(random.below(static_cast<std::uint64_t>(op.inputs.end() - first))));
    std::erase_if(op.inputs, forward);
    op.inputs.push_back(kept);
  }
}

// Any order of ops, copies that bounds leave out.
void vary_devices(cluster::Cluster& c, std::uint64_t seed) {
  RandomStream random(seed, "tests/property/bounds/devices");
  for (cluster::Worker& worker : c.workers) {
    worker.device.order = static_cast<cluster::OpOrder>(random.below(3));
    if (random.below(3) == 0) worker.device.copy_in = random_rate(random);
    if (random.below(3) == 0) worker.device.copy_out = random_rate(random);
    if (random.below(4) == 0) worker.device.copy_launch = Duration::us(1);
  }
}

Case random_case(std::uint64_t seed) {
  RandomStream random(seed, "tests/property/bounds");
  Case c;
  c.training = random.below(3) != 0;
  c.barrier = random.below(2) == 0;
  c.graph =
      test::random_graph({test::kShapes[random.below(4)], 1 + random.below(7), 1 + random.below(6), c.training}, seed);
  if (c.training && random.below(3) == 0) loosen(c.graph, random);
  if (random.below(4) == 0) c.graph.parameters.push_back({"unread", Bytes(16), false, {}});
  c.cluster = random_cluster(random);
  vary_devices(c.cluster, seed);
  const auto servers = static_cast<std::uint32_t>(c.cluster.servers.size());
  const char* const names[] = {"round_robin", "greedy", "partitioned"};
  c.layout = placement::place(names[random.below(3)], c.graph, servers);
  return c;
}

struct Run {
  Duration mean;   // per step, without the first steps
  Duration least;  // shortest step of any worker
};

Run simulate(const Case& c, const std::string& policy, std::uint32_t steps, std::uint64_t seed) {
  policies::PolicyInput input{c.graph, c.layout, std::vector<Duration>(c.graph.parameters.size(), Duration::us(1)),
                              seed, c.barrier};
  input.workers = static_cast<std::uint32_t>(c.cluster.workers.size());
  input.pulls_at_worker = Duration::us(9);
  input.pulls_at_server = Duration::us(static_cast<std::int64_t>(1 + seed % 9));
  const auto order = policies::make_order(policy, input);
  const auto compiled = training::compile(
      c.graph, c.cluster, c.layout, {c.training ? training::Mode::Training : training::Mode::Inference, c.barrier});
  const auto table = training::compile_order(compiled, c.layout, order, seed);
  program::Simulation simulation(compiled.program, table, steps);
  EXPECT_EQ(simulation.run_until(steps), program::Status::Reached);
  const auto warm = steps / 4;
  Run run{{}, Duration::ps(std::numeric_limits<std::int64_t>::max())};
  for (std::size_t w = 0; w < c.cluster.workers.size(); ++w) {
    const auto& times = simulation.marker_times(compiled.worker_marker(w));
    run.mean += Duration::ps((times[steps - 1] - times[warm - 1]).ps() / (steps - warm));
  }
  run.mean = Duration::ps(run.mean.ps() / static_cast<std::int64_t>(c.cluster.workers.size()));
  const auto& ends = simulation.marker_times(0);
  for (std::size_t k = 0; k < ends.size(); ++k)
    run.least = std::min(run.least, k == 0 ? ends[k] - Time() : ends[k] - ends[k - 1]);
  return run;
}

std::vector<std::string> policies_without_file() {
  std::vector<std::string> names;
  for (const policies::Policy& policy : policies::policies())
    if (policy.file == policies::FileKind::None && policy.exchange != policies::For::AllReduce)
      names.emplace_back(policy.name);
  return names;
}

TEST(Bounds, NoStepWithABarrierIsShorter) {
  std::uint64_t checked = 0;
  double gap = 0;
  for (std::uint64_t seed = 0; checked < test::trials(400); ++seed) {
    const auto c = random_case(seed);
    if (!c.barrier) continue;
    ++checked;
    const auto bound = bounds::step_lower_bound(c.graph, c.cluster, c.layout, c.training, true);
    const auto any = bounds::any_layout_lower_bound(c.graph, c.cluster, c.training, true);
    double best = 1e9;
    for (const std::string& policy : policies_without_file()) {
      const auto run = simulate(c, policy, 4, seed);
      ASSERT_GE(run.least + kRounding, *bound.value) << "seed " << seed << ' ' << policy << ": " << bound.name;
      ASSERT_GE(run.least + kRounding, *any.value) << "seed " << seed << ' ' << policy << ": " << any.name;
      best = std::min(best, run.least.seconds() / bound.value->seconds() - 1);
    }
    gap += best;
  }
  EXPECT_LT(gap / static_cast<double>(checked), 0.4);
  std::printf("mean gap of the best policy: %.1f %%\n", 100 * gap / static_cast<double>(checked));
}

// In the long run: at most two steps' worth of work may be on its way at the ends of the measured window.
TEST(Bounds, NoLongRunWithoutABarrierIsShorter) {
  constexpr std::uint32_t kSteps = 120;
  constexpr double kEnds = 2.0 / (kSteps * 3 / 4);
  std::uint64_t checked = 0;
  double gap = 0;
  for (std::uint64_t seed = 0; checked < test::trials(150); ++seed) {
    const auto c = random_case(seed);
    if (c.barrier) continue;
    ++checked;
    const auto bound = bounds::step_lower_bound(c.graph, c.cluster, c.layout, c.training, false);
    const auto any = bounds::any_layout_lower_bound(c.graph, c.cluster, c.training, false);
    double best = 1e9;
    for (const std::string& policy : policies_without_file()) {
      const auto run = simulate(c, policy, kSteps, seed);
      ASSERT_GE(run.mean + kRounding, bound.value->scaled(1 - kEnds))
          << "seed " << seed << ' ' << policy << ": " << bound.name;
      ASSERT_GE(run.mean + kRounding, any.value->scaled(1 - kEnds))
          << "seed " << seed << ' ' << policy << ": " << any.name;
      best = std::min(best, run.mean.seconds() / bound.value->seconds() - 1);
    }
    gap += best;
  }
  EXPECT_LT(gap / static_cast<double>(checked), 0.4);
  std::printf("mean gap of the best policy: %.1f %%\n", 100 * gap / static_cast<double>(checked));
}

}  // namespace
}  // namespace stretto
