// SPDX-License-Identifier: Apache-2.0
// The rows of the section `cluster`.
#include <fmt/format.h>

#include "experiment/spec/rows.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

void read_ratio(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  const auto ratio = reader.read_number(node, key);
  s.cluster.network.ratio_place = node.place;
  if (!ratio) return;
  if (*ratio > 0 && *ratio <= kMaxRatio)
    s.cluster.network.comm_compute_ratio = ratio;
  else
    reader.error(node.place, key, config::describe(node) + " is out of range", "valid: more than 0, at most 1e6");
}

template <class Nic>
void add_nic(Rows& rows, const std::string& path, Nic nic) {
  rows.push_back(config::bandwidth<Spec>(
      path + ".up", "unlimited",
      "what a host can send; nic: RATE sets both directions", [nic](auto& s) -> auto& { return nic(s).up; }, path));
  rows.push_back(config::bandwidth<Spec>(
      path + ".down", "unlimited", "what a host can receive", [nic](auto& s) -> auto& { return nic(s).down; }, path));
}

template <class Service>
void add_service(Rows& rows, const std::string& path, const std::string& what, Service service) {
  rows.push_back(config::duration<Spec>(
      path + ".per_message", "0 us",
      "service time of " + what + " one message", [service](auto& s) -> auto& { return service(s).per_message; }));
  rows.push_back(config::per_byte<Spec>(
      path + ".per_byte", "0 ns/B",
      "service time of " + what + " one byte", [service](auto& s) -> auto& { return service(s).per_byte_ps; }));
}

void add_workers(Rows& rows) {
  rows.push_back(config::integer<Spec>(
      "cluster.workers.count", 1, kMaxWorkers, "1", "workers, each on a host of its own but for per_host",
      [](auto& s) -> auto& { return s.cluster.workers.count; }));
  add_device_fields(rows);
  add_nic(
      rows, "cluster.workers.nic", [](auto& s) -> auto& { return s.cluster.workers.nic; });
  rows.push_back(config::integer<Spec>(
      "cluster.workers.threads", 0, 65'536, "0", "threads that handle messages; 0 = unlimited",
      [](auto& s) -> auto& { return s.cluster.workers.threads; }));
  add_service(
      rows, "cluster.workers.send", "sending", [](auto& s) -> auto& { return s.cluster.workers.send; });
  add_service(
      rows, "cluster.workers.receive", "receiving", [](auto& s) -> auto& { return s.cluster.workers.receive; });
  add_worker_host_fields(rows);
}

void add_servers(Rows& rows) {
  rows.push_back(config::integer<Spec>(
      "cluster.servers.count", 1, kMaxServers, "1", "parameter servers, each on a host of its own",
      [](auto& s) -> auto& { return s.cluster.servers.count; }));
  add_nic(
      rows, "cluster.servers.nic", [](auto& s) -> auto& { return s.cluster.servers.nic; });
  rows.push_back(config::integer<Spec>(
      "cluster.servers.threads", 0, 65'536, "0", "threads that send, receive, aggregate and update; 0 = unlimited",
      [](auto& s) -> auto& { return s.cluster.servers.threads; }));
  add_service(
      rows, "cluster.servers.send", "sending", [](auto& s) -> auto& { return s.cluster.servers.send; });
  add_service(
      rows, "cluster.servers.receive", "receiving", [](auto& s) -> auto& { return s.cluster.servers.receive; });
  rows.push_back(config::bandwidth<Spec>(
      "cluster.servers.update_rate", "unlimited", "bytes of variables that one thread updates per time",
      [](auto& s) -> auto& { return s.cluster.servers.update_rate; }));
  add_server_host_fields(rows);
  add_placement_field(rows);
}

void add_network(Rows& rows) {
  rows.push_back(config::choice<Spec>(
      "cluster.network.topology", {"star", "racks", "fat_tree", "links"}, "star",
      "star: hosts joined by one switch that never limits; racks: switches with uplinks to a core; fat_tree: k-ary; "
      "links: as listed",
      [](auto& s) -> auto& { return s.cluster.network.topology.kind; }));
  add_topology_fields(rows);
  rows.push_back(config::choice<Spec>(
      "cluster.network.model", {"fluid", "fifo"}, "fluid",
      "fluid: max-min fair sharing; fifo: one message or chunk after another",
      [](auto& s) -> auto& { return s.cluster.network.model; }));
  rows.push_back(config::bytes<Spec>(
      "cluster.network.chunk", "0 B", "fifo: what a link stores and forwards; 0 B = whole messages",
      [](auto& s) -> auto& { return s.cluster.network.chunk; }));
  rows.push_back(config::duration<Spec>(
      "cluster.network.latency", "0 us", "one way, host to host",
      [](auto& s) -> auto& { return s.cluster.network.latency; }));
  rows.push_back(config::number<Spec>(
      "cluster.network.efficiency", true, {0, 1, true, "more than 0, at most 1"}, "1",
      "payload over wire bytes: 0.956 for TCP over Ethernet",
      [](auto& s) -> auto& { return s.cluster.network.efficiency; }));
  rows.push_back(config::integer<Spec>(
      "cluster.network.streams", 0, 65'536, "1", "messages of one connection that move at a time; 0 = unlimited",
      [](auto& s) -> auto& { return s.cluster.network.streams; }));
  rows.push_back(config::bandwidth<Spec>(
      "cluster.network.rate_cap", "unlimited", "most that one connection can carry",
      [](auto& s) -> auto& { return s.cluster.network.rate_cap; }));
  add_loopback_field(rows);
  rows.push_back(custom("cluster.network.comm_compute_ratio", "number", "more than 0, at most 1e6", "",
                        "in place of NIC rates: time of all pulls over time of the forward pass", read_ratio,
                        [](const Spec& s) {
                          const auto& ratio = s.cluster.network.comm_compute_ratio;
                          return ratio ? config::format_number(*ratio) : "";
                        }));
  rows.push_back(config::duration<Spec>(
      "cluster.step_overhead", "0 us", "time at the start of each worker's step",
      [](auto& s) -> auto& { return s.cluster.step_overhead; }));
}

}  // namespace

void add_cluster_fields(Rows& rows) {
  add_workers(rows);
  add_servers(rows);
  add_network(rows);
}

}  // namespace stretto::experiment
