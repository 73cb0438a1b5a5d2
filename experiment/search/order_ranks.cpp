// SPDX-License-Identifier: Apache-2.0
#include "experiment/search/order_ranks.hpp"

#include <algorithm>
#include <tuple>

#include "sim/base/assert.hpp"

namespace stretto::experiment {

using plan::Discipline;

namespace {

bool over_all_servers(Discipline d) { return plan::has_credit(d); }
// The table numbers these densely over all servers, the others per server.
bool global_places(Discipline d) { return plan::has_credit(d) || d == Discipline::Priority; }

const std::vector<program::ActivityId>& messages(const training::Compiled& compiled, bool push) {
  return push ? compiled.push : compiled.pull;
}

bool sent(const training::Compiled& compiled, bool push, std::uint32_t t) {
  return messages(compiled, push)[t].valid();
}

}  // namespace

OrderRanks::OrderRanks(const training::Compiled& compiled, const plan::Layout& layout)
    : compiled_(&compiled), layout_(&layout), table_(training::compile_order(compiled, layout, {}, 0)) {}

bool OrderRanks::fits(bool push, const plan::DirectionOrder& order) const {
  const Direction& d = directions_[push];
  if (d.discipline != order.discipline || d.credit != order.credit || d.window != order.window) return false;
  if (!plan::traits(d.discipline).ranks) return !d.alternatives && order.alternatives.empty();
  if (d.ranked.size() != order.rank.size()) return false;
  for (std::size_t t = 0; t < order.rank.size(); ++t)
    if (d.ranked[t] != (order.rank[t] != plan::kUnranked)) return false;
  return true;
}

bool OrderRanks::same_frame(const OrderRanks& other) const {
  if (table_.delayed != other.table_.delayed) return false;
  for (std::size_t push = 0; push < 2; ++push) {
    const Direction& a = directions_[push];
    const Direction& b = other.directions_[push];
    if (a.discipline != b.discipline || a.credit != b.credit || a.window != b.window || a.ranked != b.ranked)
      return false;
  }
  return true;
}

void OrderRanks::set(const plan::Order& order) {
  const bool fit = start_offsets_ == order.start_offsets && fits(false, order.pull) && fits(true, order.push);
  start_offsets_ = order.start_offsets;
  if (!fit) table_ = training::compile_order(*compiled_, *layout_, order, table_.stream);
  set_direction(false, order.pull, !fit);
  set_direction(true, order.push, !fit);
}

void OrderRanks::sort_transfers(bool push, const plan::DirectionOrder& order) {
  const std::uint32_t n = compiled_->transfers;
  STRETTO_ASSERT(order.rank.size() == n, "{} ranks for {} transfers", order.rank.size(), n);
  constexpr std::uint32_t kEmpty = plan::kUnranked;
  sorted_.assign(n, kEmpty);
  bool permutation = true;
  for (std::uint32_t t = 0; t < n && permutation; ++t) {
    if (order.rank[t] == plan::kUnranked || !sent(*compiled_, push, t)) continue;
    permutation = order.rank[t] < n && sorted_[order.rank[t]] == kEmpty;
    if (permutation) sorted_[order.rank[t]] = t;
  }
  if (permutation) {
    std::erase(sorted_, kEmpty);
    return;
  }
  sorted_.clear();
  for (std::uint32_t t = 0; t < n; ++t)
    if (order.rank[t] != plan::kUnranked && sent(*compiled_, push, t)) sorted_.push_back(t);
  std::sort(sorted_.begin(), sorted_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return std::tie(order.rank[a], a) < std::tie(order.rank[b], b); });
}

void OrderRanks::set_direction(bool push, const plan::DirectionOrder& order, bool all) {
  Direction& d = directions_[push];
  d.discipline = order.discipline;
  d.credit = order.credit;
  d.window = order.window;
  d.alternatives = !order.alternatives.empty();
  if (!plan::traits(d.discipline).ranks) {
    d.ranked.clear();
    d.lists.clear();
    return;
  }
  sort_transfers(push, order);
  if (all) {
    d.ranked.assign(compiled_->transfers, false);
    for (std::uint32_t t = 0; t < compiled_->transfers; ++t) d.ranked[t] = order.rank[t] != plan::kUnranked;
    d.place.assign(compiled_->transfers, plan::kUnranked);
  }
  d.lists.resize(over_all_servers(d.discipline) ? 1 : compiled_->servers);
  for (auto& list : d.lists) list.clear();
  const auto& message = messages(*compiled_, push);
  std::uint32_t global = 0;
  for (const std::uint32_t t : sorted_) {
    auto& list = d.lists[over_all_servers(d.discipline) ? 0 : layout_->transfers[t].server];
    const std::uint32_t place = global_places(d.discipline) ? global : static_cast<std::uint32_t>(list.size());
    ++global;
    list.push_back(t);
    if (d.place[t] == place) continue;
    d.place[t] = place;
    for (std::uint32_t w = 0; w < compiled_->workers; ++w)
      table_.rank[message[w * compiled_->transfers + t].index()] = place;
  }
}

MessageLog::MessageLog(const training::Compiled& compiled, std::uint32_t iterations)
    : compiled_(&compiled), iterations_(iterations) {
  entries_.resize(static_cast<std::size_t>(iterations) * 2 * compiled.workers * compiled.transfers);
  ends_.reserve(static_cast<std::size_t>(iterations) * compiled.program.size());
}

void MessageLog::on_end(const program::ActivityRecord& r) {
  ends_.push_back(r.end);
  const training::Label& label = compiled_->labels[r.activity];
  if (label.role != training::Role::Pull && label.role != training::Role::Push) return;
  entries_[index(label.role == training::Role::Push, r.iteration, label.worker, label.item)] = {r.ready, r.handed,
                                                                                                r.begin, r.batch};
}

std::vector<Time> MessageLog::cuts(std::uint32_t count) const {
  std::vector<Time> cuts;
  for (std::size_t i = 1; i <= count; ++i) {
    const Time t = ends_[std::min(ends_.size() - 1, ends_.size() * i / (count + 1))];
    if (cuts.empty() || cuts.back() < t) cuts.push_back(t);
  }
  return cuts;
}

namespace {

// One queue of one worker and iteration, and the places [first, last] of it that differ.
struct Block {
  const std::vector<std::uint32_t>& base;
  const std::vector<std::uint32_t>& other;
  std::size_t first;
  std::size_t last;
};

class Differ {
 public:
  Differ(const MessageLog& log, const training::Compiled& compiled) : log_(log), compiled_(compiled) {}

  void look(bool push, Discipline discipline, const Block& block) {
    for (std::uint32_t i = 0; i < log_.iterations(); ++i)
      for (std::uint32_t w = 0; w < compiled_.workers; ++w) {
        const Time t =
            discipline == Discipline::Strict ? strict(push, i, w, block) : by_rank(push, i, w, block, discipline);
        result = std::min(result, t);
      }
  }

  Time result = Time::never();

 private:
  using Entry = MessageLog::Entry;

  // Messages that one choice hands over wait for the wire in an order that may still be changed.
  bool order_kept_at_wire(bool push, std::uint32_t w, std::uint32_t t) const {
    const program::ActivityId m = messages(compiled_, push)[w * compiled_.transfers + t];
    const std::uint32_t c = compiled_.program.activities[m.index()].where;
    return compiled_.program.send_service(c).pool == channel::kNoPool && compiled_.program.channels[c].streams > 0;
  }

  Time strict(bool push, std::uint32_t i, std::uint32_t w, const Block& b) const {
    const auto at = [&](std::uint32_t t) -> const Entry& { return log_.at(push, i, w, t); };
    const Entry& old_first = at(b.base[b.first]);
    Time turn;  // when the first place that differs is next
    if (b.first > 0)
      turn = at(b.base[b.first - 1]).handed;
    else if (i > 0)
      turn = log_.at(push, i - 1, w, b.base.back()).handed;
    const Time other_first = std::max(turn, at(b.other[b.first]).ready);
    bool together =
        old_first.batch != 0 && other_first >= old_first.handed && order_kept_at_wire(push, w, b.base[b.first]);
    for (std::size_t k = b.first + 1; k <= b.last && together; ++k) together = at(b.base[k]).batch == old_first.batch;
    return together ? old_first.moved : std::min(other_first, std::max(turn, old_first.ready));
  }

  Time by_rank(bool push, std::uint32_t i, std::uint32_t w, const Block& b, Discipline discipline) {
    entries_.clear();
    for (std::size_t k = b.first; k <= b.last; ++k) entries_.push_back(log_.at(push, i, w, b.base[k]));
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& x, const Entry& y) {
      return std::tie(x.handed, x.batch) < std::tie(y.handed, y.batch);
    });
    const bool kept = discipline == Discipline::Priority && order_kept_at_wire(push, w, b.base[b.first]);
    Time found = Time::never();
    Time later_ready = Time::never();  // least of the messages that a later choice hands over
    Time batch_ready = Time::never();  // least of those of the same choice
    for (std::size_t k = entries_.size(); k-- > 0;) {
      const Entry& a = entries_[k];
      const bool has_next = k + 1 < entries_.size();
      const bool same = has_next && a.batch == entries_[k + 1].batch;
      if (has_next && !same) {
        later_ready = std::min(later_ready, batch_ready);
        batch_ready = Time::never();
      }
      if (later_ready <= a.handed)
        found = std::min(found, a.handed);
      else if (same)
        found = std::min(found, kept ? a.moved : a.handed);
      batch_ready = std::min(batch_ready, a.ready);
    }
    return found;
  }

  const MessageLog& log_;
  const training::Compiled& compiled_;
  std::vector<Entry> entries_;
};

}  // namespace

Time first_difference(const MessageLog& log, const training::Compiled& compiled, const OrderRanks& base,
                      const OrderRanks& other) {
  Differ differ(log, compiled);
  for (const bool push : {false, true}) {
    const auto& old_lists = base.lists(push);
    const auto& new_lists = other.lists(push);
    for (std::size_t l = 0; l < old_lists.size(); ++l) {
      const auto& a = old_lists[l];
      const auto& b = new_lists[l];
      STRETTO_ASSERT(a.size() == b.size(), "{} and {} ranked transfers", a.size(), b.size());
      const auto first = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
      if (first == a.size()) continue;
      std::size_t last = a.size() - 1;
      while (a[last] == b[last]) --last;
      differ.look(push, base.discipline(push), {a, b, first, last});
    }
  }
  return differ.result;
}

}  // namespace stretto::experiment
