// SPDX-License-Identifier: Apache-2.0
// Least times of the stages of every transfer of a step, and one-machine bounds of its resources; step.cpp puts them
// together. See step.hpp for what is assumed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/graph/graph.hpp"
#include "models/plan/plan.hpp"
#include "schedulers/bounds/machine.hpp"
#include "schedulers/bounds/split.hpp"
#include "sim/base/units.hpp"

namespace stretto::bounds {

// A bound and the resource that it comes from.
struct Part {
  Duration value;
  std::string resource;
  void offer(Duration other, const std::string& name) {
    if (resource.empty() || other > value) {
      value = other;
      resource = name;
    }
  }
};

// Work of one worker around each transfer, divided by its cores (rounded down). Per parameter.
struct Work {
  std::vector<Duration> tail;            // of all ops that need it
  std::vector<Duration> tail_to_loss;    // of those before the loss
  std::vector<Duration> head;            // of all ops that its gradient op needs, itself included
  std::vector<Duration> head_from_loss;  // of those after the loss
  std::vector<Duration> gradient;        // least time from the start of the step to the end of its gradient op
  Duration all;                          // max(work of all ops, longest path)
  Duration before;                       // work of the ops before the loss
  Duration after;                        // and after it
};

// Stages of one message, least times. `busy` times are those of one resource alone.
struct Stages {
  Duration send;     // sender service
  Duration wire;     // alone on its route, without latency
  Duration receive;  // receiver service
};

// bytes / rate, rounded down: never more than the time that the simulator takes.
Duration least_duration(Bytes bytes, Bandwidth rate);

// A link that several workers share: a NIC of their host, or one of the fabric. Which workers' pulls from a server, and
// pushes to it, cross the link.
struct SharedLink {
  struct Users {
    std::int64_t count = 0;
    std::vector<std::size_t> kinds;  // each once
  };
  std::string name;
  Bandwidth rate;
  std::vector<Users> pulls;   // per server
  std::vector<Users> pushes;  // per server
};

// A message up, its update and the message down, from one loss to the next.
struct RoundTrip {
  std::uint32_t transfer = 0;
  TwoStageJob job;
};

// What is known of a step beyond graph, cluster and layout (experiment/bounds/step_facts.hpp); by default nothing.
struct Facts {
  // Per parameter a least time from the loss to the end of its gradient op on every worker; may be empty.
  std::vector<Duration> gradients;
  // Per op: at the loss it is done on every worker, although nothing before the loss waits for it; may be empty.
  std::vector<bool> by_loss;
  // The pulls of all workers go in one and the same order, of which nothing is drawn.
  bool one_order = false;
  // Besides, equal workers do the same at the same time: nothing at all is drawn, and none starts later than others.
  bool alike = false;
};

// What a step consists of, seen by one worker kind or one server. `sliced`: transfers may be cut at will (any layout),
// so that a slice may pass a stage in no time but for per-message costs; busy times of resources stay whole.
class Stage {
 public:
  // Cut at `split`, or at the loss if it is null; `facts` are of the latter.
  Stage(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout, bool training,
        bool sliced, const Split* split = nullptr, Facts facts = {});

  bool training() const { return training_; }
  // Some gradient is pushed, so that the workers wait for each other's updates.
  bool updates() const;
  const Split& split() const { return split_; }
  Losses several_losses() const { return losses(graph_, needs_, feeds_); }
  std::size_t workers() const { return cluster_.workers.size(); }
  // First worker of each kind (equal device, NIC, threads, costs, and rates of the routes to the servers).
  const std::vector<std::size_t>& kinds() const { return kinds_; }
  std::size_t kind_of(std::size_t worker) const { return kind_of_[worker]; }
  const Work& work(std::size_t kind) const { return work_[kind]; }

  // Forward part, from the start of the step (kind: index into kinds()). to_loss: until the loss, which leaves out
  // parameters that no op before it needs; otherwise until the worker has done everything that needs its pulls.
  Part pulls_of_worker(std::size_t kind, bool to_loss) const;
  Part pulls_of_server(std::size_t server, bool to_loss) const;
  // Backward part, until the last update. from_loss: since the loss, for the gradients behind it; otherwise since the
  // start of the step.
  Part pushes_of_worker(std::size_t kind, bool from_loss) const;
  Part pushes_of_server(std::size_t server, bool from_loss) const;
  // From loss to loss without a barrier.
  Part period_of_worker(std::size_t kind) const;
  Part period_of_server(std::size_t server) const;
  // Of the first worker, on its connections: those of all transfers that an op reads; without a gradient, only down.
  std::vector<RoundTrip> round_trips() const;
  // What each resource has to do per step.
  Part load_of_worker(std::size_t kind) const;
  Part load_of_server(std::size_t server) const;
  // The same of the wire of a link that workers share. Pulls and pushes that cross one link count together in its load.
  const std::vector<SharedLink>& shared() const { return shared_; }
  Part pulls_of_link(const SharedLink& link, bool to_loss) const;
  Part pushes_of_link(const SharedLink& link, bool from_loss) const;
  Part period_of_link(const SharedLink& link) const;
  Part load_of_link(const SharedLink& link) const;

 private:
  bool pushed(std::size_t t) const { return training_ && graph_.parameters[parameter(t)].gradient.valid(); }
  // Is transfer t left out of a part that begins or ends at the loss?
  bool not_before_loss(std::size_t t) const { return !split_.needed[parameter(t)]; }
  bool not_after_loss(std::size_t t) const { return !split_.pushed[parameter(t)]; }
  std::size_t parameter(std::size_t t) const { return layout_.transfers[t].parameter.index(); }
  // Is op o done when the loss is?
  bool done_at_loss(std::size_t o) const { return split_.before[o] || (!facts_.by_loss.empty() && facts_.by_loss[o]); }
  bool same_routes(std::size_t a, std::size_t b) const;
  // Does a slice come to all workers at one time, in training without a barrier?
  bool pulls_together() const;
  // Where it does: what moving it from all workers to its server takes, and from there to all workers; else 0.
  Duration gathered(std::size_t t) const;
  Duration handed_out(std::size_t t) const;
  void find_shared();
  // What a worker's NIC or PCIe can do at most for it alone, and which of them that is.
  Bandwidth down_rate(std::size_t worker) const;
  Bandwidth up_rate(std::size_t worker) const;
  std::string down_name(std::size_t kind) const;
  std::string up_name(std::size_t kind) const;
  Stages pull_lags(std::size_t worker, std::size_t t) const;
  Stages push_lags(std::size_t worker, std::size_t t) const;
  Duration update_lag(std::size_t t) const;
  Duration update_time(std::size_t t) const;
  // From the start of the step until the first byte of a pull may move.
  Duration pull_start(const Stages& lags) const;
  std::string worker_name(std::size_t kind) const;
  std::string server_name(std::size_t server) const;
  Work make_work(std::size_t worker) const;
  TwoStageJob round_trip(std::size_t kind, std::size_t t) const;
  std::vector<Duration> gradient_ends(std::size_t worker, const Work& work) const;

  const graph::Graph& graph_;
  const cluster::Cluster& cluster_;
  const plan::Layout& layout_;
  bool training_;
  bool sliced_;
  Facts facts_;
  bool together_ = false;
  graph::BitMatrix needs_;
  graph::BitMatrix feeds_;
  Split split_;
  std::vector<bool> read_;  // per parameter
  std::vector<std::size_t> kinds_;
  std::vector<std::size_t> kind_of_;
  std::vector<Work> work_;
  std::vector<SharedLink> shared_;
};

}  // namespace stretto::bounds
