// SPDX-License-Identifier: Apache-2.0
#include "models/generate/recommender.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "models/generate/layers.hpp"

namespace stretto::generate {

using graph::ParameterId;

namespace {

enum class Interaction : std::int64_t { Dot, Concat };

constexpr std::int64_t kTables = 26;  // categories of the Criteo data sets
constexpr std::size_t kMostTables = 1'000;
constexpr std::size_t kMostLayers = 64;

using Widths = std::vector<std::int64_t>;

struct Figures {
  Widths rows;  // one per table
  std::int64_t dimension, lookups, features, batch;
  Widths bottom, top;
  Interaction interaction;
};

Figures figures_of(const Values& v) {
  Figures f{};
  f.rows = v.find("rows")->second;
  if (f.rows.size() == 1) f.rows.assign(static_cast<std::size_t>(number_or(v, "tables", kTables)), f.rows.front());
  f.dimension = number(v, "dimension");
  f.lookups = number(v, "lookups");
  f.features = number(v, "dense_features");
  const auto bottom = v.find("bottom_mlp");
  f.bottom = bottom == v.end() ? Widths{512, 256, f.dimension} : bottom->second;
  f.top = v.find("top_mlp")->second;
  f.interaction = static_cast<Interaction>(number(v, "interaction"));
  f.batch = number(v, "batch");
  return f;
}

// Dense layers, a ReLU after each but perhaps the last one.
Tensor network(Tape& tape, const std::string& scope, Tensor x, std::int64_t from, const Widths& widths, bool last) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::string layer = fmt::format("{}/dense_{}", scope, i);
    x = dense(tape, layer, x, from, widths[i]);
    if (last || i + 1 < widths.size()) x = activate(tape, layer + "/Relu", x);
    from = widths[i];
  }
  return x;
}

// Products of all pairs of the vectors, behind the first of them.
Tensor dot(Tape& tape, const std::vector<Tensor>& vectors, const Figures& f) {
  const auto b = static_cast<double>(f.batch);
  const auto n = static_cast<double>(vectors.size());
  const Tensor all = join(tape, "interaction/concat", vectors);
  const double flops = 2 * n * n * static_cast<double>(f.dimension) * b;
  const Tensor products = batch_matmul(tape, "interaction/MatMul", all, all, flops, n * n * b);
  const Tensor pairs = pick(tape, "interaction/GatherNd", products, n * (n - 1) / 2 * b);
  return join(tape, "interaction/concat_1", {vectors.front(), pairs});
}

}  // namespace

std::vector<Field> recommender_fields() {
  constexpr std::int64_t kWidest = 1'000'000;
  return {
      {"tables", "of embeddings; 26, or as many as rows lists, if left out", 1, kMostTables},
      {"rows",
       "of each table, or a list with a number for each of several tables; 1000000 if left out",
       1,
       10'000'000'000,
       {1'000'000},
       FieldKind::Integers,
       kMostTables},
      {"dimension", "values of a row; 64 if left out", 1, 100'000, {64}},
      {"lookups", "rows of each table that a sample needs; their sum goes on; 1 if left out", 1, 100'000, {1}},
      {"dense_features", "numbers of a sample beside its categories; 13 if left out", 1, 100'000, {13}},
      {"bottom_mlp",
       "widths of the layers above the numbers; [512, 256, dimension] if left out",
       1,
       kWidest,
       {},
       FieldKind::Integers,
       kMostLayers},
      {"top_mlp",
       "widths of the layers above everything; [512, 256, 1] if left out",
       1,
       kWidest,
       {512, 256, 1},
       FieldKind::Integers,
       kMostLayers},
      {"interaction",
       "dot: products of all pairs of vectors; concat: the vectors themselves; dot if left out",
       0,
       1,
       {0},
       FieldKind::Choice,
       1,
       "dot concat"},
      {"batch", "samples per worker and step; 2048 if left out", 1, 1'000'000, {2048}},
  };
}

std::vector<Problem> check_recommender(const Values& values) {
  std::vector<Problem> problems;
  const Figures f = figures_of(values);
  const std::size_t listed = values.find("rows")->second.size();
  const std::int64_t tables = number_or(values, "tables", static_cast<std::int64_t>(f.rows.size()));
  if (listed > 1 && static_cast<std::int64_t>(listed) != tables)
    problems.push_back({"rows", fmt::format("lists {} tables, and there are {}", listed, tables),
                        "one number per table, or one for all; or leave tables out"});
  if (f.interaction == Interaction::Dot && f.bottom.back() != f.dimension)
    problems.push_back({values.contains("bottom_mlp") ? "bottom_mlp" : "dimension",
                        fmt::format("ends with {}, and the rows of the tables have {} values: vectors of different "
                                    "lengths have no products",
                                    f.bottom.back(), f.dimension),
                        fmt::format("end it with {}, or say interaction: concat", f.dimension)});
  return problems;
}

Generated make_recommender(const Values& values) {
  const Figures f = figures_of(values);
  const auto b = static_cast<double>(f.batch);
  const auto dimension = static_cast<double>(f.dimension);
  const auto lookups = static_cast<double>(f.lookups);
  Tape tape;
  Generated made;
  std::vector<Tensor> looked_up;
  for (std::size_t i = 0; i < f.rows.size(); ++i) {
    const std::string name = fmt::format("embeddings/table_{}", i);
    const ParameterId table = tape.variable(name, f.rows[i] * f.dimension);
    looked_up.push_back(embed(tape, name + "/GatherV2", table, b * dimension, lookups, TableGradient::Sparse));
    made.lookups.push_back({table, static_cast<double>(f.rows[i]), lookups});
  }
  const Tensor features = tape.input(b * static_cast<double>(f.features));
  std::vector<Tensor> vectors{network(tape, "bottom_mlp", features, f.features, f.bottom, true)};
  vectors.insert(vectors.end(), looked_up.begin(), looked_up.end());
  const Tensor x =
      f.interaction == Interaction::Dot ? dot(tape, vectors, f) : join(tape, "interaction/concat", vectors);
  const auto width = static_cast<std::int64_t>(x.values / b);
  const Tensor logits = network(tape, "top_mlp", x, width, f.top, false);
  made.graph = tape.finish(loss(tape, "loss/SigmoidCrossEntropyWithLogits", logits));
  made.graph.name = fmt::format("recommender_{}x{}", f.rows.size(), f.dimension);
  made.graph.batch = f.batch;
  return made;
}

}  // namespace stretto::generate
