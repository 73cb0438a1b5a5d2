// SPDX-License-Identifier: Apache-2.0
// FifoNetwork against queues that are stepped microsecond by microsecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/network/fifo.hpp"

namespace stretto::testing {
namespace {

using network::LinkId;
using network::RouteId;

struct Message {
  std::uint32_t route;
  std::int64_t bytes;
  std::int64_t start_us;
};

// Every station (link, or cap of a route) serves its queue in order; all times are whole microseconds. Chunks that move
// on in the same microsecond do so in the order in which they came to the station that they leave.
struct Stepped {
  struct Chunk {
    std::uint32_t message;
    std::vector<std::size_t> stations;
    std::vector<std::int64_t> service_us;
    std::size_t at = 0;
    std::int64_t left_us = 0;
    std::uint64_t came = 0;
  };
  std::vector<Chunk> chunks;
  std::vector<std::deque<std::size_t>> queues;
  std::vector<std::int64_t> missing;  // chunks by message
  std::vector<std::int64_t> end_us;
  std::uint64_t sequence = 0;

  void enter(std::size_t c, std::int64_t now) {
    Chunk& chunk = chunks[c];
    // Without a service time and with nobody ahead it passes at once.
    if (chunk.at == chunk.stations.size()) {
      if (--missing[chunk.message] == 0) end_us[chunk.message] = now;
      return;
    }
    chunk.left_us = chunk.service_us[chunk.at];
    chunk.came = sequence++;
    queues[chunk.stations[chunk.at]].push_back(c);
  }
};

constexpr std::int64_t kUnit = 10;  // bytes; capacities are 1, 2 or 5 bytes/us, so a unit takes whole microseconds

std::vector<std::int64_t> stepped(const network::Wires& wires, const std::vector<Message>& messages,
                                  std::int64_t chunk_bytes) {
  Stepped s;
  s.queues.resize(wires.links.size() + wires.routes.size());
  s.missing.assign(messages.size(), 0);
  s.end_us.assign(messages.size(), -1);
  const auto us = [](std::int64_t bytes, Bandwidth rate) { return bytes * 8'000'000 / rate.bits_per_second(); };
  for (std::int64_t now = 0; now < 100'000; ++now) {
    for (;;) {
      std::vector<std::size_t> leaving;
      for (auto& queue : s.queues)
        if (!queue.empty() && s.chunks[queue.front()].left_us == 0) leaving.push_back(queue.front());
      if (leaving.empty()) break;
      const std::size_t c = *std::min_element(leaving.begin(), leaving.end(), [&](std::size_t a, std::size_t b) {
        return s.chunks[a].came < s.chunks[b].came;
      });
      s.queues[s.chunks[c].stations[s.chunks[c].at]].pop_front();
      ++s.chunks[c].at;
      s.enter(c, now);
    }
    for (std::uint32_t m = 0; m < messages.size(); ++m) {
      if (messages[m].start_us != now) continue;
      const network::Route& route = wires.routes[messages[m].route];
      std::int64_t left = messages[m].bytes;
      while (left > 0) {
        const std::int64_t part = chunk_bytes == 0 ? left : std::min(left, chunk_bytes);
        left -= part;
        ++s.missing[m];
        Stepped::Chunk chunk;
        chunk.message = m;
        if (!route.cap.is_unlimited()) {
          chunk.stations.push_back(wires.links.size() + messages[m].route);
          chunk.service_us.push_back(us(part, route.cap));
        }
        for (const LinkId link : wires.path(RouteId(messages[m].route))) {
          chunk.stations.push_back(link.index());
          chunk.service_us.push_back(us(part, wires.links[link.index()].capacity));
        }
        s.chunks.push_back(chunk);
        s.enter(s.chunks.size() - 1, now);
      }
    }
    bool busy = false;
    for (auto& queue : s.queues)
      if (!queue.empty()) {
        --s.chunks[queue.front()].left_us;
        busy = true;
      }
    const bool more = std::any_of(messages.begin(), messages.end(), [&](const auto& m) { return m.start_us > now; });
    if (!busy && !more) break;
  }
  return s.end_us;
}

TEST(Fifo, AgreesWithSteppedQueues) {
  RandomStream random(1, "fifo");
  for (int trial = 0; trial < 600; ++trial) {
    network::Wires wires;
    const std::array<std::int64_t, 3> rates{1'000'000, 2'000'000, 5'000'000};
    const std::uint64_t links = 1 + random.below(5);
    for (std::uint64_t l = 0; l < links; ++l)
      wires.add_link("", Bandwidth::bytes_per_second(rates[random.below(rates.size())]));
    const std::uint64_t routes = 1 + random.below(6);
    for (std::uint64_t r = 0; r < routes; ++r) {
      std::vector<LinkId> path;
      for (const std::uint32_t l : random_permutation(links, random))
        if (path.size() < 1 + random.below(4)) path.push_back(LinkId(l));
      wires.add_route(path, random.below(4) == 0 ? Bandwidth::bytes_per_second(1'000'000) : Bandwidth::unlimited());
    }
    std::vector<Message> messages;
    const std::uint64_t count = 1 + random.below(20);
    for (std::uint64_t m = 0; m < count; ++m)
      messages.push_back({static_cast<std::uint32_t>(random.below(routes)),
                          kUnit * static_cast<std::int64_t>(1 + random.below(6)),
                          static_cast<std::int64_t>(random.below(3) == 0 ? 0 : random.below(60))});
    const std::int64_t chunk = kUnit * static_cast<std::int64_t>(random.below(4));
    network::FifoNetwork net(wires, Bytes(chunk));
    std::vector<std::int64_t> ends(messages.size(), -1);
    std::vector<bool> started(messages.size(), false);
    std::vector<std::uint32_t> tokens;
    for (;;) {
      Time now = net.next();
      for (std::size_t m = 0; m < messages.size(); ++m)
        if (!started[m]) now = std::min(now, Time::ps(messages[m].start_us * 1'000'000));
      if (now == Time::never()) break;
      tokens.clear();
      net.finish(now, tokens);
      for (const std::uint32_t t : tokens) ends[t] = now.ps() / 1'000'000;
      for (std::uint32_t m = 0; m < messages.size(); ++m) {
        if (started[m] || messages[m].start_us * 1'000'000 != now.ps()) continue;
        started[m] = true;
        net.start(now, RouteId(messages[m].route), Bytes(messages[m].bytes), m);
      }
    }
    ASSERT_EQ(ends, stepped(wires, messages, chunk)) << "trial " << trial;
    for (std::size_t l = 0; l < links; ++l) {
      std::int64_t bytes = 0;
      for (const Message& m : messages)
        for (const LinkId link : wires.path(RouteId(m.route))) bytes += link.index() == l ? m.bytes : 0;
      ASSERT_EQ(net.bytes_carried(LinkId(l)), bytes);
    }
  }
}

}  // namespace
}  // namespace stretto::testing
