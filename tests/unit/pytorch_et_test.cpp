// SPDX-License-Identifier: Apache-2.0
#include "io/import/pytorch_et.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/import/import.hpp"
#include "tests/support/import_checks.hpp"

namespace stretto::io {
namespace {

using test::contains;
using test::error_of;
using test::has_note;
using test::replaced;

std::string tensors(const std::vector<std::string>& shapes) {
  std::string types;
  std::string all;
  for (const std::string& shape : shapes) {
    all += (all.empty() ? "" : ", ") + shape;
    types += std::string(types.empty() ? "" : ", ") + "\"Tensor(float)\"";
  }
  return fmt::format("{{\"values\": [], \"shapes\": [{}], \"types\": [{}]}}", all, types);
}

std::string node(int id, int parent, const std::string& name, const std::vector<std::string>& in = {},
                 const std::vector<std::string>& out = {}) {
  return fmt::format(
      "{{\"id\": {}, \"name\": \"{}\", \"ctrl_deps\": {}, \"inputs\": {}, \"outputs\": {}, \"attrs\": "
      "[{{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 0}}]}},\n",
      id, name, parent, tensors(in), tensors(out));
}

std::string comms(int id, const std::string& kind, const std::string& list) {
  return fmt::format(
      "{{\"id\": {}, \"name\": \"record_param_comms\", \"ctrl_deps\": 1, \"inputs\": {{\"values\": [{}, 33, "
      "[\"0\", \"default_pg\"], 0, \"{}\", [], [], 0, 1, 1], \"shapes\": [[[10]]], \"types\": "
      "[\"GenericList[Tensor(float)]\"]}}, \"outputs\": {{}}}},\n",
      id, list, kind);
}

// Two steps of a convolution, a matrix product and their backward passes; nodes stand in any order.
std::string trace(const std::string& more = "") {
  std::string text = R"({"schema": "1.0.3-chakra.0.0.4", "nodes": [)";
  for (const int at : {100, 200}) {
    text += node(at, 2, "## forward ##");
    text += node(at + 2, at + 1, "aten::convolution", {"[8, 3, 32, 32]", "[16, 3, 3, 3]"}, {"[8, 16, 32, 32]"});
    text += node(at + 1, at, "aten::conv2d", {"[8, 3, 32, 32]", "[16, 3, 3, 3]"}, {"[8, 16, 32, 32]"});
    text += node(at + 3, at, "aten::view", {"[8, 16, 32, 32]"}, {"[8, 16384]"});
    text += node(at + 4, at, "aten::addmm", {"[10]", "[8, 16384]", "[16384, 10]"}, {"[8, 10]"});
    text += node(at + 10, 3, "autograd::engine::evaluate_function: AddmmBackward0");
    text += node(at + 11, at + 10, "aten::mm", {"[8, 10]", "[10, 16384]"}, {"[8, 16384]"});
    text += comms(at + 12, "allreduce", "[[1, 2, 0, 1000, 4, \\\"cuda:0\\\"], [7, 8, 0, 50, 2, \\\"cuda:0\\\"]]");
    text += node(at + 13, 3, "autograd::engine::evaluate_function: ConvolutionBackward0");
    text += node(at + 14, at + 13, "aten::convolution_backward", {"[8, 16, 32, 32]", "[8, 3, 32, 32]", "[16, 3, 3, 3]"},
                 {"[]", "[16, 3, 3, 3]"});
    text += comms(at + 15, "wait", "0");
  }
  text += more;
  text.resize(text.size() - 2);
  return text + "]}";
}

// \" -> "
std::string quoted(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\\' || i + 1 == text.size() || text[i + 1] != '"') out += text[i];
  return out;
}

TEST(PytorchEt, OneStepByItsShapes) {
  const ImportResult r = import_text(quoted(trace()), "et.json");
  EXPECT_EQ(r.format, "pytorch-et");
  ASSERT_EQ(r.graph.ops.size(), 5U);
  const auto& ops = r.graph.ops;
  EXPECT_EQ(ops[0].name, "202 convolution");
  EXPECT_EQ(ops[1].name, "204 addmm");
  EXPECT_EQ(ops[2].name, "211 mm");
  EXPECT_EQ(ops[3].name, "all-reduce 0");
  EXPECT_EQ(ops[4].name, "214 convolution_backward");
  EXPECT_EQ(ops[1].phase, graph::Phase::Forward);
  EXPECT_EQ(ops[2].phase, graph::Phase::Backward);
  EXPECT_EQ(ops[4].inputs, (std::vector<graph::OpId>{graph::OpId(2)}));  // no computing waits for an all-reduce
  EXPECT_EQ(ops[3].inputs, (std::vector<graph::OpId>{graph::OpId(2)}));
  EXPECT_DOUBLE_EQ(ops[0].flops, 2.0 * 8 * 16 * 32 * 32 * 27);
  EXPECT_DOUBLE_EQ(ops[0].memory_bytes, 4.0 * (8 * 3 * 1024 + 16 * 27 + 8 * 16 * 1024));
  EXPECT_DOUBLE_EQ(ops[0].fixed_bytes, 4.0 * 16 * 27);
  EXPECT_EQ(ops[0].op_class, graph::OpClass::Conv3x3);
  EXPECT_DOUBLE_EQ(ops[1].flops, 2.0 * 8 * 10 * 16384);
  EXPECT_EQ(ops[1].op_class, graph::OpClass::Matmul);
  EXPECT_DOUBLE_EQ(ops[2].flops, 2.0 * 8 * 16384 * 10);
  EXPECT_EQ(ops[0].time, Duration());
  ASSERT_EQ(r.graph.parameters.size(), 1U);
  EXPECT_EQ(r.graph.parameters[0].bytes.count(), 4100);
  EXPECT_EQ(r.graph.parameters[0].gradient, graph::OpId(3));
  EXPECT_TRUE(has_note(r.report.read, "step 2 of 2, cut at nodes \"## forward ##\""));
  EXPECT_TRUE(has_note(r.report.dropped, "1 ops that only give a tensor another form"));
  EXPECT_TRUE(has_note(r.report.dropped, "1 broadcasts, barriers and waits"));
}

TEST(PytorchEt, GradientsOfAConvolutionThatWereMade) {
  std::string text = quoted(trace());
  const std::string both =
      "\"outputs\": {\"values\": [], \"shapes\": [[], [16, 3, 3, 3]], \"types\": [\"Tensor(float)\"";
  const std::string one =
      "\"outputs\": {\"values\": [], \"shapes\": [[], [16, 3, 3, 3]], \"types\": [\"Tensor(nullptr (uninitialized))\"";
  for (std::size_t at = text.find(both); at != std::string::npos; at = text.find(both))
    text.replace(at, both.size(), one);
  const double half = import_text(text, "et.json").graph.ops[4].flops;
  EXPECT_DOUBLE_EQ(half, 2.0 * 8 * 16 * 32 * 32 * 27);
  EXPECT_DOUBLE_EQ(import_text(quoted(trace()), "et.json").graph.ops[4].flops, 2 * half);
}

TEST(PytorchEt, TheFlatLayoutOfOlderTraces) {
  const std::string text =
      R"et({"schema": "1.0.1", "nodes": [
 {"id": 1, "name": "[pytorch|profiler|execution_graph|process]", "parent": 1, "rf_id": 0,
  "inputs": [], "input_shapes": [],
   "input_types": [], "outputs": [], "output_shapes": [], "output_types": []},
 {"id": 3, "name": "aten::bmm", "parent": 1, "rf_id": 1, "inputs": [[5, 6, 0, 24, 2, "cuda:0"]],
  "input_shapes": [[2, 3, 4], [2, 4, 5]], "input_types": ["Tensor(c10::Half)", "Tensor(c10::Half)"],
  "outputs": [], "output_shapes": [[2, 3, 5]], "output_types": ["Tensor(c10::Half)"]}]})et";
  const ImportResult r = import_text(text, "et.json");
  ASSERT_EQ(r.graph.ops.size(), 1U);
  EXPECT_DOUBLE_EQ(r.graph.ops[0].flops, 2.0 * 30 * 4);
  EXPECT_DOUBLE_EQ(r.graph.ops[0].memory_bytes, 2.0 * (24 + 40 + 30));
  EXPECT_TRUE(has_note(r.report.guessed, "the whole trace is one step"));
  EXPECT_TRUE(has_note(r.report.guessed, "there are no parameters"));
}

TEST(PytorchEt, WhatCannotBecomeAWorkload) {
  const auto refused = [](const std::string& more) { return error_of(quoted(trace(more))); };
  EXPECT_NE(refused(comms(230, "all_to_all", "[[1, 2, 0, 1000, 4, \\\"cuda:0\\\"]]"))
                .find("1 collectives are of kind all_to_all"),
            std::string::npos);
  EXPECT_NE(refused(comms(230, "allreduce", "[]")).find("node 230 does not say its size"), std::string::npos);
  EXPECT_NE(refused(node(214, 1, "aten::mm")).find("two nodes have the id 214"), std::string::npos);
  EXPECT_NE(error_of(R"({"schema": "1", "nodes": [], "x": "rf_id", "rf_id": 1})").find("no op (aten::...)"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"schema": "1", "nodes": [7], "rf_id": 1})").find("a node is no object"), std::string::npos);
}

TEST(PytorchEt, SizesThatAreNoneAreRefusedWithTheirPlace) {
  const std::string sound = quoted(trace());
  const auto with = [&](const std::string& what, const std::string& by) { return error_of(replaced(sound, what, by)); };
  const char* const kShape = "[8, 3, 32, 32]";
  const std::string negative = with(kShape, "[8, -3, 32, 32]");
  EXPECT_TRUE(contains(negative, "error: nodes[1].inputs.shapes[0][1]: must be between 0 and")) << negative;
  EXPECT_TRUE(contains(with(kShape, "[8, \"3\", 32, 32]"), "nodes[1].inputs.shapes[0][1]: must be a whole number"));
  EXPECT_TRUE(contains(with(kShape, "[8, 2.5, 32, 32]"), "nodes[1].inputs.shapes[0][1]: must be a whole number"));
  EXPECT_TRUE(contains(with(kShape, "[8, null, 32, 32]"), "nodes[1].inputs.shapes[0][1]: must be a whole number"));
  EXPECT_TRUE(contains(with(kShape, "[4611686018427387904]"), "nodes[1].inputs.shapes[0][0]: must be between 0 and"));
  EXPECT_TRUE(contains(with(kShape, "[1073741824, 1073741824]"), "a tensor of 1.153e+18 elements, at most"));
  EXPECT_TRUE(contains(with(kShape, "7"), "nodes[1].inputs.shapes[0]: a shape is a list of whole numbers"));
  EXPECT_TRUE(contains(with("\"Tensor(float)\"", "7"), "nodes[1].inputs.types[0]: must be a string"));
  EXPECT_TRUE(contains(with(kShape, "[8, [3, 32, 32]]"), "shapes[0]: a list of shapes holds numbers too"));
  EXPECT_TRUE(contains(with(kShape, "[8], [3, 32, 32]"), "nodes[1]: 3 shapes and 2 types"));
  EXPECT_TRUE(contains(with("\"shapes\": []", "\"shapes\": 7"), "nodes[0].inputs.shapes: must be an array"));
  std::string many = "[[1]";
  for (int i = 0; i < 4096; ++i) many += ", [1]";
  EXPECT_TRUE(contains(with(kShape, many + "]"), "a node has more than 4096 tensors"));
  const char* const kTensor = "0, 1000, 4, \"cuda:0\"";
  EXPECT_TRUE(contains(with(kTensor, "0, -1000, 4, \"cuda:0\""), "1 tensor of a collective without a number of"));
  EXPECT_TRUE(contains(with(kTensor, "0, \"1000\", 4, \"cuda:0\""), "1 tensor of a collective without a number of"));
  EXPECT_TRUE(contains(with(kTensor, "0, 4611686018427387904, 4, \"cuda:0\""), "a collective of 1.845e+19 bytes"));
  EXPECT_EQ(error_of(sound), "no error");
}

}  // namespace
}  // namespace stretto::io
