// SPDX-License-Identifier: Apache-2.0
#include "io/import/tensorflow_extract.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "io/import/common.hpp"
#include "io/import/tensorflow_cost.hpp"
#include "io/import/tensorflow_transfers.hpp"
#include "io/import/tensorflow_variables.hpp"

namespace stretto::io {

namespace {

constexpr std::size_t kWidest = 64;    // inputs that a left-out node may hand on
constexpr double kMostMissing = 0.25;  // share of ops without a record
constexpr std::size_t kNamed = 3;      // examples in a note
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

bool hands_on(std::string_view op) {
  return is_alias(op) || is_variable(op) || op == "Const" || op == "NoOp" || op == "IdentityN" || op == "Placeholder" ||
         op == "PlaceholderWithDefault" || op == "ReadVariableOp";
}

bool is_initializer(std::string_view op) {
  return op == "Assign" || op == "AssignVariableOp" || op.starts_with("Save") || op.starts_with("Restore") ||
         op.starts_with("VarIsInitialized") || op == "IsVariableInitialized" ||
         op.find("Summary") != std::string_view::npos;
}

bool in_gradient_scope(std::string_view name) {
  while (!name.empty()) {
    const std::size_t end = name.find('/');
    std::string_view part = name.substr(0, end);
    if (end == std::string_view::npos) return false;  // the node's own name is no scope
    if (part == "gradient_tape") return true;
    constexpr std::string_view kScope = "gradients";
    if (part.starts_with(kScope)) {
      part.remove_prefix(kScope.size());
      if (part.empty() || (part[0] == '_' && part.find_first_not_of("0123456789", 1) == std::string_view::npos))
        return true;
    }
    name.remove_prefix(end + 1);
  }
  return false;
}

// "12 things: a, b, c, ..."
class Examples {
 public:
  void add(const std::string& name) {
    if (count_++ < kNamed) names_ += (names_.empty() ? "" : ", ") + name;
  }
  std::size_t count() const { return count_; }
  std::string names() const { return names_ + (count_ > kNamed ? ", ..." : ""); }

 private:
  std::size_t count_ = 0;
  std::string names_;
};

// What a left-out node hands on.
struct Handed {
  std::vector<graph::OpId> ops;
  std::vector<graph::ParameterId> parameters;
};

template <class T>
void merge_into(std::vector<T>& into, const std::vector<T>& from) {
  if (from.empty()) return;
  std::vector<T> merged;
  std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(merged));
  into = std::move(merged);
}

class Extraction {
 public:
  Extraction(const TfGraph& graph, const TfTrace* trace, const TfDevice& worker, const std::string& path,
             ImportReport& report)
      : graph_(graph),
        trace_(trace),
        worker_(worker),
        path_(path),
        report_(report),
        variables_(find_variables(graph)) {}

  graph::Graph run(std::optional<std::int64_t> batch) {
    find_step();
    find_absorbed();
    mark_useful();
    number_parameters();
    make_ops();
    finish_parameters();
    set_phases();
    set_batch(batch);
    set_costs();
    describe();
    return std::move(out_);
  }

 private:
  const TfNode& node(std::uint32_t i) const { return graph_.nodes[i]; }
  bool on_server(std::uint32_t i) const { return node(i).device.is_server(); }
  bool on_worker(std::uint32_t i) const {
    const TfDevice& d = node(i).device;
    return !d.is_server() && (d.job.empty() || worker_.job.empty() || d.same_task(worker_));
  }
  const TfRecord* record(std::uint32_t i) const {
    if (trace_ == nullptr) return nullptr;
    const auto it = trace_->records.find(node(i).name);
    return it == trace_->records.end() ? nullptr : &it->second;
  }
  // Nodes of the step: roots and all that they need.
  void find_step() {
    in_step_.assign(graph_.nodes.size(), false);
    std::vector<bool> taken(graph_.nodes.size(), false);
    for (const TfNode& n : graph_.nodes)
      for (const TfInput& in : n.inputs) taken[in.node] = true;
    const bool trains = !variables_.updates.empty();
    std::vector<bool> is_update(graph_.nodes.size(), false);
    for (const std::uint32_t i : variables_.updates) is_update[i] = true;
    std::vector<bool> initializes(graph_.nodes.size(), false);  // or saves; so do groups of such
    for (const std::uint32_t i : graph_.order)
      initializes[i] = is_initializer(node(i).op) ||
                       (node(i).op == "NoOp" && std::all_of(node(i).inputs.begin(), node(i).inputs.end(),
                                                            [&](const TfInput& in) { return initializes[in.node]; }));
    std::size_t recorded = 0;
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::string& op = node(i).op;
      if (trace_ != nullptr) {
        in_step_[i] = record(i) != nullptr || trace_->server_nodes.contains(node(i).name);
        recorded += in_step_[i] ? 1U : 0U;
      } else if (trains) {
        in_step_[i] = is_update[i] || op.starts_with("AssignSub") || op.starts_with("AssignAdd");
      } else {
        in_step_[i] = !taken[i] && !initializes[i];
      }
    }
    if (trace_ != nullptr && recorded == 0)
      refuse_file(path_, "the trace has no record of any node of the graph",
                  "trace and graph must be of the same program");
    close_step();
    // An optimizer's op belongs to the step if its gradient was computed in it.
    for (const std::uint32_t i : variables_.updates)
      if (!in_step_[i] && std::any_of(node(i).inputs.begin(), node(i).inputs.end(), [&](const TfInput& in) {
            return in_step_[in.node] && in_gradient_scope(node(in.node).name);
          }))
        in_step_[i] = true;
    close_step();
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) outside_ += in_step_[i] ? 0U : 1U;
  }

  void close_step() {
    for (std::size_t k = graph_.order.size(); k-- > 0;) {
      const std::uint32_t i = graph_.order[k];
      if (!in_step_[i]) continue;
      for (const TfInput& in : node(i).inputs) in_step_[in.node] = true;
    }
  }

  // Nodes without a record whose work a fused op did: it lists what they took, not them.
  // One that others use too cannot have been fused.
  void find_absorbed() {
    absorbed_by_.assign(graph_.nodes.size(), kNone);
    if (trace_ == nullptr) return;
    std::vector<std::size_t> users(graph_.nodes.size(), 0);
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i)
      if (in_step_[i])
        for (const TfInput& in : node(i).inputs) ++users[in.node];
    for (std::size_t k = graph_.order.size(); k-- > 0;) {
      const std::uint32_t i = graph_.order[k];
      if (!in_step_[i]) continue;
      const TfRecord* r = record(i);
      const std::uint32_t target = r != nullptr ? i : absorbed_by_[i];
      if (target == kNone || node(i).data_inputs == 0) continue;
      const std::uint32_t first = node(i).inputs[0].node;
      if (record(first) == nullptr && users[first] == 1 && on_worker(first) && !hands_on(node(first).op) &&
          !record(target)->took(node(first).name))
        absorbed_by_[first] = target;
    }
  }

  bool becomes_op(std::uint32_t i) const {
    return on_worker(i) && !hands_on(node(i).op) && absorbed_by_[i] == kNone && node(i).op != "_Send" &&
           node(i).op != "_HostSend";
  }

  // Nodes that an op or a gradient needs; the others' dependencies are of no interest.
  void mark_useful() {
    useful_.assign(graph_.nodes.size(), false);
    for (const TfVariable& v : variables_.list)
      if (v.gradient && in_step_[v.gradient->node]) useful_[v.gradient->node] = true;
    for (std::size_t k = graph_.order.size(); k-- > 0;) {
      const std::uint32_t i = graph_.order[k];
      if (!in_step_[i]) continue;
      useful_[i] = useful_[i] || becomes_op(i);
      if (useful_[i])
        for (const TfInput& in : node(i).inputs) useful_[in.node] = true;
    }
  }

  // Variables that the worker reads or computes a gradient of, in the graph's order.
  void number_parameters() {
    has_servers_ = false;
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i)
      if (in_step_[i] && on_server(i)) {
        has_servers_ = true;
        servers_.insert(node(i).device.task);
      }
    std::vector<bool> read(variables_.list.size(), false);
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!in_step_[i] || !becomes_op(i)) continue;
      for (const TfInput& in : node(i).inputs)
        if (const std::int32_t v = variables_.value_of[in.node]; v >= 0 && !in.control)
          read[static_cast<std::size_t>(v)] = true;
    }
    parameter_of_.assign(variables_.list.size(), graph::ParameterId::none());
    for (std::size_t k = 0; k < variables_.list.size(); ++k) {
      const TfVariable& v = variables_.list[k];
      if (!in_step_[v.node]) continue;
      const bool trained = v.gradient && in_step_[v.gradient->node];
      if (has_servers_ && !on_server(v.node)) {
        if (read[k] || trained) local_.add(node(v.node).name);
        continue;
      }
      if (!read[k] && !trained) {
        unread_.add(node(v.node).name);
        continue;
      }
      graph::Parameter p;
      p.name = node(v.node).name;
      p.trainable = trained || variables_.updates.empty();
      const auto bytes = v.bytes ? v.bytes : transferred_bytes(k);
      if (!bytes || *bytes < 1)
        refuse_file(path_, fmt::format("the size of variable \"{}\" is not known", p.name),
                    "the graph must hold the variable's shape and type, or the trace a record of its transfer");
      p.bytes = Bytes(*bytes);
      if (has_servers_) p.server = server_number(v.node);
      parameter_of_[k] = graph::ParameterId(out_.parameters.size());
      variable_of_.push_back(k);
      out_.parameters.push_back(std::move(p));
    }
  }

  std::int32_t server_number(std::uint32_t i) const {
    return static_cast<std::int32_t>(std::distance(servers_.begin(), servers_.find(node(i).device.task)));
  }

  std::optional<std::int64_t> transferred_bytes(std::size_t v) const {
    if (trace_ == nullptr) return std::nullopt;
    for (const TfTransfer& t : trace_->transfers) {
      const auto it = graph_.index.find(t.tensor);
      if (it != graph_.index.end() && variables_.value_of[it->second] == static_cast<std::int32_t>(v) &&
          t.from.is_server())
        return t.bytes.count();
    }
    return std::nullopt;
  }

  Handed gather(std::uint32_t i) const {
    Handed all;
    for (const TfInput& in : node(i).inputs) {
      const Handed& h = handed_[in.node];
      merge_into(all.ops, h.ops);
      // A control edge from a server waits for the server's node; the tensor stays there.
      if (!in.control || !on_server(in.node)) merge_into(all.parameters, h.parameters);
    }
    return all;
  }

  void make_ops() {
    handed_.resize(graph_.nodes.size());
    op_of_.assign(graph_.nodes.size(), graph::OpId::none());
    for (const std::uint32_t i : graph_.order) {
      if (!in_step_[i] || !useful_[i]) continue;
      Handed all = gather(i);
      if (becomes_op(i)) {
        add_op(i, std::move(all));
        continue;
      }
      if (on_server(i)) all.parameters.clear();
      if (const std::int32_t v = variables_.value_of[i]; v >= 0) {
        const graph::ParameterId p = parameter_of_[static_cast<std::size_t>(v)];
        if (p.valid()) merge_into(all.parameters, {p});
      }
      const TfRecord* r = record(i);
      if (all.ops.size() + all.parameters.size() > kWidest) {
        ++joins_;
        add_op(i, std::move(all));
        continue;
      }
      if (r != nullptr) {
        left_out_time_ += r->time;
        ++left_out_;
      }
      handed_[i] = std::move(all);
    }
  }

  void add_op(std::uint32_t i, Handed all) {
    const graph::OpId id(out_.ops.size());
    graph::Op op;
    op.name = node(i).name;
    op.inputs = std::move(all.ops);
    op.reads = std::move(all.parameters);
    if (const TfRecord* r = record(i)) {
      op.time = r->time;
      host_timed_ += node(i).device.gpu && !r->kernels ? 1U : 0U;
    } else if (trace_ != nullptr && becomes_op(i)) {
      missing_.add(op.name);
    }
    if (node(i).op.starts_with("QueueDequeue") || node(i).op.starts_with("IteratorGetNext")) {
      ++inputs_;
      input_time_ += op.time;
    }
    op_of_[i] = id;
    node_of_.push_back(i);
    handed_[i].ops = {id};
    out_.ops.push_back(std::move(op));
  }

  // Gradients: the op that completes each, or one more op where several do.
  void finish_parameters() {
    for (std::size_t k = 0; k < out_.parameters.size(); ++k) {
      graph::Parameter& p = out_.parameters[k];
      const TfVariable& v = variables_.list[variable_of_[k]];
      if (!v.gradient || !in_step_[v.gradient->node]) continue;
      const std::uint32_t producer = v.gradient->node;
      if (handed_[producer].ops.empty()) {
        constant_gradients_.add(p.name);
        continue;
      }
      if (handed_[producer].ops.size() > 1) {
        Handed all = handed_[producer];
        ++joins_;
        add_op(producer, std::move(all));
        if (out_.ops.back().time > Duration()) left_out_time_ -= out_.ops.back().time;
      }
      p.gradient = handed_[producer].ops.front();
      if (v.sparse) sparse_.add(p.name);
    }
  }

  void set_phases() {
    std::vector<bool> backward(out_.ops.size(), false);
    for (const graph::Parameter& p : out_.parameters)
      if (p.gradient.valid()) {
        const auto g = p.gradient.index();
        outside_scope_ += in_gradient_scope(out_.ops[g].name) ? 0U : 1U;
        backward[g] = true;
      }
    for (std::size_t i = 0; i < out_.ops.size(); ++i) {
      graph::Op& op = out_.ops[i];
      backward[i] =
          backward[i] || in_gradient_scope(op.name) ||
          std::any_of(op.inputs.begin(), op.inputs.end(), [&](graph::OpId in) { return backward[in.index()]; });
      op.phase = backward[i] ? graph::Phase::Backward : graph::Phase::Forward;
    }
  }

  std::optional<TfShape> shape_of(std::uint32_t i, std::int32_t slot) const {
    const TfNode& n = node(i);
    if (const TfRecord* r = record(i); r != nullptr)
      if (const auto it = r->outputs.find(slot); it != r->outputs.end()) return it->second;
    if (slot >= 0 && static_cast<std::size_t>(slot) < n.output_shapes.size())
      return n.output_shapes[static_cast<std::size_t>(slot)];
    if (const std::int32_t v = variables_.value_of[i]; v >= 0 && slot == 0) {
      const TfNode& variable = node(variables_.list[static_cast<std::size_t>(v)].node);
      if (variable.shape) return variable.shape;
      if (variable.op != "VarHandleOp" && !variable.output_shapes.empty()) return variable.output_shapes[0];
    }
    return std::nullopt;
  }

  void set_costs() {
    const TfShapes shapes = [this](std::uint32_t i, std::int32_t slot) { return shape_of(i, slot); };
    const auto add = [&](graph::OpId op, std::uint32_t i) {
      const TfCost cost = cost_of(graph_, i, shapes, out_.batch);
      if (!cost.known) {
        shapeless_.add(node(i).name);
        return;
      }
      graph::Op& o = out_.ops[op.index()];
      o.flops += cost.flops;
      o.memory_bytes += cost.memory_bytes;
      o.fixed_bytes += cost.fixed_bytes;
      if (o.op_class == graph::OpClass::Other) o.op_class = cost.op_class;
    };
    for (std::size_t k = 0; k < node_of_.size(); ++k)
      if (becomes_op(node_of_[k])) add(graph::OpId(k), node_of_[k]);
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i)
      if (absorbed_by_[i] != kNone && op_of_[absorbed_by_[i]].valid()) add(op_of_[absorbed_by_[i]], i);
  }

  void set_batch(std::optional<std::int64_t> batch) {
    if (batch) {
      out_.batch = *batch;
      return;
    }
    const auto leading = [&](const graph::OpId id, bool of_input) -> std::int64_t {
      const std::uint32_t i = node_of_[id.index()];
      if (of_input && node(i).data_inputs == 0) return 0;
      const auto shape = of_input ? shape_of(node(i).inputs[0].node, node(i).inputs[0].slot) : shape_of(i, 0);
      return shape && !shape->empty() ? shape->front() : 0;
    };
    for (const bool loss : {true, false})
      for (std::size_t k = 0; k < node_of_.size(); ++k) {
        const std::string& op = node(node_of_[k]).op;
        if (loss ? !op.ends_with("SoftmaxCrossEntropyWithLogits") : !op.ends_with("Conv2D") && op != "MatMul") continue;
        const std::int64_t n = leading(graph::OpId(k), !loss);
        if (n < 1 || n > 1'000'000) continue;
        out_.batch = n;
        report_.guessed.push_back(fmt::format("batch {}: the first dimension of \"{}\"", n, out_.ops[k].name));
        return;
      }
    report_.guessed.push_back("batch 1: the graph shows none; say it with --batch");
  }

  void describe();

  const TfGraph& graph_;
  const TfTrace* trace_;
  const TfDevice& worker_;
  const std::string& path_;
  ImportReport& report_;
  TfVariables variables_;
  graph::Graph out_;
  std::vector<bool> in_step_;
  std::vector<bool> useful_;
  std::vector<std::uint32_t> absorbed_by_;        // per node: the op that did its work
  std::vector<Handed> handed_;                    // per node
  std::vector<graph::OpId> op_of_;                // per node
  std::vector<std::uint32_t> node_of_;            // per op
  std::vector<graph::ParameterId> parameter_of_;  // per variable
  std::vector<std::size_t> variable_of_;          // per parameter
  std::set<std::int64_t> servers_;                // tasks
  bool has_servers_ = false;
  std::size_t outside_ = 0;
  std::size_t left_out_ = 0;
  Duration left_out_time_;
  std::size_t joins_ = 0;
  std::size_t host_timed_ = 0;
  std::size_t inputs_ = 0;
  Duration input_time_;
  std::size_t outside_scope_ = 0;
  Examples missing_, shapeless_, local_, unread_, constant_gradients_, sparse_;
};

void Extraction::describe() {
  std::size_t backward = 0, absorbed = 0, trainable = 0;
  Duration total;
  double flops = 0;
  Bytes bytes;
  for (const graph::Op& op : out_.ops) {
    backward += op.phase == graph::Phase::Backward ? 1U : 0U;
    total += op.time;
    flops += op.flops;
  }
  for (const graph::Parameter& p : out_.parameters) {
    trainable += p.trainable ? 1U : 0U;
    if (p.trainable) bytes += p.bytes;
  }
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) absorbed += absorbed_by_[i] != kNone ? 1U : 0U;
  const auto note = [](std::vector<std::string>& list, bool when, std::string text) {
    if (when) list.push_back(std::move(text));
  };

  const std::size_t ops = out_.ops.size();
  report_.read.push_back(fmt::format("{} ops of {}: {} forward, {} backward, {:.6g} s in sum, {:.4g} GFLOP", ops,
                                     worker_.task_name(), ops - backward, backward, total.seconds(), flops * 1e-9));
  note(report_.read, joins_ > 0,
       fmt::format("{} of these ops are nodes that only hand on, but wait for several others", joins_));
  report_.read.push_back(fmt::format("{} trainable parameters with {} bytes{}", trainable, bytes.count(),
                                     has_servers_ ? fmt::format(" on {} servers", servers_.size()) : ""));
  if (ops > 0 && trace_ != nullptr && static_cast<double>(missing_.count()) > kMostMissing * static_cast<double>(ops))
    refuse_file(path_,
                fmt::format("{} of {} ops have no record in the trace: {}", missing_.count(), ops, missing_.names()),
                "trace the step again with FULL_TRACE; trace and graph must be of the same program");
  note(report_.guessed, missing_.count() > 0,
       fmt::format("{} of {} ops have no record and take no time: {}", missing_.count(), ops, missing_.names()));
  note(report_.guessed, trace_ == nullptr,
       "no op has a time: the file is a graph without a trace; a device must give the times");
  note(report_.guessed, host_timed_ > 0,
       fmt::format("{} GPU ops have no kernels; the host's time stands for theirs", host_timed_));
  note(report_.guessed, inputs_ > 0,
       fmt::format("{} ops fetch input data; their {:.6g} s may be waiting", inputs_, input_time_.seconds()));
  note(report_.guessed, outside_scope_ > 0,
       fmt::format(
           "{} gradients come from ops outside a scope \"gradients\"; these ops and what depends on them are backward",
           outside_scope_));
  note(report_.guessed, variables_.updates.empty() && !out_.parameters.empty(),
       "no optimizer's op: which variables are trainable is not known; all that are read count as such");
  note(report_.guessed, !has_servers_ && !out_.parameters.empty(),
       "no job \"ps\": every variable counts as a server's, though all lie on one machine here");
  note(report_.guessed, shapeless_.count() > 0,
       fmt::format("{} ops have no known shapes, so neither operations nor bytes: {}", shapeless_.count(),
                   shapeless_.names()));
  note(report_.guessed, sparse_.count() > 0,
       fmt::format("{} gradients are sparse; the whole variable counts: {}", sparse_.count(), sparse_.names()));
  note(report_.repaired, absorbed > 0,
       fmt::format("{} ops have no record of their own: they ran inside a fused op, which has their time", absorbed));
  note(report_.dropped, left_out_ > 0,
       fmt::format(
           "{} recorded nodes that only hand on (Const, Identity, NoOp, ...), {:.6g} s in sum; dependencies through "
           "them are kept",
           left_out_, left_out_time_.seconds()));
  note(report_.dropped, outside_ > 0, fmt::format("{} nodes that the step does not need", outside_));
  note(report_.dropped, unread_.count() > 0,
       fmt::format("{} variables that no worker reads (counters, an optimizer's state): {}", unread_.count(),
                   unread_.names()));
  note(report_.dropped, local_.count() > 0,
       fmt::format("{} variables on the worker itself: {}", local_.count(), local_.names()));
  note(report_.dropped, constant_gradients_.count() > 0,
       fmt::format("{} gradients that no op computes: {}", constant_gradients_.count(), constant_gradients_.names()));
  note(report_.dropped, variables_.unmatched_gradients > 0,
       fmt::format("{} gradients go to accumulators from which no update in the graph takes",
                   variables_.unmatched_gradients));
  note(report_.dropped, variables_.doubled_updates > 0,
       fmt::format("{} second updates of a variable in one step", variables_.doubled_updates));
  if (has_servers_) {
    TfTransferCheck check{graph_, variables_, trace_, worker_, in_step_, useful_, path_};
    describe_transfers(check, report_);
  }
  for (const std::string& text : graph_.repaired) report_.repaired.push_back(text);
}

}  // namespace

TfDevice choose_worker(const TfGraph& graph, const std::vector<TfDevice>& traced, ImportReport& report) {
  std::set<std::pair<std::string, std::int64_t>> tasks;
  std::size_t unplaced = 0;
  for (const TfNode& n : graph.nodes) {
    if (!n.device.job.empty() && !n.device.is_server()) tasks.emplace(n.device.job, n.device.task);
    unplaced += n.device.job.empty() ? 1U : 0U;
  }
  TfDevice chosen;
  for (const auto& [job, task] : tasks) {
    TfDevice d;
    d.job = job;
    d.task = task;
    const bool has_records =
        std::any_of(traced.begin(), traced.end(), [&](const TfDevice& t) { return t.same_task(d); });
    if (!traced.empty() && !has_records) continue;
    chosen = d;
    break;
  }
  if (chosen.job.empty() && tasks.empty() && !traced.empty()) chosen = traced.front();
  if (tasks.size() > 1)
    report.dropped.push_back(
        fmt::format("ops of {} other tasks; {} is imported", tasks.size() - 1, chosen.task_name()));
  if (unplaced > 0 && unplaced < graph.nodes.size())
    report.guessed.push_back(fmt::format("{} nodes name no task and count as the worker's", unplaced));
  return chosen;
}

graph::Graph extract_graph(const TfGraph& graph, const TfTrace* trace, const TfDevice& worker, const std::string& path,
                           std::optional<std::int64_t> batch, ImportReport& report) {
  graph::Graph out = Extraction(graph, trace, worker, path, report).run(batch);
  check_file(out, path);
  return out;
}

}  // namespace stretto::io
