// SPDX-License-Identifier: Apache-2.0
// FluidNetwork against an independent solver on random systems. STRETTO_SOAK=1 runs 100,000 systems and more.
#include <gtest/gtest.h>

#include "tests/bench/peers/fat_tree.hpp"
#include "tests/support/fluid_reference.hpp"
#include "tests/support/trials.hpp"

namespace stretto::testing {
namespace {

constexpr double kTolerancePs = 1000;  // 1e-9 s

TEST(Fluid, EndsAgreeWithProgressiveFilling) {
  RandomStream random(1, "fluid/ends");
  for (const test::Trial trial : test::Trials(4'000, 150'000)) {
    const FlowSystem system = trial % 8 == 0 ? random_system(random, 12, 60) : random_system(random, 6, 16);
    network::FluidNetwork net(system.wires);
    const auto ends = solver_ends(net, system);
    const auto exact = reference_ends(system);
    for (std::size_t f = 0; f < ends.size(); ++f)
      ASSERT_NEAR(static_cast<double>(ends[f]), static_cast<double>(exact[f]), kTolerancePs)
          << "system " << trial << " flow " << f << " of " << ends.size();
  }
}

TEST(Fluid, RatesAreMaxMinFairAfterEveryInstant) {
  RandomStream random(2, "fluid/rates");
  for (const test::Trial trial : test::Trials(4'000, 60'000)) {
    const FlowSystem system = trial % 400 == 0 ? random_system(random, 80, 1500)
                              : trial % 8 == 0 ? random_system(random, 20, 200)
                                               : random_system(random, 6, 24);
    network::FluidNetwork net(system.wires);
    solver_ends(net, system, [&](const network::FluidNetwork& state, const std::vector<std::uint32_t>& moving) {
      ASSERT_EQ(max_min_fault(state, system, moving), "") << "system " << trial;
    });
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(Fluid, FillingAgreesWithRelaxation) {
  using Method = network::FluidNetwork::Method;
  RandomStream random(6, "fluid/full");
  std::uint64_t filled_solves = 0, resumed = 0;
  for (const test::Trial trial : test::Trials(300, 10'000)) {
    const FlowSystem system = trial % 50 == 0 ? random_system(random, 40, 900) : random_system(random, 8, 40);
    network::FluidNetwork relaxed(system.wires, Method::Relaxation);
    network::FluidNetwork filled(system.wires, Method::Filling);
    const auto fair = [&](const network::FluidNetwork& state, const std::vector<std::uint32_t>& moving) {
      ASSERT_EQ(max_min_fault(state, system, moving), "") << "system " << trial;
    };
    const auto ends = solver_ends(relaxed, system);
    const auto filled_ends = solver_ends(filled, system, fair);
    ASSERT_FALSE(HasFatalFailure());
    for (std::size_t f = 0; f < ends.size(); ++f)
      ASSERT_NEAR(static_cast<double>(ends[f]), static_cast<double>(filled_ends[f]), kTolerancePs)
          << "system " << trial;
    EXPECT_EQ(relaxed.full_solves(), 0U) << "system " << trial;
    EXPECT_EQ(filled.relaxations(), 0U) << "system " << trial;
    filled_solves += filled.full_solves();
    resumed += filled.resumed_solves();
  }
  EXPECT_GT(resumed, filled_solves / 5);  // and many do begin anew
  EXPECT_LT(resumed, filled_solves * 9 / 10);
}

// A crowded fat-tree is filled, and relaxed again when most flows have ended.
TEST(Fluid, CrowdedNetworksAreFilled) {
  using Method = network::FluidNetwork::Method;
  const peers::FatTree tree;
  FlowSystem system;
  for (std::uint32_t l = 0; l < tree.links(); ++l)
    system.wires.add_link("link", Bandwidth::bytes_per_second(1'250'000'000));
  for (std::uint32_t i = 0; i < 1'500; ++i) {
    const peers::Flow flow = tree.flow(i, 0);
    std::vector<network::LinkId> path;
    for (const std::uint32_t l : tree.route(flow.from, flow.to)) path.emplace_back(l);
    system.wires.add_route(path);
    system.flows.push_back({i, static_cast<std::int64_t>(flow.bytes)});
  }
  network::FluidNetwork relaxed(system.wires, Method::Relaxation);
  network::FluidNetwork adaptive(system.wires);
  const auto ends = solver_ends(relaxed, system);
  const auto adaptive_ends = solver_ends(adaptive, system);
  for (std::size_t f = 0; f < ends.size(); ++f)
    ASSERT_NEAR(static_cast<double>(ends[f]), static_cast<double>(adaptive_ends[f]), kTolerancePs) << "flow " << f;
  EXPECT_GT(adaptive.full_solves(), 100U);
  EXPECT_GT(adaptive.resumed_solves(), adaptive.full_solves() / 2);
  EXPECT_GT(adaptive.relaxations(), 1'000U);
  EXPECT_LT(adaptive.relaxations(), relaxed.relaxations() / 2);
}

TEST(Fluid, BytesAreConserved) {
  RandomStream random(3, "fluid/bytes");
  for (const test::Trial trial : test::Trials(200, 5'000)) {
    const FlowSystem system = random_system(random, 8, 40);
    network::FluidNetwork net(system.wires);
    const auto ends = solver_ends(net, system);
    std::vector<std::int64_t> bytes(system.wires.links.size(), 0);
    for (std::size_t f = 0; f < ends.size(); ++f) {
      ASSERT_GE(ends[f], 0) << "flow " << f << " never ended";
      for (const network::LinkId link : system.wires.path(network::RouteId(system.flows[f].route)))
        bytes[link.index()] += system.flows[f].bytes;
    }
    for (std::size_t l = 0; l < bytes.size(); ++l)
      ASSERT_EQ(net.bytes_carried(network::LinkId(l), Time::never()), bytes[l]) << "system " << trial << " link " << l;
  }
}

TEST(Fluid, NumberingChangesNoEnd) {
  RandomStream random(4, "fluid/permutations");
  for (const test::Trial trial : test::Trials(2'000, 60'000)) {
    const FlowSystem system = random_system(random, 8, 40);
    network::FluidNetwork net(system.wires);
    const auto ends = solver_ends(net, system);
    std::vector<std::uint32_t> flow_at;
    const FlowSystem other = permuted(system, random, flow_at);
    network::FluidNetwork other_net(other.wires);
    const auto other_ends = solver_ends(other_net, other);
    for (std::size_t f = 0; f < ends.size(); ++f)
      ASSERT_EQ(ends[f], other_ends[flow_at[f]]) << "system " << trial << " flow " << f;
  }
}

TEST(Fluid, ResetAndCopyGiveTheSameBits) {
  RandomStream random(5, "fluid/reset");
  for (std::uint32_t trial = 0; trial < 100; ++trial) {
    const FlowSystem system = random_system(random, 8, 40);
    network::FluidNetwork net(system.wires);
    const auto ends = solver_ends(net, system);
    net.reset();
    network::FluidNetwork copy = net;
    ASSERT_EQ(solver_ends(net, system), ends);
    ASSERT_EQ(solver_ends(copy, system), ends);
  }
}

}  // namespace
}  // namespace stretto::testing
