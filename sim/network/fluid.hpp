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
//   A link that is not full only has to know that it stays so. It counts each class at the reservation R >= L of the
// class's bottleneck (at most twice L, renewed with a quarter of reserve); while these sums are within its capacity it
// is "roomy", and changes of levels below R do not touch it. On a link whose classes all have roomy links otherwise, an
// event is L = C / flows at once. A roomy link whose sum outgrows it is relaxed exactly: it turns full, or it is told
// of every change until its sum fits again.
//   Each link keeps a clock V = bytes that every flow frozen on it has received; a class frozen there has received
// V + offset. A flow that starts at class clock X ends when the class has received X + bytes; so ends of flows on a
// link whose level did not change are never touched. A cap is a pseudo-link of constant level shared by equal caps.
//
// Memory: some 100 bytes per route of two links, in arrays that copy as they are, and 24 per flow alive.
// Cost: an event costs the relaxations that it causes times the classes on those links, not the flows alive. Where many
// links are full and share flows (a crowded fat-tree) an event relaxes most links several times; when that costs more
// than progressive filling of all links (flows alive times hops), the instant and a number of those after it are filled
// instead: the same fixed point up to rounding. A filling goes on from the last state of the one before that the events
// since then leave as it was. What is counted is work, never time, so that runs are reproducible.
// Times are rounded to the nearest picosecond; against exact arithmetic the error stays within some 10 ps.
// Validated against a naive solver (tests/property/fluid_test.cpp) and SimGrid (tests/crosscheck/maxmin_test.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/engine/indexed_heap.hpp"
#include "sim/network/flow_heaps.hpp"
#include "sim/network/wires.hpp"

namespace stretto::network {

// The state of one simulation's network; copyable (snapshot). Usage within an instant: start() and finish() in any
// order, then solve() once; next() is valid after solve().
class FluidNetwork {
 public:
  // Adaptive is the cheaper one of the other two, as counted while it runs; those are for tests and comparisons.
  enum class Method : std::uint8_t { Adaptive, Relaxation, Filling };
  explicit FluidNetwork(const Wires& wires, Method method = Method::Adaptive);

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
  std::uint32_t flows(RouteId route) const { return flows_[route.index()]; }
  // Bytes that have crossed the link up to `now` (this instant or later, before the next end), to the nearest byte.
  std::int64_t bytes_carried(LinkId link, Time now) const;
  // Instants that were filled.
  std::uint64_t full_solves() const { return full_solves_; }
  // Of these, those that went on from a state of the one before.
  std::uint64_t resumed_solves() const { return resumed_solves_; }
  std::uint64_t relaxations() const { return relaxations_; }

 private:
  static constexpr std::uint32_t kNone = engine::kNotInHeap;
  // A link counts as over capacity beyond this relative difference; far below the 1e-9 that the model promises and
  // above the rounding of the sums.
  static constexpr double kFull = 1e-12;
  // Relative difference below which a level has not changed.
  static constexpr double kSame = 1e-14;
  // A reservation is made with this reserve.
  static constexpr double kReserve = 1.25;
  // A class on a link.
  struct Slot {
    std::uint32_t cls;
    std::uint32_t other;  // the only other link of its route, no_link_ if there is none, kNone if there are several
    std::uint32_t hop;    // index into hop_
  };
  struct LinkState {
    double capacity = 0;         // bytes/ps
    double committed_level = 0;  // since `since`
    double clock = 0;            // at `since`
    Time since;
    double sum = 0;  // of reservations; maintained while roomy
    std::uint64_t flows = 0;
    std::int64_t begun = 0;          // bytes of flows that have started
    std::uint32_t several = 0;       // classes here with more than two links
    std::uint32_t tight_others = 0;  // links that are not roomy, over all classes here and the other links of each
    bool marked = false;
    bool changed = false;
    std::vector<Slot> active;            // any order
    engine::IndexedHeap<double> frozen;  // classes with flows whose committed bottleneck it is, by end on the clock
  };
  struct ClassState {
    double offset = 0;  // class clock - clock of the committed bottleneck
    std::uint32_t committed_bottleneck = kNone;
    std::uint32_t ends = FlowHeaps::kEmpty;  // heap in ends_
    bool active = false;                     // in the active lists of its links
    bool moved = false;
    bool emptied = false;
  };

  // Of a link while all are filled.
  struct Open {
    double room;   // bytes/ps not taken by frozen classes
    double flows;  // of classes that are not frozen
  };
  struct Share {
    double level;
    std::uint32_t link;
  };
  // A state of a filling: all classes that are slower than `level` are frozen.
  struct Stage {
    double level = 0;
    std::size_t classes = 0;  // frozen ones
    std::size_t links = 0;    // full ones
    std::vector<Open> open;
  };
  struct Touched {
    std::uint32_t cls;
    std::int32_t flows;  // more than at the last filling
  };
  // What fill_all works on, made when first needed, and what the next one may go on from.
  struct Filling {
    static constexpr std::uint32_t kBuckets = 1024;
    static constexpr int kShift = 45;  // 128 buckets to an octave
    static constexpr std::size_t kStages = 12;
    void begin(std::size_t links, std::size_t classes);
    std::size_t collect(const std::vector<Slot>& slots);
    void thaw(std::size_t classes);
    std::uint32_t bucket_of(double level) const;
    void put(std::uint32_t link, double level);
    void keep_stage(double level);
    void forget();

    std::size_t stages = 0;                          // of the last filling
    std::vector<Stage> stage;                        // at least so many, by level
    std::vector<Touched> touched;                    // since then
    std::vector<std::uint32_t> order;                // frozen classes, slowest first
    std::vector<std::uint32_t> position;             // of each frozen class in it
    std::vector<std::uint32_t> full;                 // links, least level first
    std::vector<Open> open;                          // of each link
    std::vector<double> share;                       // of each link: a bound on its level
    std::uint64_t least_bits = 0;                    // of the least share
    std::vector<std::uint32_t> first;                // link of each bucket
    std::vector<std::uint32_t> after;                // of each link: the next one of its bucket
    std::vector<Share> heap;                         // links of the bucket at hand by share
    std::vector<std::uint8_t> frozen;                // of each class: 1 or 0
    std::vector<std::uint32_t> freezing;             // classes of the link at hand
    std::vector<std::vector<std::uint32_t>> capped;  // active classes of each pseudo-link
  };

  // The two least levels on a route, equal ones apart.
  struct Least {
    double first;
    double second;
  };

  double clock_at(const LinkState& link, Time now) const;
  double class_clock(const ClassState& c, Time now) const;
  void mark(std::uint32_t link);
  void note_changed(std::uint32_t link);
  void note_moved(std::uint32_t cls);
  void activate(std::uint32_t cls);
  void deactivate(std::uint32_t cls);
  void add_flows(std::uint32_t cls, std::int64_t count);
  void reserve(std::uint32_t link, double amount);
  template <class Function>
  void for_other_links(const Slot& slot, std::uint32_t link, Function&& function) const;
  Least least_of(std::uint32_t cls) const;
  void relax(std::uint32_t link);
  bool relax_alone(std::uint32_t link);
  double fill(const LinkState& link, double guess) const;
  std::uint32_t bottleneck_besides(const Slot& slot, std::uint32_t link, double level) const;
  std::uint8_t sum_fits(std::uint32_t link);
  void set_roomy(std::uint32_t link);
  bool relax_all();
  void fill_all();
  double resume();
  void list_capped();
  void set_level(std::uint32_t link, double level);
  void prepare_relaxation();
  void commit(Time now);
  void schedule(std::uint32_t link, Time now);
  void freeze(std::uint32_t cls, LinkState& link);

  std::uint32_t real_links_ = 0;
  std::vector<double> nominal_;  // capacities of the real links as the wires have them, bytes/ps
  std::uint32_t no_link_ = 0;    // a place behind the links: never full
  Method method_;
  std::vector<LinkState> links_;     // real links, then one pseudo-link per distinct cap
  std::vector<double> level_;        // of each link, and infinity for no_link_
  std::vector<double> reserved_;     // of each link with a level: a bound on it
  std::vector<std::uint8_t> roomy_;  // of each link
  std::vector<ClassState> classes_;  // one per route
  FlowHeaps ends_;
  std::vector<std::uint32_t> flows_;       // of each class
  std::vector<std::uint32_t> bottleneck_;  // of each class; kNone while no link of it has been relaxed
  std::vector<Least> least_;               // of each active class of more than two links; empty if there is none
  std::vector<std::uint32_t> first_;       // hops of class c: hop_[first_[c]] .. hop_[first_[c + 1]], caps last
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
  std::vector<double> other_;  // scratch of relax: least level of the class's other links, and its flows
  std::vector<double> weight_;
  Filling filling_;
  std::uint32_t to_fill_ = 0;         // instants to fill before relaxation is tried again; reservations hold only if 0
  std::uint32_t fillings_ = 0;        // what to_fill_ was set to last
  std::uint32_t relaxed_ = 0;         // instants relaxed since
  bool dirty_ = false;                // something started, ended or changed its capacity since the last solve
  std::uint64_t classes_shared_ = 0;  // active classes on real links
  std::uint64_t hops_active_ = 0;     // of all active classes
  std::uint64_t work_ = 0;            // relaxations and classes looked at in them
  std::uint64_t mean_work_ = 0;       // of the last instants that were relaxed
  std::uint64_t full_solves_ = 0;
  std::uint64_t resumed_solves_ = 0;
  std::uint64_t relaxations_ = 0;
};

}  // namespace stretto::network
