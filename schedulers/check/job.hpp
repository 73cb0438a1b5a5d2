// SPDX-License-Identifier: Apache-2.0
// What the checker is told of a job: replica graph, layout and order as they are, and the cluster as plain numbers. The
// caller derives them from the cluster's description, not from what the engine made of it. See docs/verify.md.
//
// Rates of links are those of payload (efficiency applied). Ids are places in the lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/graph.hpp"
#include "models/plan/plan.hpp"
#include "sim/base/units.hpp"

namespace stretto::check {

// Handling of a message at one end: per_message + bytes x per_byte_ps on a thread of `pool`.
struct Service {
  std::uint32_t pool = 0;
  Duration per_message;
  double per_byte_ps = 0;
  bool none() const { return per_message == Duration() && per_byte_ps == 0; }
  Duration of(Bytes bytes) const {
    return per_message + Duration::seconds(per_byte_ps * static_cast<double>(bytes.count()) / 1e12);
  }
};

struct Pool {
  std::string name;
  std::uint32_t units = 1;  // 0: unlimited
};

struct Link {
  std::string name;
  Bandwidth rate;
};

// One direction between a worker and a server process.
struct Channel {
  std::vector<std::uint32_t> links;  // that its messages cross; none: no limit
  Duration latency;
  Duration request;  // pulls: from the worker's asking to the server's knowing
  Service send;
  Service receive;
};

// One tensor at a time on its way into or out of a device: launch + bytes / rate.
struct CopyEngine {
  std::uint32_t pool = 0;
  Duration launch;
  Bandwidth rate = Bandwidth::unlimited();
  Duration of(Bytes bytes) const { return launch + transfer_duration(bytes, rate); }
};

struct Worker {
  std::uint32_t device = 0;  // pool
  double speed = 1;
  std::optional<CopyEngine> copy_in = {};   // behind a pull
  std::optional<CopyEngine> copy_out = {};  // before a push
};

struct Server {
  std::uint32_t threads = 0;  // pool
  Bandwidth update_rate = Bandwidth::unlimited();
  Bandwidth aggregate_rate = Bandwidth::unlimited();
};

// When a worker goes on (docs/model.md, section 7).
enum class Pace : std::uint8_t {
  Barrier,     // all together
  Overlapped,  // without a barrier: a pull follows its own update
  Own,         // async, ssp: each gradient is an update of its own
  Backup,      // the first gradients only
};

// What a job with servers and one of all-reduce (collectives.hpp) have in common.
struct AnyJob {
  graph::Graph graph;
  plan::Layout layout;
  plan::Order order;
  std::vector<Worker> workers;
  std::vector<Pool> pools;
  std::vector<Link> links;
  bool fluid = true;    // max-min fair links; else first in, first out
  bool in_turn = true;  // devices take ops in the order of becoming ready; else in another order
  Duration step_overhead;
  Duration input_time;
  std::uint32_t passes = 1;
};

struct Job : AnyJob {
  std::vector<Server> servers;
  std::vector<Channel> pulls;  // [worker * servers + server]
  std::vector<Channel> pushes;
  std::uint32_t streams = 1;  // messages of a channel that move at a time; 0: unlimited
  Bandwidth rate_cap = Bandwidth::unlimited();
  bool training = true;
  Pace pace = Pace::Barrier;
  std::uint32_t staleness = 0xFFFFFFFF;  // Pace::Own: steps that a worker may lead

  bool pushed(std::uint32_t transfer) const {
    return training && graph.parameters[layout.transfers[transfer].parameter.index()].gradient.valid();
  }
  const Channel& channel(bool push, std::uint32_t worker, std::uint32_t transfer) const {
    return (push ? pushes : pulls)[worker * servers.size() + layout.transfers[transfer].server];
  }
  const plan::DirectionOrder& direction(bool push) const { return push ? order.push : order.pull; }
};

// What is wrong: the rule that does not hold, and where.
struct Violation {
  std::string rule;
  std::string text;
};

// "fc6/weights slice 2", or "fc6/weights" where it is not cut.
std::string transfer_name(const Job& job, std::uint32_t transfer);

// Places of the ranked transfers on their server, dense from 0; kUnranked for others and for those that never go.
std::vector<std::uint32_t> places(const Job& job, bool push);

// Why devices and links like these, and orders like `orders`, cannot be replayed, or nothing.
std::string why_no_replay(const AnyJob& job, const std::vector<const plan::DirectionOrder*>& orders);

}  // namespace stretto::check
