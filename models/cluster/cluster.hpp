// SPDX-License-Identifier: Apache-2.0
// The cluster as plain data: workers and parameter-server processes on hosts with a full-duplex NIC each, joined by a
// fabric (fabric.hpp; a star if nothing else is said). A worker has a host of its own or shares that of earlier
// workers; a server has one of its own, or runs beside other servers or on a worker's host, and shares its NIC. What a
// worker and a server on one host send each other crosses the host's loopback (one link for both directions, no
// latency) in place of the network; topology.hpp has all routes. See docs/model.md, sections 2, 3, 4 and 6.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/cluster/fabric.hpp"
#include "models/cluster/link.hpp"
#include "sim/base/units.hpp"

namespace stretto::cluster {

// Which ready op a device takes first: the one that became ready first, the one with the longest path to the end of the
// step, or any (TensorFlow's executor). Ties by op.
enum class OpOrder : std::uint8_t { Fifo, Priority, Random };

// A compute device that runs one op at a time per core, each at full speed: a GPU has one core per stream, a CPU n. A
// GPU's copy engines, one each way, move one tensor at a time: copy_launch + bytes / rate.
struct Device {
  std::string name;
  std::uint32_t cores = 1;  // >= 1
  double speed = 1.0;       // > 0; op time = profiled time / speed
  OpOrder order = OpOrder::Fifo;
  Bandwidth copy_in = Bandwidth::unlimited();   // host to device, after a pull
  Bandwidth copy_out = Bandwidth::unlimited();  // device to host, before a push
  Duration copy_launch = {};
  bool copies_in() const { return copy_launch > Duration() || !copy_in.is_unlimited(); }
  bool copies_out() const { return copy_launch > Duration() || !copy_out.is_unlimited(); }
};

// Cost of handling one message at one end: per_message + bytes * per_byte, on one service thread.
struct ServiceCost {
  Duration per_message;
  double per_byte_ps = 0.0;  // picoseconds per byte, >= 0
  bool is_zero() const { return per_message == Duration() && per_byte_ps == 0.0; }
  Duration of(Bytes bytes) const {
    return per_message + Duration::seconds(per_byte_ps * static_cast<double>(bytes.count()) * 1e-12);
  }
};

// Full duplex: `up` carries what the host sends, `down` what it receives.
struct Nic {
  Bandwidth up = Bandwidth::unlimited();
  Bandwidth down = Bandwidth::unlimited();
};

struct Worker {
  std::string name;  // "worker 3"
  Device device;
  Nic nic;
  std::uint32_t threads = 0;  // service threads, 0 = unlimited
  ServiceCost send;
  ServiceCost receive;
  std::optional<std::uint32_t> with_worker = {};  // the first worker of its host, if it is another; with the same NIC
  std::uint32_t port = 0;                         // of the fabric; that of the host's first worker counts
  Bandwidth pcie = Bandwidth::unlimited();        // of its device, each direction
  std::optional<Bandwidth> nvlink = {};           // direct links to other workers of the host, each direction
  Duration nvlink_latency = {};                   // of a message over them
};

struct Server {
  std::string name;  // "server 0"
  Nic nic;
  std::uint32_t threads = 0;  // service threads for sending, receiving, aggregating and updating; 0 = unlimited
  ServiceCost send;
  ServiceCost receive;
  // Bytes that one thread handles per time (stated in bit/s): of a variable that is updated; of a gradient that is
  // added to the others of its step.
  Bandwidth update_rate = Bandwidth::unlimited();
  Bandwidth aggregate_rate = Bandwidth::unlimited();
  std::optional<std::uint32_t> with_server = {};  // an earlier server on the same host
  std::optional<std::uint32_t> on_worker = {};    // the worker whose host it runs on
  // > 0: services of all server processes of the host run on so many cores; then `threads` is 0 or not less, and equal
  // for all of them.
  std::uint32_t cores = 0;
  std::uint32_t port = 0;  // of the fabric; that of the host's first server counts
};

// Payload rate that constant traffic of others takes from a link, whatever else crosses it.
struct Reservation {
  LinkRef link;
  Bandwidth rate;
};

enum class LinkModel : std::uint8_t { Fluid, Fifo };

struct Network {
  LinkModel model = LinkModel::Fluid;
  Duration latency;                             // one way, host to host; links of the fabric add theirs
  double efficiency = 1.0;                      // payload / wire, (0, 1]; applied to NICs and fabric
  std::uint32_t streams = 1;                    // messages of one channel that move at a time; 0 = unlimited
  Bandwidth rate_cap = Bandwidth::unlimited();  // per connection
  Bytes chunk;                                  // Fifo only: store-and-forward unit, 0 = whole messages
  Bandwidth loopback = Bandwidth::unlimited();  // of each host
  Fabric fabric = {};
  std::vector<Reservation> reserved = {};  // each link once, with less than its rate
};

struct Cluster {  // every worker can reach every server and back
  std::vector<Worker> workers;
  std::vector<Server> servers;
  Network network;
  Duration step_overhead;              // per worker at the start of each step
  std::uint32_t servers_per_host = 1;  // how servers are grouped: s runs on host s / servers_per_host
  // Where the first server runs on a worker's host: how many do, from the first on; the others have this NIC.
  std::uint32_t servers_on_workers = 0xFFFFFFFFU;
  Nic server_nic;
};

// The same cluster with `count` (>= 1) servers like its first one, grouped as they are, as many of them on workers'
// hosts as it says; none where these are too few, or the fabric has no place for one more host: a new host goes to the
// rack with the fewest hosts, or to the first free slot, and a graph has none.
std::optional<Cluster> with_servers(Cluster cluster, std::uint32_t count);

// From the server to the worker, and back (a request, a gradient): 0 on one host.
Duration latency(const Cluster& cluster, std::size_t worker, std::size_t server);
Duration push_latency(const Cluster& cluster, std::size_t worker, std::size_t server);

// Services that a server process does at a time, with regard to its host; 0 = unlimited.
std::uint32_t service_units(const Server& server);

// Workers on each host where every host has as many, neighbours all; 0 where hosts differ. O(workers).
std::uint32_t workers_per_host(const Cluster& cluster);

// Payload rate of one connection server -> worker (pull) or worker -> server (push), alone on its route.
Bandwidth pull_rate(const Cluster& cluster, std::size_t worker, std::size_t server);
Bandwidth push_rate(const Cluster& cluster, std::size_t worker, std::size_t server);

// Time of a message alone on its route: latency + bytes / rate (rounded up). Service costs not included.
Duration pull_time(const Cluster& cluster, std::size_t worker, std::size_t server, Bytes bytes);
Duration push_time(const Cluster& cluster, std::size_t worker, std::size_t server, Bytes bytes);

}  // namespace stretto::cluster
