// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/tac.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "models/graph/order.hpp"
#include "schedulers/policies/order.hpp"

namespace stretto::policies {

namespace {

constexpr Duration kInfinite = Duration::ps(std::numeric_limits<std::int64_t>::max());

// Ops with equal needs.
struct Group {
  std::size_t row = 0;  // an op of the group, whose row of the needs matrix is the set
  Duration time;        // of all its ops
  std::size_t count = 0;  // of its parameters that are not emitted
  Duration transfer;      // sum of their M
};

std::vector<Group> make_groups(const graph::Graph& graph, const graph::BitMatrix& needs,
                               const std::vector<Duration>& transfer_time) {
  std::vector<std::size_t> rows(needs.rows());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::sort(rows.begin(), rows.end(),
            [&](auto a, auto b) { return std::ranges::lexicographical_compare(needs.row(a), needs.row(b)); });
  std::vector<Group> groups;
  for (const std::size_t row : rows) {
    if (groups.empty() || !std::ranges::equal(needs.row(groups.back().row), needs.row(row))) {
      groups.push_back({row, {}, 0, {}});
      graph::for_each_bit(needs.row(row), [&](std::size_t p) {
        ++groups.back().count;
        groups.back().transfer += transfer_time[p];
      });
    }
    groups.back().time += graph.ops[row].time;
  }
  return groups;
}

class Tac {
 public:
  Tac(const graph::Graph& graph, const std::vector<Duration>& transfer_time)
      : m_(transfer_time),
        needs_(graph::needs(graph)),
        groups_(make_groups(graph, needs_, transfer_time)),
        left_(by_name(graph)),
        p_(m_.size()),
        m_plus_(m_.size()) {}

  std::vector<graph::ParameterId> run() {
    std::vector<graph::ParameterId> order;
    while (!left_.empty()) {
      evaluate();
      auto first = left_.begin();
      for (auto it = left_.begin() + 1; it != left_.end(); ++it)
        if (strictly_before(it->index(), first->index())) first = it;
      order.push_back(*first);
      remove(first->index());
      left_.erase(first);
    }
    return order;
  }

 private:
  bool strictly_before(std::size_t a, std::size_t b) const {
    const auto x = std::min(p_[b], m_[a]);
    const auto y = std::min(p_[a], m_[b]);
    return x != y ? x < y : m_plus_[a] < m_plus_[b];
  }

  // P and M+ of the parameters that are left. Emitted ones get an M+ too; nobody reads it.
  void evaluate() {
    std::fill(p_.begin(), p_.end(), Duration());
    std::fill(m_plus_.begin(), m_plus_.end(), kInfinite);
    shared_.clear();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].count > 1) shared_.push_back(g);
      if (groups_[g].count == 1) p_[only_member(groups_[g])] += groups_[g].time;
    }
    std::sort(shared_.begin(), shared_.end(),
              [&](auto a, auto b) { return groups_[a].transfer < groups_[b].transfer; });
    std::vector<graph::BitMatrix::Word> open(needs_.columns() / 64 + 1, 0);
    for (const graph::ParameterId r : left_) open[r.index() / 64] |= graph::BitMatrix::Word{1} << (r.index() % 64);
    auto missing = left_.size();
    for (std::size_t k = 0; k < shared_.size() && missing > 0; ++k) {
      const auto row = needs_.row(groups_[shared_[k]].row);
      for (std::size_t i = 0; i < row.size(); ++i) {
        const auto fresh = row[i] & open[i];
        if (fresh == 0) continue;
        open[i] &= ~fresh;
        graph::for_each_bit({&fresh, 1}, [&](std::size_t bit) {
          m_plus_[i * 64 + bit] = groups_[shared_[k]].transfer;
          --missing;
        });
      }
    }
  }

  std::size_t only_member(const Group& group) const {
    for (const graph::ParameterId r : left_)
      if (needs_.test(group.row, r.index())) return r.index();
    STRETTO_ASSERT(false, "group of op {} has no parameter left", group.row);
  }

  void remove(std::size_t r) {
    for (Group& group : groups_)
      if (needs_.test(group.row, r)) {
        --group.count;
        group.transfer -= m_[r];
      }
  }

  const std::vector<Duration>& m_;
  graph::BitMatrix needs_;
  std::vector<Group> groups_;
  std::vector<graph::ParameterId> left_;  // by name
  std::vector<Duration> p_;
  std::vector<Duration> m_plus_;
  std::vector<std::size_t> shared_;
};

}  // namespace

std::vector<graph::ParameterId> tac_order(const graph::Graph& graph, const std::vector<Duration>& transfer_time) {
  STRETTO_ASSERT(transfer_time.size() == graph.parameters.size(), "{} transfer times for {} parameters",
                 transfer_time.size(), graph.parameters.size());
  return Tac(graph, transfer_time).run();
}

plan::Order make_tac(const PolicyInput& input, const PolicyOptions&) {
  return ranked(input, tac_order(input.graph, input.transfer_time));
}

}  // namespace stretto::policies
