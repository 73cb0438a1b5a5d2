// SPDX-License-Identifier: Apache-2.0
// All-reduce training: gradients are summed by the workers themselves (the ranks), without servers.
//
// The unit is a bucket: transfers that go together (plan::Layout). One step of a bucket:
//   negotiation  all ranks have all its gradients (those of the last pass). All ranks start collectives
//                in one and the same order, as NCCL demands; as in Horovod a coordinator sees to it; it knows at once
//                what every rank has
//   turn         the order of the plan decides, once for all ranks: by readiness (Free: wait-free backpropagation of
//                Poseidon, Zhang et al. 2017), strict, by priority, under a credit (ByteScheduler, Peng et al. 2019; it
//                comes back when all ranks are done). By priority, one more goes when fewer than `streams` are open
//   rounds       each rank does the collectives whose turn it was one after the other, `streams` at a time; a message
//                waits until both its ends have entered the collective and are done with their earlier rounds
//                (collective.hpp)
// In a split layout a bucket is reduced and scattered first; when all buckets of the step are, all-gathers have their
// turns under an order of their own (DeAR, Zhang et al. 2023).
// Step i + 1 of a worker: with a barrier when all workers have all parameters; without one an op waits for the end of
// its worker's ops of step i and for the collectives of the parameters that it reads.
//
// A message of b bytes alone takes per_round + latency + b / min(cap, NIC up, NIC down), inside a host per_round +
// b / inside_rate. `per_host` neighbouring ranks share the NIC of their host (that of its first worker) and each have a
// full-duplex link of inside_rate to the others. Messages of several streams share links max-min fairly. Service costs
// of the workers (ServiceCost) apply to both ends, which is where the time of adding belongs.
//
// Aggregate: where all ranks do the same on equal NICs, they are in every round at the same time, since a collective
// starts on all of them at once whatever their ops do. The messages of one rank then stand for those of all: over one
// host's NIC, with the bytes of all ranks of a host. Same times as with all messages (tests/property/all_reduce_test),
// at 2 (n - 1) in place of 2 n (n - 1) messages for a ring. why_no_aggregate says when it does not hold.
#pragma once

#include <cstdint>
#include <string>

#include "models/cluster/cluster.hpp"
#include "models/training/collective.hpp"
#include "sim/base/units.hpp"

namespace stretto::training {

struct AllReduce {
  Algorithm algorithm = Algorithm::Ring;
  Duration per_round;
  std::uint32_t streams = 1;   // >= 1
  std::uint32_t per_host = 1;  // >= 1; Hierarchical: divides the workers or is not less
  Bandwidth inside_rate = Bandwidth::unlimited();
  bool aggregate = false;  // needs why_no_aggregate() to be empty
};

Collective collective(const cluster::Cluster& cluster, const AllReduce& options, Part part);

// Why one rank cannot stand for all; empty if it can.
std::string why_no_aggregate(const cluster::Cluster& cluster, const AllReduce& options);

// Time of the collective alone: the sum over its rounds of the longest message, which shares a host's NIC and the links
// between switches with those of its round. Service costs at both ends included, their queueing left out. O(messages),
// O(rounds) where all ranks do the same in a star.
Duration collective_time(const cluster::Cluster& cluster, const AllReduce& options, Part part, Bytes bytes);

}  // namespace stretto::training
