// SPDX-License-Identifier: Apache-2.0
#include "schedulers/search/forward.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "schedulers/search/peel.hpp"
#include "sim/base/random.hpp"

namespace stretto::search {

namespace {

using Word = graph::BitMatrix::Word;
using Set = std::vector<Word>;

struct SetHash {
  std::size_t operator()(const Set& set) const {
    std::uint64_t h = 0;
    for (const Word w : set) h = mix64(h ^ mix64(w + 0x9E3779B97F4A7C15ULL));
    return static_cast<std::size_t>(h);
  }
};

bool inside(std::span<const Word> a, std::span<const Word> b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] & ~b[i]) != 0) return false;
  return true;
}

// The ops that need the same transfers.
struct Group {
  Set needs;
  std::int64_t work = 0;
};

// A step from a set: the transfers that complete at least one group.
struct Block {
  Set set;
  std::int64_t time = 0;
  std::int64_t gain = 0;  // work that becomes possible
};

struct Node {
  Set sent;
  std::int64_t time = 0;  // m(S)
  std::int64_t work = 0;  // f(S)
  std::int64_t peak = 0;
  std::int64_t bound = 0;    // of the peak
  bool exact_bound = false;  // `bound` has the tail bound in it, not only those of the nodes before
  std::int64_t trail = -1;

  std::int64_t level() const { return time - work; }
};

// Looks at needs (peel.hpp) in one search, after which bounds are peeled no more: some seconds.
constexpr std::uint64_t kPeelSteps = 2'000'000'000;

class Space {
 public:
  explicit Space(const bounds::ForwardProblem& problem)
      : problem_(problem), words_((problem.transfer.size() + 63) / 64) {
    std::map<Set, std::int64_t> groups;
    for (std::size_t o = 0; o < problem.compute.size(); ++o) {
      total_ += problem.compute[o].ps();
      const auto row = problem.needs.row(o);
      groups[Set(row.begin(), row.end())] += problem.compute[o].ps();
    }
    for (auto& [needs, work] : groups) {
      if (std::all_of(needs.begin(), needs.end(), [](Word w) { return w == 0; }))
        free_work_ = work;
      else
        groups_.push_back({needs, work});
    }
    for (const Duration m : problem.transfer) all_time_ += m.ps();
  }

  std::int64_t total() const { return total_; }

  Node root() {
    Node node;
    node.sent.assign(words_, 0);
    node.work = free_work_;
    tighten(node);
    return node;
  }

  bool complete(const Node& node) const { return node.work == total_ && open(node).empty(); }

  // Blocks that contain no other block, each once, in a fixed order.
  std::vector<Block> blocks(const Node& node) const {
    const std::vector<const Group*> groups = open(node);
    struct Rest {
      int size;
      Set set;
    };
    std::vector<Rest> rests;
    rests.reserve(groups.size());
    for (const Group* group : groups) {
      Rest rest{0, Set(words_)};
      for (std::size_t i = 0; i < words_; ++i) {
        rest.set[i] = group->needs[i] & ~node.sent[i];
        rest.size += std::popcount(rest.set[i]);
      }
      rests.push_back(std::move(rest));
    }
    std::sort(rests.begin(), rests.end(),
              [](const Rest& x, const Rest& y) { return x.size != y.size ? x.size < y.size : x.set < y.set; });
    std::vector<Block> result;
    for (Rest& rest : rests)
      if (std::none_of(result.begin(), result.end(), [&](const Block& b) { return inside(b.set, rest.set); }))
        result.push_back({std::move(rest.set), 0, 0});
    Set sent(words_);
    for (Block& block : result) {
      for (std::size_t i = 0; i < words_; ++i) sent[i] = node.sent[i] | block.set[i];
      graph::for_each_bit(block.set, [&](std::size_t r) { block.time += problem_.transfer[r].ps(); });
      for (const Group* group : groups)
        if (inside(group->needs, sent)) block.gain += group->work;
    }
    return result;
  }

  Node after(const Node& node, const Block& block) {
    Node next = node;
    for (std::size_t i = 0; i < words_; ++i) next.sent[i] |= block.set[i];
    next.peak = std::max(node.peak, node.level() + block.time);
    next.time += block.time;
    next.work += block.gain;
    next.bound = std::max(node.bound, next.peak);
    next.exact_bound = false;
    trail_.push_back({block.set, node.trail});
    next.trail = static_cast<std::int64_t>(trail_.size()) - 1;
    return next;
  }

  // Of the peak that any order through this node ends with.
  std::int64_t lower_bound(const Node& node) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> rest;  // work that waits for the transfer, time
    std::vector<std::int64_t> tail(problem_.transfer.size());
    for (const Group* group : open(node))
      graph::for_each_bit(group->needs, [&](std::size_t r) { tail[r] += group->work; });
    for (std::size_t r = 0; r < tail.size(); ++r)
      if ((node.sent[r / 64] >> (r % 64) & 1) == 0) rest.emplace_back(tail[r], problem_.transfer[r].ps());
    std::sort(rest.rbegin(), rest.rend());
    std::int64_t bound = std::max(node.peak, all_time_ - total_);
    std::int64_t sent = node.time;
    for (const auto& [work, time] : rest) {
      sent += time;
      bound = std::max(bound, sent + work - total_);
    }
    return std::max<std::int64_t>(bound, 0);
  }

  // `strong`: by peeling as well, where that is not too long.
  void tighten(Node& node, bool strong = false) const {
    node.bound = std::max(node.bound, lower_bound(node));
    if (strong) node.bound = std::max(node.bound, peeled(node));
    node.exact_bound = true;
  }

  // As lower_bound, by peel.hpp; 0 once that has taken long enough.
  std::int64_t peeled(const Node& node) const {
    if (peel_steps_ > kPeelSteps) return 0;
    std::vector<std::uint32_t> number(problem_.transfer.size(), 0);
    std::vector<std::int64_t> time;
    for (std::size_t r = 0; r < number.size(); ++r) {
      if ((node.sent[r / 64] >> (r % 64) & 1) != 0) continue;
      number[r] = static_cast<std::uint32_t>(time.size());
      time.push_back(problem_.transfer[r].ps());
    }
    std::vector<PeelGroup> groups;
    Set rest(words_);
    for (const Group* group : open(node)) {
      PeelGroup& g = groups.emplace_back();
      g.work = group->work;
      for (std::size_t i = 0; i < words_; ++i) rest[i] = group->needs[i] & ~node.sent[i];
      graph::for_each_bit(rest, [&](std::size_t r) { g.needs.push_back(number[r]); });
    }
    return std::max<std::int64_t>(0, node.level() + peel_bound(time, groups, peel_steps_));
  }

  // Takes every block that the commit rule allows.
  void commit(Node& node) {
    for (;;) {
      const std::vector<Block> steps = blocks(node);
      const auto sure = std::find_if(steps.begin(), steps.end(), [&](const Block& b) {
        return node.level() + b.time <= node.bound && b.time <= b.gain;
      });
      if (sure == steps.end()) return;
      node = after(node, *sure);
    }
  }

  // Completes a node: blocks that pay for themselves first, the shortest first; then those of the largest gain.
  Node greedy(Node node) {
    for (;;) {
      const std::vector<Block> steps = blocks(node);
      if (steps.empty()) break;
      const auto key = [](const Block& b) {
        const bool pays = b.gain >= b.time;
        return std::tuple(!pays, pays ? b.time : -b.gain, b.time);
      };
      node = after(node, *std::min_element(steps.begin(), steps.end(),
                                           [&](const Block& a, const Block& b) { return key(a) < key(b); }));
    }
    return node;
  }

  std::int64_t final_peak(const Node& node) const { return std::max<std::int64_t>({0, node.peak, all_time_ - total_}); }

  std::vector<std::uint32_t> order(const Node& node) const {
    std::vector<const Set*> steps;
    for (std::int64_t t = node.trail; t >= 0; t = trail_[static_cast<std::size_t>(t)].second)
      steps.push_back(&trail_[static_cast<std::size_t>(t)].first);
    std::vector<std::uint32_t> order;
    std::vector<bool> taken(problem_.transfer.size());
    for (auto it = steps.rbegin(); it != steps.rend(); ++it)
      graph::for_each_bit(**it, [&](std::size_t r) {
        taken[r] = true;
        order.push_back(static_cast<std::uint32_t>(r));
      });
    for (std::size_t r = 0; r < taken.size(); ++r)
      if (!taken[r]) order.push_back(static_cast<std::uint32_t>(r));
    return order;
  }

 private:
  std::vector<const Group*> open(const Node& node) const {
    std::vector<const Group*> list;
    for (const Group& group : groups_)
      if (!inside(group.needs, node.sent)) list.push_back(&group);
    return list;
  }

  const bounds::ForwardProblem& problem_;
  std::size_t words_;
  std::vector<Group> groups_;
  std::int64_t total_ = 0;      // P
  std::int64_t all_time_ = 0;   // M
  std::int64_t free_work_ = 0;  // of ops that need nothing
  mutable std::uint64_t peel_steps_ = 0;
  std::vector<std::pair<Set, std::int64_t>> trail_;
};

ForwardResult result_of(const Space& space, const Node& best, std::int64_t bound, std::uint64_t states) {
  ForwardResult result;
  result.order = space.order(best);
  result.cost = Duration::ps(space.total() + space.final_peak(best));
  result.bound = std::min(result.cost, Duration::ps(space.total() + bound));
  result.proven = result.bound == result.cost;
  result.states = states;
  return result;
}

constexpr std::uint64_t kGreedyEvery = 64;
// Most problems end with fewer; from then on bounds may cost more.
constexpr std::uint64_t kEasyStates = 64;

}  // namespace

ForwardResult best_first(const bounds::ForwardProblem& problem, std::uint64_t max_states) {
  Space space(problem);
  const Node root = space.root();
  Node best = space.greedy(root);
  using Key = std::tuple<std::int64_t, std::int64_t, std::uint64_t>;  // bound, transfers left, number
  std::priority_queue<std::pair<Key, std::size_t>, std::vector<std::pair<Key, std::size_t>>, std::greater<>> queue;
  std::vector<Node> nodes;
  std::unordered_map<Set, std::int64_t, SetHash> peaks;
  const auto push = [&](Node node) {
    if (node.bound >= space.final_peak(best)) return;
    const auto [it, added] = peaks.try_emplace(node.sent, node.peak);
    if (!added && it->second <= node.peak) return;
    it->second = node.peak;
    queue.push({{node.bound, -node.time, nodes.size()}, nodes.size()});
    nodes.push_back(std::move(node));
  };
  push(root);
  std::uint64_t states = 0;
  std::int64_t least = root.bound;  // of any order
  while (!queue.empty() && states < max_states) {
    const auto [key, index] = queue.top();
    if (std::get<0>(key) >= space.final_peak(best)) break;
    queue.pop();
    Node node = std::exchange(nodes[index], Node());
    if (peaks.at(node.sent) < node.peak) continue;
    if (!node.exact_bound) {
      space.tighten(node, states >= kEasyStates);
      if (node.bound > std::get<0>(key)) {
        if (node.bound >= space.final_peak(best)) continue;
        queue.push({{node.bound, -node.time, index}, index});
        nodes[index] = std::move(node);
        continue;
      }
    }
    ++states;
    if (states == kEasyStates) {
      least = std::max(least, space.peeled(root));
      if (least >= space.final_peak(best)) break;
    }
    space.commit(node);
    if (states % kGreedyEvery == 0)
      if (Node candidate = space.greedy(node); space.final_peak(candidate) < space.final_peak(best))
        best = std::move(candidate);
    const std::vector<Block> steps = space.blocks(node);
    if (steps.empty() && space.final_peak(node) < space.final_peak(best)) best = node;
    for (const Block& block : steps) push(space.after(node, block));
  }
  if (!queue.empty()) least = std::max(least, std::get<0>(queue.top().first));
  return result_of(space, best, queue.empty() ? space.final_peak(best) : std::min(space.final_peak(best), least),
                   states);
}

ForwardResult beam(const bounds::ForwardProblem& problem, std::size_t width) {
  Space space(problem);
  const Node root = space.root();
  Node best = space.greedy(root);
  std::vector<Node> level{root};
  std::uint64_t states = 0;
  while (!level.empty()) {
    std::vector<Node> next;
    std::unordered_map<Set, std::size_t, SetHash> place;
    for (Node& node : level) {
      ++states;
      space.commit(node);
      const std::vector<Block> steps = space.blocks(node);
      if (steps.empty() && space.final_peak(node) < space.final_peak(best)) best = node;
      for (const Block& block : steps) {
        Node after = space.after(node, block);
        space.tighten(after);
        if (after.bound >= space.final_peak(best)) continue;
        const auto [it, added] = place.try_emplace(after.sent, next.size());
        if (added)
          next.push_back(std::move(after));
        else if (after.peak < next[it->second].peak)
          next[it->second] = std::move(after);
      }
    }
    std::stable_sort(next.begin(), next.end(), [](const Node& a, const Node& b) {
      return std::pair(a.bound, a.level()) < std::pair(b.bound, b.level());
    });
    if (next.size() > width) next.resize(width);
    level = std::move(next);
  }
  return result_of(space, best, root.bound, states);
}

}  // namespace stretto::search
