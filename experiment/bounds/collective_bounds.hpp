// SPDX-License-Identifier: Apache-2.0
// Lower bounds of all-reduce setups: what each NIC and each stream has to do, from the rounds of the collectives, for
// schedulers/bounds/collective.hpp.
//
// NICs: bytes over them, at their full rate. Streams, where a worker has one and all workers are equal: every worker is
// in every round, so that a collective holds its stream for the sum of its rounds.
#pragma once

#include "experiment/setup/setup.hpp"
#include "models/plan/plan.hpp"
#include "schedulers/bounds/step.hpp"

namespace stretto::experiment {

// `graph` and `cluster`: those of the setup, with the times that bounds are to be made of.
bounds::Bound all_reduce_bound(const Setup& setup, const graph::Graph& graph, const cluster::Cluster& cluster,
                               const plan::Layout& layout);

// For any fusion and order: ops, and 2 (H - 1) / H of all bytes over each of H hosts' NICs. None where workers differ.
bounds::Bound any_all_reduce_bound(const Setup& setup, const graph::Graph& graph, const cluster::Cluster& cluster);

}  // namespace stretto::experiment
