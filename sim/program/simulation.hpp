// SPDX-License-Identifier: Apache-2.0
// Simulation: the mutable state of one run of a step program under an order table. A value: copy it for a snapshot,
// reset it to run again without allocation, keep as many as you like. It refers to its program and order table, which
// must outlive it and are never written.
//
// Deterministic: the same program, order, iterations and stream give the same bits; nothing depends on other
// simulations in the process.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/network/network.hpp"
#include "sim/program/markers.hpp"
#include "sim/program/observer.hpp"
#include "sim/program/order_table.hpp"
#include "sim/program/program.hpp"
#include "sim/program/progress.hpp"
#include "sim/program/variation.hpp"
#include "sim/resource/pool.hpp"

namespace stretto::program {

enum class Status : std::uint8_t {
  Reached,   // what was asked for has happened
  Deadlock,  // nothing is left to happen, the background apart, and what was asked for has not
  Stopped,   // the time was up first
};

// One activity that cannot go on, for the report of a deadlock.
struct Blocked {
  enum class Wait : std::uint8_t {
    Predecessors,  // `have` of `need` have come; `missing` are some that have not
    Turn,          // ready, but a lower rank of its channel has not been handed over; `missing` = that message
  };
  ActivityId activity;
  std::uint32_t iteration = 0;
  Wait wait = Wait::Predecessors;
  std::uint32_t have = 0;
  std::uint32_t need = 0;
  std::vector<ActivityId> missing;
};

class Simulation {
 public:
  // `iterations` > 0: instances of later iterations are never started, but for endless activities.
  Simulation(const StepProgram& program, const OrderTable& order, std::uint32_t iterations,
             const Variation* variation = nullptr);

  // Back to time 0 with another order; keeps the memory. `variation` (null: none) must outlive the run.
  void reset(const OrderTable& order, std::uint32_t iterations, const Variation* variation = nullptr);
  // Records of all activities go to `observer` (null: to nobody) from now on; of an activity under way, the times that
  // passed before are reported as 0. A copy of the simulation tells the same observer.
  void observe(Observer* observer);

  // Runs until every marker has been passed `count` times (count <= iterations).
  Status run_until(std::uint32_t count);
  // The same, but only through instants up to `last`.
  Status run_until(std::uint32_t count, Time last);
  // Goes on under another order, which differs from the present one in ranks only. Equal to a run under `order` from
  // the start if no choice so far would have been another, where a batch of messages that still waits for its wire
  // counts as not chosen yet. O(waiting messages).
  void reorder(const OrderTable& order);
  // Runs until all markers together have been passed `total` times.
  Status run_until_total(std::uint64_t total);
  // Marker `m` of `markers` passed `count` times: each of them, or with `together` all of them in sum.
  struct Goal {
    std::uint32_t first_marker = 0;
    std::uint32_t markers = 0;
    std::uint64_t count = 0;
    bool together = false;
  };
  bool reached(const Goal& goal) const;
  // Runs until one of the goals is reached that is not yet, there being one.
  Status run_until_any(std::span<const Goal> goals);
  // Runs until nothing is left to happen, or with endless activities until all others have ended; Deadlock if one of
  // these has not run in every iteration.
  Status run();

  Time now() const { return now_; }
  // Completion times of marker m, by iteration.
  const std::vector<Time>& marker_times(std::size_t m) const { return markers_.times(m); }
  // Time that the units of the pool have worked up to now, summed over the units.
  Duration busy_time(PoolId pool) const { return pools_[pool.index()].busy_time(now_); }
  std::int64_t bytes_carried(network::LinkId link) const { return network_.bytes_carried(link, now_); }
  // Arrivals at joins that were done already; those of skipped activities not counted.
  std::uint64_t late_arrivals() const { return progress_.late_arrivals(); }
  // Instances of the activity that have ended, skipped ones included.
  std::uint32_t done(ActivityId activity) const { return progress_.done(activity.index()); }
  // Instances that have ended, without those of endless activities.
  std::uint64_t finished() const { return finished_; }
  // Why a deadlocked simulation cannot go on: at most `limit` entries, those nearest to a cause first (cycles, then
  // what waits for them). O(activities + edges).
  std::vector<Blocked> blocked(std::size_t limit) const;

 private:
  enum EventKind : std::uint32_t { kComputeEnd, kSendEnd, kReceiveEnd, kDelayEnd, kMove, kWake, kNotice, kLinkChange };

  bool instant();
  void handle(const engine::Event& event);
  void ready(std::uint32_t activity);
  void join_ready(std::uint32_t activity);
  void complete(std::uint32_t activity);
  void submit(std::uint32_t pool, const resource::Job& job);
  void submit_service(const channel::Service& service, std::uint32_t activity, EventKind end);
  void dispatch();
  void message_ready(std::uint32_t activity);
  void wait_for_turn(std::uint32_t activity, channel::HandOver rule);
  bool skips(std::uint32_t activity);
  double varied(std::uint32_t activity, std::uint32_t pool);
  void pass_turn(std::uint32_t activity);
  bool may_go(const channel::ChannelState& state, channel::HandOver rule) const;
  bool next_turn(channel::ChannelState& state, channel::HandOver rule, std::uint32_t& activity);
  void queue_turn(std::uint32_t channel, std::uint64_t key, std::uint32_t activity);
  void ask_for_turn(std::uint32_t channel);
  std::uint64_t random_key(std::uint32_t activity) const;
  std::uint64_t turn_key(channel::HandOver rule, std::uint32_t channel, std::uint32_t activity) const;
  void deliver(std::uint32_t activity);
  void end_span(std::uint32_t span);
  void notify(std::uint32_t activity);
  void notice(std::uint32_t activity);
  void hand_over(std::uint32_t activity);
  void enter_wire(std::uint32_t activity);
  void try_move(std::uint32_t channel);
  void move(std::uint32_t activity);
  void arrived(std::uint32_t activity);
  void due_for_dispatch(std::uint32_t pool);
  // Nothing but the background is left to happen.
  bool only_background() const {
    return started_ && program_->chains > 0 && queue_.size() + on_wires_ == program_->chains;
  }

  const StepProgram* program_;
  const OrderTable* order_;
  const Variation* variation_ = nullptr;
  std::uint32_t iterations_ = 1;
  Time now_;
  bool started_ = false;  // the instant 0 is over
  engine::EventQueue queue_;
  std::vector<Duration> latencies_;  // of channels without a queue before the wire, one for each line of queue_
  bool queues_for_wire_ = false;     // some channel limits its streams or counts spans
  network::Network network_;
  std::vector<resource::Pool> pools_;
  std::vector<channel::ChannelState> channels_;
  Progress progress_;
  Markers markers_;
  std::vector<std::uint32_t> pool_dispatch_;
  std::vector<std::uint32_t> channel_dispatch_;
  std::vector<std::uint32_t> completed_;  // take no time; ended in the order of becoming ready
  std::size_t completed_head_ = 0;
  std::vector<std::uint32_t> tokens_;
  std::vector<ToggleState> toggles_;   // per pool, where some toggle
  std::vector<std::uint8_t> skipped_;  // per group: its current iteration is skipped
  std::uint64_t finished_ = 0;
  std::uint32_t on_wires_ = 0;  // messages that move
  std::uint64_t services_ = 0;  // asked for so far
  std::uint32_t batches_ = 0;
  std::uint32_t batch_ = 0;  // of the choice under way
  Observer* observer_ = nullptr;
  std::vector<ActivityRecord> records_;  // of instances under way, if observed
};

}  // namespace stretto::program
