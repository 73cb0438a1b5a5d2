// SPDX-License-Identifier: Apache-2.0
// Seeded random setups with parameter servers for tests: every kind of cost, small numbers so that ties are frequent.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "experiment/setup/setup.hpp"
#include "models/plan/plan.hpp"
#include "sim/base/random.hpp"
#include "tests/support/random_graph.hpp"

namespace stretto::test {

inline cluster::ServiceCost random_cost(RandomStream& random) {
  if (random.below(3) != 0) return {};
  return {Duration::ns(static_cast<std::int64_t>(random.below(1500))), static_cast<double>(random.below(3)) * 20'000};
}

inline Bandwidth random_rate(RandomStream& random) {
  return Bandwidth::bytes_per_second(static_cast<std::int64_t>(1 + random.below(8)) * 1'000'000);
}

// Synchronous, without noise, placed in turn.
inline experiment::Setup random_setup(RandomStream& random) {
  experiment::Setup s;
  RandomGraphSpec spec;
  spec.shape = kShapes[random.below(kShapes.size())];
  spec.ops = 2 + random.below(8);
  spec.parameters = 2 + random.below(12);
  spec.training = random.below(3) != 0;
  s.graph = std::make_shared<const graph::Graph>(random_graph(spec, random()));
  s.training.mode = spec.training ? training::Mode::Training : training::Mode::Inference;
  s.training.barrier = random.below(2) == 0;
  const auto workers = 1 + random.below(3);
  for (std::uint64_t w = 0; w < workers; ++w) {
    cluster::Worker worker;
    worker.name = fmt::format("worker {}", w);
    worker.device.speed = w == 0 ? 1.0 : 0.9;
    worker.device.cores = random.below(4) == 0 ? 2 : 1;
    worker.device.order = random.below(3) == 0 ? cluster::OpOrder::Priority : cluster::OpOrder::Fifo;
    if (random.below(3) == 0) worker.device.copy_in = random_rate(random);
    if (random.below(3) == 0) worker.device.copy_out = random_rate(random);
    worker.nic = {random_rate(random), random_rate(random)};
    worker.threads = static_cast<std::uint32_t>(random.below(3));
    worker.send = random_cost(random);
    worker.receive = random_cost(random);
    s.cluster.workers.push_back(worker);
  }
  const auto servers = 1 + random.below(3);
  for (std::uint64_t i = 0; i < servers; ++i) {
    cluster::Server server;
    server.name = fmt::format("server {}", i);
    server.nic = {random_rate(random), random_rate(random)};
    server.threads = static_cast<std::uint32_t>(random.below(3));
    server.send = random_cost(random);
    server.receive = random_cost(random);
    if (random.below(2) == 0) server.update_rate = random_rate(random);
    s.cluster.servers.push_back(server);
  }
  s.cluster.network.latency = Duration::ns(static_cast<std::int64_t>(random.below(3)) * 400);
  s.cluster.network.streams = static_cast<std::uint32_t>(random.below(4));
  s.cluster.network.model = random.below(4) == 0 ? cluster::LinkModel::Fifo : cluster::LinkModel::Fluid;
  s.placement = "round_robin";
  experiment::place(s);
  return s;
}

// Ranks for all transfers where the discipline has some, in any order, with a small credit or window.
inline plan::DirectionOrder random_order(const plan::Layout& layout, plan::Discipline discipline,
                                         RandomStream& random) {
  plan::DirectionOrder order;
  order.discipline = discipline;
  if (plan::has_credit(discipline)) order.credit = Bytes(static_cast<std::int64_t>(1 + random.below(40)));
  if (discipline == plan::Discipline::CreditSkip)
    for (const plan::Transfer& t : layout.transfers) order.credit = std::max(order.credit, t.bytes);
  if (plan::has_window(discipline)) order.window = static_cast<std::uint32_t>(1 + random.below(3));
  if (plan::traits(discipline).ranks) order.rank = random_permutation(layout.transfers.size(), random);
  return order;
}

}  // namespace stretto::test
