// SPDX-License-Identifier: Apache-2.0
// Lower bounds on the step time of a cluster, for any transfer order.
//
// step_lower_bound holds for every order (and every discipline) with this layout; any_layout_lower_bound also for every
// placement and partition over the same servers. Both are the largest of a list of bounds, each named by its resource.
// Noise-free; constant rates; the first latency of a message before its bytes move or after (both network models).
//
// What each kind of bound uses, and no more:
//   load     in the long run each resource does each step's work: device, NICs, service threads. Holds wherever a
//            barrier or updates keep the workers in step.
//   inference and training with a barrier: the step begins with the overhead, requests reach a server one latency
//            later, pulls pass sender service, latency, wire, receiver service; an op follows the pulls it needs. Each
//            resource is a machine whose jobs have the least times of the other stages as heads and tails
//            (machine.hpp); tail of a pull: the work of ops that need it / (speed x cores).
//   barrier training = forward part + backward part, split at the "loss": the end of all ops that precede every
//            gradient. The sum holds only if every pulled parameter is needed by one of these ops (every pull before
//            every gradient); otherwise only the bounds of each direction over the whole step are left, in which a
//            gradient does not end before the pulls that it needs are in (tail bound of these pulls alone). A worker's
//            own resources add up per worker; those of a server (all workers' bytes) add to the least part of any
//            worker: max(server forward + least worker backward, least worker forward + server backward).
//   no barrier: the same split, from loss to loss: a gradient goes up after its own backward ops, is updated and comes
//            down before its own forward ops. Up, down, server NICs as one-machine bounds, up and down of one worker as
//            a two-machine bound per slice. On a server's outgoing NIC the window runs between last losses of a step,
//            on its incoming NIC between first losses, so that staggered workers are covered. Holds for the long-run
//            mean. Where equal workers' pulls go in one order, a slice comes to all of them at one time; between first
//            losses it then crosses its server's NIC for all workers each way, one way after the other.
//   the loss: ops that are known to be done by then (Facts::by_loss) count as work before it.
//   shared links (a NIC of a host with several workers, a link of the fabric): as a server's NIC, for the pulls or the
//   pushes that cross it; its load counts both. Any layout: only NICs of hosts, since a layout chooses which links of
//   the fabric carry a byte. Latencies of the fabric's links are left out of heads and tails, which is weak but true.
//   rate_cap limits a connection only if `streams` is 1 (else each message).
//   inference without a barrier: workers go on by themselves; the bound is the mean of each worker's own tail bounds.
// Heads and tails divide work by the number of cores, which is weak but true for devices with more than one.
// A pull that no op reads belongs to the step (a worker waits for it), but not to the time before the loss. Rounding is
// always down. Cost: O(kinds of workers x (bits of the ops' needs + transfers log transfers)).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/graph/graph.hpp"
#include "models/plan/plan.hpp"
#include "schedulers/bounds/stages.hpp"
#include "sim/base/units.hpp"

namespace stretto::bounds {

struct Bound {
  std::optional<Duration> value;
  std::string name;    // "tail bound of server 0 NIC up"; empty without a value
  std::string reason;  // why there is none; empty with a value
};

// `training`: forward, backward, pushes, updates; otherwise only the forward pass (graph::forward_only is applied).
// `graph` is checked, `layout` is one of `graph` on the cluster's servers.
// `facts`: as in stages.hpp.
Bound step_lower_bound(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                       bool training, bool barrier, const Facts& facts = {});

Bound any_layout_lower_bound(const graph::Graph& graph, const cluster::Cluster& cluster, bool training, bool barrier,
                             const Facts& facts = {});

}  // namespace stretto::bounds
