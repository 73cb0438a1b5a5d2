// SPDX-License-Identifier: Apache-2.0
// Builder of replica graphs: forward ops are added one after the other with what their gradients cost, and finish()
// adds the backward pass as TensorFlow's tf.gradients would. It walks the ops from the loss back; a value that several
// ops use has the sum of their gradients (AddN); a variable's gradient is complete with the last op that adds to it;
// gradients that neither lead to a variable nor are one are not computed. Names: "gradients/OP_grad/NAME".
// Cost: O(ops).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/graph/graph.hpp"

namespace stretto::generate {

inline constexpr double kValueBytes = 4;

// Of one op. `bytes` grow with the batch, `fixed` do not.
struct Work {
  double flops = 0;
  double bytes = 0;
  double fixed = 0;
};

// What an op gives, or an input of the model.
struct Tensor {
  std::size_t id = 0;
  double values = 0;
};

// An op of the backward pass.
struct Gradient {
  std::string name;  // below the scope of its forward op
  Work work = {};
  std::vector<std::size_t> of_inputs = {};  // places in the forward op's inputs
  std::vector<graph::ParameterId> of_variables = {};
  std::vector<graph::ParameterId> reads = {};
};

// An op of the forward pass.
struct Call {
  std::string name;
  graph::OpClass op_class = graph::OpClass::Other;
  Work work = {};
  std::vector<Tensor> inputs = {};
  std::vector<graph::ParameterId> reads = {};
  std::vector<Gradient> gradients = {};
  std::vector<std::size_t> hands_on = {};  // inputs that have the output's gradient as it is
};

class Tape {
 public:
  // An input of the model, which has no gradient.
  Tensor input(double values);
  graph::ParameterId variable(std::string name, std::int64_t values);
  double values_of(graph::ParameterId variable) const;
  // An op with one output of so many values, or with several.
  Tensor add(Call call, double values);
  std::vector<Tensor> add(Call call, const std::vector<double>& values);
  // The backward pass of everything that `loss` depends on, and the graph with it. The tape is used up.
  graph::Graph finish(const Tensor& loss);

 private:
  struct Node {
    Call call;
    std::vector<Tensor> outputs;
  };
  graph::OpId add_op(std::string name, graph::Phase phase, graph::OpClass op_class, const Work& work,
                     std::vector<graph::OpId> inputs, std::vector<graph::ParameterId> reads);
  // The sum of gradients, each of so many bytes; one alone is its own sum.
  graph::OpId sum(const std::vector<graph::OpId>& parts, double values, bool fixed);
  void walk_back(const Node& node);

  graph::Graph graph_;
  std::vector<Node> nodes_;
  std::vector<graph::OpId> producer_;             // per tensor; invalid for an input
  std::vector<bool> needs_gradient_;              // per tensor
  std::vector<std::vector<graph::OpId>> parts_;   // per tensor: ops that give a part of its gradient
  std::vector<std::vector<graph::OpId>> adders_;  // the same per variable
  std::size_t sums_ = 0;
};

}  // namespace stretto::generate
