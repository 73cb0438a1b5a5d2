// SPDX-License-Identifier: Apache-2.0
// Parameter-server training and inference: replica graph x cluster x layout -> step program.
//
// One step of worker w:
//   start -> step_overhead -> request to each server (one latency) -> pulls of that server's transfers (in the order's
//   turn) -> `passes` times: ops as their inputs and pulls arrive, on w's device -> pushes as the gradients of the last
//   pass are complete -> the worker has arrived when its ops, pulls and pushes are done
// What a gradient does at its server, and when step i + 1 of a worker starts:
//   sync, barrier     each gradient is added up (bytes / aggregate_rate on a server thread); the W-th of a transfer
//                     triggers its update (bytes / update_rate). Next step: all updates done and all workers arrived
//   sync, no barrier  the same; a pull starts at its own update of the step before (its request waits at the server),
//                     an op of the next step waits until all ops of the worker's step before are done, and for
//                     step_overhead. A variable that is never pushed is requested at the start of the step. Inference:
//                     each worker goes on by itself
//   local             as sync: `passes` local steps between a pull and a push, of what the worker's copy has changed by
//   async             each gradient is an update of its own. Next step: the worker has arrived and its updates are done
//   ssp               as async; step i starts when all workers have done step i - 1 - staleness
//   backup            as sync with a barrier, but the first W - backups gradients of a transfer trigger its update;
//                     those that come later use the network and are dropped. Next step of a worker: it has arrived and
//                     the updates are done. A worker that comes to a step that is over by then skips it
// Accumulation is `passes` > 1 in any mode of training. Pulls read at their hand-over what the server has by then.
// A slice is pulled, pushed, aggregated and updated alone; an op that reads a parameter waits for all its slices.
// With copy engines, a pulled slice is copied to the device before ops may read it, and a gradient's slices are copied
// to the host before they are pushed; each engine takes what is ready first. Costs of messages follow channel.hpp; a
// stage without cost takes no thread. See docs/model.md, sections 1 to 7.
// Cost: O(workers x (ops + edges + transfers)).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/cluster/topology.hpp"
#include "models/graph/graph.hpp"
#include "models/plan/plan.hpp"
#include "models/training/all_reduce.hpp"
#include "sim/program/order_table.hpp"
#include "sim/program/program.hpp"

namespace stretto::training {

enum class Mode : std::uint8_t { Training, Inference };
enum class Exchange : std::uint8_t { ParameterServer, AllReduce };
enum class Synchronization : std::uint8_t { Sync, Async, Ssp, Backup, Local };

// Traffic of others that comes and goes: a pause, then `bytes` over the links, sharing them as any message does, again
// and again from time 0 on. With `drawn` the pauses are exponential of mean `pause`. Links of processes that the
// cluster lacks are left out; then `alone`, what the whole route can carry, limits the rest.
struct Burst {
  std::vector<cluster::LinkRef> links = {};
  Duration latency = {};
  Bytes bytes = {};
  Duration pause = {};
  bool drawn = false;
  Bandwidth alone = Bandwidth::unlimited();
  bool operator==(const Burst&) const = default;
};

// Inference takes a graph of forward ops only (graph::forward_only). `input_time` > 0: each worker prepares one batch
// after the other beside its steps, each in that time. The first begins at time 0; the next begins when the step that
// takes the one before has started and that one is done (one batch is prepared ahead), so that in the long run no step
// is shorter. Ops without inputs wait for the batch of their step (of their pass, where there are several). Not with
// backup workers.
struct Options {
  Mode mode = Mode::Training;
  bool barrier = true;  // true with backup workers; async and ssp have none
  Duration input_time = {};
  Synchronization synchronization = Synchronization::Sync;  // Inference: Sync
  std::uint32_t staleness = 0;                              // Ssp
  std::uint32_t backups = 0;                                // Backup: < workers
  std::uint32_t passes = 1;                                 // forward and backward passes between pulls and pushes
  std::vector<Duration> late = {};  // per worker (as far as it goes): delay of each step's start, before its overhead
  std::vector<Burst> bursts = {};
  Exchange exchange = Exchange::ParameterServer;  // AllReduce: training, Sync or Local
  AllReduce all_reduce = {};
};

// What an activity stands for. `item` is an op, a transfer (also of copies) or a server (Request), else 0; of a
// collective the first transfer of its bucket, of traffic of others its number. `worker` is 0 where it has none
// (Aggregate, Update of all workers' gradients, StepEnd, Gate; Negotiation, Collective, CollectiveDone; Pause, Burst),
// and of a message the sender.
enum class Role : std::uint8_t {
  Start,
  Overhead,
  Request,
  Pull,
  Op,
  Push,
  Aggregate,
  Update,
  OpsDone,
  Arrived,
  StepEnd,
  Input,
  PassDone,
  Sum,
  Gate,
  CopyIn,
  CopyOut,
  Late,
  Negotiation,     // all ranks have the gradients of a bucket
  Collective,      // turn of a collective, for all ranks
  Enter,           // a rank has a stream for it
  Message,         // of one round, `pass`
  Exit,            // the rank has done its part
  CollectiveDone,  // all ranks have
  Reduced,         // all buckets are reduced
  Pause,           // of traffic of others
  Burst,
};

struct Label {
  Role role = Role::Start;
  Part part = Part::Whole;  // of a collective
  std::uint16_t pass = 0;   // Op, Input, PassDone; Message: round
  std::uint32_t worker = 0;
  std::uint32_t item = 0;
};

struct HostLinks {
  network::LinkId up;
  network::LinkId down;
};

// A link that routes use beside the NICs: of the fabric, or inside a host.
struct InnerLink {
  cluster::LinkRef ref;
  network::LinkId link;
  std::string opposite;  // fabric: name of the link that leads back, or ""
};

struct Compiled {
  program::StepProgram program;
  std::vector<Label> labels;  // per activity
  std::uint32_t workers = 0;
  std::uint32_t servers = 0;
  std::uint32_t transfers = 0;
  std::uint32_t ops = 0;                     // of one pass
  std::vector<program::ActivityId> pull;     // [worker * transfers + transfer]
  std::vector<program::ActivityId> push;     // the same; none() where the transfer is not pushed
  std::vector<program::ActivityId> applied;  // the same; async and ssp: end of the update with that gradient
  std::vector<program::ActivityId> start;    // per worker: start of its step
  std::vector<program::PoolId> device;       // per worker
  std::vector<program::PoolId> copy_in;      // copy engines, per worker; empty where no device has them
  std::vector<program::PoolId> copy_out;
  std::vector<std::uint32_t> op_rank;  // per op: place by the longest path behind it; empty where no device asks for it
  std::vector<program::PoolId> worker_threads;
  std::vector<program::PoolId> server_threads;
  std::vector<HostLinks> worker_links;  // of its host
  std::vector<HostLinks> server_links;
  std::vector<InnerLink> inner_links;       // by kind, then number
  std::vector<cluster::LinkRef> link_refs;  // of each link of the program; one for all where one rank stands for all
  // All-reduce: links and threads of a worker may be those of all; `push` and `pull` hold the turns of the collectives
  // that reduce and of those that gather, of worker 0 and the first transfer of each bucket only.
  Exchange exchange = Exchange::ParameterServer;
  std::uint32_t ranks_simulated = 0;    // whose messages are simulated: all, or 1 that stands for all
  std::vector<std::uint32_t> receiver;  // per channel, as far as it goes: the worker that gets its messages
  Synchronization synchronization = Synchronization::Sync;
  // Markers of the program: with a barrier marker 0 is the end of the step; then, but with backup workers, one marker
  // per worker (its arrival; the end of its ops in sync without a barrier).
  bool barrier = true;
  std::size_t worker_marker(std::size_t worker) const { return worker + (barrier ? 1 : 0); }
  // Every worker does every step, so that all of them meet at the barrier.
  bool all_meet() const { return barrier && synchronization != Synchronization::Backup; }
  // Workers go on by themselves, each through steps of its own.
  bool own_pace() const { return synchronization == Synchronization::Async || synchronization == Synchronization::Ssp; }
};

// Activities that `compile` makes, at most: what a step costs in memory and time.
std::uint64_t most_activities(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                              const Options& options);

// Asserts that graph and layout fit each other; both are checked where they are read.
Compiled compile(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                 const Options& options);

// The bursts alone: a program that is all background, with `link_refs` and labels.
Compiled compile_background(const cluster::Cluster& cluster, const std::vector<Burst>& bursts);

// The order in the form that the engine executes. `stream` keys the draws of unordered channels.
program::OrderTable compile_order(const Compiled& compiled, const plan::Layout& layout, const plan::Order& order,
                                  std::uint64_t stream);

// "pull fc6/weights slice 2 of worker 3", for messages and traces.
std::string describe(const Compiled& compiled, const graph::Graph& graph, const plan::Layout& layout,
                     program::ActivityId activity);

}  // namespace stretto::training
