// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/tac.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "models/graph/order.hpp"
#include "schedulers/policies/order.hpp"

namespace stretto::policies {

namespace {

constexpr Duration kInfinite = Duration::ps(std::numeric_limits<std::int64_t>::max());

// Ops with equal needs.
struct Group {
  std::size_t row = 0;    // an op of the group, whose row of the needs matrix is the set
  Duration time;          // of all its ops
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
        open_(needs_.columns() / 64 + 1, 0),
        p_(m_.size()),
        m_plus_(m_.size()) {
    for (const graph::ParameterId r : left_) open_[r.index() / 64] |= bit(r.index());
    for (const Group& group : groups_)
      if (group.count == 1) p_[last_member(group)] += group.time;
    std::erase_if(groups_, [](const Group& group) { return group.count < 2; });
  }

  std::vector<graph::ParameterId> run() {
    std::vector<graph::ParameterId> order;
    while (!left_.empty()) {
      find_m_plus();
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
  using Word = graph::BitMatrix::Word;
  static Word bit(std::size_t r) { return Word{1} << (r % 64); }

  bool strictly_before(std::size_t a, std::size_t b) const {
    const auto x = std::min(p_[b], m_[a]);
    const auto y = std::min(p_[a], m_[b]);
    return x != y ? x < y : m_plus_[a] < m_plus_[b];
  }

  // Takes groups in ascending order of their sum until every parameter that is left has met one.
  void find_m_plus() {
    std::fill(m_plus_.begin(), m_plus_.end(), kInfinite);
    const auto larger = [](const Group& a, const Group& b) { return a.transfer > b.transfer; };
    std::make_heap(groups_.begin(), groups_.end(), larger);
    auto missing = open_;
    auto count = left_.size();
    for (auto end = groups_.end(); end != groups_.begin() && count > 0; --end) {
      std::pop_heap(groups_.begin(), end, larger);
      const Group& group = *(end - 1);
      const auto row = needs_.row(group.row);
      for (std::size_t i = 0; i < row.size(); ++i) {
        const Word fresh = row[i] & missing[i];
        missing[i] &= ~fresh;
        graph::for_each_bit({&fresh, 1}, [&](std::size_t k) {
          m_plus_[i * 64 + k] = group.transfer;
          --count;
        });
      }
    }
  }

  std::size_t last_member(const Group& group) const {
    const auto row = needs_.row(group.row);
    for (std::size_t i = 0; i < row.size(); ++i)
      if (const Word w = row[i] & open_[i]; w != 0) return i * 64 + static_cast<std::size_t>(std::countr_zero(w));
    STRETTO_ASSERT(false, "group of op {} has no parameter left", group.row);
  }

  // Groups whose last but one parameter leaves add to P of the last one and are done.
  void remove(std::size_t r) {
    open_[r / 64] &= ~bit(r);
    std::erase_if(groups_, [&](Group& group) {
      if (!needs_.test(group.row, r)) return false;
      group.transfer -= m_[r];
      if (--group.count > 1) return false;
      p_[last_member(group)] += group.time;
      return true;
    });
  }

  const std::vector<Duration>& m_;
  graph::BitMatrix needs_;
  std::vector<Group> groups_;             // of two or more parameters that are left
  std::vector<graph::ParameterId> left_;  // by name
  std::vector<Word> open_;                // the same as bits
  std::vector<Duration> p_;
  std::vector<Duration> m_plus_;
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
