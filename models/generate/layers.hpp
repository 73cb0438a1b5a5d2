// SPDX-License-Identifier: Apache-2.0
// Layers that generators are built of. Each adds its forward ops to the tape with their gradients; `name` is that of
// the op or, of layers with several, the scope. What they cost, for n values (rows x width), 4 bytes each, beside the
// bytes of variables that they read or write:
//   matmul         x (r x k) by W (k x m): 2 r k m operations, r k + r m values. Both gradients: the same each
//   bias           1 a value, 2 n values. Gradient of the bias: 1 a value, n values; the input's is handed on
//   batch_matmul   as given, a + b + out values. Both gradients: the same operations and values each
//   normalize      5 a value, 2 n values (mean, variance, and what they are for). Gradient: 8 a value, 3 n values
//   softmax        5 a value, 2 n values. Gradient: 4 a value (y (g - sum of y g)), 3 n values
//   activate       1 a value, 2 n values. Gradient: 1 a value, 3 n values
//   scale          1 a value, 2 n values. Gradient: the same
//   sum            1 a value, 3 n values. Gradients are handed on
//   shift          sum with a constant that does not grow with the batch: 1 a value, 2 n values
//   add_table      sum with rows of a table, the same for each sample: 1 a value, 2 n values, and the rows. Gradient of
//                  the table: 1 a value, n values, and the table; the input's is handed on
//   embed          p rows of a table added up to each of the output (pooled): (p - 1) n operations, (p + 1) n values.
//                  Gradient: (p + 1) n values, the rows alone (Sparse), or 1 a value, n values, and the table (Dense)
//   pick           some of the rows, or of the values: 2 n values of the output. Gradient: n and all of the input's
//   join, split    2 n values. Gradient: the same
//   loss           5 a logit, 2 n values (it writes their gradient too). Gradient: 1 a logit, 2 n values
// These are the counts that imports of TensorFlow's graphs have (io/import/tensorflow_cost.hpp). Normalization counts
// as the op class of that name, losses and moves as elementwise. Cost: O(1) each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/generate/tape.hpp"

namespace stretto::generate {

// Names of the variables of a layer below its scope, in the order of their creation.
struct Names {
  const char* first;
  const char* second;
};
inline constexpr Names kDenseNames{"kernel", "bias"};
inline constexpr Names kNormNames{"beta", "gamma"};

Tensor matmul(Tape& tape, const std::string& name, const Tensor& x, graph::ParameterId weights, std::int64_t from,
              std::int64_t to);
Tensor bias(Tape& tape, const std::string& name, const Tensor& x, graph::ParameterId variable);
// Variables, matmul and bias.
Tensor dense(Tape& tape, const std::string& scope, const Tensor& x, std::int64_t from, std::int64_t to,
             Names names = kDenseNames);
Tensor batch_matmul(Tape& tape, const std::string& name, const Tensor& a, const Tensor& b, double flops, double values);
// Both variables have the width of x.
Tensor normalize(Tape& tape, const std::string& scope, const Tensor& x, std::int64_t width, Names names = kNormNames);
Tensor softmax(Tape& tape, const std::string& name, const Tensor& x);
Tensor activate(Tape& tape, const std::string& name, const Tensor& x);
Tensor scale(Tape& tape, const std::string& name, const Tensor& x);
Tensor sum(Tape& tape, const std::string& name, const Tensor& a, const Tensor& b);
Tensor shift(Tape& tape, const std::string& name, const Tensor& x);
// `rows_values`: of the rows that are added.
Tensor add_table(Tape& tape, const std::string& name, const Tensor& x, graph::ParameterId table, double rows_values);

enum class TableGradient : std::uint8_t { Dense, Sparse };
Tensor embed(Tape& tape, const std::string& name, graph::ParameterId table, double values, double pooled,
             TableGradient gradient);
Tensor pick(Tape& tape, const std::string& name, const Tensor& x, double values);
Tensor join(Tape& tape, const std::string& name, const std::vector<Tensor>& parts);
std::vector<Tensor> split(Tape& tape, const std::string& name, const Tensor& x, std::size_t parts);
Tensor loss(Tape& tape, const std::string& name, const Tensor& logits);

}  // namespace stretto::generate
