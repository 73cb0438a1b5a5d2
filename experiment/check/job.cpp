// SPDX-License-Identifier: Apache-2.0
#include "experiment/check/job.hpp"

#include <map>
#include <utility>

#include "models/cluster/topology.hpp"
#include "models/training/deadlock.hpp"
#include "sim/program/simulation.hpp"

namespace stretto::experiment {

namespace {

using training::Role;

check::Service service(const cluster::ServiceCost& cost, std::uint32_t pool) {
  return {pool, cost.per_message, cost.per_byte_ps};
}

check::Pace pace_of(const training::Options& options) {
  switch (options.synchronization) {
    case training::Synchronization::Async:
    case training::Synchronization::Ssp:
      return check::Pace::Own;
    case training::Synchronization::Backup:
      return check::Pace::Backup;
    case training::Synchronization::Sync:
    case training::Synchronization::Local:
      break;
  }
  return options.barrier ? check::Pace::Barrier : check::Pace::Overlapped;
}

class JobMaker {
 public:
  JobMaker(const Setup& setup, const plan::Plan& plan) : cluster_(setup.cluster) {
    job_.graph = *setup.graph;
    job_.layout = plan.layout;
    job_.order = plan.order;
    job_.training = setup.training.mode == training::Mode::Training;
    job_.pace = pace_of(setup.training);
    if (setup.training.synchronization == training::Synchronization::Ssp) job_.staleness = setup.training.staleness;
    job_.passes = setup.training.passes;
    job_.input_time = setup.training.input_time;
    job_.step_overhead = cluster_.step_overhead;
    job_.streams = cluster_.network.streams;
    job_.rate_cap = cluster_.network.rate_cap;
    job_.fluid = cluster_.network.model == cluster::LinkModel::Fluid;
  }

  check::Job run() {
    add_processes();
    for (std::uint32_t w = 0; w < cluster_.workers.size(); ++w)
      for (std::uint32_t s = 0; s < cluster_.servers.size(); ++s) add_channels(w, s);
    return std::move(job_);
  }

 private:
  std::uint32_t pool(std::string name, std::uint32_t units) {
    job_.pools.push_back({std::move(name), units});
    return static_cast<std::uint32_t>(job_.pools.size() - 1);
  }

  void add_processes() {
    for (const cluster::Worker& worker : cluster_.workers) {
      const cluster::Device& device = worker.device;
      check::Worker w{pool(worker.name + " device", device.cores), device.speed, {}, {}};
      if (device.copies_in())
        w.copy_in = check::CopyEngine{pool(worker.name + " copies in", 1), device.copy_launch, device.copy_in};
      if (device.copies_out())
        w.copy_out = check::CopyEngine{pool(worker.name + " copies out", 1), device.copy_launch, device.copy_out};
      job_.in_turn = job_.in_turn && device.order == cluster::OpOrder::Fifo;
      job_.workers.push_back(w);
      worker_threads_.push_back(pool(worker.name + " threads", worker.threads));
    }
    for (const cluster::Server& server : cluster_.servers) {
      const bool shares_cores = server.with_server && server.cores > 0;
      const std::uint32_t threads = shares_cores ? job_.servers[*server.with_server].threads
                                                 : pool(server.name + " threads", cluster::service_units(server));
      job_.servers.push_back({threads, server.update_rate, server.aggregate_rate});
    }
  }

  // Links without a limit are left out.
  std::vector<std::uint32_t> links_of(const cluster::Path& path) {
    std::vector<std::uint32_t> result;
    for (const cluster::LinkRef ref : path.links) {
      const Bandwidth rate = cluster::link_rate(cluster_, ref);
      if (rate.is_unlimited()) continue;
      const auto [at, fresh] = links_.emplace(ref, static_cast<std::uint32_t>(job_.links.size()));
      if (fresh) job_.links.push_back({cluster::link_name(cluster_, ref), rate});
      result.push_back(at->second);
    }
    return result;
  }

  void add_channels(std::uint32_t w, std::uint32_t s) {
    const cluster::Worker& worker = cluster_.workers[w];
    const cluster::Server& server = cluster_.servers[s];
    const cluster::Path down = cluster::route(cluster_, {true, s}, {false, w});
    const cluster::Path up = cluster::route(cluster_, {false, w}, {true, s});
    check::Channel pull;
    pull.latency = down.latency;
    pull.request = up.latency;
    pull.links = links_of(down);
    pull.send = service(server.send, job_.servers[s].threads);
    pull.receive = service(worker.receive, worker_threads_[w]);
    check::Channel push;
    push.latency = up.latency;
    push.links = links_of(up);
    push.send = service(worker.send, worker_threads_[w]);
    push.receive = service(server.receive, job_.servers[s].threads);
    job_.pulls.push_back(std::move(pull));
    job_.pushes.push_back(std::move(push));
  }

  const cluster::Cluster& cluster_;
  check::Job job_;
  std::vector<std::uint32_t> worker_threads_;
  std::map<cluster::LinkRef, std::uint32_t> links_;
};

class Recorder : public program::Observer {
 public:
  Recorder(const training::Compiled& compiled, check::Timeline& timeline) : compiled_(compiled), timeline_(timeline) {}

  void on_end(const program::ActivityRecord& r) override {
    const training::Label& label = compiled_.labels[r.activity];
    check::Event e;
    switch (label.role) {
      case Role::Op:
        e.what = check::Event::What::Op;
        break;
      case Role::Pull:
        e.what = check::Event::What::Pull;
        break;
      case Role::Push:
        e.what = check::Event::What::Push;
        break;
      case Role::Sum:
        e.what = check::Event::What::Sum;
        break;
      case Role::Update:
        e.what = check::Event::What::Update;
        break;
      case Role::CopyIn:
        e.what = check::Event::What::CopyIn;
        break;
      case Role::CopyOut:
        e.what = check::Event::What::CopyOut;
        break;
      default:
        return;
    }
    e.step = r.iteration;
    e.worker = label.worker;
    e.item = label.item;
    e.pass = label.pass;
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
  check::Timeline& timeline_;
};

}  // namespace

check::Job make_check_job(const Setup& setup, const plan::Plan& plan) { return JobMaker(setup, plan).run(); }

EngineRun run_for_check(const Setup& setup, const plan::Plan& plan, std::uint32_t steps, std::uint64_t stream) {
  training::Options options = setup.training;
  options.late.clear();
  options.bursts.clear();
  const training::Compiled compiled = training::compile(*setup.graph, setup.cluster, plan.layout, options);
  const program::OrderTable order = training::compile_order(compiled, plan.layout, plan.order, stream);
  program::Simulation sim(compiled.program, order, steps);
  EngineRun run;
  run.timeline.steps = steps;
  Recorder recorder(compiled, run.timeline);
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
