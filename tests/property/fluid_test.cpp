// SPDX-License-Identifier: Apache-2.0
// FluidNetwork against an independent solver on random systems. STRETTO_SOAK=1 runs 100,000 systems and more.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/fluid_reference.hpp"

namespace stretto::testing {
namespace {

std::uint32_t trials(std::uint32_t quick, std::uint32_t soak) {
  return std::getenv("STRETTO_SOAK") != nullptr ? soak : quick;
}

constexpr double kTolerancePs = 1000;  // 1e-9 s

TEST(Fluid, EndsAgreeWithProgressiveFilling) {
  RandomStream random(1, "fluid/ends");
  const std::uint32_t n = trials(4'000, 150'000);
  for (std::uint32_t trial = 0; trial < n; ++trial) {
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
  const std::uint32_t n = trials(4'000, 60'000);
  for (std::uint32_t trial = 0; trial < n; ++trial) {
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

// One relaxation at most: nearly every instant is solved by progressive filling over all links.
TEST(Fluid, FullSolvesAgreeWithRelaxation) {
  RandomStream random(6, "fluid/full");
  std::uint64_t full = 0;
  const std::uint32_t n = trials(300, 10'000);
  for (std::uint32_t trial = 0; trial < n; ++trial) {
    const FlowSystem system = random_system(random, 8, 40);
    network::FluidNetwork relaxed(system.wires), filled(system.wires, 1 + random.below(4));
    const auto ends = solver_ends(relaxed, system);
    const auto full_ends =
        solver_ends(filled, system, [&](const network::FluidNetwork& state, const std::vector<std::uint32_t>& moving) {
          ASSERT_EQ(max_min_fault(state, system, moving), "") << "system " << trial;
        });
    ASSERT_FALSE(HasFatalFailure());
    for (std::size_t f = 0; f < ends.size(); ++f)
      ASSERT_NEAR(static_cast<double>(ends[f]), static_cast<double>(full_ends[f]), kTolerancePs) << "system " << trial;
    full += filled.full_solves();
    EXPECT_EQ(relaxed.full_solves(), 0U) << "system " << trial;
  }
  EXPECT_GT(full, 2 * n);
}

TEST(Fluid, BytesAreConserved) {
  RandomStream random(3, "fluid/bytes");
  const std::uint32_t n = trials(200, 5'000);
  for (std::uint32_t trial = 0; trial < n; ++trial) {
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
  const std::uint32_t n = trials(2'000, 60'000);
  for (std::uint32_t trial = 0; trial < n; ++trial) {
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
