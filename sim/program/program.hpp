// SPDX-License-Identifier: Apache-2.0
// Step program: one iteration of a training job as a graph of activities, free of training words. Compiled once per
// layout, never changed, shared by all simulations of it.
//
// Activities:
//   Compute  occupies one unit of a pool for a duration
//   Message  crosses a channel with a number of bytes
//   Delay    lasts a duration, occupies nothing
//   Join     lasts nothing; done when `need` of its predecessors are; later arrivals of the iteration are counted only
//   Span     a Message on a channel of spans: ends as soon as it has its turn and its stream, which it keeps until its
//            SpanEnd, an activity of the same iteration behind it
//   Gate     a Join of all its predecessors that runs ahead of them: instance i waits for their instances i - lag
// An edge a -> b of distance d (0 or 1) says: b of iteration i + d waits for a of iteration i. Edges of distance 1 into
// iteration 0 are satisfied from the start. Instances of one activity run in the order of iterations. An activity may
// run ahead of its successors; what comes more than one iteration early costs O(log) and memory for each such arrival.
// Endless activities (StepProgram::endless) know no last iteration, whatever is asked of the others. Those of the
// background (StepProgram::background) are traffic and pauses of others, of which no observer is told.
// Skipping: a group of activities watches one more. If that one has finished an iteration by the time the group's first
// activity is ready in it, the group skips it: its instances take no time and no resource, tell no observer and pass
// their turn. What members wait for in an iteration must come after the first.
//
// Flat arrays, 32-bit indices: 16 bytes per activity, 4 per edge, 4 for the counts of predecessors, 24 per channel.
// Counts and costs of services that many share are kept once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/base/id.hpp"
#include "sim/base/units.hpp"
#include "sim/channel/channel.hpp"
#include "sim/network/wires.hpp"

namespace stretto::program {

using ActivityId = Id<struct ActivityTag>;
using PoolId = Id<struct PoolTag>;
using ChannelId = Id<struct ChannelTag>;

enum class Kind : std::uint8_t { Compute, Message, Delay, Join };

struct Activity {
  std::int64_t amount = 0;  // Compute, Delay: ps; Message: bytes; Join: need
  // Compute: pool; Message: channel; Join: lag - 1 of a gate; Delay: the span that it ends + 1, 0 for none
  std::uint32_t where : 29 = 0;
  Kind kind : 2 = Kind::Join;
  bool marker : 1 = false;  // its completion times are kept
  std::uint32_t first_edge = 0;
};
static_assert(sizeof(Activity) == 16);

struct Edge {
  std::uint32_t to_and_distance = 0;
  std::uint32_t to() const { return to_and_distance >> 1; }
  std::uint32_t distance() const { return to_and_distance & 1U; }
};

// Which ready job a pool takes first: Fifo by time of becoming ready, Priority by the order table's rank, Random by a
// draw per job (TensorFlow's executor). Ties by activity id.
enum class PoolRule : std::uint8_t { Fifo, Priority, Random };

struct PoolSpec {
  std::string name;
  std::uint32_t units = 1;  // 0 = unlimited
  PoolRule rule = PoolRule::Fifo;
};

// How many predecessors an activity waits for (Join: as far as needed).
struct Need {
  std::uint32_t same_iteration = 0;  // of distance 0
  std::uint32_t all = 0;             // of any distance
  auto operator<=>(const Need&) const = default;
};

// Of one channel.
inline constexpr std::uint32_t kMostStreams = 1U << 16;
inline constexpr std::uint32_t kMostOpen = (1U << 14) - 1;

// A channel::Channel with its services by place in StepProgram::services.
struct Connection {
  network::RouteId route;
  std::uint32_t streams : 17 = 1;
  std::uint32_t open_at_a_time : 14 = 0;
  std::uint32_t spans : 1 = 0;
  Duration latency;
  std::uint32_t send = 0;
  std::uint32_t receive = 0;
};
static_assert(sizeof(Connection) == 24);

enum class NetworkModel : std::uint8_t { Fluid, Fifo };

// Activities that are skipped together.
struct SkipGroup {
  std::uint32_t first = 0;
  std::uint32_t watched = 0;
};

struct StepProgram {
  std::vector<Activity> activities;  // plus one sentinel that ends the edges of the last
  std::vector<Edge> edges;
  std::vector<Need> needs;             // all different
  std::vector<std::uint32_t> need_of;  // by activity, place in needs
  std::vector<PoolSpec> pools;
  std::vector<Connection> channels;
  std::vector<channel::Service> services;  // all different
  network::Wires wires;
  NetworkModel network_model = NetworkModel::Fluid;
  Bytes chunk;                      // NetworkModel::Fifo
  std::vector<ActivityId> markers;  // activities whose completion times are kept
  std::vector<SkipGroup> skips;
  std::vector<std::uint32_t> skip_of;  // per activity: its group or kNoSkip; empty without groups

  // Activities from this number on are endless. No edge leads from one of these to the others or back.
  std::uint32_t endless = 0xFFFFFFFFU;
  // Endless activities from this number on are the background: so many chains, each of which has one activity under way
  // at any time, which holds one event of the queue or one message on its wires. Where these are all that is left to
  // happen, the rest of the program cannot go on.
  std::uint32_t background = 0xFFFFFFFFU;
  std::uint32_t chains = 0;

  static constexpr std::uint32_t kNoSkip = 0xFFFFFFFFU;

  std::uint32_t size() const { return static_cast<std::uint32_t>(need_of.size()); }
  const channel::Service& send_service(std::uint32_t channel) const { return services[channels[channel].send]; }
  const channel::Service& receive_service(std::uint32_t channel) const { return services[channels[channel].receive]; }
  // Distance of an edge with regard to the lag of gates.
  std::uint32_t distance(Edge edge) const {
    if (edge.distance() == 0) return 0;
    const Activity& to = activities[edge.to()];
    return to.kind == Kind::Join ? to.where + 1 : 1;
  }
  // How many predecessors the instance waits for.
  std::uint32_t need(std::uint32_t activity, std::uint32_t iteration) const {
    const Activity& a = activities[activity];
    const std::uint32_t lag = a.kind == Kind::Join ? a.where : 0;
    const Need& need = needs[need_of[activity]];
    return iteration <= lag ? need.same_iteration : need.all;
  }
};

// Collects activities and edges in any order, then sorts the edges by origin (stable).
class ProgramBuilder {
 public:
  PoolId add_pool(PoolSpec pool);
  ChannelId add_channel(channel::Channel channel);
  network::Wires& wires() { return program_.wires; }
  void set_network_model(NetworkModel model, Bytes chunk);

  ActivityId add_compute(PoolId pool, Duration duration);
  ActivityId add_message(ChannelId channel, Bytes bytes);
  ActivityId add_delay(Duration duration);
  // Ends a message on a channel of spans, which must have ended when this one is ready; lasts nothing.
  ActivityId add_span_end(ActivityId span);
  // need = 0: all predecessors.
  ActivityId add_join(std::uint32_t need = 0);
  // Takes edges of distance 1 only, which then have distance `lag` (>= 1).
  ActivityId add_gate(std::uint32_t lag);
  void add_edge(ActivityId from, ActivityId to, std::uint32_t distance = 0);
  void add_marker(ActivityId activity);
  // Traffic of others: again and again a pause of `pause` on `pool`, which has no limit, then `bytes` over `channel`,
  // which limits no streams. Nothing else may be added behind it but more of it.
  struct Burst {
    ActivityId pause;
    ActivityId message;
  };
  Burst add_background(PoolId pool, Duration pause, ChannelId channel, Bytes bytes);
  // A group of one, then more members.
  std::uint32_t add_skip(ActivityId first, ActivityId watched);
  void skip_with(std::uint32_t group, ActivityId activity);
  void reserve(std::size_t activities, std::size_t edges);

  // Leaves the builder empty. Asserts that all ids exist and that no join needs more than it has.
  StepProgram finish();

 private:
  ActivityId add(Kind kind, std::uint32_t where, std::int64_t amount);
  std::uint32_t service(const channel::Service& service);
  StepProgram program_;
  std::map<std::tuple<std::uint32_t, std::int64_t, double>, std::uint32_t> services_;
  std::vector<std::uint32_t> from_;
  std::vector<Edge> to_;
};

}  // namespace stretto::program
