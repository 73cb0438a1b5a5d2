// SPDX-License-Identifier: Apache-2.0
// What the search sees of a cluster: the cost of an order under one layout. The search knows no simulator; experiment/
// implements this with the engine and with a closed form.
//
// A cost is a step time in whole picoseconds. It is a function of the order alone: neither what was evaluated before,
// nor the limit, nor a copy of the evaluator changes it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "models/plan/plan.hpp"
#include "sim/base/units.hpp"

namespace stretto::search {

// More than any cost: above the limit, or the order deadlocks.
inline constexpr Duration kAbove = Duration::ps(std::numeric_limits<std::int64_t>::max());

// A transfer for which the step stood still.
struct Wait {
  bool push = false;
  std::uint32_t transfer = 0;
  Duration time;
};

struct Counters {
  std::uint64_t evaluations = 0;
  std::uint64_t stopped = 0;     // ended early, above the limit
  std::uint64_t resumed = 0;     // did not start at the beginning
  std::uint64_t activities = 0;  // simulated, runs for snapshots included
  Counters& operator+=(const Counters& other);
};

// The state of one thread.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // The cost of `order`, or kAbove if it is more than `stop_above`.
  virtual Duration evaluate(const plan::Order& order, Duration stop_above) = 0;
  Duration evaluate(const plan::Order& order) { return evaluate(order, kAbove); }
  // The orders to come differ little from this one. Only the speed changes.
  virtual void expect_near(const plan::Order&) {}
  // What the step waits for under `order`, longest first; may be empty.
  virtual std::vector<Wait> waits(const plan::Order&) { return {}; }
  virtual std::unique_ptr<Evaluator> clone() const = 0;
  const Counters& counters() const { return counters_; }

 protected:
  Counters counters_;
};

// The costs of all orders, one limit for all; evaluator i serves thread i.
std::vector<Duration> evaluate_all(std::span<const std::unique_ptr<Evaluator>> evaluators,
                                   std::span<const plan::Order> orders, Duration stop_above = kAbove);

}  // namespace stretto::search
