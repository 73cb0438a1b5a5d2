// SPDX-License-Identifier: Apache-2.0
#include "io/import/chakra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "io/import/chakra_ranks.hpp"
#include "io/import/common.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

using graph::OpId;
using graph::Phase;

constexpr std::uint32_t kNoOp = ~std::uint32_t{0};
constexpr std::size_t kNameLength = 60;

bool all_reduces(const ChakraNode& n) { return is_exchange(n) && n.collective == ChakraCollective::AllReduce; }

// A collective of another kind, kept as an op of its time.
bool is_kept(const ChakraNode& n) { return is_exchange(n) && !all_reduces(n) && n.transfer_us; }

// A collective of the device that moves no gradients and is left out.
bool is_dropped(const ChakraNode& n) { return !n.host && n.kind == ChakraKind::Collective && !is_exchange(n); }

bool wraps_all_reduce(const ChakraNode& n) {
  return n.host && n.kind == ChakraKind::Collective &&
         (n.name.find("allreduce") != std::string::npos || n.name.find("all_reduce") != std::string::npos);
}

// Without template arguments and parameters of a C++ kernel.
std::string short_name(const ChakraNode& n) {
  std::string_view name = n.name;
  if (name.starts_with("void ")) name.remove_prefix(5);
  name = name.substr(0, std::min(name.find_first_of("<"), kNameLength));
  return fmt::format("{} {}", n.id, name);
}

class Builder {
 public:
  Builder(const ChakraTrace& trace, const std::string& path) : nodes_(trace.nodes), path_(path) {}

  void build(ImportResult& result) {
    graph::Graph& g = result.graph;
    ImportReport& report = result.report;
    check_kinds();
    make_ops(g);
    if (g.ops.empty()) refuse_empty();
    describe_kept(report);
    const bool hosted = std::any_of(nodes_.begin(), nodes_.end(), [](const ChakraNode& n) { return n.host; });
    if (hosted) result.device = "gpu";
    std::optional<std::uint32_t> backward;
    if (hosted) {
      chain_streams(g, report);
      backward = first_backward(report);
    } else {
      connect(g, report);
    }
    set_phases(g, backward, report);
    make_parameters(g, report);
    const auto timeless = std::count_if(nodes_.begin(), nodes_.end(),
                                        [](const ChakraNode& n) { return is_computation(n) && n.duration_us == 0; });
    if (timeless > 0)
      report.guessed.push_back(plural(static_cast<std::size_t>(timeless), "computation") + " of no time kept");
  }

  // Of a graph that has passed graph::check, so that its sums fit.
  void report_totals(const graph::Graph& g, ImportReport& report) const {
    Duration time;
    Bytes bytes;
    std::size_t left_out = 0;
    double left_out_bytes = 0;
    for (const graph::Op& op : g.ops) time += op.time;
    for (const graph::Parameter& p : g.parameters) bytes = bytes + p.bytes;
    for (const ChakraNode& n : nodes_) {
      if (!is_dropped(n)) continue;
      ++left_out;
      left_out_bytes += static_cast<double>(n.bytes.value_or(0));
    }
    const std::size_t computations = g.ops.size() - g.parameters.size();
    report.read.push_back(fmt::format("{}: {} of {:.3f} ms, {} of {} bytes", plural(nodes_.size(), "node"),
                                      plural(computations, "computation"), time.seconds() * 1e3,
                                      plural(g.parameters.size(), "all-reduce"), bytes.count()));
    if (left_out > 0)
      report.dropped.push_back(
          fmt::format("{} broadcasts or barriers of {:.0f} bytes: they move no gradients", left_out, left_out_bytes));
  }

 private:
  [[noreturn]] void refuse(std::string message, std::string hint = "") const {
    refuse_file(path_, std::move(message), std::move(hint));
  }

  void check_kinds() const {
    for (const ChakraNode& n : nodes_) {
      if (n.host) continue;
      const std::string name = escape_control(short_name(n));
      if (n.kind == ChakraKind::Send || n.kind == ChakraKind::Receive)
        refuse(fmt::format("node {} sends or receives between two ranks, which a workload cannot hold", name));
      if (n.kind != ChakraKind::Collective) continue;
      if (!n.collective) refuse(fmt::format("node {} is a collective without comm_type", name));
      if (!is_exchange(n)) continue;
      if (is_kept(n)) {
        if (*n.transfer_us == 0)
          refuse(fmt::format("node {} is a collective of kind {} and has no duration on one of the ranks", name,
                             name_of(*n.collective)));
        continue;
      }
      if (!all_reduces(n))
        refuse(fmt::format("node {} is a collective of kind {}, which a workload cannot hold", name,
                           name_of(*n.collective)),
               "a workload has gradients that are summed over all workers: all-reduces; with the traces of other "
               "ranks (--rank) others are kept as ops of fixed time");
      if (n.bytes.value_or(0) <= 0) refuse(fmt::format("node {} is an all-reduce without comm_size", name));
    }
  }

  [[noreturn]] void refuse_empty() const {
    const bool host = std::any_of(nodes_.begin(), nodes_.end(), [](const ChakraNode& n) { return n.host; });
    refuse(host ? "all nodes are ops of the host (is_cpu_op), whose times contain each other"
                : "the trace has neither computations nor all-reduces",
           host ? "trace with the device's kernels: link the Kineto trace to the execution trace" : "");
  }

  void make_ops(graph::Graph& g) {
    op_.assign(nodes_.size(), kNoOp);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const ChakraNode& n = nodes_[i];
      if (!is_computation(n) && !all_reduces(n) && !is_kept(n)) continue;
      op_[i] = static_cast<std::uint32_t>(g.ops.size());
      graph::Op op;
      op.name = all_reduces(n) ? fmt::format("all-reduce {}", n.id) : short_name(n);
      if (is_computation(n)) op.time = Duration::us(n.duration_us);
      if (is_kept(n)) op.time = Duration::us(*n.transfer_us);
      g.ops.push_back(std::move(op));
    }
  }

  void describe_kept(ImportReport& report) const {
    std::map<ChakraCollective, std::size_t> kinds;
    double kept_ms = 0;
    for (const ChakraNode& n : nodes_) {
      if (!is_kept(n)) continue;
      ++kinds[*n.collective];
      kept_ms += static_cast<double>(*n.transfer_us) * 1e-3;
    }
    std::string listed;
    for (const auto& [kind, n] : kinds) listed += (listed.empty() ? "" : ", ") + plural(n, name_of(kind));
    if (!listed.empty())
      report.guessed.push_back(fmt::format(
          "{} kept as ops of their least time over the ranks, {:.3f} ms: another network does not change them", listed,
          kept_ms));
  }

  // Kernels of one stream by id; a collective after all kernels of lower id. Those of higher id wait for a kept one.
  void chain_streams(graph::Graph& g, ImportReport& report) {
    std::map<std::int64_t, std::uint32_t> last;  // per stream
    std::uint32_t kept = kNoOp;                  // the last one
    std::size_t kernels = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (op_[i] == kNoOp) continue;
      if (!is_computation(nodes_[i])) {
        for (const auto& [stream, op] : last) g.ops[op_[i]].inputs.emplace_back(op);
        if (!is_kept(nodes_[i])) continue;
        for (auto& [stream, op] : last) op = op_[i];
        kept = op_[i];
        continue;
      }
      const auto [it, first] = last.try_emplace(nodes_[i].thread, op_[i]);
      if (!first || kept != kNoOp) g.ops[op_[i]].inputs.emplace_back(first ? kept : it->second);
      it->second = op_[i];
      ++kernels;
    }
    report.guessed.push_back(fmt::format("{} of {} follow each other by id: the trace has no begins",
                                         plural(kernels, "kernel"), plural(last.size(), "stream")));
    std::size_t hosts = 0;
    std::size_t wrappers = 0;
    for (const ChakraNode& n : nodes_) {
      if (n.host) ++(n.kind == ChakraKind::Collective ? wrappers : hosts);
    }
    report.dropped.push_back(plural(hosts, "op") + " of the host, which call the kernels");
    if (wrappers > 0) report.dropped.push_back(plural(wrappers, "wrapper") + " of collectives on the host");
  }

  // The op of the first kernel that a thread of the all-reduces launched.
  std::optional<std::uint32_t> first_backward(ImportReport& report) const {
    std::set<std::int64_t> threads;
    for (const ChakraNode& n : nodes_)
      if (wraps_all_reduce(n)) threads.insert(n.thread);
    std::int64_t launcher = -1;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].host) launcher = nodes_[i].thread;
      if (op_[i] == kNoOp || !is_computation(nodes_[i]) || launcher < 0 || threads.count(launcher) == 0) continue;
      report.guessed.push_back(fmt::format("the backward pass begins with kernel {}, the first that thread {} launched",
                                           nodes_[i].id, launcher));
      return op_[i];
    }
    return std::nullopt;
  }

  struct Edges {
    std::vector<std::vector<OpId>> inputs;
    std::size_t missing = 0;
    std::size_t dropped = 0;  // on nodes that are no ops
  };

  Edges edges(std::size_t ops, bool control) const {
    Edges e;
    e.inputs.resize(ops);
    std::unordered_map<std::uint64_t, std::size_t> index;
    for (std::size_t i = 0; i < nodes_.size(); ++i) index.emplace(nodes_[i].id, i);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (op_[i] == kNoOp) continue;
      const auto add = [&](std::uint64_t id) {
        const auto it = index.find(id);
        if (it == index.end())
          ++e.missing;
        else if (op_[it->second] == kNoOp)
          ++e.dropped;
        else
          e.inputs[op_[i]].emplace_back(op_[it->second]);
      };
      for (const std::uint64_t id : nodes_[i].data) add(id);
      if (control)
        for (const std::uint64_t id : nodes_[i].control) add(id);
    }
    return e;
  }

  static bool acyclic(const std::vector<std::vector<OpId>>& inputs) {
    std::vector<std::vector<std::uint32_t>> next(inputs.size());
    std::vector<std::size_t> open(inputs.size());
    for (std::size_t op = 0; op < inputs.size(); ++op) {
      open[op] = inputs[op].size();
      for (const OpId i : inputs[op]) next[i.index()].push_back(static_cast<std::uint32_t>(op));
    }
    std::vector<std::uint32_t> ready;
    for (std::size_t op = 0; op < inputs.size(); ++op)
      if (open[op] == 0) ready.push_back(static_cast<std::uint32_t>(op));
    std::size_t done = 0;
    while (!ready.empty()) {
      const std::uint32_t op = ready.back();
      ready.pop_back();
      ++done;
      for (const std::uint32_t n : next[op])
        if (--open[n] == 0) ready.push_back(n);
    }
    return done == inputs.size();
  }

  void connect(graph::Graph& g, ImportReport& report) const {
    Edges e = edges(g.ops.size(), true);
    if (!acyclic(e.inputs)) {
      e = edges(g.ops.size(), false);
      report.dropped.push_back("ctrl_deps: together with data_deps they form a circle");
    }
    for (std::size_t op = 0; op < g.ops.size(); ++op) g.ops[op].inputs = std::move(e.inputs[op]);
    if (e.missing > 0) report.dropped.push_back(plural(e.missing, "dependency") + " on nodes that are not in the file");
    if (e.dropped > 0)
      report.dropped.push_back(plural(e.dropped, "dependency") + " on nodes that are no ops of the workload");
  }

  // Backward from op `backward` on where that is known; else from what the all-reduces need.
  void set_phases(graph::Graph& g, std::optional<std::uint32_t> backward, ImportReport& report) const {
    std::vector<std::uint32_t> open;
    const auto mark = [&](std::uint32_t op) {
      if (g.ops[op].phase == Phase::Backward) return;
      g.ops[op].phase = Phase::Backward;
      open.push_back(op);
    };
    bool any = false;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (op_[i] == kNoOp || !all_reduces(nodes_[i])) continue;
      any = true;
      mark(op_[i]);
      if (!backward)
        for (const OpId input : g.ops[op_[i]].inputs) mark(static_cast<std::uint32_t>(input.index()));
    }
    if (backward)
      for (std::uint32_t op = *backward; op < g.ops.size(); ++op) mark(op);
    std::vector<std::vector<std::uint32_t>> next(g.ops.size());
    for (std::size_t op = 0; op < g.ops.size(); ++op)
      for (const OpId i : g.ops[op].inputs) next[i.index()].push_back(static_cast<std::uint32_t>(op));
    while (!open.empty()) {
      const std::uint32_t op = open.back();
      open.pop_back();
      for (const std::uint32_t n : next[op]) mark(n);
    }
    if (any && !backward)
      report.guessed.push_back("backward are the ops that all-reduces need, and all that depends on them");
  }

  void make_parameters(graph::Graph& g, ImportReport& report) const {
    const auto reader = std::find_if(g.ops.begin(), g.ops.end(), [](const graph::Op& op) {
      return op.phase == Phase::Forward && op.inputs.empty();
    });
    double measured_ms = 0;
    double least_ms = 0;
    double bytes = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const ChakraNode& n = nodes_[i];
      if (op_[i] == kNoOp || !all_reduces(n)) continue;
      graph::Parameter p;
      p.name = g.ops[op_[i]].name;
      p.bytes = Bytes(*n.bytes);
      p.gradient = OpId(op_[i]);
      if (reader != g.ops.end()) reader->reads.emplace_back(g.parameters.size());
      g.parameters.push_back(std::move(p));
      measured_ms += static_cast<double>(n.duration_us) * 1e-3;
      least_ms += static_cast<double>(n.transfer_us.value_or(0)) * 1e-3;
      bytes += static_cast<double>(*n.bytes);
    }
    if (g.parameters.empty()) return;
    if (least_ms > 0)
      report.read.push_back(
          fmt::format("the all-reduces moved {:.0f} bytes in {:.3f} ms (least over the ranks), {:.3f} GB/s", bytes,
                      least_ms, bytes / least_ms * 1e-6));
    if (reader != g.ops.end())
      report.guessed.push_back(
          fmt::format("{} reads all parameters: the trace does not say who does", escape_control(reader->name)));
    if (measured_ms > 0)
      report.dropped.push_back(
          fmt::format("the measured time of the all-reduces, {:.3f} ms: the network gives it", measured_ms));
  }

  const std::vector<ChakraNode>& nodes_;
  const std::string& path_;
  std::vector<std::uint32_t> op_;  // per node; kNoOp: none
};

}  // namespace

ImportResult import_chakra(const std::string& text, const std::string& path, const ImportOptions& options) {
  ImportResult result;
  ChakraTrace trace = read_chakra(text, path);
  match_chakra_ranks(trace, path, options, result.report);
  Builder builder(trace, path);
  builder.build(result);
  finish_graph(result, path, options, {"chakra", "Chakra execution trace", "trace"});
  builder.report_totals(result.graph, result.report);
  return result;
}

}  // namespace stretto::io
