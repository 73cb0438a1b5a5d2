// SPDX-License-Identifier: Apache-2.0
#include "experiment/simulate/job_simulation.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "analysis/step_observer.hpp"
#include "experiment/setup/background.hpp"
#include "experiment/simulate/replication.hpp"
#include "experiment/simulate/resource_use.hpp"
#include "experiment/simulate/traffic.hpp"
#include "models/cluster/topology.hpp"
#include "models/training/deadlock.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/random.hpp"
#include "sim/program/joined.hpp"
#include "sim/program/simulation.hpp"

namespace stretto::experiment {

namespace {

using cluster::LinkKind;
using cluster::LinkRef;
using program::Status;

// The jobs of one simulation, compiled.
struct Group {
  const JobSet* set = nullptr;
  std::vector<std::size_t> which;
  std::span<const plan::Plan> plans;
  std::vector<training::Compiled> compiled;
  std::vector<program::OrderTable> orders;
  training::Compiled background;  // the last part, if there is any
  std::vector<LinkRef> links;     // of the joined network
  program::Joined joined;
  std::vector<program::Simulation::Goal> warm, end;

  const Setup& setup(std::size_t i) const { return set->setups[which[i]]; }
};

void add_start(const training::Compiled& compiled, Duration start, program::OrderTable& table) {
  if (start == Duration()) return;
  if (table.delayed.empty())
    for (std::uint32_t w = 0; w < compiled.workers; ++w)
      table.delayed.push_back({compiled.start[w].index(), Duration(), false, {}});
  for (program::Delayed& d : table.delayed) d.start = start;
}

Group compile_group(const JobSet& set, std::span<const std::size_t> which, std::span<const plan::Plan> plans,
                    const SimulateOptions& options) {
  Group g;
  g.set = &set;
  g.which.assign(which.begin(), which.end());
  g.plans = plans;
  std::map<LinkRef, std::uint32_t> place;
  std::vector<network::Link> links;
  std::vector<program::Part> parts;
  g.compiled.reserve(which.size());
  const auto link_of = [&](LinkRef ref, Bandwidth capacity) {
    const auto [it, fresh] = place.try_emplace(ref, static_cast<std::uint32_t>(links.size()));
    if (fresh) {
      links.push_back({set.link_name(ref), capacity});
      g.links.push_back(ref);
    }
    return network::LinkId(it->second);
  };
  for (std::size_t i = 0; i < which.size(); ++i) {
    const Setup& setup = g.setup(i);
    check_size(setup, plans[i].layout);
    const training::Compiled& c =
        g.compiled.emplace_back(training::compile(*setup.graph, setup.cluster, plans[i].layout, setup.training));
    program::OrderTable& table = g.orders.emplace_back(training::compile_order(c, plans[i].layout, plans[i].order, 0));
    add_start(c, set.starts[which[i]], table);
    STRETTO_ASSERT(c.link_refs.size() == c.program.wires.links.size(), "{} of {} links", c.link_refs.size(),
                   c.program.wires.links.size());
    program::Part part{&c.program, {}, stream_key(0, "job " + set.names[which[i]])};
    for (std::size_t l = 0; l < c.link_refs.size(); ++l)
      part.links.push_back(link_of(set.global(which[i], c.link_refs[l]), c.program.wires.links[l].capacity));
    parts.push_back(std::move(part));
  }
  if (!set.bursts.empty()) {
    g.background = training::compile_background(set.hosts.all, set.bursts);
    const program::StepProgram& p = g.background.program;
    program::Part part{&p, {}, stream_key(0, "background")};
    for (std::size_t l = 0; l < p.wires.links.size(); ++l)
      part.links.push_back(link_of(g.background.link_refs[l], p.wires.links[l].capacity));
    parts.push_back(std::move(part));
    program::OrderTable& table = g.orders.emplace_back();
    table.discipline.assign(p.channels.size(), channel::HandOver::Free);
    table.rank.assign(p.size(), program::kPassFreely);
  }
  g.joined = program::join(parts, links, which.size() > 1);
  for (std::size_t i = 0; i < which.size(); ++i) {
    const training::Compiled& c = g.compiled[i];
    program::Simulation::Goal goal{g.joined.at[i].marker, static_cast<std::uint32_t>(c.program.markers.size()), 0,
                                   c.own_pace()};
    const std::uint64_t each = c.own_pace() ? c.workers : 1;
    goal.count = options.warm_up * each;
    g.warm.push_back(goal);
    goal.count = options.iterations * each;
    g.end.push_back(goal);
  }
  return g;
}

struct GroupReplication {
  std::vector<Replication> of;
  std::vector<JobTraffic> traffic;
};

std::vector<double> bytes_of(const std::vector<std::unique_ptr<Traffic>>& traffic) {
  std::vector<double> all;
  for (const auto& t : traffic) all.insert(all.end(), t->bytes().begin(), t->bytes().end());
  return all;
}

JobTraffic traffic_of(const Group& g, const std::vector<double>& begin, const std::vector<double>& end,
                      const std::vector<double>& carried, double seconds) {
  JobTraffic t;
  const std::size_t links = g.links.size();
  for (std::size_t l = 0; l < links; ++l) {
    const network::Link& link = g.joined.program.wires.links[l];
    if (link.capacity.is_unlimited()) continue;
    std::vector<double> by_job(g.which.size());
    for (std::size_t i = 0; i < g.which.size(); ++i) by_job[i] = end[i * links + l] - begin[i * links + l];
    t.bytes.emplace(g.links[l], std::move(by_job));
    t.utilisation.emplace(g.links[l], carried[l] / (link.capacity.bytes_per_ps() * 1e12 * seconds));
  }
  return t;
}

GroupReplication replicate(const Group& g, const SimulateOptions& options, std::uint32_t number) {
  const std::size_t jobs = g.which.size();
  const program::OrderTable order = program::join(g.joined, g.orders, order_stream(options.seed, number));
  std::vector<program::Variation> own;
  for (std::size_t i = 0; i < jobs; ++i)
    own.push_back(training::compile_variation(g.compiled[i], g.setup(i).variation, 0));
  if (!g.set->bursts.empty()) own.push_back(training::background_variation(g.background, g.set->bursts));
  const program::Variation variation = program::join(g.joined, own, noise_stream(options.seed, number));
  std::uint32_t run = options.iterations + 1;
  if (jobs == 1) run = iterations_to_run(g.compiled.front(), options);
  program::Simulation sim(g.joined.program, order, run, &variation);
  const std::size_t links = g.links.size();
  std::vector<std::unique_ptr<analysis::StepObserver>> observers;
  std::vector<std::unique_ptr<Traffic>> traffic;
  std::vector<program::Observer*> heads;
  std::vector<program::View> views;
  for (std::size_t i = 0; i < jobs; ++i) {
    observers.push_back(std::make_unique<analysis::StepObserver>(g.compiled[i], options.warm_up, options.iterations));
    traffic.push_back(std::make_unique<Traffic>(g.compiled[i].program, g.joined.links[i], links, *observers[i]));
    heads.push_back(traffic.back().get());
    views.emplace_back(sim, g.joined, i);
  }
  program::PartObservers split(g.joined, heads);
  sim.observe(&split);
  struct Window {
    bool begun = false, ended = false;
    Counters begin;
    std::vector<double> bytes, carried;
  };
  std::vector<Window> windows(jobs);
  const auto carried = [&] {
    std::vector<double> all;
    for (std::uint32_t l = 0; l < links; ++l) all.push_back(static_cast<double>(sim.bytes_carried(network::LinkId(l))));
    return all;
  };
  GroupReplication result{std::vector<Replication>(jobs), std::vector<JobTraffic>(jobs)};
  const std::uint32_t steps = options.iterations - options.warm_up;
  for (;;) {
    bool open = false;
    for (std::size_t i = 0; i < jobs; ++i) {
      Window& w = windows[i];
      if (!w.begun && sim.reached(g.warm[i])) {
        w.begun = true;
        w.begin = read_counters(g.compiled[i], views[i]);
        w.bytes = bytes_of(traffic);
        w.carried = carried();
        observers[i]->restart_staleness();
      }
      if (w.begun && !w.ended && sim.reached(g.end[i])) {
        w.ended = true;
        Replication& r = result.of[i];
        const Time origin = Time() + g.set->starts[g.which[i]];
        measure(g.setup(i), g.plans[i], g.compiled[i], views[i], *observers[i], options, origin, r);
        const Counters end = read_counters(g.compiled[i], views[i]);
        const std::vector<double> bytes = bytes_of(traffic);
        r.use = resource_use(g.compiled[i], w.begin, end, steps);
        own_bytes(g.compiled[i].program.wires, g.joined.links[i], std::span(w.bytes).subspan(i * links, links),
                  std::span(bytes).subspan(i * links, links), steps, r.use);
        std::vector<double> moved = carried();
        for (std::size_t l = 0; l < links; ++l) moved[l] -= w.carried[l];
        result.traffic[i] = traffic_of(g, w.bytes, bytes, moved, (end.now - w.begin.now).seconds());
      }
      open = open || !w.ended;
    }
    if (!open) return result;
    std::vector<program::Simulation::Goal> goals;
    for (std::size_t i = 0; i < jobs; ++i)
      if (!windows[i].ended) goals.push_back(windows[i].begun ? g.end[i] : g.warm[i]);
    if (sim.run_until_any(goals) == Status::Reached) continue;
    STRETTO_ASSERT(jobs == 1, "{} jobs end in a deadlock", jobs);
    result.of[0].deadlock = training::explain_deadlock(g.compiled[0], *g.setup(0).graph, g.plans[0].layout, sim);
    return result;
  }
}

void add(JobTraffic& sum, const JobTraffic& more, double share) {
  for (const auto& [link, bytes] : more.bytes) {
    std::vector<double>& all = sum.bytes[link];
    all.resize(bytes.size(), 0);
    for (std::size_t i = 0; i < bytes.size(); ++i) all[i] += share * bytes[i];
  }
  for (const auto& [link, use] : more.utilisation) sum.utilisation[link] += share * use;
}

}  // namespace

std::vector<JobMeasured> simulate_jobs(const JobSet& set, std::span<const std::size_t> which,
                                       std::span<const plan::Plan> plans, const SimulateOptions& options) {
  const Group g = compile_group(set, which, plans, options);
  const std::size_t jobs = which.size();
  bool random = training::drawn_bursts(set.bursts);
  for (std::size_t i = 0; i < jobs; ++i) random = random || is_random(g.setup(i), plans[i]);
  std::vector<Accumulated> sums(jobs);
  std::vector<JobMeasured> result(jobs);
  std::uint32_t done = 0;
  in_rounds(
      random, options, [&](std::uint32_t number) { return replicate(g, options, number); },
      [&](const GroupReplication& r, std::uint32_t least) {
        result[0].measured.deadlock = r.of[0].deadlock;
        if (r.of[0].deadlock) return true;
        ++done;
        bool enough = true;
        for (std::size_t i = 0; i < jobs; ++i) {
          enough = sums[i].add(r.of[i], least, options.precision) && enough;
          add(result[i].traffic, r.traffic[i], 1);
        }
        return enough;
      });
  if (result[0].measured.deadlock) {
    std::vector<JobMeasured> stuck(jobs);
    stuck[0].measured.deadlock = result[0].measured.deadlock;
    return stuck;
  }
  for (std::size_t i = 0; i < jobs; ++i) {
    result[i].measured = sums[i].finish(g.compiled[i], options);
    JobTraffic mean;
    add(mean, result[i].traffic, 1.0 / done);
    result[i].traffic = std::move(mean);
  }
  return result;
}

cluster::LinkRef JobSet::global(std::size_t job, cluster::LinkRef ref) const {
  const std::uint32_t w0 = hosts.first_worker[job];
  const std::uint32_t s0 = hosts.first_server[job];
  const auto nic = [&](cluster::End end, bool up) -> LinkRef {
    const cluster::HostRef host = cluster::host_of(hosts.all, end);
    if (host.of_servers) return {up ? LinkKind::ServerNicUp : LinkKind::ServerNicDown, host.first};
    return {up ? LinkKind::WorkerNicUp : LinkKind::WorkerNicDown, host.first};
  };
  switch (ref.kind) {
    case LinkKind::WorkerNicUp:
    case LinkKind::WorkerNicDown:
      return nic({false, w0 + ref.of}, ref.kind == LinkKind::WorkerNicUp);
    case LinkKind::ServerNicUp:
    case LinkKind::ServerNicDown:
      return nic({true, s0 + ref.of}, ref.kind == LinkKind::ServerNicUp);
    case LinkKind::Fabric:
      return ref;
    case LinkKind::Loopback:
      return {ref.kind, cluster::host_of(hosts.all, {false, w0 + ref.of}).first};
    case LinkKind::PcieUp:
    case LinkKind::PcieDown:
    case LinkKind::NvlinkUp:
    case LinkKind::NvlinkDown:
      return {ref.kind, w0 + ref.of};
  }
  return ref;
}

std::string JobSet::link_name(cluster::LinkRef ref) const {
  switch (ref.kind) {
    case LinkKind::WorkerNicUp:
      return hosts.all.workers[ref.of].name + " NIC up";
    case LinkKind::WorkerNicDown:
      return hosts.all.workers[ref.of].name + " NIC down";
    case LinkKind::Loopback:
      return hosts.all.workers[ref.of].name + " loopback";
    default:
      return cluster::link_name(hosts.all, ref);
  }
}

JobSet make_job_set(const Spec& spec, Workloads& workloads) {
  JobSet set;
  set.hosts = job_hosts(spec);
  set_fabric(spec, set.hosts.all);
  const cluster::Cluster& all = set.hosts.all;
  set.bursts = make_bursts(spec, all);
  for (const Spec& job : spec.jobs) {
    Spec own = job;
    own.cluster.network.topology = {};
    own.all_reduce.detail = Detail::Messages;
    set.names.push_back(job.job.name);
    set.starts.push_back(job.job.start);
    set.setups.push_back(make_setup(own, workloads));
  }
  for (std::size_t j = 0; j < set.setups.size(); ++j) {
    cluster::Cluster& c = set.setups[j].cluster;
    c.network.fabric = all.network.fabric;
    std::vector<LinkRef> links;
    for (std::uint32_t w = 0; w < c.workers.size(); ++w) {
      const cluster::HostRef host = cluster::host_of(all, {false, set.hosts.first_worker[j] + w});
      c.workers[w].port = cluster::port_of(all, host);
      c.workers[w].nic = cluster::nic_of(all, host);
      if (!c.workers[w].with_worker)
        for (const LinkKind kind : {LinkKind::WorkerNicUp, LinkKind::WorkerNicDown, LinkKind::Loopback})
          links.push_back({kind, w});
    }
    for (std::uint32_t s = 0; s < c.servers.size(); ++s) {
      const cluster::HostRef host = cluster::host_of(all, {true, set.hosts.first_server[j] + s});
      c.servers[s].port = cluster::port_of(all, host);
      if (c.servers[s].on_worker) continue;
      c.servers[s].nic = cluster::nic_of(all, host);
      if (!c.servers[s].with_server)
        for (const LinkKind kind : {LinkKind::ServerNicUp, LinkKind::ServerNicDown}) links.push_back({kind, s});
    }
    for (std::uint32_t l = 0; l < c.network.fabric.links.size(); ++l) links.push_back({LinkKind::Fabric, l});
    for (const LinkRef link : links)
      for (const cluster::Reservation& r : all.network.reserved)
        if (r.link == set.global(j, link)) c.network.reserved.push_back({link, r.rate});
  }
  return set;
}

}  // namespace stretto::experiment
