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
// A message takes the route between two workers (cluster/topology.hpp): between hosts PCIe, NICs and fabric under the
// network's cap, inside a host NVLink or PCIe. Alone it takes per_round + latency + b / the least rate on it. Messages
// share links max-min fairly. Service costs of the workers (ServiceCost) apply to both ends, which is where the time of
// adding belongs.
//
// Aggregate: where all ranks do the same on equal links, they are in every round at the same time, since a collective
// starts on all of them at once whatever their ops do. The messages of one rank then stand for those of all. A link of
// one host (its NIC; the PCIe of its workers together) carries the bytes of all ranks of the host, NVLink those of one.
// Same times as with all messages (tests/property/all_reduce_test), at 2 (n - 1) in place of 2 n (n - 1) messages for a
// ring. why_no_aggregate says when it does not hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/cluster/topology.hpp"
#include "models/training/collective.hpp"
#include "sim/base/units.hpp"

namespace stretto::training {

struct AllReduce {
  Algorithm algorithm = Algorithm::Ring;
  Duration per_round;
  std::uint32_t streams = 1;  // >= 1
  bool aggregate = false;     // needs why_no_aggregate() to be empty
};

// Routes between ranks, and the links on them under numbers of their own in the order of first use. O(partners of a
// rank) per look-up.
class RankRoutes {
 public:
  struct Route {
    std::uint32_t to = 0;
    bool inside = false;  // one host
    Duration latency;
    std::vector<std::uint32_t> links;
  };
  explicit RankRoutes(const cluster::Cluster& cluster)
      : cluster_(cluster), of_(cluster.workers.size()), host_(std::max(1U, cluster::workers_per_host(cluster))) {}
  const Route& of(std::uint32_t from, std::uint32_t to);
  // Where one rank stands for all: from it to a neighbour on its host, or to the next host.
  const Route& of_all(bool inside) { return of(0, inside ? 1 : host_); }
  // Then: whose bytes such a link carries, those of all ranks of a host or of one. Its owners are so many ranks apart.
  std::uint32_t ranks_on(cluster::LinkKind kind) const { return cluster::of_host(kind) ? host_ : 1; }
  std::size_t links() const { return refs_.size(); }
  cluster::LinkRef ref(std::size_t link) const { return refs_[link]; }
  Bandwidth rate(std::size_t link) const { return rates_[link]; }

 private:
  const cluster::Cluster& cluster_;
  std::vector<std::vector<Route>> of_;  // by sender
  std::uint32_t host_;                  // ranks on one
  std::vector<cluster::LinkRef> refs_;
  std::vector<Bandwidth> rates_;
  std::map<cluster::LinkRef, std::uint32_t> number_;
};

// Hierarchical: every host has as many workers (cluster::workers_per_host).
Collective collective(const cluster::Cluster& cluster, const AllReduce& options, Part part);

// Why one rank cannot stand for all; empty if it can.
std::string why_no_aggregate(const cluster::Cluster& cluster, const AllReduce& options);

// Time of the collective alone: the sum over its rounds of the longest message, which shares every link of its route
// with those of its round. Service costs at both ends included, their queueing left out. O(messages), O(rounds) where
// one rank can stand for all.
Duration collective_time(const cluster::Cluster& cluster, const AllReduce& options, Part part, Bytes bytes);

}  // namespace stretto::training
