// SPDX-License-Identifier: Apache-2.0
#include "models/generate/layers.hpp"

#include <utility>

namespace stretto::generate {

using graph::OpClass;
using graph::ParameterId;

namespace {

constexpr double kB = kValueBytes;

// The last word of an op's name is what TensorFlow calls its kind, and its gradient's main op.
std::string kind_of(const std::string& name) { return name.substr(name.rfind('/') + 1); }

}  // namespace

Tensor matmul(Tape& tape, const std::string& name, const Tensor& x, ParameterId weights, std::int64_t from,
              std::int64_t to) {
  const double rows = x.values / static_cast<double>(from);
  const double out = rows * static_cast<double>(to);
  const Work work{2 * x.values * static_cast<double>(to), kB * (x.values + out),
                  kB * static_cast<double>(from) * static_cast<double>(to)};
  return tape.add({name,
                   OpClass::Matmul,
                   work,
                   {x},
                   {weights},
                   {{"MatMul", work, {0}, {}, {weights}}, {"MatMul_1", work, {}, {weights}}}},
                  out);
}

Tensor bias(Tape& tape, const std::string& name, const Tensor& x, ParameterId variable) {
  const double width = tape.values_of(variable);
  return tape.add({name,
                   OpClass::Elementwise,
                   {x.values, 2 * kB * x.values, kB * width},
                   {x},
                   {variable},
                   {{"BiasAddGrad", {x.values, kB * x.values, kB * width}, {}, {variable}}},
                   {0}},
                  x.values);
}

Tensor dense(Tape& tape, const std::string& scope, const Tensor& x, std::int64_t from, std::int64_t to, Names names) {
  const ParameterId weights = tape.variable(scope + "/" + names.first, from * to);
  const ParameterId offsets = tape.variable(scope + "/" + names.second, to);
  return bias(tape, scope + "/BiasAdd", matmul(tape, scope + "/MatMul", x, weights, from, to), offsets);
}

Tensor batch_matmul(Tape& tape, const std::string& name, const Tensor& a, const Tensor& b, double flops,
                    double values) {
  const Work work{flops, kB * (a.values + b.values + values)};
  return tape.add({name, OpClass::Matmul, work, {a, b}, {}, {{"MatMul", work, {0}}, {"MatMul_1", work, {1}}}}, values);
}

Tensor normalize(Tape& tape, const std::string& scope, const Tensor& x, std::int64_t width, Names names) {
  const ParameterId first = tape.variable(scope + "/" + names.first, width);
  const ParameterId second = tape.variable(scope + "/" + names.second, width);
  const double w = kB * static_cast<double>(width);
  return tape.add(
      {scope + "/LayerNorm",
       OpClass::Normalization,
       {5 * x.values, 2 * kB * x.values, 2 * w},
       {x},
       {first, second},
       {{"LayerNormGrad", {8 * x.values, 3 * kB * x.values, 3 * w}, {0}, {first, second}, {first, second}}}},
      x.values);
}

Tensor softmax(Tape& tape, const std::string& name, const Tensor& x) {
  return tape.add({name,
                   OpClass::Elementwise,
                   {5 * x.values, 2 * kB * x.values},
                   {x},
                   {},
                   {{"SoftmaxGrad", {4 * x.values, 3 * kB * x.values}, {0}}}},
                  x.values);
}

Tensor activate(Tape& tape, const std::string& name, const Tensor& x) {
  return tape.add({name,
                   OpClass::Elementwise,
                   {x.values, 2 * kB * x.values},
                   {x},
                   {},
                   {{kind_of(name) + "Grad", {x.values, 3 * kB * x.values}, {0}}}},
                  x.values);
}

Tensor scale(Tape& tape, const std::string& name, const Tensor& x) {
  const Work work{x.values, 2 * kB * x.values};
  return tape.add({name, OpClass::Elementwise, work, {x}, {}, {{"Mul", work, {0}}}}, x.values);
}

Tensor sum(Tape& tape, const std::string& name, const Tensor& a, const Tensor& b) {
  return tape.add({name, OpClass::Elementwise, {a.values, 3 * kB * a.values}, {a, b}, {}, {}, {0, 1}}, a.values);
}

Tensor shift(Tape& tape, const std::string& name, const Tensor& x) {
  return tape.add({name, OpClass::Elementwise, {x.values, 2 * kB * x.values}, {x}, {}, {}, {0}}, x.values);
}

Tensor add_table(Tape& tape, const std::string& name, const Tensor& x, ParameterId table, double rows_values) {
  return tape.add({name,
                   OpClass::Elementwise,
                   {x.values, 2 * kB * x.values, kB * rows_values},
                   {x},
                   {table},
                   {{"Sum", {x.values, kB * x.values, kB * tape.values_of(table)}, {}, {table}}},
                   {0}},
                  x.values);
}

Tensor embed(Tape& tape, const std::string& name, ParameterId table, double values, double pooled,
             TableGradient gradient) {
  const bool dense = gradient == TableGradient::Dense;
  const double rows = pooled * values;
  const Work back{dense ? rows : 0, kB * (dense ? values : values + rows), dense ? kB * tape.values_of(table) : 0};
  return tape.add(
      {name, OpClass::Elementwise, {rows - values, kB * (rows + values)}, {}, {table}, {{"Rows", back, {}, {table}}}},
      values);
}

Tensor pick(Tape& tape, const std::string& name, const Tensor& x, double values) {
  return tape.add({name,
                   OpClass::Elementwise,
                   {0, 2 * kB * values},
                   {x},
                   {},
                   {{kind_of(name) + "Grad", {0, kB * (values + x.values)}, {0}}}},
                  values);
}

Tensor join(Tape& tape, const std::string& name, const std::vector<Tensor>& parts) {
  double values = 0;
  std::vector<std::size_t> places;
  for (const Tensor& part : parts) {
    places.push_back(places.size());
    values += part.values;
  }
  const Work work{0, 2 * kB * values};
  return tape.add({name, OpClass::Elementwise, work, parts, {}, {{"Split", work, std::move(places)}}}, values);
}

std::vector<Tensor> split(Tape& tape, const std::string& name, const Tensor& x, std::size_t parts) {
  const Work work{0, 2 * kB * x.values};
  return tape.add({name, OpClass::Elementwise, work, {x}, {}, {{"ConcatV2", work, {0}}}},
                  std::vector<double>(parts, x.values / static_cast<double>(parts)));
}

Tensor loss(Tape& tape, const std::string& name, const Tensor& logits) {
  return tape.add({name,
                   OpClass::Elementwise,
                   {5 * logits.values, 2 * kB * logits.values},
                   {logits},
                   {},
                   {{"Mul", {logits.values, 2 * kB * logits.values}, {0}}}},
                  1);
}

}  // namespace stretto::generate
