// SPDX-License-Identifier: Apache-2.0
#include "io/import/tensorflow_cost.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace stretto::io {

namespace {

template <std::size_t N>
bool is_one_of(std::string_view op, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

// They hand on a tensor or a shape and touch no data.
constexpr std::array<std::string_view, 27> kRenaming = {"Const",          "Identity",
                                                        "IdentityN",      "NoOp",
                                                        "Placeholder",    "PlaceholderWithDefault",
                                                        "StopGradient",   "PreventGradient",
                                                        "Shape",          "ShapeN",
                                                        "Size",           "Rank",
                                                        "Reshape",        "ExpandDims",
                                                        "Squeeze",        "BroadcastGradientArgs",
                                                        "ConcatOffset",   "VarHandleOp",
                                                        "ReadVariableOp", "Variable",
                                                        "VariableV2",     "Switch",
                                                        "Merge",          "Enter",
                                                        "Exit",           "LoopCond",
                                                        "NextIteration"};

constexpr std::array<std::string_view, 47> kElementwise = {"BiasAdd",
                                                           "Add",
                                                           "AddV2",
                                                           "Sub",
                                                           "Mul",
                                                           "Div",
                                                           "RealDiv",
                                                           "DivNoNan",
                                                           "MulNoNan",
                                                           "Maximum",
                                                           "Minimum",
                                                           "Neg",
                                                           "Relu",
                                                           "Relu6",
                                                           "ReluGrad",
                                                           "Relu6Grad",
                                                           "LeakyRelu",
                                                           "LeakyReluGrad",
                                                           "Elu",
                                                           "EluGrad",
                                                           "Sigmoid",
                                                           "SigmoidGrad",
                                                           "Tanh",
                                                           "TanhGrad",
                                                           "Exp",
                                                           "Log",
                                                           "Sqrt",
                                                           "Rsqrt",
                                                           "RsqrtGrad",
                                                           "Square",
                                                           "SquaredDifference",
                                                           "Pow",
                                                           "Abs",
                                                           "Floor",
                                                           "FloorDiv",
                                                           "FloorMod",
                                                           "Equal",
                                                           "NotEqual",
                                                           "Greater",
                                                           "GreaterEqual",
                                                           "Less",
                                                           "LessEqual",
                                                           "Select",
                                                           "SelectV2",
                                                           "RandomUniform",
                                                           "RandomStandardNormal",
                                                           "TruncatedNormal"};

constexpr std::array<std::string_view, 10> kReductions = {"Sum",         "Mean",   "Max",    "Min", "Prod",
                                                          "BiasAddGrad", "ArgMax", "ArgMin", "All", "Any"};

constexpr std::array<std::string_view, 14> kMoves = {"Concat", "ConcatV2", "Slice",  "StridedSlice", "Split",
                                                     "SplitV", "Pad",      "PadV2",  "Transpose",    "Cast",
                                                     "Tile",   "Pack",     "Unpack", "Fill"};

// The op that a fused or a library's own op ("_MklNativeConv2DWithBias") mainly is.
std::string_view main_op(std::string_view op) {
  for (const std::string_view prefix : {"_MklNative", "_Mkl", "_"})
    if (op.starts_with(prefix)) {
      op.remove_prefix(prefix.size());
      break;
    }
  constexpr std::string_view kFused = "Fused";
  if (op.starts_with(kFused) && !op.starts_with("FusedBatchNorm")) op.remove_prefix(kFused.size());
  constexpr std::string_view kBias = "WithBias";
  if (op.ends_with(kBias)) op.remove_suffix(kBias.size());
  return op;
}

class Cost {
 public:
  Cost(const TfGraph& graph, std::uint32_t node, const TfShapes& shapes, std::int64_t batch)
      : id_(node), node_(graph.nodes[node]), shapes_(shapes), batch_(batch) {}

  TfCost run() {
    if (is_one_of(node_.op, kRenaming)) return {};
    result_.flops = flops();
    const std::int64_t width = type_bytes(node_.type);
    const double element = width > 0 ? static_cast<double>(width) : 4.0;
    result_.op_class = op_class();
    for (std::int64_t i = 0; i < node_.data_inputs; ++i) add_bytes(input(i), known_elements(input(i)) * element);
    // Inputs and outputs beside the main ones (reserve space) may have no shape.
    const std::size_t outputs = std::max<std::size_t>(node_.output_shapes.size(), 1);
    for (std::size_t slot = 0; slot < outputs; ++slot) {
      const auto shape = shapes_(id_, static_cast<std::int32_t>(slot));
      add_bytes(shape, (slot == 0 ? elements(shape) : known_elements(shape)) * element);
    }
    return result_;
  }

 private:
  using Shape = std::optional<TfShape>;

  Shape input(std::int64_t i) const {
    if (i >= node_.data_inputs) return std::nullopt;
    const TfInput& in = node_.inputs[static_cast<std::size_t>(i)];
    return shapes_(in.node, in.slot);
  }
  Shape output() const { return shapes_(id_, 0); }

  void add_bytes(const Shape& shape, double bytes) {
    result_.memory_bytes += bytes;
    if (!shape || shape->empty() || shape->front() != batch_) result_.fixed_bytes += bytes;
  }

  static double known_elements(const Shape& shape) {
    return static_cast<double>((shape ? element_count(*shape) : std::nullopt).value_or(0));
  }

  // 0, and a mark, if the shape is not known.
  double elements(const Shape& shape) {
    const auto count = shape ? element_count(*shape) : std::nullopt;
    if (!count) result_.known = false;
    return static_cast<double>(count.value_or(0));
  }

  // Elements but the channels' dimension: positions at which a filter is applied.
  double positions(const Shape& shape) {
    const bool first = node_.data_format.starts_with("NC");
    if (!shape || shape->size() < 3) {
      result_.known = false;
      return 0;
    }
    const std::int64_t channels = first ? (*shape)[1] : shape->back();
    return channels > 0 ? elements(shape) / static_cast<double>(channels) : 0;
  }

  double last_dimension(const Shape& shape, bool before) {
    if (!shape || shape->size() < 2) {
      result_.known = false;
      return 0;
    }
    return static_cast<double>(std::max<std::int64_t>(0, (*shape)[shape->size() - (before ? 2 : 1)]));
  }

  double window() const {
    double count = 1;
    for (const std::int64_t k : node_.kernel) count *= static_cast<double>(std::max<std::int64_t>(k, 1));
    return count;
  }

  // Class of a convolution by the shapes of its filter (height, width, from, to) and of its forward output.
  graph::OpClass convolution(const Shape& filter, const Shape& out) const {
    if (!filter || filter->size() != 4 || !out || out->size() != 4) return graph::OpClass::Conv;
    const std::size_t height = node_.data_format.starts_with("NC") ? 2 : 1;
    if ((*out)[height] == 1 && (*out)[height + 1] == 1) return graph::OpClass::Matmul;
    const std::int64_t size = (*filter)[0] == (*filter)[1] ? (*filter)[0] : 0;
    if (size == 1) return graph::OpClass::Conv1x1;
    const bool by_one = std::all_of(node_.strides.begin(), node_.strides.end(), [](std::int64_t s) { return s == 1; });
    if (size == 3 && by_one) return graph::OpClass::Conv3x3;
    return size >= 5 && by_one ? graph::OpClass::ConvLarge : graph::OpClass::Conv;
  }

  graph::OpClass op_class() const {
    using graph::OpClass;
    const std::string_view op = main_op(node_.op);
    if (op.starts_with("DepthwiseConv2dNative")) return OpClass::Depthwise;
    if (op == "Conv2D") return convolution(input(1), output());
    if (op == "Conv2DBackpropInput") return convolution(input(1), input(2));
    if (op == "Conv2DBackpropFilter") return convolution(output(), input(2));
    if (op.starts_with("Conv3D")) return OpClass::Conv;
    if (op == "MatMul" || op.starts_with("BatchMatMul")) return OpClass::Matmul;
    if (op.starts_with("MaxPool") || op.starts_with("AvgPool")) return OpClass::Pooling;
    if (op.starts_with("FusedBatchNorm")) return OpClass::Normalization;
    const bool plain = is_one_of(op, kElementwise) || is_one_of(op, kReductions) || is_one_of(op, kMoves) ||
                       op == "AddN" || op == "L2Loss" || op.ends_with("Softmax") ||
                       op.ends_with("SoftmaxCrossEntropyWithLogits");
    return plain ? OpClass::Elementwise : OpClass::Other;
  }

  double flops() {
    const std::string_view op = main_op(node_.op);
    if (op == "Conv2D" || op == "Conv3D" || op == "DepthwiseConv2dNative")
      return 2 * positions(output()) * elements(input(1));
    if (op == "Conv2DBackpropInput" || op == "Conv3DBackpropInputV2" || op == "DepthwiseConv2dNativeBackpropInput")
      return 2 * positions(input(2)) * elements(input(1));
    if (op == "Conv2DBackpropFilter" || op == "Conv3DBackpropFilterV2" || op == "DepthwiseConv2dNativeBackpropFilter")
      return 2 * positions(input(2)) * elements(output());
    if (op == "MatMul" || op == "BatchMatMul" || op == "BatchMatMulV2")
      return 2 * elements(output()) * last_dimension(input(0), node_.transpose_a);
    if (op == "MaxPool" || op == "AvgPool") return elements(output()) * window();
    if (op == "MaxPoolGrad") return elements(input(2)) * window();
    if (op == "AvgPoolGrad") return elements(input(1)) * window();
    if (op.starts_with("FusedBatchNormGrad")) return 8 * elements(input(0));
    if (op.starts_with("FusedBatchNorm")) return (node_.is_training ? 5 : 2) * elements(input(0));
    if (op == "Softmax" || op == "LogSoftmax" || op.ends_with("SoftmaxCrossEntropyWithLogits"))
      return 5 * elements(input(0));
    if (op == "L2Loss") return 2 * elements(input(0));
    if (op == "AddN") return static_cast<double>(std::max<std::int64_t>(0, node_.data_inputs - 1)) * elements(output());
    if (is_one_of(op, kReductions)) return elements(input(0));
    if (is_one_of(op, kElementwise)) return elements(output());
    return 0;
  }

  std::uint32_t id_;
  const TfNode& node_;
  const TfShapes& shapes_;
  std::int64_t batch_;
  TfCost result_;
};

}  // namespace

TfCost cost_of(const TfGraph& graph, std::uint32_t node, const TfShapes& shapes, std::int64_t batch) {
  return Cost(graph, node, shapes, batch).run();
}

}  // namespace stretto::io
