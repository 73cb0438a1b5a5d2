// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "schedulers/check/audit.hpp"

namespace stretto::check {

namespace {

using plan::Discipline;
using Events = std::vector<const Event*>;

class Messages : Findings {
 public:
  Messages(const Job& job, const Timeline& timeline, const Index& index)
      : job_(job), timeline_(timeline), index_(index) {}

  std::optional<Violation> run() {
    for (const bool push : {false, true}) {
      if (push && !job_.training) continue;
      push_ = push;
      place_ = places(job_, push);
      for (std::uint32_t w = 0; w < job_.workers.size(); ++w) check_worker(w);
    }
    return violation_;
  }

 private:
  const plan::DirectionOrder& order() const { return job_.direction(push_); }
  const Channel& channel(const Event& e) const { return job_.channel(push_, e.worker, e.item); }
  std::int64_t bytes(const Event& e) const { return job_.layout.transfers[e.item].bytes.count(); }
  bool ranked(const Event& e) const {
    return plan::traits(order().discipline).ranks && order().rank[e.item] != plan::kUnranked;
  }
  // Least first; equal ranks go by transfer.
  std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> key(const Event& e) const {
    return {e.step, order().rank[e.item], e.item};
  }
  std::string name(const Event& e) const { return event_name(job_, e); }

  void check_worker(std::uint32_t w) {
    std::vector<Events> by_server(job_.servers.size());
    Events all;
    for (std::uint32_t step = 0; step < timeline_.steps; ++step)
      for (std::uint32_t t = 0; t < job_.layout.transfers.size(); ++t)
        if (const Event* e = index_.message(push_, step, w, t); e != nullptr) {
          by_server[job_.layout.transfers[t].server].push_back(e);
          all.push_back(e);
        }
    for (const Events& events : by_server) check_order(events);
    if (order().discipline == Discipline::Credit) check_credit(all);
    if (order().discipline == Discipline::CreditSkip) check_credit_skip(all);
    for (const Events& events : by_server) check_wire(events);
  }

  void at_once(const Event& e) {
    if (const std::string wrong = waits_for_turn(e); !wrong.empty()) found("order", name(e) + " " + wrong);
  }

  // The messages of a channel.
  void check_order(const Events& events) {
    Events in_order;
    for (const Event* e : events) {
      if (ranked(*e))
        in_order.push_back(e);
      else
        at_once(*e);
    }
    std::sort(in_order.begin(), in_order.end(), [&](const Event* a, const Event* b) {
      return std::tie(a->step, place_[a->item]) < std::tie(b->step, place_[b->item]);
    });
    switch (order().discipline) {
      case Discipline::Free:
      case Discipline::Unordered:
        return;
      case Discipline::Strict:
        return check_turns(in_order, false);
      case Discipline::Priority:
        for (const Event* e : in_order) at_once(*e);
        return check_batches(in_order);
      case Discipline::Credit:
      case Discipline::CreditSkip:
        return check_batches(in_order);
      case Discipline::Window:
      case Discipline::ChainWindow:
        return check_turns(in_order, true);
    }
  }

  // Each as soon as its turn allows and not before: strict and chain_window after the one before it, windows after the
  // arrival of the one `window` places before it.
  void check_turns(const Events& in_order, bool windowed) {
    const bool chained = order().discipline != Discipline::Window;
    for (std::size_t i = 0; i < in_order.size(); ++i) {
      const Event& e = *in_order[i];
      Time turn = e.ready;
      const Event* cause = nullptr;
      const auto wait_for = [&](const Event& other, Time at) {
        if (at > turn) {
          turn = at;
          cause = &other;
        }
      };
      if (chained && i > 0) wait_for(*in_order[i - 1], in_order[i - 1]->handed);
      if (windowed && place_[e.item] >= order().window) {
        const Event* before = i >= order().window ? in_order[i - order().window] : nullptr;
        if (before != nullptr && before->step == e.step) wait_for(*before, before->end + channel(*before).latency);
      }
      if (e.handed + kSlack < turn)
        found("order", fmt::format("{} is handed over at {}, before its turn at {}, which {} decides", name(e),
                                   time_text(e.handed), time_text(turn), cause ? name(*cause) : "its readiness"));
      if (e.handed > turn + kSlack)
        found("order", fmt::format("{} is handed over at {}, after its turn at {}", name(e), time_text(e.handed),
                                   time_text(turn)));
    }
    if (chained) check_batches(in_order);
  }

  // What goes to one wire without sender service moves in the order of the ranks if one choice handed it over.
  void check_batches(const Events& in_order) {
    if (in_order.empty() || !channel(*in_order.front()).send.none()) return;
    Events sorted = in_order;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Event* a, const Event* b) {
      return std::tie(a->handed, a->batch) < std::tie(b->handed, b->batch);
    });
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      const Event& a = *sorted[i - 1];
      const Event& b = *sorted[i];
      if (a.batch == 0 || a.batch != b.batch || a.handed != b.handed) continue;
      if (key(b) > key(a) && b.begin < a.begin)
        found("order",
              fmt::format("{} moves before {}, which was handed over with it and has a lower rank", name(b), name(a)));
    }
  }

  // The messages of a worker's direction.
  void check_credit(const Events& all) {
    struct Change {
      Time at;
      int kind;  // 0: comes back; 1: is handed over
      std::uint32_t batch;
      const Event* event;
    };
    std::vector<Change> changes;
    Events by_key;
    for (const Event* e : all) {
      if (!ranked(*e)) continue;
      changes.push_back({e->handed, 1, e->batch, e});
      changes.push_back({e->end + channel(*e).latency, 0, 0, e});
      by_key.push_back(e);
    }
    std::sort(by_key.begin(), by_key.end(), [&](const Event* a, const Event* b) { return key(*a) < key(*b); });
    const auto order_of = [&](const Change& c) { return std::tuple(c.at, c.kind, c.batch, key(*c.event)); };
    std::sort(changes.begin(), changes.end(),
              [&](const Change& a, const Change& b) { return order_of(a) < order_of(b); });
    std::int64_t credit = order().credit.count();
    // The least time of readiness among all that are handed over later and have a lower rank: in time order from the
    // end, by key.
    Minima waiting(by_key.size());
    std::vector<std::size_t> place(changes.size(), 0);
    for (std::size_t i = changes.size(); i-- > 0;) {
      if (changes[i].kind == 0) continue;
      const Event& e = *changes[i].event;
      const auto at = std::lower_bound(by_key.begin(), by_key.end(), &e,
                                       [&](const Event* a, const Event* b) { return key(*a) < key(*b); });
      place[i] = static_cast<std::size_t>(at - by_key.begin());
      if (const Event* other = waiting.least_before(place[i]);
          other != nullptr && other->ready + kSlack < e.handed && other->handed > e.handed)
        found("order", fmt::format("{} is handed over at {} while {} of lower rank waits since {}", name(e),
                                   time_text(e.handed), name(*other), time_text(other->ready)));
      waiting.add(place[i], &e);
    }
    Time since;  // credit has been left since then
    for (const Change& c : changes) {
      if (c.kind == 0) {
        const std::int64_t before = credit;
        credit += bytes(*c.event);
        if (before <= 0 && credit > 0) since = c.at;
        continue;
      }
      if (credit <= 0)
        found("order", fmt::format("{} is handed over at {} with a credit of {} bytes left", name(*c.event),
                                   time_text(c.at), credit));
      if (c.at > std::max(since, c.event->ready) + kSlack)
        found("order", fmt::format("{} waits for its turn until {} although it was ready at {} and credit was left",
                                   name(*c.event), time_text(c.at), time_text(c.event->ready)));
      credit -= bytes(*c.event);
    }
  }

  // As credit, but what is larger than the credit left is passed over: nothing that fits waits, and nothing goes past a
  // waiting lower rank that fits. O(messages x waiting messages).
  void check_credit_skip(const Events& all) {
    struct Change {
      Time at;
      int kind;  // 0: comes back; 1: is handed over; 2: is ready
      std::uint32_t batch;
      const Event* event;
    };
    std::vector<Change> changes;
    for (const Event* e : all) {
      if (!ranked(*e)) continue;
      changes.push_back({e->end + channel(*e).latency, 0, 0, e});
      changes.push_back({e->handed, 1, e->batch, e});
      changes.push_back({e->ready, 2, 0, e});
    }
    const auto order_of = [&](const Change& c) { return std::tuple(c.at, c.kind, c.batch, key(*c.event)); };
    std::sort(changes.begin(), changes.end(),
              [&](const Change& a, const Change& b) { return order_of(a) < order_of(b); });
    std::int64_t credit = order().credit.count();
    Events waiting;  // ready earlier and not handed over
    // What came back in this instant may have come after the choice, above all from a message that needs no time.
    std::int64_t fresh = 0;
    for (std::size_t i = 0; i < changes.size() && !violation_; ++i) {
      const Event& e = *changes[i].event;
      if (i > 0 && changes[i - 1].at < changes[i].at) fresh = 0;
      if (changes[i].kind == 0) {
        credit += bytes(e);
        fresh += bytes(e);
      }
      if (changes[i].kind == 1) {
        if (bytes(e) > credit)
          found("order", fmt::format("{} of {} bytes is handed over at {} with a credit of {} bytes left", name(e),
                                     bytes(e), time_text(e.handed), credit));
        for (const Event* other : waiting)
          if (key(*other) < key(e) && other->handed > e.handed && bytes(*other) <= credit - fresh)
            found("order", fmt::format("{} is handed over at {} while {} of lower rank fits and waits since {}",
                                       name(e), time_text(e.handed), name(*other), time_text(other->ready)));
        std::erase(waiting, &e);
        credit -= bytes(e);
      }
      if (changes[i].kind == 2 && e.handed > e.ready) waiting.push_back(&e);
      if (i + 1 < changes.size() && changes[i + 1].at == changes[i].at) continue;
      for (const Event* other : waiting)
        if (bytes(*other) <= credit && other->handed > changes[i].at + kSlack)
          found("order", fmt::format("{} waits for its turn until {} although it would fit at {}", name(*other),
                                     time_text(other->handed), time_text(changes[i].at)));
    }
  }

  // The messages of a channel between hand-over and delivery.
  void check_wire(const Events& events) {
    for (const Event* e : events) {
      const Channel& c = channel(*e);
      const Bytes size = job_.layout.transfers[e->item].bytes;
      const Duration send = c.send.none() ? Duration() : c.send.of(size);
      const Duration receive = c.receive.none() ? Duration() : c.receive.of(size);
      if (e->on_wire + kSlack < e->handed + send)
        found("wire", fmt::format("{} is on the wire {} ps after its hand-over; its sender needs {} ps", name(*e),
                                  (e->on_wire - e->handed).ps(), send.ps()));
      if (c.send.none() && e->on_wire > e->handed + kSlack)
        found("wire", name(*e) + " waits for a sender that costs nothing");
      if (e->begin + kSlack < e->on_wire + c.latency)
        found("wire", fmt::format("{} moves {} ps after entering the wire, whose latency is {} ps", name(*e),
                                  (e->begin - e->on_wire).ps(), c.latency.ps()));
      if (e->end + kSlack < e->arrived + receive)
        found("wire", fmt::format("{} is delivered {} ps after its arrival; its receiver needs {} ps", name(*e),
                                  (e->end - e->arrived).ps(), receive.ps()));
      if (const std::string wrong = too_fast(*e, job_, c, job_.rate_cap, size); !wrong.empty())
        found("wire", name(*e) + " " + wrong);
    }
    if (job_.streams > 0) check_streams(events);
  }

  void check_streams(const Events& events) {
    Events sorted = events;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Event* a, const Event* b) {
      return std::tie(a->on_wire, a->begin) < std::tie(b->on_wire, b->begin);
    });
    for (std::size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i]->begin + kSlack < sorted[i - 1]->begin)
        found("wire", fmt::format("{} overtakes {} on the wire", name(*sorted[i]), name(*sorted[i - 1])));
    std::vector<Time> ends;
    for (const Event* e : sorted) {
      std::erase_if(ends, [&](Time end) { return end <= e->begin + kSlack; });
      if (ends.size() >= job_.streams)
        found("wire", fmt::format("{} moves while {} messages of its channel do; there are {} streams", name(*e),
                                  ends.size(), job_.streams));
      ends.push_back(e->arrived);
    }
  }

  // Events by place; the one with the least readiness before a place.
  class Minima {
   public:
    explicit Minima(std::size_t n) : tree_(n + 1, nullptr) {}
    void add(std::size_t place, const Event* e) {
      for (std::size_t i = place + 1; i < tree_.size(); i += i & (~i + 1)) take(tree_[i], e);
    }
    const Event* least_before(std::size_t place) const {
      const Event* least = nullptr;
      for (std::size_t i = place; i > 0; i -= i & (~i + 1))
        if (tree_[i] != nullptr) take(least, tree_[i]);
      return least;
    }

   private:
    static void take(const Event*& least, const Event* e) {
      if (least == nullptr || e->ready < least->ready) least = e;
    }
    std::vector<const Event*> tree_;
  };

  const Job& job_;
  const Timeline& timeline_;
  const Index& index_;
  bool push_ = false;
  std::vector<std::uint32_t> place_;
};

}  // namespace

std::optional<Violation> audit_messages(const Job& job, const Timeline& timeline, const Index& index) {
  return Messages(job, timeline, index).run();
}

}  // namespace stretto::check
