// SPDX-License-Identifier: Apache-2.0
#include "models/graph/check.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

namespace stretto::graph {

namespace {

constexpr std::size_t kMaxNamedOps = 12;  // a longer cycle is abridged

class Checker {
 public:
  explicit Checker(const Graph& graph) : graph_(graph) {}

  std::vector<Diagnostic> run() {
    if (graph_.ops.empty()) add("ops", "the graph has no ops", "a step needs at least one compute op");
    if (graph_.batch < 1 || graph_.batch > kMaxBatch)
      add("batch", fmt::format("batch is {}", graph_.batch), fmt::format("1 to {}", kMaxBatch));
    check_names("ops", graph_.ops);
    check_names("parameters", graph_.parameters);
    check_ops();
    check_parameters();
    if (!dangling_) check_cycle();
    return std::move(found_);
  }

 private:
  void add(std::string key, std::string message, std::string hint = "") {
    found_.push_back({Severity::Error, {}, std::move(key), std::move(message), std::move(hint)});
  }

  template <class Item>
  void check_names(std::string_view list, const std::vector<Item>& items) {
    std::map<std::string_view, std::size_t> first;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto [it, is_new] = first.emplace(items[i].name, i);
      const auto key = fmt::format("{}[{}].name", list, i);
      if (items[i].name.empty())
        add(key, "the name is empty");
      else if (!is_new)
        add(key, fmt::format("'{}' is already the name of {}[{}]", items[i].name, list, it->second),
            "names must be unique");
    }
  }

  void check_ops() {
    Duration total;
    bool too_long = false;
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (op.time < Duration())
        add(fmt::format("ops[{}].time", i), fmt::format("op '{}' takes {} s", op.name, op.time.seconds()),
            "a time must not be negative");
      else if (op.time > kMaxTotalTime - total)
        too_long = true;
      else
        total += op.time;
      for (const auto& [amount, what] : {std::pair{op.flops, "operations"}, std::pair{op.memory_bytes, "bytes"},
                                         std::pair{op.fixed_bytes, "fixed bytes"}})
        if (!(amount >= 0 && amount <= kMaxAmount))
          add(fmt::format("ops[{}]", i), fmt::format("op '{}' has {} {}", op.name, amount, what),
              fmt::format("0 to {}", kMaxAmount));
      for (std::size_t k = 0; k < op.inputs.size(); ++k) check_input(i, k);
      for (std::size_t k = 0; k < op.reads.size(); ++k)
        if (op.reads[k].index() >= graph_.parameters.size())
          add(fmt::format("ops[{}].reads[{}]", i, k),
              fmt::format("op '{}' reads a parameter that is not there", op.name),
              fmt::format("there are {} parameters", graph_.parameters.size()));
    }
    if (too_long) add("ops", "op times add up to too much", fmt::format("at most {} s", kMaxTotalTime.seconds()));
  }

  void check_input(std::size_t i, std::size_t k) {
    const Op& op = graph_.ops[i];
    const auto key = fmt::format("ops[{}].inputs[{}]", i, k);
    if (op.inputs[k].index() >= graph_.ops.size()) {
      dangling_ = true;
      add(key, fmt::format("op '{}' has an input that is not there", op.name),
          fmt::format("there are {} ops", graph_.ops.size()));
      return;
    }
    const Op& input = graph_.ops[op.inputs[k].index()];
    if (op.phase == Phase::Forward && input.phase == Phase::Backward)
      add(key, fmt::format("forward op '{}' comes after backward op '{}'", op.name, input.name),
          "a gradient must not precede an op of the forward pass");
  }

  void check_parameters() {
    Bytes total;
    bool too_large = false;
    for (std::size_t i = 0; i < graph_.parameters.size(); ++i) {
      const Parameter& p = graph_.parameters[i];
      if (p.bytes <= Bytes(0))
        add(fmt::format("parameters[{}].bytes", i), fmt::format("parameter '{}' has {} bytes", p.name, p.bytes.count()),
            "at least 1");
      else if (p.bytes > kMaxTotalBytes - total)
        too_large = true;
      else
        total += p.bytes;
      if (!p.gradient.valid()) continue;
      const auto key = fmt::format("parameters[{}].gradient", i);
      if (p.gradient.index() >= graph_.ops.size())
        add(key, fmt::format("the gradient of '{}' comes from an op that is not there", p.name),
            fmt::format("there are {} ops", graph_.ops.size()));
      else if (graph_.ops[p.gradient.index()].phase != Phase::Backward)
        add(key,
            fmt::format("the gradient of '{}' comes from forward op '{}'", p.name, graph_.ops[p.gradient.index()].name),
            "a backward op completes a gradient");
      if (!p.trainable) add(key, fmt::format("'{}' has a gradient but is not trainable", p.name));
    }
    if (too_large) add("parameters", "bytes add up to too much", fmt::format("at most {}", kMaxTotalBytes.count()));
  }

  // Removes ops without open inputs until none is left; what stays lies on a cycle or behind one.
  void check_cycle() {
    const auto n = graph_.ops.size();
    std::vector<std::size_t> open(n);
    std::vector<std::vector<std::size_t>> users(n);
    for (std::size_t i = 0; i < n; ++i) {
      open[i] = graph_.ops[i].inputs.size();
      for (const OpId input : graph_.ops[i].inputs) users[input.index()].push_back(i);
    }
    std::vector<std::size_t> done;
    for (std::size_t i = 0; i < n; ++i)
      if (open[i] == 0) done.push_back(i);
    for (std::size_t k = 0; k < done.size(); ++k)
      for (const std::size_t user : users[done[k]])
        if (--open[user] == 0) done.push_back(user);
    if (done.size() < n) name_cycle(open);
  }

  // Walks from an op that stayed to an input that stayed until one repeats.
  void name_cycle(const std::vector<std::size_t>& open) {
    std::vector<std::size_t> step_of(open.size(), 0);
    std::vector<std::size_t> path;
    std::size_t at = 0;
    while (open[at] == 0) ++at;
    while (step_of[at] == 0) {
      path.push_back(at);
      step_of[at] = path.size();
      for (const OpId input : graph_.ops[at].inputs)
        if (open[input.index()] != 0) {
          at = input.index();
          break;
        }
    }
    path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(step_of[at] - 1));
    std::string names = fmt::format("'{}'", graph_.ops[path.front()].name);
    for (std::size_t k = path.size(); k-- > 0;) {
      const auto shown = path.size() - k;
      if (shown > kMaxNamedOps && k > 0) continue;
      if (shown > kMaxNamedOps) names += fmt::format(" -> ... {} more", path.size() - kMaxNamedOps - 1);
      names += fmt::format(" -> '{}'", graph_.ops[path[k]].name);
    }
    add("ops", "ops wait for each other in a cycle: " + names, "inputs must not form a cycle");
  }

  const Graph& graph_;
  std::vector<Diagnostic> found_;
  bool dangling_ = false;
};

}  // namespace

std::vector<Diagnostic> check(const Graph& graph) { return Checker(graph).run(); }

}  // namespace stretto::graph
