// SPDX-License-Identifier: Apache-2.0
// FIFO network: the alternative to fluid sharing. A message (or each chunk of it) is stored and forwarded: it crosses
// one link after the other, and a link serves one chunk at a time in the order of arrival.
//
// A chunk of b bytes occupies a link of capacity C for ceil(8e12 b / C) ps (exact integers). All chunks of a message
// queue at its first link when it starts; a message ends when its last chunk has left the last link. A route's cap acts
// as a first link of the route's own. Ties: order of arrival, then order of start.
// Cost: O(log chunks in flight) per chunk and link.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/network/wires.hpp"

namespace stretto::network {

// Same use as FluidNetwork: start and finish in any order within an instant; solve() is not needed and does nothing.
class FifoNetwork {
 public:
  // chunk = 0: whole messages.
  FifoNetwork(const Wires& wires, Bytes chunk);
  void reset();
  void start(Time now, RouteId route, Bytes bytes, std::uint32_t token);
  // Chunks that queue at the link from now on take 1 / `factor` of their time.
  void set_capacity(LinkId link, double factor) { factor_[link.index()] = factor; }
  Time next() const { return events_.next(); }
  void finish(Time now, std::vector<std::uint32_t>& tokens);
  void solve(Time) {}
  // Bytes of the chunks that have left the link.
  std::int64_t bytes_carried(LinkId link) const { return carried_[link.index()]; }

 private:
  struct Message {
    std::uint32_t route;
    std::uint32_t token;
    std::int64_t chunks_left;  // to leave the last link
    std::int64_t bytes;
  };
  struct Chunk {
    std::uint32_t message;
    std::int32_t hop;  // -1: the route's cap
    std::int64_t bytes;
  };
  void enter(Time now, std::uint32_t chunk);

  const Wires* wires_;
  Bytes chunk_size_;
  engine::EventQueue events_;
  std::vector<Time> link_free_;
  std::vector<Time> cap_free_;
  std::vector<std::int64_t> carried_;
  std::vector<double> factor_;  // of each link's capacity
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::vector<Chunk> chunks_;
  std::vector<std::uint32_t> free_chunks_;
};

}  // namespace stretto::network
