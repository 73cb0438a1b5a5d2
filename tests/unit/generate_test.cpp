// SPDX-License-Identifier: Apache-2.0
// Generators: every row of the registry makes sound graphs of its fields, and the models are those that were published.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "models/generate/generator.hpp"
#include "models/generate/layers.hpp"
#include "models/graph/canonical.hpp"
#include "models/graph/check.hpp"
#include "models/graph/order.hpp"
#include "models/graph/transform.hpp"

namespace stretto::generate {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpClass;
using graph::Parameter;
using graph::Phase;

Generated made(const char* generator, const Values& values) {
  const Generator& row = *find_generator(generator);
  const Values all = with_defaults(row, values);
  for (const Problem& p : row.check(all)) ADD_FAILURE() << p.field << ": " << p.message;
  return make(row, all);
}

double variables_of(const Graph& g) {
  double bytes = 0;
  for (const Parameter& p : g.parameters) bytes += static_cast<double>(p.bytes.count());
  return bytes / 4;
}

// Operations of matrix products whose names begin so.
double products(const Graph& g, Phase phase, const std::string& prefix = "") {
  double flops = 0;
  for (const Op& op : g.ops)
    if (op.phase == phase && op.op_class == OpClass::Matmul && op.name.starts_with(prefix)) flops += op.flops;
  return flops;
}

const Op& op_of(const Graph& g, const std::string& name) {
  const auto it = std::find_if(g.ops.begin(), g.ops.end(), [&](const Op& op) { return op.name == name; });
  if (it == g.ops.end()) throw std::runtime_error("no op " + name);
  return *it;
}

const Parameter& variable_of(const Graph& g, const std::string& name) {
  const auto it =
      std::find_if(g.parameters.begin(), g.parameters.end(), [&](const Parameter& p) { return p.name == name; });
  if (it == g.parameters.end()) throw std::runtime_error("no variable " + name);
  return *it;
}

// All that a field may change.
std::string print_of(const Generated& m) {
  std::string text = graph::canonical_text(m.graph) + std::to_string(m.graph.batch);
  for (const Op& op : m.graph.ops) text += fmt::format(" {} {} {}", op.flops, op.memory_bytes, op.fixed_bytes);
  for (const Lookups& l : m.lookups) text += fmt::format(" {} {} {}", l.table.index(), l.rows, l.per_sample);
  return text;
}

TEST(Generators, DefaultsMakeSoundGraphsInWhichEverythingIsTrained) {
  ASSERT_GE(generators().size(), 2U);
  for (const Generator& row : generators()) {
    SCOPED_TRACE(row.name);
    const Values values = with_defaults(row);
    EXPECT_TRUE(row.check(values).empty());
    const Graph g = make(row, values).graph;
    EXPECT_TRUE(graph::check(g).empty());
    EXPECT_TRUE(g.source.find(row.name) != std::string::npos) << g.source;
    std::set<std::uint32_t> read;
    for (const Op& op : g.ops) {
      EXPECT_EQ(op.time, Duration());
      EXPECT_NE(op.op_class, OpClass::Other) << op.name;
      EXPECT_GT(op.memory_bytes, 0) << op.name;
      EXPECT_GE(op.memory_bytes, op.fixed_bytes) << op.name;
      EXPECT_GE(op.flops, 0) << op.name;
      EXPECT_TRUE(op.phase == Phase::Forward || !op.inputs.empty()) << op.name;
      if (op.phase == Phase::Forward)
        for (const graph::ParameterId p : op.reads) read.insert(p.index());
    }
    EXPECT_EQ(read.size(), g.parameters.size());
    for (const Parameter& p : g.parameters) EXPECT_TRUE(p.gradient.valid()) << p.name;
    // Every op serves a gradient: none has no successor but those that complete one.
    const auto next = graph::successors(g);
    std::set<std::uint32_t> completing;
    for (const Parameter& p : g.parameters) completing.insert(p.gradient.index());
    for (std::size_t i = 0; i < g.ops.size(); ++i)
      EXPECT_TRUE(!next[i].empty() || completing.contains(static_cast<std::uint32_t>(i))) << g.ops[i].name;
  }
}

TEST(Generators, FieldsAreInTheirRangesAndEveryOneChangesTheModel) {
  for (const Generator& row : generators()) {
    const std::string plain = print_of(make(row, with_defaults(row)));
    std::set<std::string_view> names;
    for (const Field& field : row.fields) {
      SCOPED_TRACE(fmt::format("{}.{}", row.name, field.name));
      EXPECT_TRUE(names.insert(field.name).second);
      EXPECT_FALSE(field.help.empty());
      EXPECT_NE(field.help.find("left out"), std::string_view::npos);
      EXPECT_LE(field.low, field.high);
      for (const std::int64_t value : field.fallback) EXPECT_TRUE(value >= field.low && value <= field.high);
      if (field.kind == FieldKind::Choice) {
        EXPECT_EQ(choices_of(field).size(), static_cast<std::size_t>(field.high) + 1);
      }
      bool changes = false;
      for (const std::int64_t value : {0, 1, 2, 64, 5000}) {
        if (value < field.low || value > field.high) continue;
        const Values values = with_defaults(row, {{std::string(field.name), {value}}});
        changes = changes || (row.check(values).empty() && print_of(make(row, values)) != plain);
      }
      EXPECT_TRUE(changes);
    }
  }
}

// What is fixed and what grows with the batch: a graph made for another batch is the one that with_batch gives.
TEST(Generators, OtherBatchesAreAsTheTransformMakesThem) {
  for (const Generator& row : generators())
    for (const std::int64_t choice : {0, 1}) {
      Values values = with_defaults(row);
      for (const Field& field : row.fields)
        if (field.kind == FieldKind::Choice) values[std::string(field.name)] = {choice};
      values["batch"] = {6};
      const Graph six = make(row, values).graph;
      values["batch"] = {48};
      const Graph made = make(row, values).graph;
      const Graph scaled = graph::with_batch(six, 48, 0);
      ASSERT_EQ(made.ops.size(), scaled.ops.size());
      for (std::size_t i = 0; i < made.ops.size(); ++i) {
        const Op& a = made.ops[i];
        const Op& b = scaled.ops[i];
        if (a.name.find("loss/add") != std::string::npos) continue;  // of single numbers
        EXPECT_NEAR(a.flops, b.flops, 1e-9 * a.flops) << a.name;
        EXPECT_NEAR(a.memory_bytes, b.memory_bytes, 1e-9 * a.memory_bytes) << a.name;
        EXPECT_EQ(a.fixed_bytes, b.fixed_bytes) << a.name;
      }
    }
}

// Variables as published. BERT: the encoder with embeddings and pooler has 109,482,240 (base) and 335,141,888 (large,
// keras-hub's registry of bert_large_en_uncased; "110M" and "340M" in the paper); the variables of pre-training come on
// top. GPT-2: 124,439,808 and 354,823,168 ("117M" and "345M" in the first release, corrected to 124M and 355M).
TEST(Transformer, HasThePublishedNumbersOfVariables) {
  const auto bert = [](std::int64_t layers, std::int64_t hidden) {
    return made("transformer", {{"layers", {layers}}, {"hidden", {hidden}}, {"sequence", {128}}}).graph;
  };
  const auto pretraining = [](double h, double v) { return h * h + 3 * h + v + 2 * h + 2; };
  EXPECT_EQ(variables_of(bert(12, 768)), 109'482'240 + pretraining(768, 30'522));
  EXPECT_EQ(variables_of(bert(24, 1024)), 335'141'888 + pretraining(1024, 30'522));
  EXPECT_EQ(bert(24, 1024).parameters.size(), 5U + 24 * 16 + 2 + 7);
  const auto gpt = [](std::int64_t layers, std::int64_t hidden) {
    return made("transformer", {{"architecture", {1}}, {"layers", {layers}}, {"hidden", {hidden}}}).graph;
  };
  EXPECT_EQ(variables_of(gpt(12, 768)), 124'439'808);
  EXPECT_EQ(variables_of(gpt(24, 1024)), 354'823'168);
  EXPECT_EQ(gpt(12, 768).parameters.size(), 148U);
}

// Jiao et al. 2020 (TinyBERT, arXiv:1909.10351), table 1: BERT-base, 22.5e9 operations for a sequence of 128.
TEST(Transformer, HasThePublishedOperationsOfBertBase) {
  const Graph g = made("transformer", {{"layers", {12}}, {"hidden", {768}}, {"sequence", {128}}, {"batch", {1}}}).graph;
  const double encoder = products(g, Phase::Forward, "bert/encoder/");
  EXPECT_NEAR(encoder / 22.5e9, 1, 0.01);
  // 2 x variables of the encoder x tokens, and 4 s h a token and layer of the attention.
  EXPECT_NEAR(encoder / (2 * 85'054'464.0 * 128 + 4.0 * 128 * 768 * 12 * 128), 1, 0.005);
}

// Narayanan et al. 2021, equation 3: 96 B s l h^2 (1 + s / (6 h) + V / (16 l h)) with the layers' forward pass done
// twice; without, 72 and 12 in place of 96 and 16. Exact.
TEST(Transformer, HasThePublishedOperationsOfGpt) {
  for (const auto& [layers, hidden, sequence] : {std::tuple{12, 768, 1024}, {24, 1024, 512}, {3, 256, 64}}) {
    const Graph g = made("transformer", {{"architecture", {1}},
                                         {"layers", {layers}},
                                         {"hidden", {hidden}},
                                         {"sequence", {sequence}},
                                         {"batch", {4}}})
                        .graph;
    const double l = layers;
    const double h = hidden;
    const double s = sequence;
    const double both = products(g, Phase::Forward) + products(g, Phase::Backward);
    EXPECT_NEAR(both / (72 * 4 * s * l * h * h * (1 + s / (6 * h) + 50257 / (12 * l * h))), 1, 1e-9);
    EXPECT_NEAR(products(g, Phase::Backward) / products(g, Phase::Forward), 2, 1e-9);
  }
}

// The words' table is read by the first op and by the last layer; its gradient waits for the whole backward pass.
TEST(Transformer, TheTableOfWordsIsNeededAtBothEnds) {
  for (const auto& [architecture, table, last] :
       {std::tuple{0, "bert/embeddings/word_embeddings", "bert/embeddings/LayerNorm/gamma"},
        {1, "model/wte", "model/wpe"}}) {
    const Graph g = made("transformer", {{"architecture", {architecture}}, {"layers", {2}}, {"hidden", {64}}}).graph;
    const Parameter& words = variable_of(g, table);
    const Op& sum = g.ops[words.gradient.index()];
    ASSERT_EQ(sum.inputs.size(), 2U);
    EXPECT_EQ(sum.fixed_bytes, sum.memory_bytes);
    EXPECT_DOUBLE_EQ(sum.memory_bytes, 3.0 * static_cast<double>(words.bytes.count()));
    // The longest way to it, in ops, is as long as any.
    std::vector<std::size_t> depth(g.ops.size(), 1);
    std::size_t deepest = 0;
    for (const graph::OpId id : graph::topological_order(g)) {
      for (const graph::OpId input : g.ops[id.index()].inputs)
        depth[id.index()] = std::max(depth[id.index()], depth[input.index()] + 1);
      deepest = std::max(deepest, depth[id.index()]);
    }
    EXPECT_EQ(depth[words.gradient.index()], deepest);
    EXPECT_GE(depth[variable_of(g, last).gradient.index()] + 2, deepest);
  }
}

// One value with three products and a residual: its gradient is the sum of four, and only then goes on.
TEST(Transformer, ResidualsAndAttentionAddUpTheirGradients) {
  const Graph g = made("transformer", {{"layers", {2}}, {"hidden", {64}}}).graph;
  const Op& norm = op_of(g, "gradients/bert/encoder/layer_0/output/LayerNorm/LayerNorm_grad/LayerNormGrad");
  ASSERT_EQ(norm.inputs.size(), 1U);
  const Op& sum = g.ops[norm.inputs[0].index()];
  EXPECT_TRUE(sum.name.starts_with("gradients/AddN")) << sum.name;
  ASSERT_EQ(sum.inputs.size(), 4U);
  std::set<std::string> parts;
  for (const graph::OpId input : sum.inputs) parts.insert(g.ops[input.index()].name);
  const std::string layer = "gradients/bert/encoder/layer_1/attention/";
  for (const char* name : {"query", "key", "value"})
    EXPECT_TRUE(parts.contains(fmt::format("{}self/{}/MatMul_grad/MatMul", layer, name)));
  EXPECT_TRUE(parts.contains(layer + "output/LayerNorm/LayerNorm_grad/LayerNormGrad"));
  const Op& scores = op_of(g, "bert/encoder/layer_1/attention/self/MatMul");
  EXPECT_EQ(scores.inputs.size(), 2U);
  EXPECT_DOUBLE_EQ(scores.flops, 2.0 * 8 * 512 * 512 * 64);
  EXPECT_DOUBLE_EQ(scores.memory_bytes, 4.0 * (2 * 8 * 512 * 64 + 8 * 512 * 512));
  EXPECT_EQ(scores.fixed_bytes, 0);
}

std::string problems_of(const char* generator, const Values& values) {
  std::string text;
  const Generator& row = *find_generator(generator);
  for (const Problem& p : row.check(with_defaults(row, values)))
    text += fmt::format("{}: {} ({})\n", p.field, p.message, p.hint);
  return text;
}

TEST(Transformer, FiguresThatDoNotGoTogetherAreProblems) {
  const auto problems = [](const Values& values) { return problems_of("transformer", values); };
  EXPECT_EQ(problems({{"hidden", {1000}}, {"heads", {7}}}),
            "heads: 7 heads do not share a width of 1000 evenly (a divisor of hidden)\n");
  EXPECT_EQ(problems({{"hidden", {1000}}}),
            "hidden: 15 heads (hidden / 64) do not share a width of 1000 evenly (say heads: a divisor of hidden)\n");
  EXPECT_EQ(problems({{"positions", {100}}}),
            "positions: 100 positions for a sequence of 512 (at least sequence, or leave positions out)\n");
  EXPECT_EQ(problems({{"predictions", {513}}}), "predictions: 513 words of a sequence of 512 (valid: 1 to sequence)\n");
  EXPECT_EQ(problems({{"architecture", {1}}, {"predictions", {3}}}),
            "predictions: gpt predicts every word (leave it out, or say architecture: bert)\n");
  EXPECT_EQ(problems({{"hidden", {10}}, {"sequence", {1}}}), "") << "one head, one prediction";
}

// Rows of the tables of the Criteo Kaggle data, of which DLRM's paper (section 5) says that with rows of 16 values its
// model has approximately 540 M variables.
const std::vector<std::int64_t> kKaggle = {1460,  583,  10131227, 2202608, 305, 24,     12517,   633,   3,
                                           93145, 5683, 8351593,  3194,    27,  14992,  5461306, 10,    5652,
                                           2173,  4,    7046547,  18,      15,  286181, 105,     142572};

TEST(Recommender, HasThePublishedNumberOfVariables) {
  const Generated m = made("recommender", {{"rows", kKaggle}, {"dimension", {16}}, {"bottom_mlp", {512, 256, 64, 16}}});
  ASSERT_EQ(m.lookups.size(), 26U);
  double tables = 0;
  for (const Lookups& l : m.lookups) tables += static_cast<double>(m.graph.parameters[l.table.index()].bytes.count());
  EXPECT_EQ(tables / 4, 540'201'232);
  const double bottom = 14 * 512 + 513 * 256 + 257 * 64 + 65 * 16;
  const double top = (16 + 26 * 27 / 2 + 1) * 512 + 513 * 256 + 257;
  EXPECT_EQ(variables_of(m.graph), 540'201'232 + bottom + top);
}

// MLPerf's DLRM (facebookresearch/dlrm, the benchmark for a limit of 40 M rows): its top network takes 479 values.
TEST(Recommender, TheTopNetworkTakesWhatMlperfsDoes) {
  const Graph dot = made("recommender", {{"dimension", {128}}, {"top_mlp", {1024, 1024, 512, 256, 1}}}).graph;
  EXPECT_EQ(variable_of(dot, "top_mlp/dense_0/kernel").bytes, Bytes(4 * 479 * 1024));
  EXPECT_DOUBLE_EQ(op_of(dot, "interaction/MatMul").flops, 2.0 * 2048 * 27 * 27 * 128);
  const Graph concat =
      made("recommender", {{"interaction", {1}}, {"bottom_mlp", {50, 40}}, {"dimension", {128}}}).graph;
  EXPECT_EQ(variable_of(concat, "top_mlp/dense_0/kernel").bytes, Bytes(4 * (40 + 26 * 128) * 512));
}

// Products: 2 a variable and sample of the networks. The first layer hands no gradient to the features.
TEST(Recommender, HasTheOperationsOfItsNetworks) {
  const Graph g = made("recommender", {{"batch", {100}}}).graph;
  const double bottom = 13 * 512 + 512 * 256 + 256 * 64;
  const double top = (64 + 351) * 512 + 512 * 256 + 256;
  const double pairs = 27 * 27 * 64;
  EXPECT_DOUBLE_EQ(products(g, Phase::Forward), 200 * (bottom + top + pairs));
  EXPECT_DOUBLE_EQ(products(g, Phase::Backward), 400 * (bottom + top + pairs) - 200 * 13 * 512);
  EXPECT_THROW(op_of(g, "gradients/bottom_mlp/dense_0/MatMul_grad/MatMul"), std::runtime_error);
}

TEST(Recommender, SharesOfTablesAreThoseOfDistinctRows) {
  EXPECT_DOUBLE_EQ(touched_share({{}, 1, 1}, 1), 1);
  EXPECT_DOUBLE_EQ(touched_share({{}, 1000, 1}, 1), 0.001);
  EXPECT_DOUBLE_EQ(touched_share({{}, 4, 2}, 1), 1 - 0.75 * 0.75);
  EXPECT_NEAR(touched_share({{}, 1e9, 1}, 2048), 2048e-9, 2048e-9 * 2e-6);
  EXPECT_DOUBLE_EQ(touched_share({{}, 3, 100}, 100'000), 1);
  EXPECT_LT(touched_share({{}, 1e10, 1}, 1), 1e-9);
  EXPECT_GT(touched_share({{}, 1e10, 1}, 1), 0);
}

TEST(Recommender, FiguresThatDoNotGoTogetherAreProblems) {
  const auto problems = [](const Values& values) { return problems_of("recommender", values); };
  EXPECT_EQ(problems({{"tables", {3}}, {"rows", {10, 20}}}),
            "rows: lists 2 tables, and there are 3 (one number per table, or one for all; or leave tables out)\n");
  EXPECT_EQ(problems({{"rows", {10, 20}}}), "");
  const std::string lengths = problems({{"bottom_mlp", {512, 32}}});
  EXPECT_TRUE(lengths.starts_with("bottom_mlp: ends with 32, and the rows of the tables have 64 values")) << lengths;
  EXPECT_EQ(problems({{"bottom_mlp", {512, 32}}, {"interaction", {1}}}), "");
  EXPECT_EQ(problems({{"dimension", {16}}}), "") << "the bottom network follows";
}

TEST(Generators, TextsSayWhatWasMade) {
  const Generator& row = *find_generator("recommender");
  const Values values = with_defaults(row, {{"rows", {5, 7}}, {"interaction", {1}}});
  EXPECT_EQ(text_of(row, values),
            "recommender: {rows: [5, 7], dimension: 64, lookups: 1, dense_features: 13, top_mlp: [512, 256, 1], "
            "interaction: concat, batch: 2048}");
  EXPECT_EQ(make(row, values).graph.name, "recommender_2x64");
  EXPECT_EQ(find_generator("nobody"), nullptr);
  EXPECT_EQ(generator_names(), (std::vector<std::string>{"transformer", "recommender"}));
}

// y = x w + x w, twice the same value: the gradient of w is the sum of two, that of x is not asked for.
TEST(Tape, GradientsOfOneVariableAddUp) {
  Tape tape;
  const graph::ParameterId w = tape.variable("w", 6);
  const Tensor x = tape.input(8);  // 4 x 2
  const Tensor a = matmul(tape, "a/MatMul", x, w, 2, 3);
  const Tensor y = sum(tape, "add", a, matmul(tape, "b/MatMul", x, w, 2, 3));
  const Graph g = tape.finish(loss(tape, "loss", y));
  std::vector<std::string> names;
  for (const Op& op : g.ops) names.push_back(op.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a/MatMul", "b/MatMul", "add", "loss", "gradients/loss_grad/Mul",
                                             "gradients/b/MatMul_grad/MatMul_1", "gradients/a/MatMul_grad/MatMul_1",
                                             "gradients/AddN"}));
  EXPECT_EQ(g.parameters[0].gradient, graph::OpId(7));
  EXPECT_DOUBLE_EQ(g.ops[0].flops, 2 * 4 * 2 * 3);
  EXPECT_DOUBLE_EQ(g.ops[0].memory_bytes, 4 * (8 + 12 + 6));
  EXPECT_DOUBLE_EQ(g.ops[0].fixed_bytes, 4 * 6);
  EXPECT_DOUBLE_EQ(g.ops[7].flops, 6);
  EXPECT_DOUBLE_EQ(g.ops[7].memory_bytes, 4 * 18);
}

}  // namespace
}  // namespace stretto::generate
