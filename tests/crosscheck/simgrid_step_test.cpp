// SPDX-License-Identifier: Apache-2.0
// Makespans of a parameter-server step that SimGrid 3.32 and 4.1 and an independent event loop agree on, to the nine
// digits that they print.
#include <gtest/gtest.h>

#include "sim/program/simulation.hpp"
#include "tests/support/ps_step.hpp"

namespace stretto::testing {
namespace {

struct Row {
  std::uint32_t workers, servers, tensors, iterations;
  bool jitter;
  double makespan_s;
};

class SimGridStep : public ::testing::TestWithParam<Row> {};

TEST_P(SimGridStep, Makespan) {
  const Row& row = GetParam();
  PsStep step;
  step.workers = row.workers;
  step.servers = row.servers;
  step.tensors = row.tensors;
  step.jitter = row.jitter;
  const program::StepProgram program = step.compile();
  const program::OrderTable order;
  program::Simulation s(program, order, row.iterations);
  ASSERT_EQ(s.run(), program::Status::Reached);
  Time last;
  for (std::size_t m = 0; m < program.markers.size(); ++m) {
    ASSERT_EQ(s.marker_times(m).size(), row.iterations);
    last = std::max(last, s.marker_times(m).back());
  }
  EXPECT_NEAR(last.seconds(), row.makespan_s, 1e-9);
  EXPECT_EQ(last, s.now());
  EXPECT_EQ(s.finished(), std::uint64_t{row.iterations} * program.size());
}

INSTANTIATE_TEST_SUITE_P(Rows, SimGridStep,
                         ::testing::Values(Row{4, 1, 160, 1, false, 2.151886400}, Row{4, 1, 160, 1, true, 2.151886400},
                                           Row{4, 1, 160, 3, false, 5.426870944}, Row{4, 3, 20, 2, true, 0.201502937},
                                           Row{16, 4, 24, 2, true, 0.741158550}, Row{16, 4, 160, 1, false, 2.211384800},
                                           Row{16, 4, 160, 1, true, 2.211428680},
                                           Row{64, 16, 160, 1, false, 2.455992800},
                                           Row{64, 16, 160, 1, true, 2.455994124},
                                           Row{256, 64, 160, 1, false, 3.318754400},
                                           Row{256, 64, 160, 1, true, 3.318754400}),
                         [](const auto& row) {
                           return std::to_string(row.param.workers) + "x" + std::to_string(row.param.servers) + "k" +
                                  std::to_string(row.param.tensors) + "n" + std::to_string(row.param.iterations) +
                                  (row.param.jitter ? "jitter" : "");
                         });

}  // namespace
}  // namespace stretto::testing
