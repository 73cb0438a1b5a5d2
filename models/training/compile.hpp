// SPDX-License-Identifier: Apache-2.0
// Synchronous parameter-server training and inference: replica graph x cluster x layout -> step program.
//
// One step of worker w, with a barrier:
//   start (after the barrier of the step before) -> step_overhead -> request to each server (one latency)
//   -> pulls of that server's transfers (in the order's turn) -> ops as their inputs and pulls arrive, on w's device
//   -> pushes as gradients are complete -> the worker has arrived when its ops, pulls and pushes are done
//   server: the W-th gradient of a transfer triggers its update (bytes / update_rate on a server thread)
//   barrier: all updates done and all workers arrived.
// Without a barrier (training): a pull starts at its own update of the step before (its request waits at the server);
// an op of the next step waits until all ops of the worker's step before are done, and for step_overhead. A variable
// that is never pushed is requested at the start of the step. Without a barrier (inference): each worker goes on by
// itself.
// A slice is pulled, pushed, aggregated and updated alone; an op that reads a parameter waits for all its slices.
// Costs of messages follow channel.hpp; a stage without cost takes no thread. See docs/model.md, sections 1 to 7.
// Cost: O(workers x (ops + edges + transfers)).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/graph/graph.hpp"
#include "models/plan/plan.hpp"
#include "sim/program/order_table.hpp"
#include "sim/program/program.hpp"

namespace stretto::training {

enum class Mode : std::uint8_t { Training, Inference };

// Inference takes a graph of forward ops only (graph::forward_only).
// `input_time` > 0: each worker prepares one batch after the other beside its steps, each in that time. The first
// begins at time 0; the next begins when the step that takes the one before has started and that one is done (one batch
// is prepared ahead), so that in the long run no step is shorter. Ops without inputs wait for the batch of their step.
struct Options {
  Mode mode = Mode::Training;
  bool barrier = true;
  Duration input_time = {};
};

// What an activity stands for. `item` is an op, a transfer or a server (Request), else 0; `worker` is 0 where it has
// none (Aggregate, Update, StepEnd).
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
  Input
};

struct Label {
  Role role = Role::Start;
  std::uint32_t worker = 0;
  std::uint32_t item = 0;
};

struct HostLinks {
  network::LinkId up;
  network::LinkId down;
};

struct Compiled {
  program::StepProgram program;
  std::vector<Label> labels;  // per activity
  std::uint32_t workers = 0;
  std::uint32_t servers = 0;
  std::uint32_t transfers = 0;
  std::vector<program::ActivityId> pull;  // [worker * transfers + transfer]
  std::vector<program::ActivityId> push;  // the same; none() where the transfer is not pushed
  std::vector<program::PoolId> device;    // per worker
  std::vector<program::PoolId> worker_threads;
  std::vector<program::PoolId> server_threads;
  std::vector<HostLinks> worker_links;
  std::vector<HostLinks> server_links;
  // Markers of the program: with a barrier marker 0 is the end of the step; then one marker per worker (arrival; end of
  // its ops where there is no barrier).
  bool barrier = true;
  std::size_t worker_marker(std::size_t worker) const { return worker + (barrier ? 1 : 0); }
};

// Asserts that graph and layout fit each other; both are checked where they are read.
Compiled compile(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                 const Options& options);

// The order in the form that the engine executes. `stream` keys the draws of unordered channels.
program::OrderTable compile_order(const Compiled& compiled, const plan::Layout& layout, const plan::Order& order,
                                  std::uint64_t stream);

// "pull fc6/weights slice 2 of worker 3", for messages and traces.
std::string describe(const Compiled& compiled, const graph::Graph& graph, const plan::Layout& layout,
                     program::ActivityId activity);

}  // namespace stretto::training
