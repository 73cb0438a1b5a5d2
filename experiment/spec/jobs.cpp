// SPDX-License-Identifier: Apache-2.0
// Several jobs on one network: the row `jobs`, and the cluster of all of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "config/load.hpp"
#include "experiment/spec/rows.hpp"
#include "models/cluster/topology.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

constexpr std::size_t kMaxJobs = 64;
const std::vector<std::string> kOwnKeys = {"name", "start", "policy", "workers_on", "servers_on"};
const std::vector<std::string> kSections = {"workload", "cluster", "training", "all_reduce", "noise"};
const char* const kExample = "for example [{name: a, workload: {model: vgg_16}}, {name: b, start: 50 ms}]";

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What the job's tree has of the whole: everything but what several jobs share or only the whole has.
Node tree_of(const Node& root, const Node& item, bool& own_policy) {
  Node tree = root;
  std::erase_if(tree.entries, [](const config::Entry& e) {
    return e.key == "name" || e.key == "vary" || e.key == "search" || e.key == "sweep" || e.key == "jobs";
  });
  tree.place = item.place;
  Node local;
  local.kind = config::Kind::Map;
  local.place = item.place;
  for (const config::Entry& entry : item.entries) {
    if (is_one_of(kSections, entry.key)) local.entries.push_back(entry);
    if (entry.key != "policy") continue;
    own_policy = true;
    Node list;
    list.kind = config::Kind::Sequence;
    list.place = entry.value.place;
    list.items.push_back(entry.value);
    local.entries.push_back({"policies", entry.place, std::move(list)});
  }
  config::merge(tree, std::move(local));
  tree.entries.push_back({"jobs", item.place, {}});
  return tree;
}

void read_own(Reader& reader, const Node& item, const std::string& at, JobSpec& job) {
  std::vector<std::string> keys = kOwnKeys;
  keys.insert(keys.end(), kSections.begin(), kSections.end());
  read_item(reader, item, at, keys, [&](const config::Entry& e, const std::string& path) {
    if (e.key == "start") {
      job.start = reader.read_duration(e.value, path).value_or(Duration());
    } else if (e.key == "name") {
      job.name = reader.read_text(e.value, path).value_or("");
      job.place = e.value.place;
    } else if (e.key == "workers_on" || e.key == "servers_on") {
      const bool workers = e.key == "workers_on";
      (workers ? job.workers_on : job.servers_on) = reader.read_text(e.value, path);
      (workers ? job.workers_place : job.servers_place) = e.value.place;
    } else if (e.key == "cluster" && e.value.find("network") != nullptr) {
      reader.error(e.value.find("network")->place, path + ".network", "the network is that of all jobs",
                   "say cluster.network beside jobs");
    }
  });
}

// Host i of these processes is host i of those of the named job.
void check_hosts(Reader& reader, const Spec& s, std::size_t j, bool workers) {
  const Spec& spec = s.jobs[j];
  const auto& on = workers ? spec.job.workers_on : spec.job.servers_on;
  if (!on) return;
  const std::string key = fmt::format("jobs[{}].{}", j, workers ? "workers_on" : "servers_on");
  const config::Place& place = workers ? spec.job.workers_place : spec.job.servers_place;
  const auto end = s.jobs.begin() + static_cast<std::ptrdiff_t>(j);
  const auto other = std::find_if(s.jobs.begin(), end, [&](const Spec& o) { return o.job.name == *on; });
  if (other == end)
    return reader.error(place, key, fmt::format("no job '{}' comes before this one", *on),
                        "the name of a job that stands earlier in the list");
  const auto hosts = [&](const Spec& o) -> std::uint32_t {
    if (workers) return host_count(o.cluster.workers);
    if (o.training.exchange == Exchange::AllReduce) return 0;
    return (o.cluster.servers.count + o.cluster.servers.per_host - 1) / o.cluster.servers.per_host;
  };
  if (!workers && (spec.cluster.servers.colocated > 0 || hosts(spec) == 0))
    return reader.error(place, key, "this job has no hosts of servers alone", "leave servers_on out");
  if (hosts(spec) > hosts(*other))
    reader.error(place, key,
                 fmt::format("job '{}' has {} such hosts and this one would need {}", *on, hosts(*other), hosts(spec)),
                 "fewer processes, or more of them on a host");
}

void check_jobs(Reader& reader, const Node& list, const Spec& s) {
  std::set<std::string> names;
  for (std::size_t j = 0; j < s.jobs.size(); ++j) {
    const Spec& spec = s.jobs[j];
    const std::string key = fmt::format("jobs[{}]", j);
    if (!names.insert(spec.job.name).second)
      reader.error(spec.job.place, key + ".name", fmt::format("two jobs are named '{}'", spec.job.name),
                   "names of their own");
    check_hosts(reader, s, j, true);
    check_hosts(reader, s, j, false);
    if (spec.all_reduce.detail == Detail::Aggregate)
      reader.error(spec.all_reduce.detail_place, "all_reduce.detail",
                   "no worker can stand for all of a job that shares its network", "say auto or messages");
    for (std::size_t o = 0; o < j; ++o) {
      const NoiseSpec& a = s.jobs[o].noise;
      const NoiseSpec& b = spec.noise;
      const auto noisy = [](const NoiseSpec& n) { return n.compute_cv > 0 || n.distribution == NoiseLaw::Empirical; };
      const bool laws = noisy(a) && noisy(b) &&
                        (a.compute_cv != b.compute_cv || a.distribution != b.distribution || a.factors != b.factors);
      const bool stragglers = a.stragglers.slowdown > 1 && b.stragglers.slowdown > 1 && !(a.stragglers == b.stragglers);
      if (laws || stragglers)
        reader.error(list.items[j].place, key + ".noise",
                     fmt::format("jobs '{}' and '{}' vary under two laws", s.jobs[o].job.name, spec.job.name),
                     "one compute_cv, distribution, factors and stragglers for all jobs that have them");
    }
  }
  if (!reader.diagnostics().empty()) return;
  // Two hosts of one job would be one.
  const JobHosts hosts = job_hosts(s);
  for (std::size_t j = 0; j < s.jobs.size(); ++j) {
    std::set<cluster::LinkRef> up;
    for (const cluster::HostRef& host : hosts.of_job[j])
      if (!up.insert({host.of_servers ? cluster::LinkKind::ServerNicUp : cluster::LinkKind::WorkerNicUp, host.first})
               .second)
        return reader.error(list.items[j].place, fmt::format("jobs[{}]", j),
                            fmt::format("a worker and a server of job '{}' would share a host", s.jobs[j].job.name),
                            "say so with cluster.servers.colocated in place of servers_on");
  }
}

}  // namespace

bool is_job(const Node& root) {
  const config::Entry* jobs = root.find("jobs");
  return jobs != nullptr && jobs->value.is_null();
}

bool read_jobs(Reader& reader, const Node& root, const Options& options, Spec& s) {
  const config::Entry* jobs = root.find("jobs");
  if (jobs == nullptr) return false;
  const Node& list = jobs->value;
  if (!list.is_sequence() || list.items.empty()) {
    reader.error(list.place, "jobs",
                 "expected a list of jobs, found " +
                     (list.is_sequence() ? std::string("an empty list") : config::describe(list)),
                 kExample);
    return true;
  }
  if (list.items.size() > kMaxJobs) {
    reader.error(list.place, "jobs", fmt::format("{} jobs", list.items.size()),
                 fmt::format("valid: at most {}", kMaxJobs));
    return true;
  }
  if (s.cluster.network.comm_compute_ratio)
    reader.error(s.cluster.network.ratio_place, "cluster.network.comm_compute_ratio",
                 "sets the rates of NICs for one workload, and there are several jobs",
                 "give NIC rates in place of it");
  for (std::size_t j = 0; j < list.items.size(); ++j) {
    const Node& item = list.items[j];
    const std::string at = fmt::format("jobs[{}]", j);
    JobSpec job;
    job.place = item.place;
    read_own(reader, item, at, job);
    if (!item.is_map()) continue;
    if (job.name.empty()) job.name = fmt::format("job {}", j + 1);
    Reader one;
    Spec spec = read_job(one, tree_of(root, item, job.own_policy), options);
    for (Diagnostic d : one.diagnostics()) {
      if (d.key.starts_with("policies[0]")) d.key = at + ".policy" + d.key.substr(11);
      if (!is_one_of({"stretto"}, d.key)) reader.diagnostics().push_back(std::move(d));
    }
    spec.name = job.name;
    spec.job = std::move(job);
    s.jobs.push_back(std::move(spec));
    s.jobs_text += (s.jobs_text.empty() ? "[" : ", ") + config::to_flow(job_without_directory(item));
  }
  s.jobs_text += "]";
  if (reader.diagnostics().empty()) check_jobs(reader, list, s);
  return true;
}

void add_jobs_field(Rows& rows) {
  rows.push_back(custom(
      "jobs", "list", "{name, start, policy, workers_on, servers_on, and any of workload, cluster, training, ...}", "",
      "several jobs on one network; each differs from what stands beside jobs in what it says itself",
      [](Reader&, const Node&, const std::string&, Spec&) {}, [](const Spec& s) { return s.jobs_text; }));
}

JobHosts job_hosts(const Spec& spec) {
  JobHosts out;
  std::map<std::string, std::size_t> number;
  std::vector<std::vector<cluster::HostRef>> workers;  // per job, its hosts
  std::vector<std::vector<cluster::HostRef>> servers;
  for (const Spec& of_job : spec.jobs) {
    Spec alone = of_job;
    alone.cluster.network.topology = {};
    const cluster::Cluster c = make_cluster(alone);
    const auto w0 = static_cast<std::uint32_t>(out.all.workers.size());
    const auto s0 = static_cast<std::uint32_t>(out.all.servers.size());
    const auto other = [&](const std::optional<std::string>& name) { return number.at(*name); };
    out.first_worker.push_back(w0);
    out.first_server.push_back(s0);
    std::vector<cluster::HostRef>& worker_hosts = workers.emplace_back();
    for (cluster::Worker w : c.workers) {
      w.name = fmt::format("{} {}", of_job.job.name, w.name);
      if (w.with_worker) {
        w.with_worker = out.all.workers[w0 + *w.with_worker].with_worker.value_or(w0 + *w.with_worker);
      } else {
        if (of_job.job.workers_on) w.with_worker = workers[other(of_job.job.workers_on)][worker_hosts.size()].first;
        const auto here = static_cast<std::uint32_t>(out.all.workers.size());
        worker_hosts.push_back({false, w.with_worker.value_or(here)});
      }
      if (w.with_worker) w.nic = out.all.workers[*w.with_worker].nic;
      out.all.workers.push_back(std::move(w));
    }
    std::vector<cluster::HostRef>& server_hosts = servers.emplace_back();
    for (cluster::Server s : c.servers) {
      s.name = fmt::format("{} {}", of_job.job.name, s.name);
      if (s.on_worker) {
        const std::uint32_t w = w0 + *s.on_worker;
        s.on_worker = out.all.workers[w].with_worker.value_or(w);
      } else if (s.with_server) {
        const cluster::Server& first = out.all.servers[s0 + *s.with_server];
        s.on_worker = first.on_worker;
        s.with_server = first.on_worker ? std::nullopt : std::optional(first.with_server.value_or(s0 + *s.with_server));
        s.nic = first.nic;
      } else if (of_job.job.servers_on) {
        const cluster::HostRef host = servers[other(of_job.job.servers_on)][server_hosts.size()];
        (host.of_servers ? s.with_server : s.on_worker) = host.first;
        s.nic = cluster::nic_of(out.all, host);
      }
      s.cores = 0;  // service threads of several jobs do not share cores
      out.all.servers.push_back(std::move(s));
      const auto here = static_cast<std::uint32_t>(out.all.servers.size() - 1);
      const cluster::HostRef host = cluster::host_of(out.all, {true, here});
      const bool first = c.servers[here - s0].with_server
                             ? false
                             : !c.servers[here - s0].on_worker ||
                                   std::find(server_hosts.begin(), server_hosts.end(), host) == server_hosts.end();
      if (first) server_hosts.push_back(host);
    }
    std::vector<cluster::HostRef>& own = out.of_job.emplace_back(worker_hosts);
    for (std::uint32_t s = 0; s < c.servers.size(); ++s)
      if (!c.servers[s].on_worker && !c.servers[s].with_server)
        own.push_back(cluster::host_of(out.all, {true, s0 + s}));
    number.emplace(of_job.job.name, number.size());
    out.all.network = c.network;
  }
  return out;
}

}  // namespace stretto::experiment
