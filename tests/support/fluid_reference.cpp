// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fluid_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

namespace stretto::testing {

using network::LinkId;
using network::RouteId;

FlowSystem random_system(RandomStream& random, std::uint32_t links, std::uint32_t flows) {
  FlowSystem s;
  const auto odds = [&](std::uint64_t n) { return random.below(n) == 0; };
  const bool alike = odds(2);  // capacities and sizes from a few values: ties everywhere
  const std::uint64_t n = 1 + random.below(links);
  for (std::uint64_t l = 0; l < n; ++l) {
    const std::int64_t bytes_per_second = alike ? std::int64_t{312'500'000} << random.below(3)
                                                : 100'000'000 + static_cast<std::int64_t>(random.below(2'000'000'000));
    s.wires.add_link("", odds(12) ? Bandwidth::unlimited() : Bandwidth::bytes_per_second(bytes_per_second));
  }
  const std::uint64_t routes = 1 + random.below(2 * links);
  const std::uint64_t first_links = 1 + random.below(n);
  for (std::uint64_t r = 0; r < routes; ++r) {
    std::vector<LinkId> path{LinkId(random.below(first_links))};
    for (std::uint64_t hops = random.below(4); hops > 0; --hops) {
      const LinkId link(random.below(n));
      if (std::find(path.begin(), path.end(), link) == path.end()) path.push_back(link);
    }
    Bandwidth cap = Bandwidth::unlimited();
    if (odds(4))
      cap = Bandwidth::bytes_per_second(alike ? 100'000'000 * static_cast<std::int64_t>(1 + random.below(3))
                                              : 50'000'000 + static_cast<std::int64_t>(random.below(1'000'000'000)));
    s.wires.add_route(path, cap);
  }
  const std::uint64_t count = 1 + random.below(flows);
  for (std::uint64_t f = 0; f < count; ++f) {
    FlowSpec flow;
    flow.route = static_cast<std::uint32_t>(random.below(routes));
    flow.bytes = alike ? static_cast<std::int64_t>(1'000'000 * random.below(5))
                       : static_cast<std::int64_t>(random.below(20'000'000));
    if (odds(16)) flow.bytes = static_cast<std::int64_t>(random.below(3));
    flow.start_ps = alike ? static_cast<std::int64_t>(800'000'000 * random.below(6))
                          : static_cast<std::int64_t>(random.below(20'000'000'000));
    if (odds(3)) flow.start_ps = 0;
    if (f > 0 && odds(3)) flow.after = static_cast<std::int32_t>(random.below(f));
    s.flows.push_back(flow);
  }
  return s;
}

FlowSystem permuted(const FlowSystem& system, RandomStream& random, std::vector<std::uint32_t>& flow_at) {
  FlowSystem s;
  const auto link_at = random_permutation(system.wires.links.size(), random);
  s.wires.links.resize(system.wires.links.size());
  for (std::size_t l = 0; l < link_at.size(); ++l) s.wires.links[link_at[l]] = system.wires.links[l];
  const auto order = random_permutation(system.wires.routes.size(), random);
  std::vector<std::uint32_t> route_at(order.size());
  for (const std::uint32_t r : order) {
    std::vector<LinkId> path;
    for (const LinkId link : system.wires.path(RouteId(r))) path.push_back(LinkId(link_at[link.index()]));
    std::reverse(path.begin(), path.end());
    route_at[r] = s.wires.add_route(path, system.wires.routes[r].cap).index();
  }
  // Flows keep "after is earlier": a random order of those that may come next.
  flow_at.assign(system.flows.size(), 0);
  std::vector<std::uint32_t> open;
  for (std::uint32_t f = 0; f < system.flows.size(); ++f)
    if (system.flows[f].after < 0) open.push_back(f);
  while (!open.empty()) {
    std::swap(open[random.below(open.size())], open.back());
    const std::uint32_t f = open.back();
    open.pop_back();
    flow_at[f] = static_cast<std::uint32_t>(s.flows.size());
    FlowSpec flow = system.flows[f];
    flow.route = route_at[flow.route];
    if (flow.after >= 0) flow.after = static_cast<std::int32_t>(flow_at[static_cast<std::size_t>(flow.after)]);
    s.flows.push_back(flow);
    for (std::uint32_t g = f + 1; g < system.flows.size(); ++g)
      if (system.flows[g].after == static_cast<std::int32_t>(f)) open.push_back(g);
  }
  return s;
}

namespace {

// Max-min rates of the live flows (bytes/ps) by progressive filling.
void fill(const FlowSystem& system, const std::vector<std::uint32_t>& live, std::vector<long double>& rate) {
  const network::Wires& wires = system.wires;
  std::vector<long double> room(wires.links.size());
  for (std::size_t l = 0; l < room.size(); ++l)
    room[l] = static_cast<long double>(wires.links[l].capacity.bits_per_second()) / 8e12L;
  std::vector<std::uint32_t> growing = live;
  while (!growing.empty()) {
    std::vector<long double> share(room.size(), std::numeric_limits<long double>::infinity());
    std::vector<int> users(room.size(), 0);
    for (const std::uint32_t f : growing)
      for (const LinkId link : wires.path(RouteId(system.flows[f].route))) ++users[link.index()];
    for (std::size_t l = 0; l < room.size(); ++l)
      if (users[l] > 0) share[l] = room[l] / users[l];
    const auto limit = [&](std::uint32_t f) {
      const network::Route& route = wires.routes[system.flows[f].route];
      long double least = route.cap.is_unlimited() ? std::numeric_limits<long double>::infinity()
                                                   : static_cast<long double>(route.cap.bits_per_second()) / 8e12L;
      for (const LinkId link : wires.path(RouteId(system.flows[f].route))) least = std::min(least, share[link.index()]);
      return least;
    };
    long double level = std::numeric_limits<long double>::infinity();
    for (const std::uint32_t f : growing) level = std::min(level, limit(f));
    std::vector<std::uint32_t> rest;
    for (const std::uint32_t f : growing) {
      if (limit(f) > level * (1 + 1e-15L)) {
        rest.push_back(f);
        continue;
      }
      rate[f] = level;
      for (const LinkId link : wires.path(RouteId(system.flows[f].route))) room[link.index()] -= level;
    }
    growing = rest;
  }
}

bool takes_no_time(const FlowSystem& system, const FlowSpec& flow) {
  const network::Route& route = system.wires.routes[flow.route];
  return flow.bytes == 0 || (route.count == 0 && route.cap.is_unlimited());
}

}  // namespace

std::vector<long double> reference_ends(const FlowSystem& system) {
  const std::size_t n = system.flows.size();
  std::vector<long double> end(n, -1), start(n, -1), left(n), rate(n, 0);
  std::vector<std::uint32_t> live;
  long double now = 0;
  for (std::size_t f = 0; f < n; ++f) {
    left[f] = static_cast<long double>(system.flows[f].bytes);
    if (system.flows[f].after < 0) start[f] = static_cast<long double>(system.flows[f].start_ps);
  }
  std::vector<bool> started(n, false);
  for (;;) {
    bool changed = false;
    const auto finish = [&](std::uint32_t f) {
      end[f] = now;
      for (std::uint32_t g = f + 1; g < n; ++g)
        if (system.flows[g].after == static_cast<std::int32_t>(f))
          start[g] = now + static_cast<long double>(system.flows[g].start_ps);
    };
    for (std::uint32_t f = 0; f < n; ++f) {
      if (started[f] || start[f] < 0 || start[f] > now) continue;
      started[f] = changed = true;
      if (takes_no_time(system, system.flows[f]))
        finish(f);
      else
        live.push_back(f);
    }
    if (changed) continue;
    fill(system, live, rate);
    long double next = std::numeric_limits<long double>::infinity();
    for (std::uint32_t f = 0; f < n; ++f)
      if (!started[f] && start[f] >= 0) next = std::min(next, start[f]);
    for (const std::uint32_t f : live) next = std::min(next, now + left[f] / rate[f]);
    if (next == std::numeric_limits<long double>::infinity()) return end;
    std::vector<std::uint32_t> rest;
    std::vector<std::uint32_t> ended;
    for (const std::uint32_t f : live) {
      // What is due within 1e-6 ps is due now.
      if (now + left[f] / rate[f] <= next + 1e-6L) {
        ended.push_back(f);
      } else {
        left[f] -= (next - now) * rate[f];
        rest.push_back(f);
      }
    }
    now = next;
    live = rest;
    for (const std::uint32_t f : ended) finish(f);
  }
}

std::vector<std::int64_t> solver_ends(network::FluidNetwork& net, const FlowSystem& system,
                                      const AfterInstant& after_instant) {
  const std::size_t n = system.flows.size();
  std::vector<std::int64_t> end(n, -1), start(n, -1);
  std::vector<std::uint32_t> moving(system.wires.routes.size(), 0);
  std::vector<std::uint32_t> tokens;
  std::vector<bool> started(n, false);
  for (std::size_t f = 0; f < n; ++f)
    if (system.flows[f].after < 0) start[f] = system.flows[f].start_ps;
  for (;;) {
    Time now = net.next();
    for (std::size_t f = 0; f < n; ++f)
      if (!started[f] && start[f] >= 0) now = std::min(now, Time::ps(start[f]));
    if (now == Time::never()) return end;
    bool again = true;
    while (again) {
      again = false;
      if (net.next() == now) {
        again = true;
        tokens.clear();
        net.finish(now, tokens);
        for (const std::uint32_t f : tokens) {
          end[f] = now.ps();
          --moving[system.flows[f].route];
          for (std::size_t g = f + 1; g < n; ++g)
            if (system.flows[g].after == static_cast<std::int32_t>(f)) start[g] = now.ps() + system.flows[g].start_ps;
        }
      }
      for (std::uint32_t f = 0; f < n; ++f) {
        if (started[f] || start[f] != now.ps()) continue;
        started[f] = again = true;
        ++moving[system.flows[f].route];
        net.start(now, RouteId(system.flows[f].route), Bytes(system.flows[f].bytes), f);
      }
    }
    net.solve(now);
    if (after_instant) after_instant(net, moving);
  }
}

std::string max_min_fault(const network::FluidNetwork& net, const FlowSystem& system,
                          const std::vector<std::uint32_t>& moving) {
  const network::Wires& wires = system.wires;
  constexpr double kTolerance = 1e-9;
  std::vector<double> load(wires.links.size(), 0.0);
  std::vector<double> fastest(wires.links.size(), 0.0);
  for (std::uint32_t r = 0; r < moving.size(); ++r) {
    if (net.flows(RouteId(r)) != moving[r])
      return fmt::format("route {} has {} flows, not {}", r, net.flows(RouteId(r)), moving[r]);
    if (moving[r] == 0) continue;
    const double rate = net.rate(RouteId(r));
    if (!(rate > 0)) return fmt::format("route {} has rate {}", r, rate);
    for (const LinkId link : wires.path(RouteId(r))) {
      load[link.index()] += rate * moving[r];
      fastest[link.index()] = std::max(fastest[link.index()], rate);
    }
  }
  for (std::size_t l = 0; l < load.size(); ++l)
    if (load[l] > wires.links[l].capacity.bytes_per_ps() * (1 + kTolerance))
      return fmt::format("link {} carries {} of {}", l, load[l], wires.links[l].capacity.bytes_per_ps());
  for (std::uint32_t r = 0; r < moving.size(); ++r) {
    if (moving[r] == 0) continue;
    const double rate = net.rate(RouteId(r));
    const double cap = wires.routes[r].cap.bytes_per_ps();
    if (rate > cap * (1 + kTolerance)) return fmt::format("route {} runs at {} above its cap {}", r, rate, cap);
    bool held = rate >= cap * (1 - kTolerance);
    for (const LinkId link : wires.path(RouteId(r))) {
      const std::uint32_t l = link.index();
      const bool full = load[l] >= wires.links[l].capacity.bytes_per_ps() * (1 - kTolerance);
      held = held || (full && fastest[l] <= rate * (1 + kTolerance));
    }
    if (!held) return fmt::format("route {} could run faster than {}", r, rate);
  }
  return "";
}

}  // namespace stretto::testing
