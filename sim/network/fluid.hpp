// SPDX-License-Identifier: Apache-2.0
// Fluid network: flows on shared links at max-min fair rates, solved by link clocks and relaxation.
//
// Model (exact): a flow moves `bytes` over its route. At every instant all rates grow together from 0; a flow stops
// growing when one of its links is full or its cap is met. Rates change only when a flow starts or ends. Latency is not
// here (the channel delays the start).
//
// Method. Flows of one route form a class and share one rate r. A link of capacity C has a level L: the fair share of
// the classes frozen on it, infinite while it is not full. With w flows in class c and o(c, l) = least level of c's
// other links (and cap), L solves
//     sum over classes of w * min(o, L) = C,   L = infinity if sum of w * o <= C,
// and r = least level on the route, whose link is the class's bottleneck. Every fixed point of these equations gives
// each class a full link on which no other class is faster, which is the definition of max-min fairness. After the
// events of an instant the touched links are relaxed first in, first out until nothing changes.
//   Each link keeps a clock V = bytes that every flow frozen on it has received; a class frozen there has received
// V + offset. A flow that starts at class clock X ends when the class has received X + bytes; so finish times of flows
// whose rate did not change are never touched. A cap is a pseudo-link of constant level shared by equal caps.
//
// Cost: an event costs the relaxations that it causes times the classes on those links, not the flows alive. A guard on
// the number of relaxations falls back to progressive filling over all links (solve_full), the same fixed point.
// Times are rounded to the nearest picosecond; against exact arithmetic the error stays within some 10 ps.
// Validated against a naive solver (tests/property/fluid_test.cpp) and SimGrid (tests/crosscheck/maxmin_test.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/engine/indexed_heap.hpp"
#include "sim/network/wires.hpp"

namespace stretto::network {

// The state of one simulation's network; copyable (snapshot). Usage within an instant: start() and finish() in any
// order, then solve() once; next() is valid after solve().
class FluidNetwork {
 public:
  explicit FluidNetwork(const Wires& wires);

  // Back to an empty network without allocation.
  void reset();
  // A flow of `bytes` >= 0 begins to move now. `token` is returned by finish().
  void start(Time now, RouteId route, Bytes bytes, std::uint32_t token);
  // Time of the next end of a flow under the current rates, Time::never() if none moves.
  Time next() const;
  // Appends the tokens of all flows that end at `now`.
  void finish(Time now, std::vector<std::uint32_t>& tokens);
  // Shares the links anew if anything started or ended since the last call.
  void solve(Time now);

  // From now on the link has `factor` > 0 times its capacity in the wires; rates follow with the next solve().
  void set_capacity(LinkId link, double factor);

  // Bytes per picosecond of each flow of the route, 0 if it has none.
  double rate(RouteId route) const;
  std::uint32_t flows(RouteId route) const { return classes_[route.index()].flows; }
  // Bytes of the flows that have ended, by link.
  std::int64_t bytes_carried(LinkId link) const;
  // How often the relaxation guard fell back to the full solver.
  std::uint64_t full_solves() const { return full_solves_; }
  std::uint64_t relaxations() const { return relaxations_; }

 private:
  static constexpr std::uint32_t kNone = engine::kNotInHeap;
  struct Flow {
    double threshold;  // class clock at which it ends
    std::int64_t bytes;
    std::uint32_t token;
  };
  struct LinkState {
    double capacity = 0;         // bytes/ps
    double level = 0;            // current
    double committed_level = 0;  // since `since`
    double clock = 0;            // at `since`
    Time since;
    double sum = 0;  // rates of all classes on it; maintained while not full
    bool marked = false;
    bool changed = false;
    std::vector<std::uint32_t> active;   // classes, any order
    engine::IndexedHeap<double> frozen;  // classes with flows whose committed bottleneck it is, by end on the clock
  };
  struct ClassState {
    std::uint32_t flows = 0;
    std::uint32_t bottleneck = kNone;
    std::uint32_t committed_bottleneck = kNone;
    bool active = false;  // in the active lists of its links
    bool moved = false;
    bool emptied = false;
    std::int64_t carried = 0;  // bytes of ended flows
    double rate = 0;           // infinite while no link of it has been relaxed
    double offset = 0;         // class clock - clock of the committed bottleneck
    std::vector<Flow> ends;    // heap, least threshold first
  };

  double clock_at(const LinkState& link, Time now) const;
  double class_clock(const ClassState& c, Time now) const;
  void mark(std::uint32_t link);
  void touch_rate(std::uint32_t cls, double delta);
  void activate(std::uint32_t cls);
  void deactivate(std::uint32_t cls);
  void relax(std::uint32_t link);
  void set_class(std::uint32_t cls, std::uint32_t relaxed, double rate, std::uint32_t bottleneck);
  void solve_full();
  void commit(Time now);
  void note_changed(std::uint32_t link);
  void schedule(std::uint32_t link, Time now);

  std::uint32_t real_links_ = 0;
  std::vector<double> nominal_;      // capacities of the real links as the wires have them, bytes/ps
  std::vector<LinkState> links_;      // real links, then one pseudo-link per distinct cap
  std::vector<ClassState> classes_;   // one per route
  std::vector<std::uint32_t> first_;  // hops of class c: hop_[first_[c]] .. hop_[first_[c + 1]], caps last
  std::vector<std::uint32_t> hop_;
  std::vector<std::uint32_t> place_;            // place of the class in the active list of that hop
  std::vector<std::uint32_t> frozen_place_;     // of each class in the heap of its committed bottleneck
  engine::IndexedHeap<std::int64_t> finishes_;  // links by next end, ps
  std::vector<std::uint32_t> finish_place_;
  std::vector<std::uint32_t> instant_;  // tokens of flows that need no time
  Time instant_time_ = Time::never();
  std::vector<std::uint32_t> worklist_;
  std::size_t worklist_head_ = 0;
  std::vector<std::uint32_t> moved_;
  std::vector<std::uint32_t> emptied_;
  std::vector<std::uint32_t> changed_;
  std::vector<double> other_;  // scratch of relax
  std::vector<std::uint32_t> other_link_;
  std::vector<std::uint32_t> open_;
  std::uint64_t full_solves_ = 0;
  std::uint64_t relaxations_ = 0;
};

}  // namespace stretto::network
