// SPDX-License-Identifier: Apache-2.0
#include "experiment/check/job.hpp"

#include <optional>
#include <utility>

#include "models/cluster/topology.hpp"

namespace stretto::experiment {

namespace {

using training::Role;

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
  JobMaker(const Setup& setup, const plan::Plan& plan) : cluster_(setup.cluster), parts_(setup, plan, job_) {
    job_.training = setup.training.mode == training::Mode::Training;
    job_.pace = pace_of(setup.training);
    if (setup.training.synchronization == training::Synchronization::Ssp) job_.staleness = setup.training.staleness;
    job_.streams = cluster_.network.streams;
    job_.rate_cap = cluster_.network.rate_cap;
  }

  check::Job run() {
    add_processes();
    for (std::uint32_t w = 0; w < cluster_.workers.size(); ++w)
      for (std::uint32_t s = 0; s < cluster_.servers.size(); ++s) add_channels(w, s);
    return std::move(job_);
  }

 private:
  void add_processes() {
    for (const cluster::Worker& worker : cluster_.workers) worker_threads_.push_back(parts_.add_worker(worker, true));
    for (const cluster::Server& server : cluster_.servers) {
      const bool shares_cores = server.with_server && server.cores > 0;
      const std::uint32_t threads = shares_cores
                                        ? job_.servers[*server.with_server].threads
                                        : parts_.add_pool(server.name + " threads", cluster::service_units(server));
      job_.servers.push_back({threads, server.update_rate, server.aggregate_rate});
    }
  }

  void add_channels(std::uint32_t w, std::uint32_t s) {
    const cluster::Worker& worker = cluster_.workers[w];
    const cluster::Server& server = cluster_.servers[s];
    const cluster::Path down = cluster::route(cluster_, {true, s}, {false, w});
    const cluster::Path up = cluster::route(cluster_, {false, w}, {true, s});
    check::Channel pull;
    pull.latency = down.latency;
    pull.request = up.latency;
    pull.links = parts_.links_of(down);
    pull.send = service_of(server.send, job_.servers[s].threads);
    pull.receive = service_of(worker.receive, worker_threads_[w]);
    check::Channel push;
    push.latency = up.latency;
    push.links = parts_.links_of(up);
    push.send = service_of(worker.send, worker_threads_[w]);
    push.receive = service_of(server.receive, job_.servers[s].threads);
    job_.pulls.push_back(std::move(pull));
    job_.pushes.push_back(std::move(push));
  }

  const cluster::Cluster& cluster_;
  check::Job job_;
  JobParts parts_;
  std::vector<std::uint32_t> worker_threads_;
};

std::optional<check::Event::What> event_of(Role role) {
  using What = check::Event::What;
  switch (role) {
    case Role::Op:
      return What::Op;
    case Role::Pull:
      return What::Pull;
    case Role::Push:
      return What::Push;
    case Role::Sum:
      return What::Sum;
    case Role::Update:
      return What::Update;
    case Role::CopyIn:
      return What::CopyIn;
    case Role::CopyOut:
      return What::CopyOut;
    default:
      return std::nullopt;
  }
}

}  // namespace

check::Job make_check_job(const Setup& setup, const plan::Plan& plan) { return JobMaker(setup, plan).run(); }

CheckRun<check::Timeline> run_for_check(const Setup& setup, const plan::Plan& plan, std::uint32_t steps,
                                        std::uint64_t stream) {
  CheckRun<check::Timeline> run;
  run.timeline.steps = steps;
  const auto on_end = [&](const training::Compiled& compiled, const program::ActivityRecord& record) {
    const training::Label& label = compiled.labels[record.activity];
    const auto what = event_of(label.role);
    if (!what) return;
    check::Event& e = run.timeline.events.emplace_back();
    set_happening(label, record, e);
    e.what = *what;
    e.item = label.item;
    e.pass = label.pass;
  };
  run.deadlock = run_recorded(setup, plan, steps, stream, on_end, run.timeline.ends);
  return run;
}

}  // namespace stretto::experiment
