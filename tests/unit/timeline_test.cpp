// SPDX-License-Identifier: Apache-2.0
// TensorFlow's timelines with a table of variables or a GraphDef, and the GraphDef in an event file.
#include "io/import/tensorflow_timeline.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "io/file/file.hpp"
#include "io/import/import.hpp"
#include "io/import/tensorboard.hpp"
#include "io/import/workload.hpp"
#include "tests/support/import_checks.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/wire_writer.hpp"

namespace stretto::io {
namespace {

using test::bytes;
using test::checksum;
using test::contains;
using test::error_of;
using test::event_record;
using test::has_note;

std::string process(int pid, const std::string& name) {
  return fmt::format(R"({{"ph": "M", "name": "process_name", "pid": {}, "args": {{"name": "{}"}}}}, )", pid, name);
}

std::string event(int pid, const std::string& node, const std::string& op, double begin_us, double us,
                  const std::vector<std::string>& inputs = {}) {
  std::string args = fmt::format(R"("name": "{}", "op": "{}")", node, op);
  for (std::size_t i = 0; i < inputs.size(); ++i) args += fmt::format(R"(, "input{}": "{}")", i, inputs[i]);
  return fmt::format(
      R"({{"ph": "X", "cat": "Op", "name": "{}", "pid": {}, "tid": 0, "ts": {}, "dur": {}, "args": {{{}}}}}, )", op,
      pid, begin_us, us, args);
}

// One server and one worker; every device is named twice and one name has no events.
std::string timeline(const std::string& more = "") {
  std::string text = R"({"traceEvents": [)";
  text += process(1, "/job:worker/replica:0/task:0/device:CPU:0 Compute");
  text += process(7, "/job:worker/replica:0/task:0/device:CPU:0 Compute");
  text += process(8, "/job:worker/replica:0/task:0/device:CPU:0 Tensors");
  text += process(11, "/job:ps/replica:0/task:0/device:CPU:0 Compute");
  text += event(7, "_SOURCE", "NoOp", 100, 3);
  text += event(7, "RecvTensor", "RecvTensor", 110, 87);
  text += event(11, "w", "VariableV2", 105, 9);
  text += event(11, "w/read", "Identity", 120, 6, {"w"});
  text += event(7, "MatMul", "MatMul", 200, 13.5, {"x", "w/read_S11"});
  text += event(7, "gradients/MatMul_grad/MatMul_1", "MatMul", 220, 20, {"MatMul:0", "^_SOURCE"});
  text += event(11, "update_w/ApplyGradientDescent", "ApplyGradientDescent", 260, 5,
                {"w", "learning_rate", "gradients/MatMul_grad/MatMul_1_S13"});
  text += more;
  text += R"({"ph": "s", "name": "flow", "pid": 7, "tid": 0, "ts": 1, "id": 1}]})";
  return text;
}

class Table {
 public:
  explicit Table(const std::string& text) : path_(::testing::TempDir() + "/variables.txt") {
    std::ofstream(path_) << text;
  }
  ImportOptions options() const {
    ImportOptions o;
    o.variables_path = path_;
    return o;
  }

 private:
  std::string path_;
};

TEST(Timeline, WithATableOfVariables) {
  const Table table("# bytes by variable\n\nw\t4000\n other  8\n");
  const ImportResult r = import_text(timeline(), "step.json", table.options());
  EXPECT_EQ(r.format, "tensorflow-timeline");
  EXPECT_EQ(r.device, "cpu");
  ASSERT_EQ(r.graph.ops.size(), 2U);
  EXPECT_EQ(r.graph.ops[0].name, "MatMul");
  EXPECT_EQ(r.graph.ops[0].time, Duration::ns(13'500));
  EXPECT_EQ(r.graph.ops[1].name, "gradients/MatMul_grad/MatMul_1");
  EXPECT_EQ(r.graph.ops[1].time, Duration::us(20));
  EXPECT_EQ(r.graph.ops[1].phase, graph::Phase::Backward);
  ASSERT_EQ(r.graph.ops[1].inputs.size(), 1U);
  ASSERT_EQ(r.graph.parameters.size(), 1U);
  EXPECT_EQ(r.graph.parameters[0].bytes.count(), 4000);
  EXPECT_EQ(r.graph.parameters[0].gradient, graph::OpId(1));
  EXPECT_EQ(r.graph.parameters[0].server, 0);
  ASSERT_EQ(r.graph.ops[0].reads.size(), 1U);
  EXPECT_TRUE(has_note(r.report.read, "7 records of 2 devices"));
  EXPECT_TRUE(has_note(r.report.read, "the bytes of 1 variables from the table"));
  EXPECT_TRUE(has_note(r.report.dropped, "1 variables of the table that the timeline does not have"));
  EXPECT_TRUE(has_note(r.report.dropped, "1 RecvTensor records without a tensor"));
  EXPECT_TRUE(has_note(r.report.dropped, "3 inputs on nodes that did not run"));
}

TEST(Timeline, KernelsCountOnce) {
  std::string gpu = process(20, "/job:worker/replica:0/task:0/gpu:0 Compute");
  for (const int pid : {31, 32})
    gpu += process(pid, pid == 31 ? "/gpu:0/stream:all Compute" : "/gpu:0/stream:7 Compute");
  gpu += process(33, "/gpu:0/memcpy Compute");
  gpu += event(20, "Relu", "Relu", 215, 4, {"MatMul/_3"});
  gpu += event(31, "Relu", "Relu", 230, 50) + event(31, "Relu", "Relu", 290, 7) + event(32, "Relu", "Relu", 230, 50);
  gpu += event(33, "edge_5_MatMul", "MEMCPYHtoD", 218, 1000);
  const Table table("w 4000");
  const ImportResult r = import_text(timeline(gpu), "step.json", table.options());
  ASSERT_EQ(r.graph.ops.size(), 3U);
  const auto relu =
      std::find_if(r.graph.ops.begin(), r.graph.ops.end(), [](const graph::Op& op) { return op.name == "Relu"; });
  ASSERT_NE(relu, r.graph.ops.end());
  EXPECT_EQ(relu->time, Duration::us(57));
  EXPECT_EQ(relu->inputs.size(), 1U);
  EXPECT_EQ(r.device, "gpu");
}

TEST(Timeline, WhatItDoesNotSayIsAskedFor) {
  EXPECT_TRUE(contains(error_of(timeline()), "does not say how large its 1 variables are: w")) << error_of(timeline());
  EXPECT_TRUE(contains(error_of(timeline()), "--variables"));
  const auto with = [](const std::string& table) { return error_of(timeline(), Table(table).options()); };
  EXPECT_TRUE(contains(with("v 4"), "1 variables of the timeline are not in the table: w")) << with("v 4");
  EXPECT_TRUE(contains(with("w four"), "variables.txt:1:3: error: \"four\" is no number of bytes")) << with("w four");
  EXPECT_TRUE(contains(with("w 0"), "\"0\" is no number"));
  EXPECT_TRUE(contains(with("\nw"), "variables.txt:2:1: error: \"w\" has no bytes beside it")) << with("\nw");
  EXPECT_TRUE(contains(with("w 4\nw 8"), "variables.txt:2:1: error: variable \"w\" stands twice"));
  EXPECT_TRUE(contains(with("# nothing\n"), "the table of variables is empty"));
  ImportOptions both = Table("w 4").options();
  both.graph_path = source_path("tests/fixtures/tf_step.graph.pb");
  EXPECT_TRUE(contains(error_of(timeline(), both), "exclude each other"));
  both.variables_path.clear();
  EXPECT_TRUE(contains(error_of(timeline(), both), "no record of any node of the graph")) << error_of(timeline(), both);
  ImportOptions table_alone = Table("w 4").options();
  table_alone.format = "tensorflow";
  EXPECT_TRUE(contains(error_of(file::read(both.graph_path), table_alone), "--variables is for timelines"));
}

TEST(Timeline, MergedFilesAreRefused) {
  const ImportOptions options = Table("w 4000").options();
  EXPECT_TRUE(contains(error_of(timeline(event(11, "w", "VariableV2", 905, 9)), options), "merged of several runs"));
  EXPECT_TRUE(contains(error_of(timeline(event(11, "MatMul", "MatMul", 905, 9)), options), "node \"MatMul\" ran on"));
  EXPECT_TRUE(contains(error_of(timeline(process(7, "/job:ps/task:0/cpu:0 Compute")), options), "have two names"));
  // A loop's body runs again.
  EXPECT_EQ(error_of(timeline(event(7, "MatMul", "MatMul", 905, 9)), options), "no error");
}

TEST(Timeline, WithTheGraphOfTheProgram) {
  // The step of the fixtures, whose RunMetadata and timeline say the same times.
  std::string text = R"({"traceEvents": [)" + process(1, "/job:worker/replica:0/task:0/device:CPU:0 Compute");
  ImportOptions graph;
  graph.graph_path = source_path("tests/fixtures/tf_step.graph.pb");
  const ImportResult step = import_any(source_path("tests/fixtures/tf_step.run.pb.gz"), graph);
  for (const graph::Op& op : step.graph.ops)
    text += event(1, op.name, "Op", 1000, static_cast<double>(op.time.ps()) * 1e-6);
  text.resize(text.size() - 2);
  const ImportResult r = import_text(text + "]}", "t.json", graph);
  EXPECT_EQ(r.graph.parameters.size(), step.graph.parameters.size());
  for (const graph::Op& op : step.graph.ops) {
    const auto it =
        std::find_if(r.graph.ops.begin(), r.graph.ops.end(), [&](const graph::Op& o) { return o.name == op.name; });
    ASSERT_NE(it, r.graph.ops.end()) << op.name;
    EXPECT_EQ(it->time, op.time) << op.name;
  }
}

TEST(TensorBoard, TheGraphInAnEventFile) {
  ASSERT_EQ(checksum("123456789"), 0xE3069283U);  // the polynomial's check value
  const std::string graph = file::read(source_path("tests/fixtures/tf_step.graph.pb"));
  const std::string head = event_record(bytes(3, "brain.Event:2"));
  const graph::Graph alone = import_text(graph, "g").graph;
  for (const std::string& event : {bytes(4, graph), bytes(9, bytes(2, graph))}) {
    const ImportResult r = import_text(head + event_record(event), "g");
    EXPECT_EQ(r.format, "tensorboard");
    EXPECT_EQ(write_workload(r.graph), write_workload(alone));
  }
  ImportOptions options;
  options.graph_path = ::testing::TempDir() + "/events.out";
  std::ofstream(options.graph_path, std::ios::binary) << head + event_record(bytes(4, graph));
  EXPECT_FALSE(import_any(source_path("tests/fixtures/tf_step.run.pb.gz"), options).graph.parameters.empty());

  EXPECT_TRUE(contains(error_of(head), "no event in the file holds a graph"));
  std::string whole = head + event_record(bytes(4, graph));
  EXPECT_TRUE(
      contains(error_of(whole.substr(0, whole.size() - 1)), fmt::format("the record at byte {} of", head.size())));
  EXPECT_TRUE(contains(error_of(whole.substr(0, head.size() + 5)), "is cut"));
  whole[head.size() + 100] ^= 1;
  EXPECT_TRUE(contains(error_of(whole), "is damaged")) << error_of(whole);
  EXPECT_TRUE(contains(error_of(head + event_record(std::string("\x22\x7F"))), "is malformed"));
}

}  // namespace
}  // namespace stretto::io
