// SPDX-License-Identifier: Apache-2.0
// What is drawn of a step is what was simulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "experiment/run/step_view.hpp"
#include "tests/support/paths.hpp"

namespace stretto::experiment {
namespace {

using analysis::Bar;
using analysis::BarKind;
using analysis::StepView;

Experiment three_workers(const std::string& more) {
  return read_experiment("stretto: 1\nworkload: {file: " + source_path("tests/fixtures/toy_chain.workload.json") +
                             "}\ncluster: {workers: {count: 3, nic: 10 Gbit/s}, servers: {count: 2}}\n" + more +
                             "runs: {iterations: 4, warm_up: 1, replications: 2}\n",
                         "view.yaml", {}, {source_path("configs")});
}

struct Drawn {
  analysis::RunResult result;
  std::vector<StepView> views;
};

Drawn draw(const Experiment& experiment, std::size_t most_bars = 100000) {
  Drawn d;
  d.result = run(experiment, {.advice = false}, {}).result;
  d.views = step_views(experiment, d.result, most_bars, {});
  return d;
}

void expect_sound(const StepView& view) {
  std::set<std::uint32_t> rows;
  for (const Bar& b : view.bars) {
    ASSERT_LT(b.row, view.rows.size());
    ASSERT_LT(b.name, view.names.size());
    rows.insert(b.row);
    EXPECT_LE(b.ready, b.handed);
    EXPECT_LE(b.handed, b.on_wire);
    EXPECT_LE(b.on_wire, b.begin);
    EXPECT_LE(b.begin, b.arrived);
    EXPECT_LE(b.arrived, b.end);
    const bool of_server = b.kind == BarKind::Pull || b.kind == BarKind::Push;
    EXPECT_EQ(b.other_row != analysis::kNoRow, of_server);
    if (of_server) {
      rows.insert(b.other_row);
      EXPECT_TRUE(view.rows[b.other_row].process.starts_with("server"));
    }
  }
  EXPECT_EQ(rows.size(), view.rows.size());
  EXPECT_TRUE(std::is_sorted(view.moments_s.begin(), view.moments_s.end()));
  EXPECT_NEAR(view.moments_s.back(), view.step_s, 1e-12);
}

TEST(StepView, DrawsEveryOpAndTransferOfEveryPolicy) {
  const Drawn d = draw(three_workers("policies: [tac]\n"));
  ASSERT_EQ(d.views.size(), 3U);
  for (std::size_t p = 0; p < d.views.size(); ++p) {
    const StepView& view = d.views[p];
    EXPECT_EQ(view.policy, d.result.results[p].policy);
    expect_sound(view);
    const auto number = [&](BarKind kind) {
      return std::count_if(view.bars.begin(), view.bars.end(), [&](const Bar& b) { return b.kind == kind; });
    };
    std::int64_t transfers = 0;
    for (const analysis::ServerLoad& s : d.result.results[p].servers) transfers += s.transfers;
    EXPECT_EQ(number(BarKind::Pull), 3 * transfers);
    EXPECT_EQ(number(BarKind::Push), 3 * (transfers - 1));  // one variable of the chain is frozen
    EXPECT_GT(number(BarKind::Op), 0);
    EXPECT_EQ(number(BarKind::Op) % 3, 0);
    EXPECT_TRUE(std::any_of(view.bars.begin(), view.bars.end(), [](const Bar& b) { return b.critical; }));
    EXPECT_EQ(view.workers_drawn, 3U);
  }
}

// With a barrier nothing else moves during the step, so that its mean use times its length is what a step moves.
TEST(StepView, UseAddsUpToTheBytesOfTheStep) {
  const Drawn d = draw(three_workers("policies: [fifo]\n"));
  const StepView& view = d.views.back();
  std::size_t links = 0;
  for (std::size_t r = 0; r < view.use.size(); ++r) {
    const analysis::UseOverTime& use = view.use[r];
    ASSERT_EQ(use.share.size() + 1, view.moments_s.size());
    double busy = 0;
    for (std::size_t i = 0; i < use.share.size(); ++i)
      busy += use.share[i] * (view.moments_s[i + 1] - view.moments_s[i]);
    const analysis::ResourceUse& measured = d.result.results.back().resources[r];
    EXPECT_EQ(use.name, measured.name);
    EXPECT_NEAR(busy / view.step_s, measured.utilisation, 1e-9) << use.name;
    links += measured.bytes_per_step > 0;
  }
  EXPECT_GE(links, 6U);
}

TEST(StepView, TooManyBarsLeaveWorkersOut) {
  const Experiment experiment = three_workers("noise: {slow_workers: [{worker: 2, slowdown: 2}]}\npolicies: [fifo]\n");
  const StepView all = draw(experiment).views.back();
  const StepView few = draw(experiment, all.bars.size() / 2).views.back();
  expect_sound(few);
  EXPECT_EQ(few.workers, 3U);
  EXPECT_EQ(few.workers_drawn, 1U);
  EXPECT_EQ(few.rows.front().process, "worker 2");  // the critical one
}

TEST(StepView, OtherModes) {
  for (const char* more : {"training: {synchronization: async}\n", "training: {barrier: false}\n",
                           "training: {exchange: all_reduce}\n", "training: {synchronization: backup, backups: 1}\n"}) {
    const bool all_reduce = std::string(more).find("all_reduce") != std::string::npos;
    const Experiment experiment =
        all_reduce
            ? read_experiment("stretto: 1\nworkload: {file: " + source_path("tests/fixtures/toy_chain.workload.json") +
                                  "}\ncluster: {workers: {count: 3, nic: 10 Gbit/s}}\n" + more +
                                  "runs: {iterations: 4, warm_up: 1, replications: 2}\n",
                              "view.yaml", {}, {source_path("configs")})
            : three_workers(more);
    for (const StepView& view : draw(experiment).views) {
      EXPECT_FALSE(view.bars.empty()) << more;
      expect_sound(view);
    }
  }
}

}  // namespace
}  // namespace stretto::experiment
