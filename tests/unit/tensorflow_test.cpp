// SPDX-License-Identifier: Apache-2.0
// TensorFlow's files: a step made up for tests (tests/fixtures/tf_step.*) and recorded ones of the reference data.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/file/file.hpp"
#include "io/import/import.hpp"
#include "io/import/tensorflow_cost.hpp"
#include "io/import/tensorflow_file.hpp"
#include "io/import/tensorflow_nodes.hpp"
#include "io/import/workload.hpp"
#include "io/json/reader.hpp"
#include "models/graph/order.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/random.hpp"
#include "tests/support/import_checks.hpp"
#include "tests/support/paths.hpp"

namespace stretto::io {
namespace {

using test::contains;
using test::error_of;

std::string fixture(const std::string& leaf) { return source_path("tests/fixtures/" + leaf); }

ImportResult import_step(const std::string& run, const std::string& graph) {
  ImportOptions options;
  options.graph_path = graph;
  return import_any(run, options);
}

std::string all_notes(const ImportReport& report) {
  std::string text;
  for (const auto* list : {&report.read, &report.dropped, &report.guessed, &report.repaired})
    for (const std::string& note : *list) text += note + "\n";
  return text;
}

const graph::Op& op_named(const graph::Graph& g, const std::string& name) {
  const auto it = std::find_if(g.ops.begin(), g.ops.end(), [&](const graph::Op& op) { return op.name == name; });
  if (it == g.ops.end()) throw std::runtime_error("no op " + name);
  return *it;
}

std::vector<std::string> inputs_of(const graph::Graph& g, const std::string& op) {
  std::vector<std::string> names;
  for (const graph::OpId i : op_named(g, op).inputs) names.push_back(g.ops[i.index()].name);
  return names;
}

std::vector<std::string> reads_of(const graph::Graph& g, const std::string& op) {
  std::vector<std::string> names;
  for (const graph::ParameterId p : op_named(g, op).reads) names.push_back(g.parameters[p.index()].name);
  return names;
}

using Names = std::vector<std::string>;

TEST(TensorFlowStep, OpsTimesAndDependencies) {
  const ImportResult result = import_step(fixture("tf_step.run.pb.gz"), fixture("tf_step.graph.pb"));
  const graph::Graph& g = result.graph;
  EXPECT_EQ(result.format, "tensorflow");
  EXPECT_EQ(g.name, "tf_step");
  EXPECT_EQ(g.batch, 8);
  EXPECT_EQ(g.ops.size(), 11U);
  EXPECT_EQ(op_named(g, "conv/norm").time, Duration::us(1000));
  EXPECT_EQ(op_named(g, "fc/MatMul").time, Duration::us(200));  // recorded twice
  EXPECT_EQ(inputs_of(g, "conv/norm"), Names({"x"}));           // through the convolution fused into it
  EXPECT_EQ(reads_of(g, "conv/norm"), Names({"conv/w", "mean"}));
  EXPECT_EQ(reads_of(g, "fc/MatMul"), Names({"fc/w"}));
  EXPECT_EQ(inputs_of(g, "fc/MatMul"), Names({"flat"}));  // through an Identity
  // Through a NoOp that waits for both gradients of the product.
  EXPECT_EQ(inputs_of(g, "gradients/conv/Reshape"),
            Names({"gradients/fc/MatMul_grad/MatMul", "gradients/fc/MatMul_grad/MatMul_1"}));
  EXPECT_EQ(reads_of(g, "gradients/fc/MatMul_grad/MatMul"), Names({"fc/w"}));
  for (const graph::Op& op : g.ops)
    EXPECT_EQ(op.phase == graph::Phase::Backward, op.name.starts_with("gradients/")) << op.name;
}

TEST(TensorFlowStep, ParametersServersAndGradients) {
  const graph::Graph g = import_step(fixture("tf_step.run.pb.gz"), fixture("tf_step.graph.pb")).graph;
  ASSERT_EQ(g.parameters.size(), 3U);
  const auto& conv = g.parameters[0];
  const auto& fc = g.parameters[1];
  const auto& mean = g.parameters[2];
  EXPECT_EQ(conv.name, "conv/w");
  EXPECT_EQ(conv.bytes, Bytes(3 * 3 * 2 * 4 * 4));
  EXPECT_EQ(conv.server, 0);
  EXPECT_EQ(g.ops[conv.gradient.index()].name, "gradients/conv/Conv2DBackpropFilter");
  EXPECT_EQ(fc.name, "fc/w");
  EXPECT_EQ(fc.bytes, Bytes(2560));
  EXPECT_EQ(fc.server, 1);
  EXPECT_TRUE(fc.trainable);
  // Both gradients of the product must exist before one is handed on: an op of no time joins them.
  EXPECT_EQ(g.ops[fc.gradient.index()].time, Duration());
  EXPECT_EQ(g.ops[fc.gradient.index()].inputs.size(), 2U);
  EXPECT_EQ(mean.name, "mean");
  EXPECT_FALSE(mean.trainable);
  EXPECT_FALSE(mean.gradient.valid());
}

TEST(TensorFlowStep, SaysWhatWasDroppedGuessedAndRepaired) {
  const std::string notes = all_notes(import_step(fixture("tf_step.run.pb.gz"), fixture("tf_step.graph.pb")).report);
  for (const char* part :
       {"3 pulls (worker receives a variable), 3 of them recorded with 2864 bytes",
        "2 pushes (server receives a gradient), 1 of them recorded with 288 bytes",
        "1 pulled variables without a gradient (as moving averages) with 16 bytes", "global_step, fc/w/Momentum",
        "1 records that are exact copies", "2 transfers have no record: 0 pulls, 1 pushes, 1 others",
        "1 ops have no record of their own", "batch 8: the first dimension of \"loss\"",
        "nodes that the step does not need"})
    EXPECT_TRUE(contains(notes, part)) << part << "\nin\n" << notes;
}

TEST(TensorFlowStep, TextAndBinaryAreTheSame) {
  const auto import = [](const std::string& run, const std::string& graph) {
    ImportOptions options;
    options.graph_path = fixture(graph);
    options.source = "test";
    return write_workload(import_any(fixture(run), options).graph);
  };
  const std::string binary = import("tf_step.run.pb.gz", "tf_step.graph.pb");
  EXPECT_EQ(import("tf_step.run.pbtxt", "tf_step.graph.pbtxt"), binary);
  EXPECT_EQ(import("tf_step.run.pbtxt", "tf_step.graph.pb"), binary);
  EXPECT_EQ(write_workload(parse_workload(binary, "w")), binary);
}

TEST(TensorFlowStep, GraphAloneHasWorkButNoTimes) {
  const ImportResult result = import_any(fixture("tf_step.graph.pbtxt"));
  const graph::Graph& g = result.graph;
  EXPECT_EQ(g.ops.size(), 12U);  // the convolution is not fused here
  for (const graph::Op& op : g.ops) EXPECT_EQ(op.time, Duration());
  EXPECT_DOUBLE_EQ(op_named(g, "conv/Conv2D").flops, 2.0 * 8 * 4 * 4 * 4 * (3 * 3 * 2));
  EXPECT_DOUBLE_EQ(op_named(g, "gradients/conv/Conv2DBackpropFilter").flops, 2.0 * 8 * 4 * 4 * 4 * (3 * 3 * 2));
  EXPECT_DOUBLE_EQ(op_named(g, "fc/MatMul").flops, 2.0 * 8 * 64 * 10);
  EXPECT_DOUBLE_EQ(op_named(g, "gradients/fc/MatMul_grad/MatMul_1").flops, 2.0 * 8 * 64 * 10);
  EXPECT_DOUBLE_EQ(op_named(g, "gradients/fc/MatMul_grad/MatMul").flops, 2.0 * 8 * 64 * 10);
  EXPECT_DOUBLE_EQ(op_named(g, "fc/MatMul").memory_bytes, 4.0 * (8 * 64 + 64 * 10 + 8 * 10));
  EXPECT_DOUBLE_EQ(op_named(g, "flat").memory_bytes, 0);
  EXPECT_DOUBLE_EQ(op_named(g, "fc/MatMul").fixed_bytes, 4.0 * 64 * 10);
  EXPECT_EQ(op_named(g, "fc/MatMul").op_class, graph::OpClass::Matmul);
  EXPECT_EQ(op_named(g, "conv/Conv2D").op_class, graph::OpClass::Conv3x3);
  EXPECT_EQ(op_named(g, "gradients/conv/Conv2DBackpropFilter").op_class, graph::OpClass::Conv3x3);
  EXPECT_TRUE(contains(all_notes(result.report), "no op has a time"));
}

TEST(TensorFlowStep, RefusesWhatDoesNotBelongTogether) {
  const std::string run = file::read(fixture("tf_step.run.pb.gz"));
  EXPECT_TRUE(contains(error_of(run), "--graph FILE"));
  ImportOptions options;
  options.graph_path = fixture("tf_step.run.pbtxt");
  EXPECT_TRUE(contains(error_of(run, options), "expected a GraphDef") ||
              contains(error_of(run, options), "not a GraphDef"));
  options.graph_path = fixture("tf_step.graph.pb");
  EXPECT_TRUE(contains(error_of(file::read(fixture("tf_step.graph.pb")), options), "a GraphDef already"));
  std::string other = file::read(fixture("tf_step.run.pbtxt"));
  other.replace(other.find("requested_bytes: 2560"), 21, "requested_bytes: 2564");
  EXPECT_TRUE(contains(error_of(other, options), "variable \"fc/w\" has 2560 bytes by the graph, but 2564 bytes"));
  EXPECT_TRUE(contains(error_of("step_stats { dev_stats { device: \"/job:worker/task:0/cpu:0\" node_stats { "
                                "node_name: \"loss\" all_end_rel_micros: 1 } } }",
                                options),
                       "ops have no record in the trace"));
  EXPECT_TRUE(contains(error_of("step_stats { dev_stats { device: \"/job:worker/task:0/cpu:0\" } }", options),
                       "no record of any node"));
}

TEST(TensorFlowText, ReadsTheFormAndNamesPlaces) {
  const auto nodes = [](const std::string& text) { return read_graph_def(text, "f"); };
  const auto graph = nodes(
      "# comment\nnode: < name: 'a' 'b' op: \"\\x4fp\\101\"; input: ['x', \"y\"], unknown { a: [1, 2] "
      "b { c: 1e-3 } } [type.x/y] { z: 1 } >\nversions { producer: 21 }");
  ASSERT_EQ(graph.node_size(), 1);
  EXPECT_EQ(graph.node(0).name(), "ab");
  EXPECT_EQ(graph.node(0).op(), "OpA");
  EXPECT_EQ(graph.node(0).input_size(), 2);
  EXPECT_TRUE(contains(error_of("node {\n  name: \"a\n}"), "f:2:9"));
  EXPECT_TRUE(contains(error_of("node {\n  name: \"a\""), "never closed"));
  EXPECT_TRUE(contains(error_of("node { name: }"), "quotes"));
  std::string deep = "node { ";
  for (int i = 0; i < 100'000; ++i) deep += "a { ";
  EXPECT_TRUE(contains(error_of(deep), "nested deeper"));
}

TEST(TensorFlowNodes, DevicesOfAllSpellings) {
  const auto text = [](const std::string& device) {
    const TfDevice d = parse_device(device);
    return fmt::format("{} {} {} {}", d.job, d.task, d.gpu ? "gpu" : "cpu", d.rest);
  };
  EXPECT_EQ(text("/job:ps/replica:0/task:3/device:CPU:0"), "ps 3 cpu ");
  EXPECT_EQ(text("/job:worker/task:1/gpu:0"), "worker 1 gpu ");
  EXPECT_EQ(text("/job:worker/replica:0/task:1/device:GPU:1"), "worker 1 gpu ");
  EXPECT_EQ(text("/gpu:0/stream:all"), " 0 gpu stream:all");
  EXPECT_EQ(text("/device:GPU:0/stream:12"), " 0 gpu stream:12");
  EXPECT_EQ(text("/device:GPU:0/memcpy"), " 0 gpu memcpy");
  EXPECT_EQ(text(""), " 0 cpu ");
}

TEST(TensorFlowNodes, RefusesBrokenGraphs) {
  EXPECT_TRUE(contains(error_of("node { name: \"a\" op: \"Relu\" } node { name: \"a\" op: \"Relu\" }"), "two nodes"));
  EXPECT_TRUE(contains(error_of("node { name: \"a\" op: \"Relu\" input: \"b:1\" }"), "takes \"b:1\""));
  EXPECT_TRUE(contains(error_of("node { name: \"a\" op: \"Relu\" input: \"b\" } node { name: \"b\" op: \"Relu\" input: "
                                "\"^a\" }"),
                       "cycle"));
  EXPECT_TRUE(contains(error_of("node { op: \"Relu\" }"), "no name"));
}

// Wide NoOps in a row would multiply edges; they become ops instead, and no dependency is lost.
TEST(TensorFlowNodes, WideBarriersStayOps) {
  std::string text;
  const int width = 300;
  for (int layer = 0; layer < 3; ++layer) {
    for (int i = 0; i < width; ++i)
      text += fmt::format("node {{ name: \"r{}_{}\" op: \"Relu\" {} }}\n", layer, i,
                          layer == 0 ? "" : fmt::format("input: \"^n{}\"", layer - 1));
    text += fmt::format("node {{ name: \"n{}\" op: \"NoOp\"", layer);
    for (int i = 0; i < width; ++i) text += fmt::format(" input: \"^r{}_{}\"", layer, i);
    text += " }\n";
  }
  const graph::Graph g = import_text(text, "f", {}).graph;
  std::size_t edges = 0;
  for (const graph::Op& op : g.ops) edges += op.inputs.size();
  EXPECT_EQ(edges, 2U * 2U * width);
  EXPECT_EQ(g.ops.size(), 3U * width + 2U);
}

// Gradients through accumulators, as SyncReplicasOptimizer has them.
TEST(TensorFlowVariables, AccumulatorsLeadToTheVariable) {
  const std::string ps = " device: \"/job:ps/task:0\" ";
  const std::string w = " device: \"/job:worker/task:0\" ";
  const std::string text =
      "node { name: \"v\" op: \"VariableV2\"" + ps +
      "attr { key: \"dtype\" value { type: DT_FLOAT } } attr { key: \"shape\" value { shape { dim { size: 7 } } } } }"
      "node { name: \"v/read\" op: \"Identity\" input: \"v\"" +
      ps +
      "}"
      "node { name: \"f\" op: \"Relu\" input: \"v/read\"" +
      w +
      "}"
      "node { name: \"g\" op: \"ReluGrad\" input: \"f\" input: \"f\"" +
      w +
      "}"
      "node { name: \"acc\" op: \"ConditionalAccumulator\"" +
      ps +
      "}"
      "node { name: \"step\" op: \"Const\"" +
      ps +
      "}"
      "node { name: \"put\" op: \"AccumulatorApplyGradient\" input: \"acc\" input: \"step\" input: \"g\"" +
      ps +
      "}"
      "node { name: \"take\" op: \"AccumulatorTakeGradient\" input: \"acc\" input: \"step\"" +
      ps +
      "}"
      "node { name: \"lr\" op: \"Const\"" +
      ps +
      "}"
      "node { name: \"apply\" op: \"ApplyGradientDescent\" input: \"v\" input: \"lr\" input: \"take\"" +
      ps + "}";
  const ImportResult result = import_text(text, "f", {});
  ASSERT_EQ(result.graph.parameters.size(), 1U);
  ASSERT_TRUE(result.graph.parameters[0].gradient.valid());
  EXPECT_EQ(result.graph.ops[result.graph.parameters[0].gradient.index()].name, "g");
  EXPECT_EQ(result.graph.ops[result.graph.parameters[0].gradient.index()].phase, graph::Phase::Backward);
  EXPECT_EQ(op_named(result.graph, "f").phase, graph::Phase::Forward);
  EXPECT_TRUE(contains(all_notes(result.report), "outside a scope"));
}

TEST(TensorFlowGpu, KernelsOnceCopiesNever) {
  const auto record = [](const std::string& name, int start, int us, const std::string& label = "") {
    return fmt::format(
        "node_stats {{ node_name: \"{}\" all_start_micros: {} all_end_rel_micros: {} timeline_label: \"{}\" "
        "scheduled_micros: 1501352001581215895 }} ",
        name, 1000 + start, us, label);
  };
  const auto device = [](const std::string& name, const std::string& records) {
    return fmt::format("dev_stats {{ device: \"{}\" {} }} ", name, records);
  };
  const std::string kernels =
      record("a", 5, 10, "a:Relu") + record("a", 20, 30, "a:Relu") + record("b", 60, 7, "b:Relu");
  const std::string copy = record("MEMCPYHtoD", 2, 1000, "a:Relu num_bytes: 4");
  const std::string host = device("/job:localhost/replica:0/task:0/gpu:0", record("a", 0, 400) + record("b", 1, 90));
  ImportOptions options;
  const std::string graph_file = std::string(::testing::TempDir()) + "stretto_gpu.pbtxt";
  file::write_atomic(graph_file,
                     "node { name: \"a\" op: \"Relu\" device: \"/device:GPU:0\" } "
                     "node { name: \"b\" op: \"Relu\" input: \"a\" device: \"/device:GPU:0\" }");
  options.graph_path = graph_file;
  const auto times = [&](const std::string& devices) {
    const ImportResult r = import_text("step_stats { " + devices + "}", "f", options);
    return fmt::format("{} {}", op_named(r.graph, "a").time.ps() / 1'000'000,
                       op_named(r.graph, "b").time.ps() / 1'000'000);
  };
  const std::string all = device("/gpu:0/stream:all", kernels);
  const std::string streams = device("/gpu:0/stream:7", copy) + device("/gpu:0/stream:12", kernels);
  const std::string copies = device("/gpu:0/memcpy", copy);
  EXPECT_EQ(times(host + all + streams + copies), "40 7");
  EXPECT_EQ(times(host + streams + copies), "40 7");
  EXPECT_EQ(times(host), "400 90");
  std::filesystem::remove(graph_file);
}

std::map<std::string, std::int64_t> variables_of(const std::string& model) {
  std::map<std::string, std::int64_t> out;
  const std::string path = data_path("tf_models/variables.json");
  json::Document document(file::read(path), path);
  document.read([&](const json::Value& root) {
    root.members([&](std::string_view key, const json::Value& list) {
      if (key != model) return;
      list.elements([&](const json::Value& pair) {
        std::string name;
        pair.elements([&](const json::Value& item) {
          if (item.kind() == json::Kind::String)
            name = item.string().value_or("");
          else
            out[name] = item.integer().value_or(0);
        });
      });
    });
  });
  return out;
}

std::map<std::string, std::int64_t> trainable(const graph::Graph& g) {
  std::map<std::string, std::int64_t> out;
  for (const graph::Parameter& p : g.parameters)
    if (p.trainable) out[p.name] = p.bytes.count();
  return out;
}

struct Recorded {
  std::string folder;
  std::string model;
  std::size_t pulls;
  std::size_t pushes;
  std::string missing;  // note on the first trace
};

class RecordedStep : public ::testing::TestWithParam<Recorded> {};

TEST_P(RecordedStep, HasEveryParameterPullAndPush) {
  const Recorded& r = GetParam();
  const std::string folder = data_path("tf_ps/" + r.folder);
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const ImportResult a = import_step(folder + "/run_metadata_a.pb.gz", folder + "/graphdef.pb.gz");
  const auto variables = variables_of(r.model);
  ASSERT_FALSE(variables.empty());
  EXPECT_EQ(trainable(a.graph), variables);
  EXPECT_EQ(a.graph.parameters.size(), r.pulls);
  std::size_t pushes = 0;
  for (const graph::Parameter& p : a.graph.parameters) {
    pushes += p.gradient.valid() ? 1U : 0U;
    EXPECT_EQ(p.gradient.valid(), p.trainable) << p.name;
    EXPECT_EQ(p.server, 0);
  }
  EXPECT_EQ(pushes, r.pushes);
  const std::string notes = all_notes(a.report);
  EXPECT_TRUE(contains(notes, fmt::format("{0} pulls (worker receives a variable), {0} of them recorded", r.pulls)));
  EXPECT_TRUE(contains(notes, fmt::format("{0} pushes (server receives a gradient), {0} of them recorded", r.pushes)));
  EXPECT_TRUE(contains(notes, fmt::format("{} pulled variables without a gradient", r.pulls - r.pushes)));
  EXPECT_EQ(contains(notes, "transfers have no record"), !r.missing.empty());
  EXPECT_TRUE(contains(notes, r.missing)) << notes;
  EXPECT_FALSE(contains(notes, "have no record and take")) << notes;

  // The other trace brings its own graph, cut at the processes' borders: the same graph with other times.
  ImportResult b = import_any(folder + "/run_metadata_b_with_partition_graphs.pb.gz");
  EXPECT_EQ(trainable(b.graph), variables);
  std::map<std::string, std::pair<std::vector<std::string>, std::vector<std::string>>> of_a, of_b;
  const auto collect = [](const graph::Graph& g, auto& out) {
    for (const graph::Op& op : g.ops) {
      auto& [inputs, reads] = out[op.name];
      for (const graph::OpId i : op.inputs) inputs.push_back(g.ops[i.index()].name);
      for (const graph::ParameterId p : op.reads) reads.push_back(g.parameters[p.index()].name);
      std::sort(inputs.begin(), inputs.end());
      std::sort(reads.begin(), reads.end());
    }
  };
  collect(a.graph, of_a);
  collect(b.graph, of_b);
  EXPECT_TRUE(of_a == of_b);
}

INSTANTIATE_TEST_SUITE_P(Data, RecordedStep,
                         ::testing::Values(Recorded{"alexnet_v2_bs2_1gbit", "alexnet_v2", 16, 16, ""},
                                           Recorded{"inception_v1_bs2_1gbit", "inception_v1", 230, 116,
                                                    "15 transfers have no record: 0 pulls, 0 pushes, 15 others"},
                                           Recorded{"resnet_50_v1_bs1_1gbit", "resnet_50_v1", 214, 108, ""}),
                         [](const auto& info) { return info.param.model; });

struct Model {
  std::string name;
  std::size_t parameters;
  double mebibytes;
  double gigaflops;  // forward, per image
};

class ModelGraph : public ::testing::TestWithParam<Model> {};

TEST_P(ModelGraph, ParametersAndWorkEqualTheTable) {
  const Model& m = GetParam();
  if (!std::filesystem::exists(data_path("tf_models"))) GTEST_SKIP() << "no reference data";
  for (const std::string folder : {"tf_models/", "tf_models/no_weight_decay/"}) {
    const ImportResult result = import_any(data_path(folder + m.name + ".train.ps1.bs32.graphdef.gz"));
    const graph::Graph& g = result.graph;
    if (m.name == "inception_v3" && folder != "tf_models/") {
      // The auxiliary head of this file runs for its moving averages only: 6 of its variables have no gradient.
      EXPECT_EQ(g.parameters.size(), 190U + 6U + 190U);
      EXPECT_EQ(trainable(g).size(), 190U);
      continue;
    }
    EXPECT_EQ(trainable(g), variables_of(m.name));
    EXPECT_EQ(g.batch, 32);
    std::size_t pushed = 0;
    std::int64_t bytes = 0;
    double flops = 0;
    for (const graph::Parameter& p : g.parameters) {
      pushed += p.gradient.valid() ? 1U : 0U;
      if (p.trainable) bytes += p.bytes.count();
    }
    for (const graph::Op& op : g.ops)
      if (op.phase == graph::Phase::Forward) flops += op.flops;
    EXPECT_EQ(pushed, m.parameters);
    EXPECT_NEAR(static_cast<double>(bytes) / 1048576.0, m.mebibytes, 0.005);
    EXPECT_NEAR(flops / 32 * 1e-9, m.gigaflops, 0.01 * m.gigaflops) << folder;
    EXPECT_FALSE(contains(all_notes(result.report), "no known shapes")) << all_notes(result.report);
    // Every parameter is needed by some op, and every gradient needs all parameters of the forward pass before it.
    const auto needs = graph::needs(g);
    for (std::size_t p = 0; p < g.parameters.size(); ++p) {
      bool needed = false;
      for (std::size_t i = 0; i < g.ops.size() && !needed; ++i) needed = needs.test(i, p);
      EXPECT_TRUE(needed) << g.parameters[p].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Data, ModelGraph,
    ::testing::Values(Model{"alexnet_v2", 16, 191.89, 1.482}, Model{"inception_v1", 116, 25.24, 3.010},
                      Model{"inception_v2", 141, 42.64, 3.884}, Model{"inception_v3", 196, 103.54, 11.467},
                      Model{"resnet_50_v1", 108, 97.39, 6.975}, Model{"resnet_101_v1", 210, 169.74, 14.406},
                      Model{"resnet_50_v2", 125, 97.45, 6.982}, Model{"resnet_101_v2", 244, 169.86, 14.416},
                      Model{"vgg_16", 32, 527.79, 30.982}, Model{"vgg_19", 38, 548.05, 39.308}),
    [](const auto& info) { return info.param.name; });

TEST(TensorFlowTrace, FirstStepOnAGpuIsSaid) {
  const std::string folder = data_path("traces/tf-run-metadata-binary");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const ImportResult result = import_step(folder + "/run_meta.pb", folder + "/graph.pbtxt");
  EXPECT_EQ(op_named(result.graph, "Conv2D").time, Duration::us(9 + 7 + 6 + 32 + 6 + 33 + 31 + 36 + 29 + 29 + 8));
  const std::string notes = all_notes(result.report);
  EXPECT_TRUE(contains(notes, "first step")) << notes;
  EXPECT_TRUE(contains(notes, "25 GPU records that list kernels a second time"));
}

// Whatever the bytes are, an import ends soon with a graph or a UserError.
TEST(TensorFlowHostile, DamagedFiles) {
  const std::string graph = file::read(fixture("tf_step.graph.pb"));
  const std::string run = file::read(fixture("tf_step.run.pb.gz"));
  const std::string graph_text = file::read(fixture("tf_step.graph.pbtxt"));
  const std::string run_text = file::read(fixture("tf_step.run.pbtxt"));
  ImportOptions with_graph;
  with_graph.graph_path = fixture("tf_step.graph.pb");
  std::size_t accepted = 0, refused = 0;
  const auto attempt = [&](const std::string& text, bool is_run) {
    ImportOptions options = is_run ? with_graph : ImportOptions();
    options.format = "tensorflow";
    ++(test::accepted(text, options) ? accepted : refused);
  };
  for (std::size_t n = 0; n < graph.size(); n += 7) attempt(graph.substr(0, n), false);
  for (std::size_t n = 0; n < run.size(); n += 7) attempt(run.substr(0, n), true);
  for (std::size_t n = 0; n < graph_text.size(); n += 13) attempt(graph_text.substr(0, n), false);
  EXPECT_GT(refused, 500U);
  RandomStream random(17, "tensorflow hostile");
  const std::vector<std::pair<const std::string*, bool>> seeds = {
      {&graph, false}, {&run, true}, {&graph_text, false}, {&run_text, true}};
  for (int trial = 0; trial < 4000; ++trial) {
    const auto& [seed, is_run] = seeds[random.below(seeds.size())];
    std::string text = *seed;
    for (std::uint64_t k = 1 + random.below(3); k > 0; --k) {
      const std::size_t at = random.below(text.size());
      switch (random.below(3)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.erase(at, 1 + random.below(8));
          break;
        default:
          text.insert(at, text.substr(random.below(text.size()), random.below(40)));
      }
    }
    ASSERT_NO_THROW(attempt(text, is_run)) << trial;
  }
  EXPECT_GT(accepted, 100U);
}

TEST(TensorFlowHostile, GiantCountsAndLengths) {
  const auto refused = [](const std::string& text) {
    ImportOptions options;
    options.format = "tensorflow";
    return !contains(error_of(text, options), "no error");
  };
  // A node that claims 2^62 bytes.
  EXPECT_TRUE(refused(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x3f", 10) + "\x0a\x01"
                                                                                    "a"));
  // Two million nodes of two bytes.
  std::string nodes = std::string(
      "\x0a\x06\x0a\x01"
      "a\x12\x01"
      "b",
      8);
  for (int i = 0; i < 2'000'000; ++i) nodes += std::string("\x0a\x00", 2);
  EXPECT_TRUE(contains(error_of(nodes), "more than 1000000 nodes"));
  nodes.clear();
  for (int i = 0; i < 1'000'001; ++i) nodes += "node{}";
  EXPECT_TRUE(contains(error_of(nodes), "more than 1000000 nodes"));
  // Long chains of nodes that hand on.
  std::string chain;
  for (int i = 0; i < 100'000; ++i)
    chain += fmt::format("node {{ name: \"n{}\" op: \"Identity\" input: \"{}\" }}\n", i,
                         i == 0 ? "v" : fmt::format("n{}", i - 1));
  EXPECT_FALSE(
      refused("node { name: \"v\" op: \"Relu\" }" + chain + "node { name: \"z\" op: \"Relu\" input: \"n99999\" }"));
  // Times that no clock shows.
  EXPECT_TRUE(contains(error_of("dev_stats { device: \"/cpu:0\" node_stats { node_name: \"a\" all_start_micros: "
                                "9223372036854775807 all_end_rel_micros: 9223372036854775807 } }",
                                {}),
                       "--graph FILE"));
}

}  // namespace
}  // namespace stretto::io
