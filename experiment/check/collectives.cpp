// SPDX-License-Identifier: Apache-2.0
#include "experiment/check/collectives.hpp"

#include <algorithm>
#include <utility>

#include "models/cluster/topology.hpp"

namespace stretto::experiment {

namespace {

using training::Role;
using What = check::CollectiveEvent::What;

class CollectiveJobMaker {
 public:
  CollectiveJobMaker(const Setup& setup, const plan::Plan& plan)
      : cluster_(setup.cluster), options_(setup.training.all_reduce), parts_(setup, plan, job_) {
    job_.algorithm = static_cast<check::Algorithm>(options_.algorithm);
    job_.per_host = std::max(1U, cluster::workers_per_host(cluster_));
    job_.streams = options_.streams;
    job_.barrier = setup.training.barrier;
  }

  check::CollectiveJob run() {
    for (const cluster::Worker& worker : cluster_.workers) threads_.push_back(parts_.add_worker(worker, false));
    for (std::uint32_t from = 0; from < cluster_.workers.size(); ++from)
      for (std::uint32_t to = 0; to < cluster_.workers.size(); ++to) add_channel(from, to);
    return std::move(job_);
  }

 private:
  void add_channel(std::uint32_t from, std::uint32_t to) {
    check::Channel channel;
    channel.send = service_of(cluster_.workers[from].send, threads_[from]);
    channel.receive = service_of(cluster_.workers[to].receive, threads_[to]);
    channel.latency = options_.per_round;
    const cluster::End ends[] = {{false, from}, {false, to}};
    const bool inside = cluster::host_of(cluster_, ends[0]) == cluster::host_of(cluster_, ends[1]);
    if (from != to) {
      const cluster::Path path = cluster::route(cluster_, ends[0], ends[1]);
      channel.latency += path.latency;
      channel.links = parts_.links_of(path);
    }
    job_.channels.push_back(std::move(channel));
    job_.caps.push_back(inside ? Bandwidth::unlimited() : cluster_.network.rate_cap);
  }

  const cluster::Cluster& cluster_;
  const training::AllReduce& options_;
  check::CollectiveJob job_;
  JobParts parts_;
  std::vector<std::uint32_t> threads_;
};

void add_event(const training::Compiled& compiled, const plan::Layout& layout, const program::ActivityRecord& r,
               check::CollectiveTimeline& timeline) {
  const training::Label& label = compiled.labels[r.activity];
  const program::Activity& activity = compiled.program.activities[r.activity];
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
      e.to = compiled.receiver[activity.where];
      e.bytes = Bytes(activity.amount);
      break;
    default:
      return;
  }
  set_happening(label, r, e);
  e.gather = label.part == training::Part::Gather;
  e.item = e.what == What::Op ? label.item : layout.bucket[label.item];
  timeline.events.push_back(e);
}

}  // namespace

check::CollectiveJob make_collective_job(const Setup& setup, const plan::Plan& plan) {
  return CollectiveJobMaker(setup, plan).run();
}

CheckRun<check::CollectiveTimeline> run_collectives_for_check(const Setup& setup, const plan::Plan& plan,
                                                              std::uint32_t steps, std::uint64_t stream) {
  CheckRun<check::CollectiveTimeline> run;
  run.timeline.steps = steps;
  const auto on_end = [&](const training::Compiled& compiled, const program::ActivityRecord& record) {
    add_event(compiled, plan.layout, record, run.timeline);
  };
  run.deadlock = run_recorded(setup, plan, steps, stream, on_end, run.timeline.ends);
  return run;
}

}  // namespace stretto::experiment
