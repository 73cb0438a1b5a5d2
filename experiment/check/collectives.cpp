// SPDX-License-Identifier: Apache-2.0
#include "experiment/check/collectives.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "models/cluster/topology.hpp"
#include "models/training/deadlock.hpp"
#include "sim/program/simulation.hpp"

namespace stretto::experiment {

namespace {

using training::Role;
using What = check::CollectiveEvent::What;

class CollectiveJobMaker {
 public:
  CollectiveJobMaker(const Setup& setup, const plan::Plan& plan)
      : cluster_(setup.cluster), options_(setup.training.all_reduce) {
    job_.graph = *setup.graph;
    job_.layout = plan.layout;
    job_.order = plan.order;
    job_.algorithm = static_cast<check::Algorithm>(options_.algorithm);
    job_.per_host = std::max(1U, cluster::workers_per_host(cluster_));
    job_.streams = options_.streams;
    job_.barrier = setup.training.barrier;
    job_.fluid = cluster_.network.model == cluster::LinkModel::Fluid;
    job_.step_overhead = cluster_.step_overhead;
    job_.input_time = setup.training.input_time;
    job_.passes = setup.training.passes;
  }

  check::CollectiveJob run() {
    for (const cluster::Worker& worker : cluster_.workers) {
      job_.in_turn = job_.in_turn && worker.device.order == cluster::OpOrder::Fifo;
      job_.workers.push_back({pool(worker.name + " device", worker.device.cores), worker.device.speed, {}, {}});
      threads_.push_back(pool(worker.name + " threads", worker.threads));
    }
    for (std::uint32_t from = 0; from < cluster_.workers.size(); ++from)
      for (std::uint32_t to = 0; to < cluster_.workers.size(); ++to) add_channel(from, to);
    return std::move(job_);
  }

 private:
  std::uint32_t pool(std::string name, std::uint32_t units) {
    job_.pools.push_back({std::move(name), units});
    return static_cast<std::uint32_t>(job_.pools.size() - 1);
  }
  check::Service service(const cluster::ServiceCost& cost, std::uint32_t worker) const {
    return {threads_[worker], cost.per_message, cost.per_byte_ps};
  }

  // Links without a limit are left out.
  void add_channel(std::uint32_t from, std::uint32_t to) {
    check::Channel channel;
    channel.send = service(cluster_.workers[from].send, from);
    channel.receive = service(cluster_.workers[to].receive, to);
    channel.latency = options_.per_round;
    const cluster::End ends[] = {{false, from}, {false, to}};
    const bool inside = cluster::host_of(cluster_, ends[0]) == cluster::host_of(cluster_, ends[1]);
    if (from != to) {
      const cluster::Path path = cluster::route(cluster_, ends[0], ends[1]);
      channel.latency += path.latency;
      for (const cluster::LinkRef ref : path.links) {
        const Bandwidth rate = cluster::link_rate(cluster_, ref);
        if (rate.is_unlimited()) continue;
        const auto [at, fresh] = links_.emplace(ref, static_cast<std::uint32_t>(job_.links.size()));
        if (fresh) job_.links.push_back({cluster::link_name(cluster_, ref), rate});
        channel.links.push_back(at->second);
      }
    }
    job_.channels.push_back(std::move(channel));
    job_.caps.push_back(inside ? Bandwidth::unlimited() : cluster_.network.rate_cap);
  }

  const cluster::Cluster& cluster_;
  const training::AllReduce& options_;
  check::CollectiveJob job_;
  std::vector<std::uint32_t> threads_;
  std::map<cluster::LinkRef, std::uint32_t> links_;
};

class CollectiveRecorder : public program::Observer {
 public:
  CollectiveRecorder(const training::Compiled& compiled, const plan::Layout& layout,
                     check::CollectiveTimeline& timeline)
      : compiled_(compiled), layout_(layout), timeline_(timeline) {}

  void on_end(const program::ActivityRecord& r) override {
    const training::Label& label = compiled_.labels[r.activity];
    const program::Activity& activity = compiled_.program.activities[r.activity];
    check::CollectiveEvent e;
    switch (label.role) {
      case Role::Op:
        e.what = What::Op;
        e.pass = label.pass;
        break;
      case Role::Collective:
        e.what = What::Turn;
        break;
      case Role::Enter:
        e.what = What::Enter;
        break;
      case Role::Message:
        e.what = What::Message;
        e.round = label.pass;
        e.to = compiled_.receiver[activity.where];
        e.bytes = Bytes(activity.amount);
        break;
      default:
        return;
    }
    e.gather = label.part == training::Part::Gather;
    e.step = r.iteration;
    e.worker = label.worker;
    e.item = e.what == What::Op ? label.item : layout_.bucket[label.item];
    e.ready = r.ready;
    e.handed = r.handed;
    e.on_wire = r.on_wire;
    e.begin = r.begin;
    e.arrived = r.arrived;
    e.end = r.end;
    e.batch = r.batch;
    timeline_.events.push_back(e);
  }

 private:
  const training::Compiled& compiled_;
  const plan::Layout& layout_;
  check::CollectiveTimeline& timeline_;
};

}  // namespace

check::CollectiveJob make_collective_job(const Setup& setup, const plan::Plan& plan) {
  return CollectiveJobMaker(setup, plan).run();
}

CollectiveRun run_collectives_for_check(const Setup& setup, const plan::Plan& plan, std::uint32_t steps,
                                        std::uint64_t stream) {
  training::Options options = setup.training;
  options.late.clear();
  options.bursts.clear();
  options.all_reduce.aggregate = false;
  const training::Compiled compiled = training::compile(*setup.graph, setup.cluster, plan.layout, options);
  const program::OrderTable order = training::compile_order(compiled, plan.layout, plan.order, stream);
  program::Simulation sim(compiled.program, order, steps);
  CollectiveRun run;
  run.timeline.steps = steps;
  CollectiveRecorder recorder(compiled, plan.layout, run.timeline);
  sim.observe(&recorder);
  if (sim.run() != program::Status::Reached) {
    run.deadlock = training::explain_deadlock(compiled, *setup.graph, plan.layout, sim);
    return run;
  }
  const std::size_t markers = compiled.barrier ? 1 : compiled.workers;
  for (std::size_t m = 0; m < markers; ++m) run.timeline.ends.push_back(sim.marker_times(m));
  return run;
}

}  // namespace stretto::experiment
