// SPDX-License-Identifier: Apache-2.0
// The cluster as plain data: workers and parameter-server processes, each on a host of its own with a full-duplex NIC,
// joined by a star whose switch never limits. See docs/model.md, sections 2, 3, 4 and 6.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace stretto::cluster {

// A compute device that runs one op at a time per core: a GPU has one (serial), a CPU n.
struct Device {
  std::string name;
  std::uint32_t cores = 1;  // >= 1
  double speed = 1.0;       // > 0; op time = profiled time / speed
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
};

struct Server {
  std::string name;  // "server 0"
  Nic nic;
  std::uint32_t threads = 0;  // service threads for sending, receiving, aggregating and updating; 0 = unlimited
  ServiceCost send;
  ServiceCost receive;
  Bandwidth update_rate = Bandwidth::unlimited();  // bytes of a variable updated per time (stated in bit/s)
};

enum class LinkModel : std::uint8_t { Fluid, Fifo };

struct Network {
  LinkModel model = LinkModel::Fluid;
  Duration latency;                             // one way, host to host
  double efficiency = 1.0;                      // payload / wire, (0, 1]; applied to every NIC rate
  std::uint32_t streams = 1;                    // messages of one channel that move at a time; 0 = unlimited
  Bandwidth rate_cap = Bandwidth::unlimited();  // per connection
  Bytes chunk;                                  // Fifo only: store-and-forward unit, 0 = whole messages
};

struct Cluster {
  std::vector<Worker> workers;
  std::vector<Server> servers;
  Network network;
  Duration step_overhead;  // per worker at the start of each step
};

// Payload rate of one connection server -> worker (pull) or worker -> server (push), alone on its route.
Bandwidth pull_rate(const Cluster& cluster, std::size_t worker, std::size_t server);
Bandwidth push_rate(const Cluster& cluster, std::size_t worker, std::size_t server);

// Time of a message alone on its route: latency + bytes / rate (rounded up). Service costs not included.
Duration pull_time(const Cluster& cluster, std::size_t worker, std::size_t server, Bytes bytes);
Duration push_time(const Cluster& cluster, std::size_t worker, std::size_t server, Bytes bytes);

}  // namespace stretto::cluster
