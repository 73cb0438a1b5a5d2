// SPDX-License-Identifier: Apache-2.0
// From the section `cluster` to the cluster that is simulated.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiment/spec/rows.hpp"
#include "experiment/spec/spec.hpp"

namespace stretto::experiment {

namespace {

// Workers of one group, hosts not shared with other groups.
void add_workers(const WorkersSpec& all, const WorkerGroupSpec& group, cluster::Cluster& out) {
  const auto service = [](const ServiceSpec& v) { return cluster::ServiceCost{v.per_message, v.per_byte_ps}; };
  const NicSpec nic = group.nic.value_or(all.nic);
  const std::uint32_t per_host = group.per_host.value_or(all.per_host);
  const auto first = static_cast<std::uint32_t>(out.workers.size());
  DeviceSpec device = all.device;
  device.name = group.device.value_or(device.name);
  device.cores = group.cores.value_or(device.cores);
  device.speed = group.speed.value_or(device.speed);
  for (std::uint32_t i = 0; i < group.count; ++i) {
    cluster::Worker worker{fmt::format("worker {}", first + i),
                           make_device(device),
                           {nic.up, nic.down},
                           all.threads,
                           service(all.send),
                           service(all.receive)};
    if (i % per_host != 0) worker.with_worker = first + i - i % per_host;
    worker.pcie = group.pcie.value_or(all.pcie);
    worker.nvlink = group.nvlink ? group.nvlink : all.nvlink;
    worker.nvlink_latency = all.nvlink_latency;
    out.workers.push_back(std::move(worker));
  }
}

}  // namespace

cluster::Cluster make_cluster(const Spec& spec) {
  if (!spec.jobs.empty()) {
    cluster::Cluster all = job_hosts(spec).all;
    set_fabric(spec, all);
    return all;
  }
  const ClusterSpec& c = spec.cluster;
  const auto nic = [](const NicSpec& n) { return cluster::Nic{n.up, n.down}; };
  const auto service = [](const ServiceSpec& v) { return cluster::ServiceCost{v.per_message, v.per_byte_ps}; };
  cluster::Cluster out;
  if (c.workers.groups.empty()) add_workers(c.workers, {c.workers.count, {}, {}, {}, {}, {}, {}, {}}, out);
  for (const WorkerGroupSpec& group : c.workers.groups) add_workers(c.workers, group, out);
  std::vector<std::uint32_t> worker_hosts;  // first workers
  for (std::uint32_t w = 0; w < out.workers.size(); ++w)
    if (!out.workers[w].with_worker) worker_hosts.push_back(w);
  const std::uint32_t together = std::min(c.servers.per_host, c.servers.count);
  const bool cores_bind = c.servers.threads == 0 || c.servers.threads * together > c.servers.cores;
  cluster::Server server{"",
                         c.servers.colocated > 0 ? cluster::Nic() : nic(c.servers.nic),
                         c.servers.threads,
                         service(c.servers.send),
                         service(c.servers.receive),
                         c.servers.update_rate.scaled(1 / update_cost(spec.training.optimizer)),
                         c.servers.aggregate_rate,
                         {},
                         {},
                         cores_bind ? c.servers.cores : 0};
  if (c.servers.colocated > 0) server.on_worker = 0;
  out.servers = {server};
  out.servers_per_host = c.servers.per_host;
  out.servers_on_workers = c.servers.colocated;
  out.server_nic = nic(c.servers.nic);
  out.network = {c.network.model,    c.network.latency, c.network.efficiency, c.network.streams,
                 c.network.rate_cap, c.network.chunk,   c.network.loopback};
  out.step_overhead = c.step_overhead;
  if (spec.training.exchange == Exchange::AllReduce)
    out.servers.clear();
  else
    out = cluster::with_servers(std::move(out), c.servers.count).value();
  set_fabric(spec, out);
  return out;
}

}  // namespace stretto::experiment
