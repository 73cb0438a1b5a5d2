// SPDX-License-Identifier: Apache-2.0
#include "schedulers/search/peel.hpp"

#include <algorithm>
#include <limits>

namespace stretto::search {

namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFF;

class Peeling {
 public:
  Peeling(const std::vector<std::int64_t>& time, const std::vector<PeelGroup>& groups)
      : time_(time), groups_(groups), users_(time.size()), waiting_(time.size(), 0), room_(time.size(), 0) {
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      surplus_.push_back(groups[g].work);
      flow_.emplace_back(groups[g].needs.size(), 0);
      total_ += groups[g].work;
      for (std::uint32_t i = 0; i < groups[g].needs.size(); ++i) {
        const std::uint32_t t = groups[g].needs[i];
        users_[t].push_back({g, i});
        waiting_[t] += groups[g].work;
      }
    }
    // Flow comes first from groups that need little: work that is left over then waits for more.
    for (std::vector<User>& users : users_)
      std::stable_sort(users.begin(), users.end(), [&](const User& a, const User& b) {
        return groups[a.group].needs.size() < groups[b.group].needs.size();
      });
    from_group_.resize(groups.size());
    via_.resize(time.size());
  }

  std::int64_t run(std::uint64_t& steps) {
    std::vector<std::uint32_t> rest;
    std::int64_t sum = 0;
    for (std::uint32_t t = 0; t < time_.size(); ++t) {
      rest.push_back(t);
      sum += time_[t];
    }
    std::int64_t bound = std::numeric_limits<std::int64_t>::min();
    while (!rest.empty()) {
      const auto last = std::min_element(rest.begin(), rest.end(), [&](std::uint32_t a, std::uint32_t b) {
        return waiting_[a] != waiting_[b] ? waiting_[a] < waiting_[b] : a < b;
      });
      const std::uint32_t r = *last;
      bound = std::max(bound, sum - total_ + waiting_[r]);
      sum -= time_[r];
      rest.erase(last);
      room_[r] = time_[r];
      while (room_[r] > 0 && augment(r)) {
      }
    }
    steps += steps_;
    return bound;
  }

 private:
  struct User {
    std::uint32_t group;
    std::uint32_t place;  // of the transfer among the group's needs
  };

  // One path of flow from a group with work left to `sink`; groups on the way bring less to one transfer and more to
  // another.
  bool augment(std::uint32_t sink) {
    std::fill(from_group_.begin(), from_group_.end(), Step{kNone, 0});
    std::fill(via_.begin(), via_.end(), Step{kNone, 0});
    queue_.assign(1, sink);
    via_[sink] = {0, 0};
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const std::uint32_t t = queue_[i];
      steps_ += users_[t].size();
      for (const User& u : users_[t]) {
        if (from_group_[u.group].to != kNone) continue;
        from_group_[u.group] = {t, u.place};
        if (surplus_[u.group] > 0) return push(u.group, sink);
        const auto& needs = groups_[u.group].needs;
        steps_ += needs.size();
        for (std::uint32_t k = 0; k < needs.size(); ++k)
          if (flow_[u.group][k] > 0 && via_[needs[k]].to == kNone) {
            via_[needs[k]] = {u.group, k};
            queue_.push_back(needs[k]);
          }
      }
    }
    return false;
  }

  void change_surplus(std::uint32_t g, std::int64_t amount) {
    surplus_[g] += amount;
    total_ += amount;
    for (const std::uint32_t t : groups_[g].needs) waiting_[t] += amount;
  }

  bool push(std::uint32_t first, std::uint32_t sink) {
    std::int64_t amount = std::min(surplus_[first], room_[sink]);
    for (std::uint32_t t = from_group_[first].to; t != sink; t = from_group_[via_[t].to].to)
      amount = std::min(amount, flow_[via_[t].to][via_[t].place]);
    std::uint32_t g = first;
    for (;;) {
      const Step step = from_group_[g];
      flow_[g][step.place] += amount;
      if (step.to == sink) break;
      const Step back = via_[step.to];
      flow_[back.to][back.place] -= amount;
      g = back.to;
    }
    room_[sink] -= amount;
    change_surplus(first, -amount);
    return true;
  }

  struct Step {
    std::uint32_t to;     // group's flow goes to this transfer; transfer's flow comes back to this group
    std::uint32_t place;  // among the group's needs
  };
  const std::vector<std::int64_t>& time_;
  const std::vector<PeelGroup>& groups_;
  std::vector<std::vector<User>> users_;         // per transfer
  std::vector<std::int64_t> waiting_;            // per transfer: work left of the groups that need it
  std::vector<std::int64_t> room_;               // per transfer outside A
  std::vector<std::int64_t> surplus_;            // per group: work that flowed nowhere
  std::vector<std::vector<std::int64_t>> flow_;  // per group and need
  std::int64_t total_ = 0;                       // of surplus
  std::vector<Step> from_group_;
  std::vector<Step> via_;
  std::vector<std::uint32_t> queue_;
  std::uint64_t steps_ = 0;
};

}  // namespace

std::int64_t peel_bound(const std::vector<std::int64_t>& time, const std::vector<PeelGroup>& groups,
                        std::uint64_t& steps) {
  return time.empty() ? 0 : Peeling(time, groups).run(steps);
}

}  // namespace stretto::search
