// SPDX-License-Identifier: Apache-2.0
#include "schedulers/check/replay.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <tuple>
#include <utility>

#include "schedulers/check/fair.hpp"
#include "schedulers/check/tasks.hpp"
#include "sim/base/assert.hpp"

namespace stretto::check {

namespace {

using plan::Discipline;
using Id = std::uint32_t;

// What is due at a time. Ends come before beginnings.
struct Due {
  enum class What : std::uint8_t { WorkEnd, SendEnd, ReceiveEnd, DelayEnd, WireReady, Notice };
  Time at;
  bool begins = false;
  std::uint64_t number = 0;
  What what = What::WorkEnd;
  Id task = 0;
};

struct Waiting {
  Time since;
  bool service = false;
  std::uint64_t number = 0;
  Due::What end = Due::What::WorkEnd;
  Id task = 0;
  Duration time;
};

struct PoolState {
  std::uint32_t busy = 0;
  std::optional<Time> last;  // when something was asked of it
  bool last_is_service = false;
  std::vector<Waiting> waiting;
  bool serves_arrivals = false;  // a copy engine
};

// Messages that wait for their turn.
struct Queue {
  std::vector<Id> waiting;
  std::uint64_t handed = 0;
  std::int64_t credit = 0;
  std::vector<std::uint32_t> known;  // chain_window: arrivals that the sender knows of, by place
};

struct WireState {
  std::deque<std::pair<Time, Id>> waiting;  // may move from then on
  std::uint32_t moving = 0;
};

struct Flow {
  Id task = 0;
  double left = 0;  // bytes at `since`
  double rate = 0;
  Time since;
  Time end = Time::never();
};

class Simulator {
 public:
  Simulator(const Machine& machine, Tasks tasks, Variant variant)
      : machine_(machine), variant_(variant), tasks_(std::move(tasks)) {
    pools_.resize(machine.pools->size());
    for (const std::uint32_t pool : machine.copy_engines) pools_[pool].serves_arrivals = true;
    wires_.resize(tasks_.wires.size());
    for (const TurnRule& rule : tasks_.queues) {
      Queue& queue = queues_.emplace_back();
      queue.credit = rule.credit.count();
      queue.known.assign(rule.ranked, 0);
    }
    for (const Link& link : *machine.links) capacity_.push_back(link.rate.bytes_per_ps());
    end_.assign(tasks_.list.size(), Time::never());
  }

  Replay run() {
    for (Id task = 0; task < tasks_.list.size(); ++task)
      if (tasks_.list[task].waits == 0) ready(task);
    instant();
    while (next() != Time::never()) {
      now_ = next();
      instant();
    }
    Replay result;
    for (Id id = 0; id < tasks_.list.size(); ++id) {
      const Task& task = tasks_.list[id];
      if ((task.kind != Task::Kind::Work && task.kind != Task::Kind::Message) || end_[id] == Time::never()) continue;
      Event& e = result.events.emplace_back();
      e.what = task.what;
      e.step = task.step;
      e.worker = task.worker;
      e.item = task.item;
      e.pass = task.pass;
      e.end = end_[id];
    }
    result.finished = std::find(end_.begin(), end_.end(), Time::never()) == end_.end();
    result.ties = ties_;
    for (const std::vector<Id>& list : tasks_.ends) {
      std::vector<Time>& ends = result.ends.emplace_back();
      for (const Id task : list) ends.push_back(end_[task]);
    }
    return result;
  }

 private:
  Time next() const {
    Time first = Time::never();
    for (const Due& due : due_) first = std::min(first, due.at);
    for (const Flow& flow : flows_) first = std::min(first, flow.end);
    return first;
  }

  void instant() {
    while (complete_one() || end_flows() || handle_one() || choose()) {
    }
    share();
  }

  void schedule(Time at, bool begins, Due::What what, Id task) { due_.push_back({at, begins, number_++, what, task}); }

  // Tasks.
  void ready(Id id) {
    const Task& task = tasks_.list[id];
    switch (task.kind) {
      case Task::Kind::Join:
        done_.push_back(id);
        break;
      case Task::Kind::Delay:
        schedule(now_ + task.time, true, Due::What::DelayEnd, id);
        break;
      case Task::Kind::Work:
        submit(task.pool, {now_, false, id, Due::What::WorkEnd, id, task.time});
        break;
      case Task::Kind::Message:
      case Task::Kind::Span:
        ask(id);
        break;
      case Task::Kind::Close:
        done_.push_back(id);
        break;
    }
  }
  void complete(Id id) {
    end_[id] = now_;
    if (tasks_.list[id].kind == Task::Kind::Close) close(tasks_.list[id].span);
    for (const Id next : tasks_.list[id].next)
      if (--tasks_.list[next].waits == 0) ready(next);
  }
  bool complete_one() {
    if (done_.empty()) return false;
    const Id id = done_.front();
    done_.pop_front();
    complete(id);
    return true;
  }
  bool comes_before(const Due& a, const Due& b) const {
    if (a.begins != b.begins) return b.begins;
    return variant_ == Variant::Reversed ? a.number > b.number : a.number < b.number;
  }
  bool handle_one() {
    std::size_t best = due_.size();
    for (std::size_t i = 0; i < due_.size(); ++i) {
      if (due_[i].at != now_) continue;
      if (best == due_.size() || comes_before(due_[i], due_[best])) best = i;
    }
    if (best == due_.size()) return false;
    const Due due = due_[best];
    due_.erase(due_.begin() + static_cast<std::ptrdiff_t>(best));
    const Task& task = tasks_.list[due.task];
    switch (due.what) {
      case Due::What::WorkEnd:
        release(task.pool);
        complete(due.task);
        break;
      case Due::What::SendEnd:
        release(channel(task).send.pool);
        enter_wire(due.task);
        break;
      case Due::What::ReceiveEnd:
        release(channel(task).receive.pool);
        deliver(due.task);
        break;
      case Due::What::DelayEnd:
        complete(due.task);
        break;
      case Due::What::WireReady:
        if (tasks_.wires[task.wire].streams == 0)
          move(due.task);
        else
          try_move(task.wire);
        break;
      case Due::What::Notice:
        notice(due.task);
        break;
    }
    return true;
  }

  // Pools.
  void submit(std::uint32_t p, const Waiting& job) {
    PoolState& pool = pools_[p];
    if ((*machine_.pools)[p].units > 0 && (job.service || pool.last_is_service || pool.serves_arrivals) && pool.last &&
        now_ <= *pool.last + kSlack)
      ++ties_;
    pool.last = now_;
    pool.last_is_service = job.service;
    pool.waiting.push_back(job);
    choosing_pools_.push_back(p);
  }
  void release(std::uint32_t pool) {
    --pools_[pool].busy;
    choosing_pools_.push_back(pool);
  }
  void serve(const Service& service, Id id, Due::What end) {
    submit(service.pool, {now_, true, number_++, end, id, service.of(tasks_.list[id].bytes)});
  }
  void start_jobs(std::uint32_t p) {
    PoolState& pool = pools_[p];
    while (!pool.waiting.empty() && ((*machine_.pools)[p].units == 0 || pool.busy < (*machine_.pools)[p].units)) {
      const auto first =
          std::min_element(pool.waiting.begin(), pool.waiting.end(), [](const Waiting& a, const Waiting& b) {
            return std::tie(a.since, a.service, a.number) < std::tie(b.since, b.service, b.number);
          });
      const Waiting job = *first;
      pool.waiting.erase(first);
      ++pool.busy;
      schedule(now_ + job.time, false, job.end, job.task);
    }
  }

  bool choose() {
    if (choosing_queues_.empty() && choosing_pools_.empty()) return false;
    const auto queues = std::exchange(choosing_queues_, {});
    for (const std::uint32_t queue : queues) hand_over_from(queue);
    const auto pools = std::exchange(choosing_pools_, {});
    for (const std::uint32_t p : pools) start_jobs(p);
    return true;
  }

  // Turns.
  const Channel& channel(const Task& task) const { return *tasks_.wires[task.wire].channel; }
  const TurnRule& rule(const Task& task) const { return tasks_.queues[task.queue]; }
  // Of a ranked message; least first.
  std::pair<std::uint64_t, Id> key(Id id) const {
    const Task& task = tasks_.list[id];
    const Discipline discipline = rule(task).discipline;
    const bool in_turn = discipline == Discipline::Strict || discipline == Discipline::ChainWindow;
    return {(std::uint64_t{task.step} << 32) + (in_turn ? task.place : task.rank), id};
  }
  void ask(Id id) {
    const Task& task = tasks_.list[id];
    if (task.queue == kNobody) {
      hand_over(id);
      return;
    }
    queues_[task.queue].waiting.push_back(id);
    choosing_queues_.push_back(task.queue);
  }
  bool may_go(const Queue& queue, Id id) const {
    const Task& task = tasks_.list[id];
    const TurnRule& r = rule(task);
    if (r.discipline == Discipline::Priority)
      return r.open_at_a_time == 0 || wires_[r.counts].moving < r.open_at_a_time;
    if (r.discipline == Discipline::Credit) return queue.credit > 0;
    if (r.discipline == Discipline::CreditSkip) return task.bytes.count() <= queue.credit;
    if (queue.handed != std::uint64_t{task.step} * r.ranked + task.place) return false;
    return r.discipline == Discipline::Strict || task.place < r.window ||
           queue.known[task.place - r.window] > task.step;
  }
  // The first that may go; but for credit_skip no other if the first of all may not.
  void hand_over_from(std::uint32_t number) {
    Queue& queue = queues_[number];
    const Discipline discipline = tasks_.queues[number].discipline;
    const bool skips = discipline == Discipline::CreditSkip;
    for (;;) {
      auto first = queue.waiting.end();
      for (auto at = queue.waiting.begin(); at != queue.waiting.end(); ++at)
        if ((!skips || may_go(queue, *at)) && (first == queue.waiting.end() || key(*at) < key(*first))) first = at;
      if (first == queue.waiting.end() || !may_go(queue, *first)) return;
      const Id id = *first;
      queue.waiting.erase(first);
      ++queue.handed;
      if (plan::has_credit(discipline)) queue.credit -= tasks_.list[id].bytes.count();
      hand_over(id);
    }
  }
  void notice(Id id) {
    const Task& task = tasks_.list[id];
    Queue& queue = queues_[task.queue];
    if (plan::has_credit(rule(task).discipline))
      queue.credit += task.bytes.count();
    else
      ++queue.known[task.place];
    choosing_queues_.push_back(task.queue);
  }
  // The span gives back its stream and what its turn took.
  void close(Id id) {
    const Task& task = tasks_.list[id];
    --wires_[task.wire].moving;
    try_move(task.wire);
    for (std::uint32_t q = 0; q < tasks_.queues.size(); ++q)
      if (tasks_.queues[q].open_at_a_time > 0 && tasks_.queues[q].counts == task.wire) choosing_queues_.push_back(q);
    tell(id);
  }
  // The sender learns of what has arrived, where its turns depend on that.
  void tell(Id id) {
    const Task& task = tasks_.list[id];
    if (task.queue == kNobody) return;
    const Discipline discipline = rule(task).discipline;
    if (plan::has_credit(discipline) || discipline == Discipline::ChainWindow)
      schedule(now_ + channel(task).latency, true, Due::What::Notice, id);
  }

  // Stages of a message.
  void hand_over(Id id) {
    const Service& send = channel(tasks_.list[id]).send;
    if (send.none())
      enter_wire(id);
    else
      serve(send, id, Due::What::SendEnd);
  }
  void enter_wire(Id id) {
    const Task& task = tasks_.list[id];
    const Duration latency = channel(task).latency;
    const std::uint32_t streams = tasks_.wires[task.wire].streams;
    if (streams == 0 && latency == Duration()) {
      move(id);
      return;
    }
    if (streams > 0) wires_[task.wire].waiting.emplace_back(now_ + latency, id);
    if (latency > Duration())
      schedule(now_ + latency, true, Due::What::WireReady, id);
    else
      try_move(task.wire);
  }
  void try_move(std::uint32_t number) {
    WireState& wire = wires_[number];
    while (wire.moving < tasks_.wires[number].streams && !wire.waiting.empty() && wire.waiting.front().first <= now_) {
      const Id id = wire.waiting.front().second;
      wire.waiting.pop_front();
      move(id);
    }
  }
  void move(Id id) {
    const Task& task = tasks_.list[id];
    const bool span = task.kind == Task::Kind::Span;
    if (span || tasks_.wires[task.wire].streams > 0) ++wires_[task.wire].moving;
    if (span) {
      done_.push_back(id);
      return;
    }
    flows_.push_back({id, static_cast<double>(task.bytes.count()), 0, now_, Time::never()});
    changed_ = true;
    if (channel(task).links.empty() && tasks_.wires[task.wire].cap.is_unlimited()) flows_.back().end = now_;
  }
  bool end_flows() {
    std::vector<Id> ended;
    for (std::size_t f = 0; f < flows_.size();) {
      if (flows_[f].end > now_) {
        ++f;
        continue;
      }
      ended.push_back(flows_[f].task);
      flows_.erase(flows_.begin() + static_cast<std::ptrdiff_t>(f));
    }
    std::sort(ended.begin(), ended.end());
    if (variant_ == Variant::Reversed) std::reverse(ended.begin(), ended.end());
    for (const Id id : ended) arrived(id);
    changed_ = changed_ || !ended.empty();
    return !ended.empty();
  }
  void arrived(Id id) {
    const Task& task = tasks_.list[id];
    if (tasks_.wires[task.wire].streams > 0) {
      --wires_[task.wire].moving;
      try_move(task.wire);
    }
    const Service& receive = channel(task).receive;
    if (receive.none())
      deliver(id);
    else
      serve(receive, id, Due::What::ReceiveEnd);
  }
  void deliver(Id id) {
    complete(id);
    tell(id);
  }

  void share() {
    if (!changed_) return;
    changed_ = false;
    std::vector<FairFlow> fair;
    for (const Flow& flow : flows_) {
      const Wire& wire = tasks_.wires[tasks_.list[flow.task].wire];
      fair.push_back({&wire.channel->links, wire.cap.bytes_per_ps(), 0});
    }
    share_fairly(capacity_, fair);
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      Flow& flow = flows_[f];
      if (std::abs(fair[f].rate - flow.rate) <= 1e-13 * flow.rate) continue;
      flow.left = std::max(0.0, flow.left - flow.rate * static_cast<double>((now_ - flow.since).ps()));
      flow.rate = fair[f].rate;
      flow.since = now_;
      const double time = flow.left / flow.rate;
      STRETTO_ASSERT(time < 9e18, "{} bytes at {} bytes/ps", flow.left, flow.rate);
      flow.end = now_ + Duration::ps(variant_ == Variant::Up ? static_cast<std::int64_t>(std::ceil(time))
                                                             : std::llround(time));
    }
  }

  const Machine& machine_;
  const Variant variant_;
  Tasks tasks_;
  Time now_;
  std::uint64_t number_ = 0;
  std::uint64_t ties_ = 0;
  std::vector<Due> due_;
  std::deque<Id> done_;  // joins that are complete
  std::vector<Time> end_;
  std::vector<PoolState> pools_;
  std::vector<Queue> queues_;
  std::vector<WireState> wires_;
  std::vector<std::uint32_t> choosing_pools_;
  std::vector<std::uint32_t> choosing_queues_;
  std::vector<double> capacity_;
  std::vector<Flow> flows_;
  bool changed_ = false;
};

}  // namespace

std::string why_no_replay(const Job& job) {
  if (job.pace == Pace::Backup) return "with backup workers the steps of a worker depend on who is late";
  std::vector<const plan::DirectionOrder*> orders{&job.order.pull};
  if (job.training) orders.push_back(&job.order.push);
  return why_no_replay(job, orders);
}

Replay replay(const Machine& machine, Tasks tasks, Variant variant) {
  return Simulator(machine, std::move(tasks), variant).run();
}

Replay replay(const Job& job, std::uint32_t steps, Variant variant) {
  Machine machine{&job.pools, &job.links, {}};
  for (const Worker& worker : job.workers)
    for (const auto& engine : {worker.copy_in, worker.copy_out})
      if (engine) machine.copy_engines.push_back(engine->pool);
  return replay(machine, unroll(job, steps), variant);
}

double difference(const std::vector<std::vector<Time>>& a, const std::vector<std::vector<Time>>& b, Duration slack) {
  double most = 0;
  for (std::size_t m = 0; m < a.size(); ++m)
    for (std::size_t i = 0; i < std::min(a[m].size(), b[m].size()); ++i) {
      const Duration off = std::max(a[m][i] - b[m][i], b[m][i] - a[m][i]);
      if (off > slack) most = std::max(most, off.seconds() / std::max(a[m][i].seconds(), 1e-12));
    }
  return most;
}

double spread(const Replay& plain, const std::function<Replay(Variant)>& replay) {
  double most = 0;
  for (const Variant variant : {Variant::Up, Variant::Reversed}) {
    const Replay other = replay(variant);
    if (other.finished) most = std::max(most, difference(plain.ends, other.ends, Duration()));
  }
  return most;
}

double spread(const Job& job, std::uint32_t steps, const Replay& plain) {
  return spread(plain, [&](Variant variant) { return replay(job, steps, variant); });
}

}  // namespace stretto::check
