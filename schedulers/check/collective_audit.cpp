// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "schedulers/check/collectives.hpp"
#include "schedulers/check/findings.hpp"
#include "schedulers/check/use.hpp"

namespace stretto::check {

namespace {

using E = CollectiveEvent;
using What = CollectiveEvent::What;
using plan::Discipline;

class CollectiveAudit : Findings {
 public:
  CollectiveAudit(const CollectiveJob& job, const CollectiveTimeline& timeline)
      : job_(job),
        timeline_(timeline),
        buckets_(buckets(job)),
        buckets_of_(buckets_of(job, buckets_)),
        halves_(job.layout.split ? 2 : 1) {
    for (const bool gather : {false, true}) {
      ranked_[gather] = ranked_buckets(buckets_, gather);
      place_[gather].assign(buckets_.size(), 0);
      for (std::uint32_t i = 0; i < ranked_[gather].size(); ++i) place_[gather][ranked_[gather][i]] = i;
      for (const Bucket& b : buckets_) {
        auto& list = sends_[gather].emplace_back();
        std::uint32_t number = 0;
        for (const auto& round : rounds(job, b.bytes, !gather, gather || !job.layout.split)) {
          for (const Send& s : round) list.push_back({s, number});
          ++number;
        }
      }
    }
  }

  std::optional<Violation> run() {
    index();
    for (const E& e : timeline_.events) check_event(e);
    for (std::uint32_t step = 0; !violation_ && step < timeline_.steps; ++step) {
      for (std::uint32_t half = 0; half < halves_; ++half)
        for (std::uint32_t b = 0; b < buckets_.size(); ++b) check_collective(step, half == 1, b);
      for (std::uint32_t w = 0; w < job_.ranks(); ++w) check_ops(step, w);
      check_end(step);
    }
    for (std::uint32_t half = 0; !violation_ && half < halves_; ++half) check_turns(half == 1);
    for (std::uint32_t w = 0; !violation_ && w < job_.ranks(); ++w) check_streams(w);
    for (const E& e : timeline_.events)
      if (e.what == What::Message && !violation_) check_wire(e);
    if (!violation_) check_uses();
    return violation_;
  }

 private:
  struct Expected {
    Send send;
    std::uint32_t round;
  };
  // One collective: its turn, and per worker since when it has a stream and when it has done its part.
  struct Done {
    const E* turn = nullptr;
    std::vector<const E*> enter;
    std::vector<Time> exit;
    Time all;
  };

  std::string collective_name(bool gather, std::uint32_t b) const {
    const plan::Transfer& t = job_.layout.transfers[buckets_[b].leader];
    return fmt::format("{} of bucket {} ({})",
                       gather              ? "all-gather"
                       : job_.layout.split ? "reduce-scatter"
                                           : "all-reduce",
                       b, job_.graph.parameters[t.parameter.index()].name);
  }
  std::string name(const E& e) const {
    switch (e.what) {
      case What::Op:
        return fmt::format("op {} of worker {} in step {}", job_.graph.ops[e.item].name, e.worker, e.step);
      case What::Turn:
        return fmt::format("{} in step {}", collective_name(e.gather, e.item), e.step);
      case What::Enter:
        return fmt::format("{} at worker {} in step {}", collective_name(e.gather, e.item), e.worker, e.step);
      case What::Message:
        return fmt::format("message from worker {} to {} in round {} of {} in step {}", e.worker, e.to, e.round,
                           collective_name(e.gather, e.item), e.step);
    }
    return "";
  }
  void not_before(const E& e, Time at, Time after, const std::string& what) {
    check_not_before([&] { return name(e); }, at, after, what);
  }

  // Every event once, and nothing else.
  using Key = std::tuple<What, bool, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  static Key key_of(const E& e) {
    const bool message = e.what == What::Message;
    return {e.what, e.gather, e.step, e.worker, e.item, message ? e.round : e.pass, e.to};
  }
  const E* at(const Key& key) const {
    const auto found = events_.find(key);
    return found == events_.end() ? nullptr : found->second;
  }
  void index() {
    for (const E& e : timeline_.events) {
      const std::size_t items = e.what == What::Op ? job_.graph.ops.size() : buckets_.size();
      if (e.step >= timeline_.steps || e.worker >= job_.ranks() || e.item >= items || e.to >= job_.ranks() ||
          e.pass >= job_.passes || (e.gather && halves_ < 2))
        return found("once", fmt::format("an event of step {}, worker {}, item {} belongs to nothing", e.step, e.worker,
                                         e.item));
      if (!events_.emplace(key_of(e), &e).second) return found("once", name(e) + " happens twice");
    }
    std::size_t expected = 0;
    const auto lacks = [&](E e) {
      ++expected;
      if (at(key_of(e)) == nullptr) found("once", name(e) + " does not happen");
    };
    for (std::uint32_t step = 0; step < timeline_.steps && !violation_; ++step) {
      E e;
      e.step = step;
      for (e.worker = 0; e.worker < job_.ranks(); ++e.worker)
        for (e.pass = 0; e.pass < job_.passes; ++e.pass)
          for (e.item = 0; e.item < job_.graph.ops.size(); ++e.item) lacks(e);
      e = {};
      e.step = step;
      for (std::uint32_t half = 0; half < halves_; ++half)
        for (e.item = 0; e.item < buckets_.size(); ++e.item) {
          e.gather = half == 1;
          e.what = What::Turn;
          e.worker = e.to = e.round = 0;
          lacks(e);
          e.what = What::Enter;
          for (e.worker = 0; e.worker < job_.ranks(); ++e.worker) lacks(e);
          e.what = What::Message;
          for (const Expected& x : sends_[e.gather][e.item]) {
            e.worker = x.send.from;
            e.to = x.send.to;
            e.round = x.round;
            lacks(e);
            const E* message = at(key_of(e));
            if (message != nullptr && message->bytes != x.send.bytes)
              found("once", fmt::format("{} carries {} bytes in place of {}", name(e), message->bytes.count(),
                                        x.send.bytes.count()));
          }
        }
    }
    if (!violation_ && expected != events_.size()) found("once", "something happens that belongs to no collective");
    check_ends_are_there(timeline_.ends, job_.barrier ? 1 : job_.ranks(), timeline_.steps);
    for (auto& half : done_) half.assign(std::size_t{timeline_.steps} * buckets_.size(), {});
  }

  void check_event(const E& e) {
    if (violation_) return;
    bool in_order = e.ready >= Time() && e.ready <= e.begin && e.begin <= e.end;
    if (e.what == What::Message)
      in_order = e.ready >= Time() && e.ready <= e.handed && e.handed <= e.on_wire && e.on_wire <= e.begin &&
                 e.begin <= e.arrived && e.arrived <= e.end;
    if (e.what == What::Turn) in_order = e.ready >= Time() && e.ready <= e.handed;
    if (e.what == What::Enter) in_order = e.ready >= Time() && e.ready <= e.begin;
    if (!in_order) found("duration", name(e) + " has stages that end before they begin");
    if (e.what != What::Op) return;
    const Duration time = job_.graph.ops[e.item].time.scaled(1 / job_.workers[e.worker].speed);
    if (const std::string wrong = wrong_length(e, time); !wrong.empty()) found("duration", name(e) + " " + wrong);
  }

  Done& done(bool gather, std::uint32_t step, std::uint32_t b) {
    return done_[gather][std::size_t{step} * buckets_.size() + b];
  }
  const E* op(std::uint32_t step, std::uint32_t w, std::uint32_t pass, std::uint32_t o) const {
    return at({What::Op, false, step, w, o, pass, 0});
  }

  void check_collective(std::uint32_t step, bool gather, std::uint32_t b) {
    Done& d = done(gather, step, b);
    d.turn = at({What::Turn, gather, step, 0, b, 0, 0});
    if (gather) {
      for (std::uint32_t other = 0; other < buckets_.size(); ++other)
        not_before(*d.turn, d.turn->ready, done(false, step, other).all, collective_name(false, other) + " ends");
    } else {
      for (std::uint32_t w = 0; w < job_.ranks(); ++w)
        for (const std::uint32_t p : buckets_[b].parameters) {
          const E& e = *op(step, w, job_.passes - 1, job_.graph.parameters[p].gradient.index());
          not_before(*d.turn, d.turn->ready, e.end, name(e) + " ends");
        }
    }
    std::vector<Time> last;  // per worker: its earlier rounds
    for (std::uint32_t w = 0; w < job_.ranks(); ++w) {
      d.enter.push_back(at({What::Enter, gather, step, w, b, 0, 0}));
      not_before(*d.enter[w], d.enter[w]->ready, d.turn->handed, "its turn");
      last.push_back(d.enter[w]->begin);
    }
    std::vector<Time> now = last;
    const auto& sends = sends_[gather][b];
    for (std::size_t i = 0; i < sends.size(); ++i) {
      const Send& s = sends[i].send;
      const E& e = *at({What::Message, gather, step, s.from, b, sends[i].round, s.to});
      for (const std::uint32_t w : {s.from, s.to}) {
        not_before(e, e.ready, last[w], fmt::format("worker {} is done with its earlier rounds", w));
        now[w] = std::max(now[w], e.end);
      }
      if (i + 1 == sends.size() || sends[i + 1].round != sends[i].round) last = now;
    }
    d.exit = last;
    d.all = *std::max_element(last.begin(), last.end());
  }

  void check_ops(std::uint32_t step, std::uint32_t w) {
    if (violation_) return;
    Time begun = step == 0 ? Time() : timeline_.ends[job_.barrier ? 0 : w][step - 1];
    const std::vector<Duration>& offsets = job_.order.start_offsets;
    if (!offsets.empty() && (job_.barrier || step == 0)) begun = begun + offsets[w];
    begun = begun + job_.step_overhead;
    for (std::uint32_t pass = 0; pass < job_.passes; ++pass) {
      Time last = begun;
      for (std::uint32_t o = 0; o < job_.graph.ops.size(); ++o) {
        const E& e = *op(step, w, pass, o);
        last = std::max(last, e.end);
        not_before(e, e.begin, begun, pass > 0 ? "the pass before ends" : "the step begins");
        for (const graph::OpId input : job_.graph.ops[o].inputs) {
          const E& before = *op(step, w, pass, input.index());
          not_before(e, e.begin, before.end, name(before) + " ends");
        }
      }
      begun = last;
    }
    ops_end_.resize(job_.ranks());
    ops_end_[w] = begun;
    if (job_.barrier || step == 0) return;
    for (std::uint32_t o = 0; o < job_.graph.ops.size(); ++o)
      for (const graph::ParameterId p : job_.graph.ops[o].reads)
        for (const std::uint32_t b : buckets_of_[p.index()]) {
          const E& e = *op(step, w, 0, o);
          not_before(e, e.begin, done(halves_ == 2, step - 1, b).exit[w],
                     fmt::format("the {} of the step before ends there", collective_name(halves_ == 2, b)));
        }
  }

  void check_end(std::uint32_t step) {
    if (violation_) return;
    Time all;
    for (std::uint32_t w = 0; w < job_.ranks(); ++w) {
      Time last = ops_end_[w];
      if (!job_.barrier) compare_end(step, timeline_.ends[w][step], last, fmt::format(" of worker {}", w));
      for (std::uint32_t b = 0; b < buckets_.size(); ++b) last = std::max(last, done(halves_ == 2, step, b).exit[w]);
      all = std::max(all, last);
    }
    if (job_.barrier) compare_end(step, timeline_.ends[0][step], all, "");
  }

  // Turns, all workers' at once.
  bool ranked(bool gather, std::uint32_t b) const { return buckets_[b].rank[gather] != plan::kUnranked; }
  void check_turns(bool gather) {
    const plan::DirectionOrder& order = job_.direction(gather);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> in_order;  // step, bucket
    for (std::uint32_t step = 0; step < timeline_.steps; ++step) {
      for (std::uint32_t b = 0; b < buckets_.size(); ++b) {
        if (ranked(gather, b)) continue;
        const E& e = *done(gather, step, b).turn;
        if (const std::string wrong = waits_for_turn(e); !wrong.empty()) found("order", name(e) + " " + wrong);
      }
      for (const std::uint32_t b : ranked_[gather]) in_order.emplace_back(step, b);
    }
    switch (order.discipline) {
      case Discipline::Free:
      case Discipline::Unordered:
        return;
      case Discipline::Strict:
      case Discipline::Window:
      case Discipline::ChainWindow:
        return check_places(gather, in_order);
      case Discipline::Priority:
      case Discipline::Credit:
      case Discipline::CreditSkip:
        return check_budget(gather);
    }
  }

  void check_places(bool gather, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& in_order) {
    const plan::DirectionOrder& order = job_.direction(gather);
    const bool windowed = order.discipline != Discipline::Strict;
    for (std::size_t i = 0; i < in_order.size(); ++i) {
      const auto [step, b] = in_order[i];
      const E& e = *done(gather, step, b).turn;
      Time turn = e.ready;
      if (order.discipline != Discipline::Window && i > 0)
        turn = std::max(turn, done(gather, in_order[i - 1].first, in_order[i - 1].second).turn->handed);
      if (windowed && place_[gather][b] >= order.window) {
        const auto& [its_step, before] = in_order[i - order.window];
        if (its_step == step) turn = std::max(turn, done(gather, step, before).all);
      }
      if (std::abs((e.handed - turn).ps()) > kSlack.ps())
        found("order", fmt::format("{} has its turn at {}, and by the order it is at {}", name(e), time_text(e.handed),
                                   time_text(turn)));
    }
  }

  // By priority a turn takes one of the streams, which comes back when all workers are done; with a credit its bytes.
  void check_budget(bool gather) {
    const plan::DirectionOrder& order = job_.direction(gather);
    const bool priority = order.discipline == Discipline::Priority;
    const bool skips = order.discipline == Discipline::CreditSkip;
    struct Change {
      Time at;
      int kind;  // 0: comes back; 1: has its turn; 2: is ready
      std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> key;
      std::int64_t cost;
      const E* event;
    };
    std::vector<Change> changes;
    for (std::uint32_t step = 0; step < timeline_.steps; ++step)
      for (std::uint32_t b = 0; b < buckets_.size(); ++b) {
        if (!priority && !ranked(gather, b)) continue;
        const Done& d = done(gather, step, b);
        const std::int64_t cost = priority ? 1 : buckets_[b].bytes.count();
        const std::tuple key{step, buckets_[b].rank[gather], b};
        changes.push_back({d.all, 0, key, cost, d.turn});
        changes.push_back({d.turn->handed, 1, key, cost, d.turn});
        if (ranked(gather, b)) changes.push_back({d.turn->ready, 2, key, cost, d.turn});
      }
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return std::tie(a.at, a.kind, a.event->batch, a.key) < std::tie(b.at, b.kind, b.event->batch, b.key);
    });
    std::int64_t left = priority ? job_.streams : order.credit.count();
    std::int64_t fresh = 0;  // came back in this instant, perhaps behind the choice
    std::vector<const Change*> waiting;
    const auto fits = [&](const Change& c, std::int64_t amount) { return skips ? c.cost <= amount : amount > 0; };
    for (std::size_t i = 0; i < changes.size() && !violation_; ++i) {
      const Change& c = changes[i];
      if (i > 0 && changes[i - 1].at < c.at) fresh = 0;
      if (c.kind == 0) {
        left += c.cost;
        fresh += c.cost;
      }
      if (c.kind == 1) {
        const bool its_turn = ranked(gather, c.event->item);
        if (its_turn && !fits(c, left))
          found("order", fmt::format("{} has its turn at {}, with {} of the {} left", name(*c.event), time_text(c.at),
                                     left, priority ? "streams" : "credit"));
        for (const Change* other : waiting)
          if (its_turn && other->key < c.key && other->event->handed > c.at && fits(*other, left - (skips ? fresh : 0)))
            found("order", fmt::format("{} has its turn at {} while {} of lower rank waits since {}", name(*c.event),
                                       time_text(c.at), name(*other->event), time_text(other->event->ready)));
        std::erase_if(waiting, [&](const Change* other) { return other->event == c.event; });
        left -= c.cost;
      }
      if (c.kind == 2 && c.event->handed > c.event->ready) waiting.push_back(&c);
      if (i + 1 < changes.size() && changes[i + 1].at == c.at) continue;
      for (const Change* other : waiting)
        if (fits(*other, left) && other->event->handed > c.at + kSlack)
          found("order", fmt::format("{} waits for its turn until {} although it could have it at {}",
                                     name(*other->event), time_text(other->event->handed), time_text(c.at)));
    }
  }

  // At most `streams` collectives at a time, in the order of their turns, each as soon as one is free.
  void check_streams(std::uint32_t w) {
    struct Stay {
      Time begin;
      Time end;
      const E* event;
    };
    std::vector<Stay> stays;
    for (std::uint32_t half = 0; half < halves_; ++half)
      for (const Done& d : done_[half]) stays.push_back({d.enter[w]->begin, d.exit[w], d.enter[w]});
    std::stable_sort(stays.begin(), stays.end(), [](const Stay& a, const Stay& b) {
      return std::tie(a.begin, a.event->ready) < std::tie(b.begin, b.event->ready);
    });
    std::vector<Time> ends;
    for (std::size_t i = 0; i < stays.size(); ++i) {
      const Stay& s = stays[i];
      if (i > 0 && s.event->ready + kSlack < stays[i - 1].event->ready)
        found("streams",
              fmt::format("{} overtakes {}, whose turn was before", name(*stays[i - 1].event), name(*s.event)));
      const bool waited = s.begin > s.event->ready + kSlack;
      if (waited && std::none_of(ends.begin(), ends.end(),
                                 [&](Time end) { return std::abs((end - s.begin).ps()) <= kSlack.ps(); }))
        found("streams",
              fmt::format("{} waits for a stream until {} although one is free", name(*s.event), time_text(s.begin)));
      std::erase_if(ends, [&](Time end) { return end + kSlack < s.begin; });
      const auto open = std::count_if(ends.begin(), ends.end(), [&](Time end) { return end > s.begin + kSlack; });
      if (open >= static_cast<std::ptrdiff_t>(job_.streams))
        found("streams", fmt::format("{} begins at {} while {} others are under way there; there are {} streams",
                                     name(*s.event), time_text(s.begin), open, job_.streams));
      ends.push_back(s.end);
    }
  }

  void check_wire(const E& e) {
    const std::size_t number = std::size_t{e.worker} * job_.ranks() + e.to;
    const Channel& c = job_.channels[number];
    const Duration send = c.send.none() ? Duration() : c.send.of(e.bytes);
    const Duration receive = c.receive.none() ? Duration() : c.receive.of(e.bytes);
    if (e.handed > e.ready + kSlack || (c.send.none() && e.on_wire > e.handed + kSlack))
      found("wire", name(e) + " waits for nothing");
    if (e.on_wire + kSlack < e.handed + send || e.end + kSlack < e.arrived + receive)
      found("wire", name(e) + " takes less than its services need");
    if (std::abs((e.begin - e.on_wire - c.latency).ps()) > kSlack.ps())
      found("wire", fmt::format("{} moves {} ps after entering the wire, whose latency is {} ps", name(e),
                                (e.begin - e.on_wire).ps(), c.latency.ps()));
    if (const std::string wrong = too_fast(e, job_, c, job_.caps[number], e.bytes); !wrong.empty())
      found("wire", name(e) + " " + wrong);
  }

  void check_uses() {
    Uses uses(job_);
    for (std::size_t i = 0; i < timeline_.events.size(); ++i) {
      const E& e = timeline_.events[i];
      if (e.what == What::Op) uses.add_work(job_.workers[e.worker].device, e, i);
      if (e.what == What::Message)
        uses.add_message(job_.channels[std::size_t{e.worker} * job_.ranks() + e.to], e.bytes, e, i);
    }
    violation_ = uses.check([&](std::size_t i) { return name(timeline_.events[i]); });
  }

  const CollectiveJob& job_;
  const CollectiveTimeline& timeline_;
  const std::vector<Bucket> buckets_;
  const std::vector<std::vector<std::uint32_t>> buckets_of_;  // per parameter
  const std::uint32_t halves_;
  std::vector<std::uint32_t> ranked_[2];
  std::vector<std::uint32_t> place_[2];
  std::vector<std::vector<Expected>> sends_[2];
  std::map<Key, const E*> events_;
  std::vector<Done> done_[2];  // [step * buckets + bucket]
  std::vector<Time> ops_end_;
};

}  // namespace

std::optional<Violation> audit(const CollectiveJob& job, const CollectiveTimeline& timeline) {
  return CollectiveAudit(job, timeline).run();
}

}  // namespace stretto::check
