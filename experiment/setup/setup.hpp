// SPDX-License-Identifier: Apache-2.0
// From one point of an experiment to what is simulated: graph, cluster, layout and, per policy, a plan.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiment/spec/spec.hpp"
#include "models/cluster/cluster.hpp"
#include "models/generate/generator.hpp"
#include "models/graph/graph.hpp"
#include "models/placement/placement.hpp"
#include "models/plan/plan.hpp"
#include "models/training/compile.hpp"
#include "models/training/variation.hpp"

namespace stretto::experiment {

struct Workload {
  std::shared_ptr<const graph::Graph> graph;
  std::vector<generate::Lookups> lookups;  // of a generated one
};

// Workloads by file or by what generates them, each read or made once.
class Workloads {
 public:
  // UserError at the spec's place if the file cannot be read, or if what would be generated is no sound graph.
  const Workload& get(const WorkloadSpec& spec);
  // A graph that stands in no file, under the name that a spec has for its file.
  void add(const std::string& file, std::shared_ptr<const graph::Graph> graph);

 private:
  std::map<std::string, Workload> files_;
  std::map<std::string, Workload> generated_;
};

struct Setup {
  std::shared_ptr<const graph::Graph> graph;  // of the mode: forward ops only for inference
  cluster::Cluster cluster;                   // with NIC rates
  training::Options training;
  training::VariationSpec variation;
  std::string placement;
  placement::Options placement_options;
  // All-reduce, where a policy says nothing else.
  Bytes fusion;  // most bytes of a bucket; 0: none are fused
  bool split = false;
  plan::Layout layout;
  std::vector<std::string> assumptions;  // of the transforms of the workload, for the answer

  // Devices take ready ops in random order, so that replications differ under any plan.
  bool random_ops() const;
  // Replications differ under any plan.
  bool drawn() const { return variation.drawn() || random_ops(); }
};

// Reads and transforms the workload, resolves comm_compute_ratio, places. Throws UserError with places.
// comm_compute_ratio r: every NIC gets the rate at which one worker's pulls take r times its forward ops on its device,
// M = r * P (latency apart), both of the workload as it was profiled: transforms move the ratio that is simulated. Of a
// generated one, pulls of a table with lookups are those of the rows that they touch.
// Transfers of ratio c (precision or compression): variables have c times their bytes, the servers' update rate is c
// times what is asked for (an update works on whole variables), and encoding and decoding are service per byte sent.
Setup make_setup(const Spec& spec, Workloads& workloads);

placement::Hosts hosts_of(const cluster::Cluster& cluster);

// Noise and bursts, with what the training has to be compiled with for them.
void set_variation(Setup& setup, training::VariationSpec variation);

// The same setup with another number of servers or placement; throws what placement throws.
void place(Setup& setup);

// The policy's plan for this setup: its file is read, its partition cut, its ranks made and its options applied.
// UserError at the policy's place, that of the option or in the file.
plan::Plan make_plan(const Setup& setup, const PolicySpec& policy, std::uint64_t seed);

// The plan of policy staggered by its defaults; none where its last workers would start too late.
std::optional<plan::Plan> try_staggered(const Setup& setup, std::uint64_t seed);

}  // namespace stretto::experiment
