// SPDX-License-Identifier: Apache-2.0
#include "io/import/pytorch_et.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/import/common.hpp"
#include "io/import/pytorch_et_nodes.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

using graph::OpClass;
using graph::OpId;
using graph::Phase;

constexpr std::size_t kHead = std::size_t{1} << 16;
constexpr std::size_t kNoNode = ~std::size_t{0};
constexpr std::string_view kAten = "aten::";
constexpr std::string_view kAutograd = "autograd::engine::evaluate_function";

// Of "aten::", those that give a tensor another form or make room for one.
constexpr std::array<std::string_view, 29> kMovesNothing = {"view",
                                                            "as_strided",
                                                            "t",
                                                            "transpose",
                                                            "detach",
                                                            "slice",
                                                            "narrow",
                                                            "expand",
                                                            "empty",
                                                            "empty_like",
                                                            "result_type",
                                                            "reshape",
                                                            "to",
                                                            "flatten",
                                                            "select",
                                                            "squeeze",
                                                            "unsqueeze",
                                                            "permute",
                                                            "empty_strided",
                                                            "resize_",
                                                            "set_",
                                                            "alias",
                                                            "unbind",
                                                            "split",
                                                            "_local_scalar_dense",
                                                            "item",
                                                            "lift_fresh",
                                                            "is_nonzero",
                                                            "_has_compatible_shallow_copy_type"};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

double product(const std::vector<std::int64_t>& shape, std::size_t from) {
  double n = 1;
  for (std::size_t i = from; i < shape.size(); ++i) n *= static_cast<double>(shape[i]);
  return n;
}

struct Cost {
  double flops = 0;
  double bytes = 0;
  double fixed_bytes = 0;  // of weights
  OpClass op_class = OpClass::Elementwise;
  bool known = true;
};

// Shape of the i-th input that is a tensor; empty if there is none.
std::vector<std::int64_t> tensor_shape(const std::vector<EtTensor>& list, std::size_t i) {
  for (const EtTensor& t : list)
    if (t.is_tensor && i-- == 0) return t.shape;
  return {};
}

OpClass convolution_class(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& w,
                          const std::vector<std::int64_t>& y) {
  if (x.size() != 4 || w.size() != 4 || y.size() != 4) return OpClass::Conv;
  if (w[1] == 1 && x[1] > 1) return OpClass::Depthwise;
  if (y[2] == 1 && y[3] == 1) return OpClass::Matmul;
  const std::int64_t size = w[2] == w[3] ? w[2] : 0;
  if (size == 1) return OpClass::Conv1x1;
  const bool by_one = y[2] + size > x[2] && y[3] + size > x[3];
  if (size == 3 && by_one) return OpClass::Conv3x3;
  return size >= 5 && by_one ? OpClass::ConvLarge : OpClass::Conv;
}

Cost cost_of(const EtNode& node) {
  Cost c;
  double out = 0;
  for (const EtTensor& t : node.inputs) c.bytes += t.bytes();
  for (const EtTensor& t : node.outputs) {
    c.bytes += t.bytes();
    out += t.elements();
  }
  for (const auto* list : {&node.inputs, &node.outputs})
    for (const EtTensor& t : *list) c.known = c.known && (!t.is_tensor || t.width > 0);
  const std::string_view name = std::string_view(node.name).substr(kAten.size());
  const auto in = [&](std::size_t i) { return tensor_shape(node.inputs, i); };
  if (contains(name, "convolution_backward")) {  // grad of output, input, weight
    const auto y = in(0), x = in(1), w = in(2);
    double made = 0;  // of the gradients of input and weight
    for (std::size_t i = 0; i < std::min<std::size_t>(2, node.outputs.size()); ++i)
      made += node.outputs[i].elements() > 0 ? 1 : 0;
    c.flops = 2 * product(y, 0) * product(w, 1) * made;
    c.fixed_bytes = node.inputs.size() > 2 ? 2 * node.inputs[2].bytes() : 0;
    c.op_class = convolution_class(x, w, y);
  } else if (contains(name, "conv")) {
    const auto x = in(0), w = in(1), y = tensor_shape(node.outputs, 0);
    c.flops = 2 * product(y, 0) * product(w, 1);
    c.fixed_bytes = node.inputs.size() > 1 ? node.inputs[1].bytes() : 0;
    c.op_class = convolution_class(x, w, y);
  } else if (name == "mm" || name == "bmm" || name == "addmm" || name == "baddbmm") {
    const auto a = in(name.starts_with('a') || name.starts_with("ba") ? 1 : 0);
    c.flops = 2 * out * (a.empty() ? 0 : static_cast<double>(a.back()));
    c.op_class = OpClass::Matmul;
  } else if (contains(name, "batch_norm")) {
    c.flops = (contains(name, "backward") ? 8 : 5) * product(in(0), 0);
    c.op_class = OpClass::Normalization;
  } else {
    c.flops = out;
    if (contains(name, "pool")) c.op_class = OpClass::Pooling;
  }
  return c;
}

class Builder {
 public:
  Builder(const std::vector<EtNode>& nodes, const std::string& path, ImportReport& report)
      : nodes_(nodes), path_(path), report_(report) {}

  void build(graph::Graph& g) {
    index();
    choose_step();
    make_ops(g);
    make_phases(g);
    make_reads(g);
    report_totals(g);
  }

 private:
  bool is_aten(std::size_t i) const { return nodes_[i].name.starts_with(kAten); }

  void index() {
    std::unordered_map<std::int64_t, std::size_t> at;
    for (std::size_t i = 0; i < nodes_.size(); ++i) at.emplace(nodes_[i].id, i);
    parent_.assign(nodes_.size(), kNoNode);
    calls_aten_.assign(nodes_.size(), false);
    backward_.assign(nodes_.size(), false);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto it = at.find(nodes_[i].parent);
      if (it != at.end() && it->second < i) parent_[i] = it->second;  // who calls has the lower id
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const std::size_t p = parent_[i];
      backward_[i] = nodes_[i].name.starts_with(kAutograd) || (p != kNoNode && backward_[p]);
      if (is_aten(i) && p != kNoNode) calls_aten_[p] = true;
    }
  }

  void choose_step() {
    to_ = nodes_.size();
    for (const char* const mark :
         {"ProfilerStep#", "## forward ##", "DistributedDataParallel.forward", "Optimizer.zero_grad#"}) {
      std::vector<std::size_t> steps;
      for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (nodes_[i].name.starts_with(mark)) steps.push_back(i);
      if (steps.empty()) continue;
      const std::size_t chosen = steps.size() > 1 ? 1 : 0;
      from_ = steps[chosen];
      if (chosen + 1 < steps.size()) to_ = steps[chosen + 1];
      report_.read.push_back(fmt::format("step {} of {}, cut at nodes \"{}\"", chosen + 1, steps.size(), mark));
      report_.dropped.push_back(fmt::format("{} nodes of other steps or of none", nodes_.size() - (to_ - from_)));
      return;
    }
    report_.guessed.emplace_back("the whole trace is one step: no node says where a step begins");
  }

  void make_ops(graph::Graph& g) {
    std::map<std::string, std::size_t> lost;
    std::size_t free = 0;
    std::size_t unknown = 0;
    std::size_t quiet = 0;
    OpId last;
    for (std::size_t i = from_; i < to_; ++i) {
      const EtNode& node = nodes_[i];
      graph::Op op;
      if (!node.collective.empty()) {
        const std::string_view kind = node.collective;
        if (kind == "broadcast" || kind == "barrier" || kind == "wait" || kind == "init") {
          ++quiet;
          continue;
        }
        if (kind != "allreduce" && kind != "allreduce_coalesced") {
          ++lost[node.collective];
          continue;
        }
        if (node.collective_bytes < 1)
          refuse_file(path_, fmt::format("the all-reduce of node {} does not say its size", node.id));
        graph::Parameter p;
        p.name = op.name = fmt::format("all-reduce {}", g.parameters.size());
        p.bytes = Bytes(node.collective_bytes);
        p.gradient = OpId(g.ops.size());
        op.phase = Phase::Backward;
        if (last.valid()) op.inputs.push_back(last);
        g.parameters.push_back(std::move(p));
        g.ops.push_back(std::move(op));
        node_of_.push_back(i);
        continue;
      }
      if (!is_aten(i) || calls_aten_[i]) continue;
      const std::string_view name = std::string_view(node.name).substr(kAten.size());
      if (std::find(kMovesNothing.begin(), kMovesNothing.end(), name) != kMovesNothing.end()) {
        ++free;
        continue;
      }
      const Cost cost = cost_of(node);
      unknown += cost.known ? 0U : 1U;
      op.name = fmt::format("{} {}", node.id, name);
      op.flops = cost.flops;
      op.memory_bytes = cost.bytes;
      op.fixed_bytes = std::min(cost.fixed_bytes, cost.bytes);
      op.op_class = cost.op_class;
      if (last.valid()) op.inputs.push_back(last);
      last = OpId(g.ops.size());
      g.ops.push_back(std::move(op));
      node_of_.push_back(i);
    }
    if (!lost.empty())
      refuse_file(path_,
                  fmt::format("{} collectives are of kind {}, which a workload cannot hold", lost.begin()->second,
                              escape_control(lost.begin()->first)),
                  "a workload has gradients that are summed over all workers: all-reduces");
    if (!last.valid())
      refuse_file(path_, "the step has no op (aten::...) that computes", "is it a trace of one thread alone?");
    note_count(report_.dropped, free, "ops that only give a tensor another form or make room for one");
    note_count(report_.dropped, quiet, "broadcasts, barriers and waits");
    note_count(report_.guessed, unknown, "ops have tensors of unknown types, which count 0 bytes");
    report_.guessed.emplace_back("ops follow each other in the order of their calls: the trace names no streams");
    report_.guessed.emplace_back("no op has a time: an execution trace has none; a device must give the times");
  }

  void make_phases(graph::Graph& g) {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < g.ops.size() && !first; ++i)
      if (backward_[node_of_[i]]) first = i;
    if (!first)
      for (std::size_t i = 0; i < g.ops.size() && !first; ++i)
        if (g.ops[i].phase == Phase::Backward) first = i;  // an all-reduce
    if (first)
      for (std::size_t i = *first; i < g.ops.size(); ++i) g.ops[i].phase = Phase::Backward;
    if (!first) report_.guessed.emplace_back("all ops are forward: none was called by autograd");
  }

  void make_reads(graph::Graph& g) {
    if (g.parameters.empty()) {
      report_.guessed.emplace_back("there are no parameters: the step has no all-reduce that would say their size");
      return;
    }
    graph::Op& reader = g.ops.front();
    if (reader.phase != Phase::Forward) return;
    for (std::size_t p = 0; p < g.parameters.size(); ++p) reader.reads.emplace_back(p);
    report_.guessed.emplace_back("the first op reads all parameters: the trace does not say who reads which");
  }

  void report_totals(const graph::Graph& g) {
    double flops = 0;
    double bytes = 0;
    for (const graph::Op& op : g.ops) flops += op.flops;
    for (const graph::Parameter& p : g.parameters) bytes += static_cast<double>(p.bytes.count());
    report_.read.push_back(fmt::format("{} nodes; {} ops of {:.4g} GFLOP; {} all-reduces of {:.0f} bytes",
                                       nodes_.size(), g.ops.size() - g.parameters.size(), flops * 1e-9,
                                       g.parameters.size(), bytes));
  }

  const std::vector<EtNode>& nodes_;
  const std::string& path_;
  ImportReport& report_;
  std::vector<std::size_t> parent_;
  std::vector<bool> calls_aten_;
  std::vector<bool> backward_;        // below a node of autograd
  std::vector<std::size_t> node_of_;  // per op
  std::size_t from_ = 0;              // nodes of the step
  std::size_t to_ = 0;
};

}  // namespace

bool is_pytorch_et(std::string_view text) {
  const std::string_view head = text.substr(0, kHead);
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && head[start] == '{' && contains(head, "\"schema\"") &&
         contains(head, "\"nodes\"") &&
         (contains(head, "execution_trace") || contains(head, "execution_graph") || contains(head, "\"rf_id\""));
}

ImportResult import_pytorch_et(const std::string& text, const std::string& path, const ImportOptions& options) {
  ImportResult result;
  const std::vector<EtNode> nodes = read_et_nodes(text, path);
  Builder(nodes, path, result.report).build(result.graph);
  finish_graph(result, path, options, {"pytorch", "PyTorch execution trace", "trace"});
  return result;
}

}  // namespace stretto::io
