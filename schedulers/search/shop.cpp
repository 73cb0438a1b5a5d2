// SPDX-License-Identifier: Apache-2.0
#include "schedulers/search/shop.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace stretto::search {

namespace {

using bounds::Job;
using bounds::TwoStageJob;
using Jobs = std::vector<TwoStageJob>;
using Sequence = std::vector<std::uint32_t>;

// On machine 0 or 1, `before` ends before `after` begins.
struct Pair {
  int machine = 0;
  std::uint32_t before = 0;
  std::uint32_t after = 0;
};

struct Node {
  std::vector<Pair> decided;
  Duration bound;
  std::uint64_t number = 0;
};

struct Later {
  bool operator()(const Node& a, const Node& b) const {
    return std::tie(a.bound, a.number) > std::tie(b.bound, b.number);
  }
};

// Both machines under the decisions of a node.
struct Machines {
  std::vector<Job> job[2];
};

// A job cannot begin before those decided to go before it have ended: raises heads, until nothing changes.
void raise_heads(const std::vector<Pair>& decided, int machine, std::vector<Job>& jobs) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Pair& pair : decided) {
      if (pair.machine != machine) continue;
      const Duration least = jobs[pair.before].head + jobs[pair.before].time;
      if (jobs[pair.after].head >= least) continue;
      jobs[pair.after].head = least;
      changed = true;
    }
  }
}

void raise_tails(const std::vector<Pair>& decided, int machine, std::vector<Job>& jobs) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Pair& pair : decided) {
      if (pair.machine != machine) continue;
      const Duration least = jobs[pair.after].time + jobs[pair.after].tail;
      if (jobs[pair.before].tail >= least) continue;
      jobs[pair.before].tail = least;
      changed = true;
    }
  }
}

Machines machines_of(const Jobs& jobs, const std::vector<Pair>& decided) {
  Machines m;
  for (const TwoStageJob& j : jobs) {
    m.job[0].push_back({j.head, j.first, Duration()});
    m.job[1].push_back({Duration(), j.second, j.tail});
  }
  raise_heads(decided, 0, m.job[0]);
  raise_tails(decided, 1, m.job[1]);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    m.job[1][i].head = m.job[0][i].head + jobs[i].first + jobs[i].lag;
    m.job[0][i].tail = jobs[i].lag + jobs[i].second + m.job[1][i].tail;
  }
  raise_heads(decided, 1, m.job[1]);
  raise_tails(decided, 0, m.job[0]);
  return m;
}

struct Run {
  Sequence order[2];
  std::vector<Duration> start[2];  // per job
  Duration cost;
  std::uint32_t last = 0;  // the job that decides the cost
};

Duration time_of(const TwoStageJob& job, int machine) { return machine == 0 ? job.first : job.second; }

void run_machine(const Jobs& jobs, int machine, Run& run) {
  run.start[machine].resize(jobs.size());
  Duration now;
  for (const std::uint32_t j : run.order[machine]) {
    const Duration there = machine == 0 ? jobs[j].head : run.start[0][j] + jobs[j].first + jobs[j].lag;
    now = std::max(now, there);
    run.start[machine][j] = now;
    now += time_of(jobs[j], machine);
    if (machine == 1 && now + jobs[j].tail > run.cost) {
      run.cost = now + jobs[j].tail;
      run.last = j;
    }
  }
}

Run run_of(const Jobs& jobs, const std::vector<Pair>& decided, Machines m) {
  Run run;
  run.order[0] = bounds::largest_tail_first(m.job[0]).order;
  run_machine(jobs, 0, run);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    m.job[1][i].head = std::max(m.job[1][i].head, run.start[0][i] + jobs[i].first + jobs[i].lag);
  raise_heads(decided, 1, m.job[1]);
  run.order[1] = bounds::largest_tail_first(m.job[1]).order;
  run_machine(jobs, 1, run);
  return run;
}

// The jobs of a machine that follow each other without idle time up to `end`, in their order.
Sequence block_of(const Jobs& jobs, const Run& run, int machine, std::uint32_t end) {
  const Sequence& order = run.order[machine];
  auto place = static_cast<std::size_t>(std::find(order.begin(), order.end(), end) - order.begin());
  Sequence block{end};
  for (; place > 0; --place) {
    const std::uint32_t before = order[place - 1];
    if (run.start[machine][before] + time_of(jobs[before], machine) < run.start[machine][order[place]]) break;
    block.insert(block.begin(), before);
  }
  return block;
}

// What the decisions imply on one machine: (i, j) if i goes before j, through others too.
class Implied {
 public:
  Implied(const std::vector<Pair>& decided, int machine) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> after;
    for (const Pair& pair : decided)
      if (pair.machine == machine) after[pair.before].push_back(pair.after);
    for (const auto& [from, next] : after) {
      std::vector<std::uint32_t> open = next;
      while (!open.empty()) {
        const std::uint32_t to = open.back();
        open.pop_back();
        if (!pairs_.emplace(from, to).second) continue;
        if (const auto more = after.find(to); more != after.end())
          open.insert(open.end(), more->second.begin(), more->second.end());
      }
    }
  }
  bool decided(std::uint32_t a, std::uint32_t b) const { return pairs_.contains({a, b}) || pairs_.contains({b, a}); }

 private:
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs_;
};

// An undecided pair of the critical path of `run`: the longest message before the end of a block, else the pair whose
// shorter message is the longest; nothing if all are decided.
std::optional<Pair> pair_to_decide(const Jobs& jobs, const std::vector<Pair>& decided, const Run& run) {
  const Sequence second = block_of(jobs, run, 1, run.last);
  const Sequence blocks[2] = {block_of(jobs, run, 0, second.front()), second};
  const Implied implied[2] = {Implied(decided, 0), Implied(decided, 1)};
  std::optional<Pair> best;
  Duration longest;
  const auto offer = [&](int machine, std::uint32_t before, std::uint32_t after, Duration length) {
    if ((best && length <= longest) || implied[machine].decided(before, after)) return;
    best = Pair{machine, before, after};
    longest = length;
  };
  for (const int machine : {1, 0})
    for (const std::uint32_t j : blocks[machine])
      if (j != blocks[machine].back()) offer(machine, j, blocks[machine].back(), time_of(jobs[j], machine));
  if (best) return best;
  for (const int machine : {1, 0})
    for (std::size_t i = 0; i < blocks[machine].size(); ++i)
      for (std::size_t k = i + 1; k + 1 < blocks[machine].size(); ++k) {
        const std::uint32_t a = blocks[machine][i];
        const std::uint32_t b = blocks[machine][k];
        offer(machine, a, b, std::min(time_of(jobs[a], machine), time_of(jobs[b], machine)));
      }
  return best;
}

}  // namespace

Duration flow_shop_cost(const Jobs& jobs, const Sequence& first, const Sequence& second) {
  Run run;
  run.order[0] = first;
  run.order[1] = second;
  run_machine(jobs, 0, run);
  run_machine(jobs, 1, run);
  return run.cost;
}

ShopResult flow_shop(const Jobs& jobs, std::uint64_t max_states) {
  ShopResult result;
  result.cost = Duration::ps(std::numeric_limits<std::int64_t>::max());
  std::priority_queue<Node, std::vector<Node>, Later> queue;
  Duration leaves = result.cost;
  std::uint64_t number = 0;
  const auto push = [&](std::vector<Pair> decided, Duration least) {
    Machines m = machines_of(jobs, decided);
    const Duration bound = std::max({least, bounds::one_machine_bound(m.job[0]), bounds::one_machine_bound(m.job[1])});
    if (bound < result.cost) queue.push({std::move(decided), bound, number++});
  };
  push({}, bounds::two_machine_bound(jobs));
  while (!queue.empty() && queue.top().bound < result.cost && result.states < max_states) {
    const Node node = queue.top();
    queue.pop();
    ++result.states;
    const Run run = run_of(jobs, node.decided, machines_of(jobs, node.decided));
    if (run.cost < result.cost) {
      result.cost = run.cost;
      result.first = run.order[0];
      result.second = run.order[1];
    }
    const std::optional<Pair> pair = pair_to_decide(jobs, node.decided, run);
    if (!pair) {
      // The path is decided, so that the bound has it in it, but for messages that take no time.
      leaves = std::min(leaves, node.bound);
      continue;
    }
    for (const Pair& decision : {*pair, Pair{pair->machine, pair->after, pair->before}}) {
      std::vector<Pair> decided = node.decided;
      decided.push_back(decision);
      push(std::move(decided), node.bound);
    }
  }
  result.bound = std::min(result.cost, leaves);
  if (!queue.empty()) result.bound = std::min(result.bound, queue.top().bound);
  result.proven = result.bound == result.cost;
  return result;
}

}  // namespace stretto::search
