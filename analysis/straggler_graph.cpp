// SPDX-License-Identifier: Apache-2.0
#include "analysis/straggler_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "sim/base/diagnostic.hpp"

namespace stretto::analysis {

namespace {

using timeline::kOpKinds;
using timeline::Op;
using timeline::OpKind;
using Node = std::uint32_t;

// Clocks of two stages may differ by this much, in seconds, where begins and ends are compared.
constexpr double kClockError = 5e-5;

std::size_t number(OpKind kind) { return static_cast<std::size_t>(kind); }
std::string_view name(OpKind kind) { return timeline::kOpKindNames[number(kind)]; }

struct MessageKind {
  OpKind kind;
  OpKind peer;
  OpKind compute;
  std::int32_t to;  // from a stage or model chunk to its peer
  bool receives;
};
constexpr std::array<MessageKind, 4> kMessages = {{
    {OpKind::ForwardSend, OpKind::ForwardReceive, OpKind::ForwardCompute, 1, false},
    {OpKind::ForwardReceive, OpKind::ForwardSend, OpKind::ForwardCompute, -1, true},
    {OpKind::BackwardSend, OpKind::BackwardReceive, OpKind::BackwardCompute, -1, false},
    {OpKind::BackwardReceive, OpKind::BackwardSend, OpKind::BackwardCompute, 1, true},
}};

// Order in which equal begins stand: by sequence, then by the name of the kind.
bool begins_before(const Op& a, const Op& b) {
  return std::forward_as_tuple(a.start_s, a.sequence, name(a.kind)) <
         std::forward_as_tuple(b.start_s, b.sequence, name(b.kind));
}

class Builder {
 public:
  Builder(const std::vector<Op>& ops, std::int32_t stages) : ops_(ops), stages_(stages) {
    graph_.needs.resize(ops.size());
    graph_.group.assign(ops.size(), StragglerGraph::kNone);
    by_kind_.resize(static_cast<std::size_t>(stages) * kOpKinds);
    computes_.resize(static_cast<std::size_t>(stages));
    for (Node n = 0; n < ops.size(); ++n) {
      graph_.nodes.push_back({ops[n].kind, ops[n].stage, ops[n].sequence});
      of(ops[n].kind, ops[n].stage).push_back(n);
      if (ops[n].kind == OpKind::ForwardCompute || ops[n].kind == OpKind::BackwardCompute)
        computes_[static_cast<std::size_t>(ops[n].stage)].push_back(n);
    }
    for (auto& list : by_kind_) sort(list);
    for (auto& list : computes_) sort(list);
  }

  StragglerGraph build() {
    for (std::int32_t s = 0; s < stages_; ++s) {
      if (computes_[static_cast<std::size_t>(s)].empty()) refuse(fmt::format("stage {} has no computation", s));
      chain(computes_[static_cast<std::size_t>(s)]);
      for (const MessageKind& m : kMessages) {
        chain(of(m.kind, s));
        messages(m, s);
      }
      first_backward_messages(s);
      parameters(s);
      gradients(s);
      end_of_step(s);
    }
    groups();
    find_order();
    return std::move(graph_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw UserError("the timeline does not fit the dependency model: " + what,
                    "understood are steps of pipelines of the kind 1F1B, interleaved or not");
  }

  std::vector<Node>& of(OpKind kind, std::int32_t stage) {
    return by_kind_[static_cast<std::size_t>(stage) * kOpKinds + number(kind)];
  }
  void sort(std::vector<Node>& list) const {
    std::sort(list.begin(), list.end(), [&](Node a, Node b) { return begins_before(ops_[a], ops_[b]); });
  }
  void need(Node node, Node before) { graph_.needs[node].push_back(before); }
  void chain(const std::vector<Node>& list) {
    for (std::size_t i = 1; i < list.size(); ++i) need(list[i], list[i - 1]);
  }

  // Which message of a kind belongs to which computation; ends up in needs and in real_.
  void messages(const MessageKind& m, std::int32_t stage) {
    const std::vector<Node>& list = of(m.kind, stage);
    // By number, which is what a message's place in the list counts.
    std::vector<Node> computes = of(m.compute, stage);
    if (computes.empty() || list.empty()) return;
    double last_begin = ops_[computes.front()].start_s;
    double first_end = ops_[computes.front()].end_s();
    for (const Node n : computes) {
      last_begin = std::max(last_begin, ops_[n].start_s);
      first_end = std::min(first_end, ops_[n].end_s());
    }
    std::sort(computes.begin(), computes.end(), [&](Node a, Node b) { return ops_[a].sequence < ops_[b].sequence; });
    std::vector<Node> launched;
    for (const Node n : list)
      if (m.receives ? ops_[n].start_s <= last_begin + kClockError : ops_[n].end_s() >= first_end - kClockError)
        launched.push_back(n);
    const bool at_an_end = stage == 0 || stage == stages_ - 1;
    std::size_t at = 0;
    if (launched.size() != computes.size()) {
      if (!at_an_end || (!launched.empty() && launched.size() + 1 != computes.size()))
        refuse(fmt::format("stage {} has {} computations {} and {} of their messages {}", stage, computes.size(),
                           name(m.compute), launched.size(), name(m.kind)));
      if (m.receives && !launched.empty()) at = 1;
    }
    for (const Node n : launched) {
      const Node compute = computes[at];
      const std::int32_t chunk = ops_[compute].global_chunk;
      if (chunk < 0) refuse(fmt::format("{} has no gmc", node_name(graph_.nodes[compute])));
      const std::int64_t peer_chunk = std::int64_t{chunk} + m.to;
      if (peer_chunk >= 0 && peer_chunk < chunks()) real_[{number(m.kind), stage}].push_back(n);
      if (m.receives) {
        need(compute, n);
        if (at > 0) need(n, computes[at - 1]);
      } else {
        need(n, compute);
      }
      ++at;
    }
  }

  std::int64_t chunks() {
    if (chunks_ == 0) {
      std::int32_t most = 0;
      for (const Op& o : ops_) most = std::max(most, o.chunk);
      chunks_ = (std::int64_t{most} + 1) * stages_;
    }
    return chunks_;
  }

  void first_backward_messages(std::int32_t stage) {
    const std::vector<Node>& list = computes_[static_cast<std::size_t>(stage)];
    std::size_t first = 0;
    while (first < list.size() && ops_[list[first]].kind != OpKind::BackwardCompute) ++first;
    if (first == list.size()) refuse(fmt::format("stage {} has no backward computation", stage));
    if (first < 2) return;
    for (const OpKind kind : {OpKind::BackwardReceive, OpKind::BackwardSend})
      for (const Node n : of(kind, stage))
        if (ops_[n].sequence == 0) need(n, list[first - 2]);
  }

  void parameters(std::int32_t stage) {
    std::vector<Node> transfers = of(OpKind::ParametersAllGather, stage);
    const std::vector<Node> gathers = by_sequence(transfers);
    const std::vector<Node>& scatters = of(OpKind::GradientsReduceScatter, stage);
    transfers.insert(transfers.end(), scatters.begin(), scatters.end());
    sort(transfers);
    chain(transfers);
    std::set<std::int32_t> done;
    for (auto it = gathers.rbegin(); it != gathers.rend(); ++it) {
      const std::int32_t chunk = ops_[*it].chunk;
      if (!done.insert(chunk).second) continue;
      // In the order of begins: the first one.
      for (const Node n : of(OpKind::ForwardCompute, stage))
        if (ops_[n].chunk == chunk) {
          need(n, *it);
          break;
        }
    }
  }

  bool overlapped() const {
    return std::any_of(ops_.begin(), ops_.end(), [](const Op& o) { return o.kind == OpKind::SeparateAllReduce; });
  }

  void gradients(std::int32_t stage) {
    if (!overlapped()) return;
    std::set<std::int32_t> done;
    for (const Node scatter : by_sequence(of(OpKind::GradientsReduceScatter, stage))) {
      const std::int32_t chunk = ops_[scatter].chunk;
      if (!done.insert(chunk).second) continue;
      const auto last = last_end(of(OpKind::BackwardCompute, stage), chunk);
      if (last) need(scatter, *last);
    }
  }

  void end_of_step(std::int32_t stage) {
    std::vector<Node> chained;
    const auto add = [&](OpKind kind) {
      for (const Node n : by_sequence(of(kind, stage))) chained.push_back(n);
    };
    add(OpKind::GarbageCollection);
    const std::size_t after_gc = chained.size();
    add(OpKind::LayernormAllReduce);
    add(OpKind::EmbeddingAllReduce);
    add(overlapped() ? OpKind::SeparateAllReduce : OpKind::GradientsReduceScatter);
    add(OpKind::ClipGradients);
    add(OpKind::Optimizer);
    if (chained.empty()) return;
    chain(chained);
    need(chained.front(), *last_end(computes_[static_cast<std::size_t>(stage)], std::nullopt));
    const std::vector<Node> scatters = by_sequence(of(OpKind::GradientsReduceScatter, stage));
    if (overlapped() && !scatters.empty() && after_gc < chained.size()) need(chained[after_gc], scatters.back());
  }

  std::vector<Node> by_sequence(std::vector<Node> list) const {
    std::sort(list.begin(), list.end(), [&](Node a, Node b) { return ops_[a].sequence < ops_[b].sequence; });
    return list;
  }

  // The first in `list` of those that end last.
  std::optional<Node> last_end(const std::vector<Node>& list, std::optional<std::int32_t> chunk) const {
    std::optional<Node> last;
    for (const Node n : list)
      if ((!chunk || ops_[n].chunk == *chunk) && (!last || ops_[n].end_s() > ops_[*last].end_s())) last = n;
    return last;
  }

  void add_group(std::vector<Node> members, bool across_dp) {
    if (members.empty()) return;
    for (const Node n : members) graph_.group[n] = static_cast<std::uint32_t>(graph_.groups.size());
    graph_.groups.push_back({std::move(members), across_dp});
  }

  void groups() {
    for (const MessageKind& m : kMessages) {
      if (m.receives) continue;
      for (std::int32_t s = 0; s < stages_; ++s) {
        const std::int32_t peer = (s + m.to + stages_) % stages_;
        const std::vector<Node>& sends = real_[{number(m.kind), s}];
        const std::vector<Node>& receives = real_[{number(m.peer), peer}];
        if (sends.size() != receives.size())
          refuse(fmt::format("stage {} has {} messages {}, stage {} has {} messages {}", s, sends.size(), name(m.kind),
                             peer, receives.size(), name(m.peer)));
        for (std::size_t i = 0; i < sends.size(); ++i) add_group({sends[i], receives[i]}, false);
      }
    }
    std::vector<Node> clips;
    std::vector<Node> embeddings;
    for (Node n = 0; n < ops_.size(); ++n) {
      const OpKind kind = ops_[n].kind;
      const bool message =
          std::any_of(kMessages.begin(), kMessages.end(), [&](const MessageKind& m) { return m.kind == kind; });
      if (message && graph_.group[n] == StragglerGraph::kNone) add_group({n}, false);
      if (kind == OpKind::ParametersAllGather || kind == OpKind::GradientsReduceScatter ||
          kind == OpKind::SeparateAllReduce)
        add_group({n}, true);
      if (kind == OpKind::ClipGradients) clips.push_back(n);
      if (kind == OpKind::EmbeddingAllReduce) embeddings.push_back(n);
    }
    // One group per number of the op on its stage; of clipping there is one.
    add_group(clips, true);
    add_group(embeddings, false);
  }

  // A node is ready once all it needs have ended; a group ends when its last member is ready.
  void find_order() {
    const std::size_t n_nodes = ops_.size();
    std::vector<std::vector<Node>> next(n_nodes);
    std::vector<std::size_t> open(n_nodes);
    for (Node n = 0; n < n_nodes; ++n) {
      open[n] = graph_.needs[n].size();
      for (const Node before : graph_.needs[n]) next[before].push_back(n);
    }
    std::vector<std::size_t> waiting;
    for (const StragglerGraph::Group& g : graph_.groups) waiting.push_back(g.members.size());
    std::deque<Node> ready;
    for (Node n = 0; n < n_nodes; ++n)
      if (open[n] == 0) ready.push_back(n);
    const auto end = [&](Node n) {
      for (const Node after : next[n])
        if (--open[after] == 0) ready.push_back(after);
    };
    while (!ready.empty()) {
      const Node n = ready.front();
      ready.pop_front();
      graph_.order.push_back(n);
      const std::uint32_t g = graph_.group[n];
      if (g == StragglerGraph::kNone) {
        end(n);
      } else if (--waiting[g] == 0) {
        for (const Node member : graph_.groups[g].members) end(member);
      }
    }
    if (graph_.order.size() == n_nodes) return;
    for (Node n = 0; n < n_nodes; ++n)
      if (open[n] > 0) refuse(fmt::format("{} waits for itself, through others", node_name(graph_.nodes[n])));
    refuse("members of a group wait for each other");
  }

  const std::vector<Op>& ops_;
  std::int32_t stages_;
  std::int64_t chunks_ = 0;
  std::vector<std::vector<Node>> by_kind_;   // per stage and kind, in the order of begins
  std::vector<std::vector<Node>> computes_;  // per stage, in the order of begins
  std::map<std::pair<std::size_t, std::int32_t>, std::vector<Node>> real_;  // messages with a partner
  StragglerGraph graph_;
};

}  // namespace

std::string node_name(const StragglerGraph::Node& node) {
  return fmt::format("{} {} of stage {}", name(node.kind), node.sequence, node.stage);
}

StragglerGraph straggler_graph(const std::vector<Op>& step, std::int32_t stages) {
  return Builder(step, stages).build();
}

}  // namespace stretto::analysis
