// SPDX-License-Identifier: Apache-2.0
#include "tests/property/random_program.hpp"

#include <algorithm>

namespace stretto::testing {

using channel::HandOver;
using program::ActivityId;
using program::Kind;

RandomProgram random_program(RandomStream& random, std::uint32_t activities) {
  RandomProgram result;
  program::ProgramBuilder b;
  const auto upto = [&](std::uint64_t n) { return static_cast<std::int64_t>(random.below(n + 1)); };
  const auto odds = [&](std::uint64_t n) { return random.below(n) == 0; };
  const std::uint64_t pools = 1 + random.below(3);
  for (std::uint64_t p = 0; p < pools; ++p)
    b.add_pool({"", static_cast<std::uint32_t>(odds(5) ? 0 : 1 + random.below(2)),
                static_cast<program::PoolRule>(random.below(3))});
  // Threads for services, apart from the pools of computes.
  const auto threads =
      b.add_pool({"threads", static_cast<std::uint32_t>(1 + random.below(2)), program::PoolRule::Fifo});
  std::vector<network::LinkId> links;
  for (std::uint64_t l = 1 + random.below(4); l > 0; --l)
    links.push_back(b.wires().add_link("", Bandwidth::bytes_per_second(1'000'000 * (1 + upto(3)))));
  if (odds(4)) b.set_network_model(program::NetworkModel::Fifo, Bytes(upto(20)));
  const std::uint64_t channels = 1 + random.below(4);
  for (std::uint64_t c = 0; c < channels; ++c) {
    std::vector<network::LinkId> path{links[random.below(links.size())]};
    const auto other = links[random.below(links.size())];
    if (other != path[0]) path.push_back(other);
    channel::Channel ch;
    ch.route = b.wires().add_route(path, odds(5) ? Bandwidth::bytes_per_second(500'000) : Bandwidth::unlimited());
    ch.latency = Duration::us(odds(2) ? 0 : upto(8));
    ch.streams = static_cast<std::uint32_t>(random.below(3));
    if (odds(2)) ch.send = {threads.index(), Duration::us(upto(4)), 1e5 * static_cast<double>(upto(3))};
    if (odds(2)) ch.receive = {threads.index(), Duration::us(upto(4)), 0};
    b.add_channel(ch);
    result.order.discipline.push_back(static_cast<HandOver>(random.below(4)));
  }
  result.order.ranked.assign(channels, 0);
  result.order.stream = random();
  std::vector<bool> counts;
  for (std::uint32_t a = 0; a < activities; ++a) {
    std::uint32_t rank = program::kPassFreely;
    counts.push_back(false);
    switch (random.below(5)) {
      case 0:
      case 1: {
        const auto c = static_cast<std::uint32_t>(random.below(channels));
        b.add_message(program::ChannelId(c), Bytes(odds(8) ? 0 : upto(40)));
        if (!odds(4)) {
          rank = result.order.ranked[c]++;
          if (result.order.discipline[c] == HandOver::Priority) rank = static_cast<std::uint32_t>(random.below(6));
        }
        break;
      }
      case 2:
      case 3:
        b.add_compute(program::PoolId(random.below(pools)), Duration::us(upto(20)));
        rank = static_cast<std::uint32_t>(random.below(6));
        break;
      default:
        if (odds(2)) {
          b.add_delay(Duration::us(upto(20)));
        } else if (a > 1 && odds(2)) {
          b.add_join(static_cast<std::uint32_t>(1 + random.below(std::min<std::uint32_t>(a, 3))));
          counts.back() = true;
        } else {
          b.add_join();
        }
        break;
    }
    result.order.rank.push_back(rank);
  }
  const auto edge = [&](std::uint32_t from, std::uint32_t to, std::uint32_t distance) {
    b.add_edge(ActivityId(from), ActivityId(to), distance);
    result.edges.push_back({from, to, distance});
  };
  for (std::uint32_t a = 1; a < activities; ++a) {
    if (counts[a]) {
      // Up to three may be needed; none from the iteration before.
      const auto from = random_permutation(a, random);
      for (std::uint32_t k = 0; k < std::min<std::uint32_t>(a, 3 + static_cast<std::uint32_t>(upto(2))); ++k)
        edge(from[k], a, 0);
      continue;
    }
    for (std::int64_t k = upto(3); k > 0; --k) edge(static_cast<std::uint32_t>(random.below(a)), a, 0);
  }
  for (std::uint32_t a = 0; a < activities; ++a)
    if (!counts[a] && odds(3)) edge(static_cast<std::uint32_t>(random.below(activities)), a, 1);
  b.add_marker(ActivityId(activities - 1));
  result.program = b.finish();
  return result;
}

}  // namespace stretto::testing
