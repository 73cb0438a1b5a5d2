// SPDX-License-Identifier: Apache-2.0
// Wires: the links and routes of a network, immutable, shared by all simulations that use it.
//
// A link carries one direction (a full-duplex NIC is two links). A route is the list of links that a message crosses,
// with the latency that passes before its first byte moves and an optional rate cap of its own. Links without a limit
// are left out of routes. Rates are kept as bytes per picosecond (double) for the fluid solver and as Bandwidth for the
// exact arithmetic of FIFO links.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/id.hpp"
#include "sim/base/units.hpp"

namespace stretto::network {

using LinkId = Id<struct LinkTag>;
using RouteId = Id<struct RouteTag>;

struct Link {
  std::string name;
  Bandwidth capacity;
};

struct Route {
  std::uint32_t first = 0;  // into Wires::hops
  std::uint32_t count = 0;
  Bandwidth cap = Bandwidth::unlimited();
};

struct Wires {
  std::vector<Link> links;
  std::vector<Route> routes;
  std::vector<LinkId> hops;

  LinkId add_link(std::string name, Bandwidth capacity) {
    links.push_back({std::move(name), capacity});
    return LinkId(links.size() - 1);
  }
  // Every id must exist; a link appears at most once in a route. Unlimited links are dropped.
  RouteId add_route(std::span<const LinkId> path, Bandwidth cap = Bandwidth::unlimited());
  std::span<const LinkId> path(RouteId route) const {
    const Route& r = routes[route.index()];
    return {hops.data() + r.first, r.count};
  }
  // Payload rate of a message alone on the route.
  Bandwidth rate_alone(RouteId route) const;
};

}  // namespace stretto::network
