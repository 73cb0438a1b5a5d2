// SPDX-License-Identifier: Apache-2.0
// Generated workloads in experiments: every generator from its text to an answer, what varies, and what is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "experiment/run/runner.hpp"
#include "experiment/setup/setup.hpp"
#include "models/generate/generator.hpp"
#include "tests/support/paths.hpp"

namespace stretto::experiment {
namespace {

const std::string kSmallTransformer = "transformer: {layers: 2, hidden: 64, vocabulary: 500, sequence: 16}";
const std::string kSmallRecommender = "recommender: {rows: [100, 100000], dimension: 16, top_mlp: [8, 1], batch: 64}";

Experiment read(const std::string& generate, const std::string& more = "", const std::vector<std::string>& sets = {}) {
  return read_experiment(
      fmt::format("stretto: 1\nworkload: {{generate: {{{}}}}}\n"
                  "cluster: {{workers: {{count: 2, nic: 1 GB/s, device: {{include: {}}}}}, servers: {{nic: 1 GB/s}}}}\n"
                  "policies: [random, fifo, tac]\nruns: {{iterations: 5, warm_up: 1, replications: 2}}\n{}",
                  generate, source_path("configs/devices/v100_roofline.yaml"), more),
      "t.yaml", sets, {source_path("configs")});
}

experiment::Setup setup_of(const std::string& generate, const std::vector<std::string>& sets = {}) {
  Workloads workloads;
  return make_setup(read(generate, "", sets).points[0].spec, workloads);
}

std::string errors(const std::string& generate, const std::vector<std::string>& sets = {}) {
  try {
    setup_of(generate, sets);
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

double pulled(const experiment::Setup& setup) {
  double bytes = 0;
  for (const plan::Transfer& t : setup.layout.transfers) bytes += static_cast<double>(t.bytes.count());
  return bytes;
}

TEST(Generate, EveryGeneratorRunsWithItsDefaults) {
  for (const generate::Generator& row : generate::generators())
    for (const char* mode : {"training", "inference"}) {
      SCOPED_TRACE(fmt::format("{} {}", row.name, mode));
      const Experiment e = read(std::string(row.name) + ": {}", "", {std::string("workload.mode=") + mode});
      const RunOutput out = run(e, {}, {});
      ASSERT_EQ(out.result.results.size(), 3U);
      EXPECT_EQ(out.input_files, e.files) << "no workload is read";
      for (const analysis::PolicyResult& r : out.result.results) {
        EXPECT_FALSE(r.deadlock) << r.policy;
        EXPECT_GT(r.step_time.estimate.mean, 0) << r.policy;
        EXPECT_GE(r.gap.value.value_or(0), -1e-6) << r.policy;
      }
    }
}

// With another value of each number, one after the other as the points of one experiment.
TEST(Generate, EveryFieldCanBeVaried) {
  for (const generate::Generator& row : generate::generators())
    for (const generate::Field& field : row.fields) {
      const std::string path = fmt::format("workload.generate.{}.{}", row.name, field.name);
      SCOPED_TRACE(path);
      std::string values;
      for (const std::int64_t value : {field.low, field.high})
        values += (values.empty() ? "" : ", ") + generate::value_text(field, {value});
      try {
        const Experiment e = read(std::string(row.name) + ": {}", fmt::format("vary: {{{}: [{}]}}\n", path, values));
        ASSERT_EQ(e.points.size(), field.low == field.high ? 1U : 2U);
        EXPECT_NE(e.points[0].spec.workload.generate.values, e.points[1].spec.workload.generate.values);
      } catch (const UserError& error) {
        // Ends that do not go with the other defaults: the field is named, not its place in `vary` alone.
        for (const Diagnostic& d : error.diagnostics())
          EXPECT_TRUE(d.key.starts_with(fmt::format("workload.generate.{}.", row.name))) << render(error.diagnostics());
      }
    }
}

TEST(Generate, MoreLayersTakeLonger) {
  const Experiment e = read(kSmallTransformer, "vary: {workload.generate.transformer.layers: [2, 4]}\n");
  const RunOutput out = run(e, {}, {});
  double last = 0;
  std::size_t answers = 0;
  for (const analysis::PolicyResult& r : out.result.results) {
    if (r.policy != "fifo") continue;
    EXPECT_GT(r.step_time.estimate.mean, last);
    last = r.step_time.estimate.mean;
    ++answers;
  }
  EXPECT_EQ(answers, 2U);
}

// A table of 100 rows is touched almost whole by 64 lookups (47.4 %), one of 100,000 hardly (0.064 %).
TEST(Generate, OfTablesAStepMovesTheRowsThatItsLookupsTouch) {
  const experiment::Setup setup = setup_of(kSmallRecommender);
  const auto bytes = [](const experiment::Setup& s, std::size_t i) {
    return static_cast<double>(s.graph->parameters[i].bytes.count());
  };
  EXPECT_NEAR(bytes(setup, 0), 100 * 64 * (1 - std::pow(0.99, 64)), 1);
  EXPECT_NEAR(bytes(setup, 1), 64 * 64, 64 * 64 * 0.001);
  EXPECT_TRUE(std::any_of(setup.assumptions.begin(), setup.assumptions.end(),
                          [](const std::string& a) { return has(a, "of 2 tables a step pulls"); }));
  // Twice the batch touches more; what the experiment says of a table is stronger.
  const experiment::Setup twice = setup_of(kSmallRecommender, {"workload.batch_per_worker=128"});
  EXPECT_NEAR(bytes(twice, 1) / bytes(setup, 1), 2, 0.001);
  const experiment::Setup said =
      setup_of(kSmallRecommender, {"workload.sparse=[{parameter: embeddings/table_1, share: 50 %}]"});
  EXPECT_EQ(bytes(said, 0), bytes(setup, 0));
  EXPECT_EQ(bytes(said, 1), 100'000 * 64 / 2);
}

// M = r P: the ratio counts the rows that are touched.
TEST(Generate, TheRatioIsThatOfWhatIsMoved) {
  const std::vector<std::string> sets{"cluster.network.comm_compute_ratio=2", "cluster.workers.nic=unlimited",
                                      "cluster.servers.nic=unlimited"};
  const experiment::Setup setup = setup_of(kSmallRecommender, sets);
  double forward = 0;
  for (const graph::Op& op : setup.graph->ops)
    if (op.phase == graph::Phase::Forward) forward += op.time.seconds();
  const double pulls = pulled(setup) * 8 / static_cast<double>(setup.cluster.workers[0].nic.down.bits_per_second());
  EXPECT_NEAR(pulls / forward, 2, 1e-6);
}

// Read as a batch of the generator or as that of the worker, the step is the same.
TEST(Generate, BatchesOfGeneratorAndWorkerAgree) {
  for (const std::string& model : {kSmallTransformer, kSmallRecommender}) {
    const std::string name = model.substr(0, model.find(':'));
    const experiment::Setup a = setup_of(model, {fmt::format("workload.generate.{}.batch=32", name)});
    const experiment::Setup b = setup_of(model, {"workload.batch_per_worker=32"});
    EXPECT_EQ(pulled(a), pulled(b));
    EXPECT_EQ(a.graph->batch, b.graph->batch);
    ASSERT_EQ(a.graph->ops.size(), b.graph->ops.size());
    for (std::size_t i = 0; i < a.graph->ops.size(); ++i)
      EXPECT_NEAR(a.graph->ops[i].time.seconds(), b.graph->ops[i].time.seconds(), 2e-9) << a.graph->ops[i].name;
  }
}

TEST(Generate, WhatCannotBeIsRefusedAtItsPlace) {
  const std::string heads = errors("transformer: {hidden: 100, heads: 3}");
  EXPECT_TRUE(has(heads, "t.yaml:2:57: error: workload.generate.transformer.heads: 3 heads do not share")) << heads;
  EXPECT_TRUE(has(errors("transfomer: {}"), "did you mean 'workload.generate.transformer'?"));
  EXPECT_TRUE(has(errors("transformer: {layer: 3}"), "did you mean 'workload.generate.transformer.layers'?"));
  EXPECT_TRUE(has(errors("transformer: {}, recommender: {}"), "two generators are named, transformer and recommender"));
  EXPECT_TRUE(has(errors(""), "no generator is named"));
  EXPECT_TRUE(has(errors("transformer: {layers: 0}"), "valid: 1 to 1000"));
  EXPECT_TRUE(has(errors("recommender: {rows: []}"), "a list of 0 numbers"));
  EXPECT_TRUE(has(errors("recommender: {rows: [5, x]}"), "workload.generate.recommender.rows[1]"));
  EXPECT_TRUE(has(errors("transformer: {}", {"workload.model=vgg_16"}), "both model and generate are given"));
  const std::string huge = errors("recommender: {tables: 1000, rows: 10000000000, dimension: 100000}");
  EXPECT_TRUE(has(huge, "workload.generate.recommender: the model cannot be simulated: bytes add up to too much"))
      << huge;
  const std::string device = errors(kSmallTransformer, {"cluster.workers.device={kind: gpu}"});
  EXPECT_TRUE(has(device, "no op of the workload has a time")) << device;
}

}  // namespace
}  // namespace stretto::experiment
