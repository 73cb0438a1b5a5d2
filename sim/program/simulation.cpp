// SPDX-License-Identifier: Apache-2.0
#include "sim/program/simulation.hpp"

#include <algorithm>

#include "sim/base/assert.hpp"
#include "sim/base/random.hpp"

namespace stretto::program {

using channel::ChannelState;
using channel::HandOver;
using engine::Phase;

namespace {
constexpr std::size_t kMaxLines = 4;  // further latencies wait in the heap of events
}  // namespace

Simulation::Simulation(const StepProgram& program, const OrderTable& order, std::uint32_t iterations,
                       const Variation* variation)
    : program_(&program),
      order_(&order),
      network_(program.wires, program.network_model == NetworkModel::Fluid, program.chunk),
      pools_(program.pools.size()),
      progress_(program),
      markers_(program) {
  for (const Connection& c : program.channels) {
    if (c.streams != 0 || c.spans)
      queues_for_wire_ = true;
    else if (c.latency > Duration() && latencies_.size() < kMaxLines &&
             std::find(latencies_.begin(), latencies_.end(), c.latency) == latencies_.end())
      latencies_.push_back(c.latency);
  }
  queue_ = engine::EventQueue(static_cast<std::uint32_t>(latencies_.size()));
  reset(order, iterations, variation);
}

void Simulation::reset(const OrderTable& order, std::uint32_t iterations, const Variation* variation) {
  STRETTO_ASSERT(iterations > 0, "no iteration to run");
  STRETTO_ASSERT(order.discipline.empty() || order.discipline.size() == program_->channels.size(),
                 "order of {} channels for {}", order.discipline.size(), program_->channels.size());
  STRETTO_ASSERT(order.rank.empty() || order.rank.size() == program_->size(), "ranks of {} activities for {}",
                 order.rank.size(), program_->size());
  order_ = &order;
  variation_ = variation;
  iterations_ = iterations;
  now_ = Time();
  queue_.clear();
  network_.reset();
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    pools_[p].reset();
    pools_[p].units = program_->pools[p].units;
  }
  // Without queues before the wire and orders, channels have no state.
  channels_.resize(queues_for_wire_ || !order.discipline.empty() ? program_->channels.size() : 0);
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    channels_[c].reset();
    const HandOver rule = order.discipline.empty() ? HandOver::Free : order.discipline[c];
    if (rule == HandOver::Window || rule == HandOver::ChainWindow)
      channels_[c].window.reset(order.ranked[c], order.window[c]);
    if (rule == HandOver::Credit || rule == HandOver::CreditSkip) channels_[c].credit = order.credit[c];
  }
  progress_.reset();
  markers_.reset(iterations);
  started_ = false;
  pool_dispatch_.clear();
  channel_dispatch_.clear();
  completed_.clear();
  completed_head_ = 0;
  finished_ = services_ = 0;
  on_wires_ = 0;
  batches_ = batch_ = 0;
  skipped_.assign(program_->skips.size(), 0);
  toggles_.assign(variation == nullptr ? 0 : variation->toggle_key.size(), ToggleState());
  for (std::size_t k = 0; variation != nullptr && k < variation->links.size(); ++k)
    queue_.push(variation->links[k].at, Phase::Begin, kLinkChange, static_cast<std::uint32_t>(k));
  for (std::uint32_t a = 0; a < program_->size(); ++a)
    if (progress_.open(a, 0) == 0) ready(a);
}

void Simulation::observe(Observer* observer) {
  if (observer_ == nullptr && observer != nullptr) records_.assign(program_->size(), ActivityRecord());
  observer_ = observer;
}

// The activity's current iteration has all it waits for.
void Simulation::ready(std::uint32_t a) {
  const Activity& activity = program_->activities[a];
  if (observer_ != nullptr) records_[a].ready = records_[a].begin = now_;
  if (!program_->skip_of.empty() && skips(a)) {
    if (activity.kind == Kind::Message) pass_turn(a);
    completed_.push_back(a);
    return;
  }
  switch (activity.kind) {
    case Kind::Compute: {
      resource::Job job;
      job.tie = job.activity = a;
      job.kind = kComputeEnd;
      job.duration = Duration::ps(activity.amount);
      switch (program_->pools[activity.where].rule) {
        case PoolRule::Fifo:
          job.key = static_cast<std::uint64_t>(now_.ps());
          break;
        case PoolRule::Priority:
          job.key = order_->rank.empty() ? 0 : order_->rank[a];
          break;
        case PoolRule::Random:
          job.key = hash_draw(order_->stream, progress_.done(a), order_->id(a));
          break;
      }
      submit(activity.where, job);
      break;
    }
    case Kind::Message:
      message_ready(a);
      break;
    case Kind::Delay:
      if (activity.amount == 0)
        completed_.push_back(a);
      else
        queue_.push(now_ + Duration::ps(activity.amount), Phase::Begin, kDelayEnd, a);
      break;
    case Kind::Join:
      if (order_->delayed.empty())
        completed_.push_back(a);
      else
        join_ready(a);
      break;
  }
}

void Simulation::complete(std::uint32_t a) {
  const std::uint32_t iteration = progress_.end(a);
  finished_ += a < program_->endless ? 1 : 0;
  const bool skip =
      !program_->skip_of.empty() && program_->skip_of[a] != StepProgram::kNoSkip && skipped_[program_->skip_of[a]] != 0;
  if (observer_ != nullptr && !skip && a < program_->background) {
    ActivityRecord& r = records_[a];
    r.activity = a;
    r.iteration = iteration;
    r.end = now_;
    if (program_->activities[a].kind != Kind::Message) r.handed = r.on_wire = r.arrived = r.begin;
    observer_->on_end(r);
  }
  if (program_->activities[a].marker) markers_.pass(a, iteration, now_);
  if (program_->activities[a].kind == Kind::Delay && program_->activities[a].where != 0)
    end_span(program_->activities[a].where - 1);
  const std::uint64_t late = progress_.late_arrivals();
  const std::uint32_t end = program_->activities[a + 1].first_edge;
  for (std::uint32_t e = program_->activities[a].first_edge; e < end; ++e) {
    const Edge edge = program_->edges[e];
    const std::uint32_t b = edge.to();
    const std::uint32_t at = iteration + program_->distance(edge);
    if ((at < iterations_ || b >= program_->endless) && progress_.arrive(b, at) && b != a && progress_.done(b) == at)
      ready(b);
  }
  if (skip) progress_.forget_late_arrivals(late);
  // What came early for the next iteration may be all that it waits for.
  const std::uint32_t next = iteration + 1;
  if ((next < iterations_ || a >= program_->endless) && progress_.open(a, next) == 0) ready(a);
}

double Simulation::varied(std::uint32_t a, std::uint32_t pool) {
  const double factor = variation_->factor(a, progress_.done(a), pool, now_);
  return toggles_.empty() ? factor : factor * variation_->toggle_factor(pool, now_, toggles_[pool]);
}

void Simulation::submit(std::uint32_t pool, const resource::Job& job) {
  resource::Pool& p = pools_[pool];
  p.submit(job);
  due_for_dispatch(pool);
}

// Services of one instant keep the order in which they were asked for, behind the computes of that instant.
void Simulation::submit_service(const channel::Service& service, std::uint32_t a, EventKind end) {
  resource::Job job;
  job.key = static_cast<std::uint64_t>(now_.ps());
  job.tie = (std::uint64_t{1} << 32) + services_++;
  job.activity = a;
  job.kind = end;
  job.duration = service.of(program_->activities[a].amount);
  submit(service.pool, job);
}

// The pool has a waiting job or a free unit more than before: it chooses in this instant if it can.
void Simulation::due_for_dispatch(std::uint32_t pool) {
  resource::Pool& p = pools_[pool];
  if (p.in_dispatch || !p.can_start()) return;
  p.in_dispatch = true;
  pool_dispatch_.push_back(pool);
}

// Choices of the instant, in the order in which pools and channels asked for them.
void Simulation::dispatch() {
  for (std::size_t i = 0; i < channel_dispatch_.size(); ++i) {
    ChannelState& c = channels_[channel_dispatch_[i]];
    c.in_dispatch = false;
    const HandOver rule = order_->discipline[channel_dispatch_[i]];
    batch_ = ++batches_;
    std::uint32_t activity;
    while (next_turn(c, rule, activity)) {
      if (rule == HandOver::Credit || rule == HandOver::CreditSkip) c.credit -= program_->activities[activity].amount;
      hand_over(activity);
    }
  }
  channel_dispatch_.clear();
  batch_ = 0;
  for (std::size_t i = 0; i < pool_dispatch_.size(); ++i) {
    resource::Pool& p = pools_[pool_dispatch_[i]];
    p.in_dispatch = false;
    while (p.can_start()) {
      const resource::Job& next = p.next();
      Duration duration = next.duration;
      if (variation_ != nullptr && next.kind == kComputeEnd)
        duration = duration.scaled(varied(next.activity, pool_dispatch_[i]));
      const resource::Job job = p.start(now_, duration);
      if (observer_ != nullptr && job.kind == kComputeEnd) records_[job.activity].begin = now_;
      queue_.push(now_ + duration, Phase::Finish, job.kind, job.activity);
    }
  }
  pool_dispatch_.clear();
}

void Simulation::message_ready(std::uint32_t a) {
  const std::uint32_t c = program_->activities[a].where;
  const HandOver rule = order_->discipline.empty() ? HandOver::Free : order_->discipline[c];
  if (rule == HandOver::Free ||
      (rule != HandOver::Unordered && (order_->rank.empty() || order_->rank[a] == kPassFreely)))
    hand_over(a);
  else
    wait_for_turn(a, rule);
}

// A delivered message: its sender learns of it one latency later where the rule depends on it.
void Simulation::deliver(std::uint32_t a) {
  complete(a);
  notify(a);
}

void Simulation::hand_over(std::uint32_t a) {
  if (observer_ != nullptr) {
    records_[a].handed = now_;
    records_[a].batch = batch_;
  }
  const channel::Service& send = program_->send_service(program_->activities[a].where);
  if (send.pool == channel::kNoPool) {
    enter_wire(a);
    return;
  }
  submit_service(send, a, kSendEnd);
}

void Simulation::enter_wire(std::uint32_t a) {
  if (observer_ != nullptr) records_[a].on_wire = now_;
  const std::uint32_t c = program_->activities[a].where;
  const Connection& channel = program_->channels[c];
  if (channel.spans && channel.streams == 0) {
    ++channels_[c].moving;
    move(a);
    return;
  }
  if (channel.streams == 0) {
    const auto line = std::find(latencies_.begin(), latencies_.end(), channel.latency);
    if (channel.latency == Duration())
      move(a);
    else if (line != latencies_.end())
      queue_.push_on_line(static_cast<std::uint32_t>(line - latencies_.begin()), now_ + channel.latency, Phase::Begin,
                          kMove, a);
    else
      queue_.push(now_ + channel.latency, Phase::Begin, kMove, a);
    return;
  }
  channels_[c].wire.push(a, now_ + channel.latency, batch_);
  try_move(c);
}

void Simulation::try_move(std::uint32_t c) {
  ChannelState& state = channels_[c];
  while (state.moving < program_->channels[c].streams && !state.wire.empty()) {
    if (state.wire.earliest() > now_) {
      if (!state.wake_pending) {
        state.wake_pending = true;
        queue_.push(state.wire.earliest(), Phase::Begin, kWake, c);
      }
      return;
    }
    ++state.moving;
    move(state.wire.pop());
  }
}

void Simulation::move(std::uint32_t a) {
  if (observer_ != nullptr) records_[a].begin = records_[a].arrived = now_;
  const Activity& activity = program_->activities[a];
  if (program_->channels[activity.where].spans) {
    completed_.push_back(a);
    return;
  }
  ++on_wires_;
  network_.start(now_, program_->channels[activity.where].route, Bytes(activity.amount), a);
}

void Simulation::arrived(std::uint32_t a) {
  if (observer_ != nullptr) records_[a].arrived = now_;
  --on_wires_;
  const std::uint32_t c = program_->activities[a].where;
  if (program_->channels[c].streams != 0) {
    --channels_[c].moving;
    try_move(c);
  }
  const channel::Service& receive = program_->receive_service(c);
  if (receive.pool == channel::kNoPool) {
    deliver(a);
    return;
  }
  submit_service(receive, a, kReceiveEnd);
}

void Simulation::handle(const engine::Event& event) {
  const auto release = [&](std::uint32_t pool) {
    pools_[pool].release(now_);
    due_for_dispatch(pool);
  };
  const std::uint32_t a = event.target;
  switch (event.kind) {
    case kComputeEnd:
      release(program_->activities[a].where);
      complete(a);
      break;
    case kSendEnd:
      release(program_->send_service(program_->activities[a].where).pool);
      enter_wire(a);
      break;
    case kReceiveEnd:
      release(program_->receive_service(program_->activities[a].where).pool);
      deliver(a);
      break;
    case kDelayEnd:
      complete(a);
      break;
    case kMove:
      move(a);
      break;
    case kNotice:
      notice(a);
      break;
    case kLinkChange:
      network_.set_capacity(variation_->links[a].link, variation_->links[a].factor);
      break;
    case kWake:
      channels_[a].wake_pending = false;
      try_move(a);
      break;
    default:
      STRETTO_ASSERT(false, "event kind {}", event.kind);
  }
}

// One instant: its ends, then its beginnings, then its choices, as often as they cause each other; then the rates.
bool Simulation::instant() {
  if (started_) {
    const Time t = std::min(queue_.next(), network_.next());
    if (t == Time::never() || only_background()) return false;
    STRETTO_ASSERT(t >= now_, "{} ps after {} ps", t.ps(), now_.ps());
    now_ = t;
  }
  started_ = true;
  for (;;) {
    if (completed_head_ < completed_.size()) {
      complete(completed_[completed_head_++]);
    } else if (network_.next() == now_) {
      tokens_.clear();
      network_.finish(now_, tokens_);
      for (const std::uint32_t a : tokens_) arrived(a);
    } else if (queue_.next() == now_) {
      handle(queue_.pop());
    } else if (!pool_dispatch_.empty() || !channel_dispatch_.empty()) {
      dispatch();
    } else {
      completed_.clear();
      completed_head_ = 0;
      network_.solve(now_);
      return true;
    }
  }
}

Status Simulation::run_until(std::uint32_t count) {
  STRETTO_ASSERT(count <= iterations_ && markers_.size() > 0, "{} passes of {} markers in {} iterations", count,
                 markers_.size(), iterations_);
  while (!markers_.all_passed(count))
    if (!instant()) return Status::Deadlock;
  return Status::Reached;
}

Status Simulation::run_until(std::uint32_t count, Time last) {
  STRETTO_ASSERT(count <= iterations_ && markers_.size() > 0, "{} passes of {} markers in {} iterations", count,
                 markers_.size(), iterations_);
  while (!markers_.all_passed(count)) {
    const Time next = started_ ? std::min(queue_.next(), network_.next()) : now_;
    if (next == Time::never() || only_background()) return Status::Deadlock;
    if (next > last) return Status::Stopped;
    instant();
  }
  return Status::Reached;
}

Status Simulation::run_until_total(std::uint64_t total) {
  STRETTO_ASSERT(total <= std::uint64_t{iterations_} * markers_.size(), "{} passes of {} markers in {} iterations",
                 total, markers_.size(), iterations_);
  while (markers_.passes() < total)
    if (!instant()) return Status::Deadlock;
  return Status::Reached;
}

}  // namespace stretto::program
