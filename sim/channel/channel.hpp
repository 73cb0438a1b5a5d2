// SPDX-License-Identifier: Apache-2.0
// Channel: one direction of one connection between two processes, and the stages of a message in it.
//
//   ready -> hand-over (its turn under the order) -> sender service -> wire queue -> wire -> receiver service ->
//   delivered
//
// Hand-over is the only place where an order decides. The wire queue is first in, first out by end of sender service,
// so inversions after hand-over are real. At most `streams` messages of a channel move at a time. Latency runs from
// entering the wire, also while earlier messages move: a message moves at max(entry + latency, slot free), so messages
// back to back leave no bubble. See docs/model.md, section 4.
//
// A channel of spans has the same hand-over and the same streams, but no wire: what a span covers is up to the program.
// Credit comes back, and windows open, at the end of the span. Such a channel has no latency and no services.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/network/wires.hpp"

namespace stretto::channel {

inline constexpr std::uint32_t kNoPool = 0xFFFFFFFFU;

// Cost of one message at one end, on one thread of `pool`; kNoPool: costs nothing.
struct Service {
  std::uint32_t pool = kNoPool;
  Duration per_message;
  double per_byte_ps = 0;
  Duration of(std::int64_t bytes) const {
    return per_message + Duration::seconds(per_byte_ps * static_cast<double>(bytes) * 1e-12);
  }
};

// Immutable description.
struct Channel {
  network::RouteId route;
  Duration latency;  // from entering the wire to the first byte moving
  Service send;
  Service receive;
  std::uint32_t streams = 1;  // 0 = unlimited
  // Messages of this channel are spans (sim/program/program.hpp): they move no bytes and keep their stream from their
  // beginning to their end, both given by the program.
  bool spans = false;
  // Spans: under Priority none begins while so many are open, so that the best one that waits is next; 0 = no limit.
  std::uint32_t open_at_a_time = 0;
};

// How ready messages are handed over; see plan::Discipline for the meanings.
enum class HandOver : std::uint8_t { Free, Unordered, Strict, Priority, Credit, Window, ChainWindow, CreditSkip };

// Messages that wait for their turn. Least (key, activity) first; Strict and ChainWindow release only the key that is
// next.
class TurnQueue {
 public:
  struct Item {
    std::uint64_t key;
    std::uint32_t activity;
  };
  void push(Item item) {
    items_.push_back(item);
    std::push_heap(items_.begin(), items_.end(), later);
  }
  // The message that may be handed over now, if any.
  bool pop(HandOver rule, std::uint32_t& activity) {
    const bool in_turn = rule == HandOver::Strict || rule == HandOver::ChainWindow;
    if (items_.empty() || (in_turn && items_.front().key != next_)) return false;
    activity = items_.front().activity;
    std::pop_heap(items_.begin(), items_.end(), later);
    items_.pop_back();
    ++next_;
    return true;
  }
  // CreditSkip: the first message of at most `most` bytes, if any. O(log n) where the first of all fits, else O(n).
  template <class BytesOf>
  bool pop_fitting(std::int64_t most, BytesOf&& bytes_of, std::uint32_t& activity) {
    if (items_.empty() || most <= 0) return false;
    if (bytes_of(items_.front().activity) <= most) return pop(HandOver::CreditSkip, activity);
    auto best = items_.end();
    for (auto item = items_.begin(); item != items_.end(); ++item)
      if (bytes_of(item->activity) <= most && (best == items_.end() || later(*best, *item))) best = item;
    if (best == items_.end()) return false;
    activity = best->activity;
    items_.erase(best);
    std::make_heap(items_.begin(), items_.end(), later);
    ++next_;
    return true;
  }
  // The message that is next is skipped.
  void pass() { ++next_; }
  std::uint64_t next() const { return next_; }
  std::uint32_t first() const { return items_.front().activity; }
  bool empty() const { return items_.empty(); }
  const std::vector<Item>& waiting() const { return items_; }
  // Another order: `key_of(activity)` is the new key.
  template <class KeyOf>
  void rekey(KeyOf&& key_of) {
    for (Item& item : items_) item.key = key_of(item.activity);
    std::make_heap(items_.begin(), items_.end(), later);
  }
  void reset() {
    items_.clear();
    next_ = 0;
  }

 private:
  static bool later(const Item& a, const Item& b) { return a.key != b.key ? a.key > b.key : a.activity > b.activity; }
  std::vector<Item> items_;
  std::uint64_t next_ = 0;  // messages handed over so far
};

// Window rules: a message may go once the one `window` places before it on its channel has arrived, in the same
// iteration, and the sender knows. Messages that may not go yet are held, one at most per place.
class WindowState {
 public:
  static constexpr std::uint32_t kNobody = 0xFFFFFFFFU;
  void reset(std::uint32_t ranked, std::uint32_t window) {
    window_ = window;
    known_.assign(window == 0 ? 0 : ranked, 0);
    held_.assign(known_.size(), kNobody);
  }
  bool open(std::uint32_t place, std::uint32_t iteration) const {
    return place < window_ || known_[place - window_] > iteration;
  }
  void hold(std::uint32_t place, std::uint32_t activity) { held_[place] = activity; }
  // The sender learns that the message at `place` has arrived; the message that it held back, or kNobody.
  std::uint32_t arrived(std::uint32_t place) {
    ++known_[place];
    const std::size_t next = static_cast<std::size_t>(place) + window_;
    return next < held_.size() ? std::exchange(held_[next], kNobody) : kNobody;
  }
  const std::vector<std::uint32_t>& held() const { return held_; }
  std::uint32_t window() const { return window_; }

 private:
  std::uint32_t window_ = 0;
  std::vector<std::uint32_t> known_;  // arrivals that the sender knows of, by place
  std::vector<std::uint32_t> held_;
};

// Messages between sender service and the wire, first in, first out. `batch` names the choice that handed the message
// over; messages of one batch came in the order of their keys. 0: no choice.
class WireQueue {
 public:
  void push(std::uint32_t activity, Time earliest, std::uint32_t batch = 0) {
    if (head_ > 0 && head_ == items_.size()) {
      items_.clear();
      head_ = 0;
    }
    items_.push_back({earliest, activity, batch});
  }
  bool empty() const { return head_ == items_.size(); }
  Time earliest() const { return items_[head_].earliest; }
  std::uint32_t pop() { return items_[head_++].activity; }
  // Another order: each batch is put in the order of the new keys.
  template <class KeyOf>
  void rekey(KeyOf&& key_of) {
    for (std::size_t i = head_; i < items_.size();) {
      std::size_t end = i + 1;
      while (end < items_.size() && items_[i].batch != 0 && items_[end].batch == items_[i].batch) ++end;
      std::sort(items_.begin() + static_cast<std::ptrdiff_t>(i), items_.begin() + static_cast<std::ptrdiff_t>(end),
                [&](const Item& a, const Item& b) { return key_of(a.activity) < key_of(b.activity); });
      i = end;
    }
  }
  void reset() {
    items_.clear();
    head_ = 0;
  }

 private:
  struct Item {
    Time earliest;
    std::uint32_t activity;
    std::uint32_t batch;
  };
  std::vector<Item> items_;
  std::size_t head_ = 0;
};

// Mutable state of one channel; plain value.
struct ChannelState {
  TurnQueue turns;
  WindowState window;
  std::int64_t credit = 0;  // bytes that may still go; of the channel that leads its group
  WireQueue wire;
  std::uint32_t moving = 0;
  bool in_dispatch = false;
  bool wake_pending = false;
  void reset() {
    turns.reset();
    window.reset(0, 0);
    credit = 0;
    wire.reset();
    moving = 0;
    in_dispatch = wake_pending = false;
  }
};

}  // namespace stretto::channel
