// SPDX-License-Identifier: Apache-2.0
// Binary min-heap of small integer items whose keys may change; an item is in at most one heap at a time.
//
// The position of each item is kept by the caller (one array may serve many heaps of disjoint items). Equal keys leave
// in the order of item numbers, so the order never depends on history. push, erase and update cost O(log n).
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace stretto::engine {

inline constexpr std::uint32_t kNotInHeap = std::numeric_limits<std::uint32_t>::max();

template <class Key>
class IndexedHeap {
 public:
  struct Entry {
    Key key;
    std::uint32_t item;
  };
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const Entry& top() const { return entries_.front(); }
  void clear() { entries_.clear(); }
  // Room for `items` in all, made at once when the next one would not fit.
  void reserve(std::size_t items) {
    if (entries_.size() == entries_.capacity() && items > 2 * entries_.size()) entries_.reserve(items);
  }

  void push(std::uint32_t item, Key key, std::vector<std::uint32_t>& position) {
    entries_.push_back({key, item});
    up(entries_.size() - 1, position);
  }
  void erase(std::uint32_t item, std::vector<std::uint32_t>& position) {
    const std::size_t i = position[item];
    position[item] = kNotInHeap;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (i == entries_.size()) return;
    entries_[i] = last;
    position[last.item] = static_cast<std::uint32_t>(i);
    settle(i, position);
  }
  void update(std::uint32_t item, Key key, std::vector<std::uint32_t>& position) {
    const std::size_t i = position[item];
    entries_[i].key = key;
    settle(i, position);
  }

 private:
  static bool before(const Entry& a, const Entry& b) { return a.key != b.key ? a.key < b.key : a.item < b.item; }
  void settle(std::size_t i, std::vector<std::uint32_t>& position) {
    if (i > 0 && before(entries_[i], entries_[(i - 1) / 2]))
      up(i, position);
    else
      down(i, position);
  }
  void up(std::size_t i, std::vector<std::uint32_t>& position) {
    const Entry e = entries_[i];
    while (i > 0 && before(e, entries_[(i - 1) / 2])) {
      entries_[i] = entries_[(i - 1) / 2];
      position[entries_[i].item] = static_cast<std::uint32_t>(i);
      i = (i - 1) / 2;
    }
    entries_[i] = e;
    position[e.item] = static_cast<std::uint32_t>(i);
  }
  void down(std::size_t i, std::vector<std::uint32_t>& position) {
    const Entry e = entries_[i];
    const std::size_t n = entries_.size();
    for (;;) {
      std::size_t child = 2 * i + 1;
      if (child >= n) break;
      if (child + 1 < n && before(entries_[child + 1], entries_[child])) ++child;
      if (!before(entries_[child], e)) break;
      entries_[i] = entries_[child];
      position[entries_[i].item] = static_cast<std::uint32_t>(i);
      i = child;
    }
    entries_[i] = e;
    position[e.item] = static_cast<std::uint32_t>(i);
  }
  std::vector<Entry> entries_;
};

}  // namespace stretto::engine
