// SPDX-License-Identifier: Apache-2.0
#include "sim/network/wires.hpp"

#include <algorithm>

#include "sim/base/assert.hpp"

namespace stretto::network {

RouteId Wires::add_route(std::span<const LinkId> path, Bandwidth cap) {
  Route route;
  route.first = static_cast<std::uint32_t>(hops.size());
  route.cap = cap;
  STRETTO_ASSERT(cap.bits_per_second() > 0, "route cap {}", cap.bits_per_second());
  for (const LinkId link : path) {
    STRETTO_ASSERT(link.index() < links.size(), "link {} of {}", link.index(), links.size());
    STRETTO_ASSERT(links[link.index()].capacity.bits_per_second() > 0, "link {} has no capacity", link.index());
    STRETTO_ASSERT(std::find(hops.begin() + route.first, hops.end(), link) == hops.end(), "link {} twice in a route",
                   link.index());
    if (!links[link.index()].capacity.is_unlimited()) hops.push_back(link);
  }
  route.count = static_cast<std::uint32_t>(hops.size()) - route.first;
  routes.push_back(route);
  return RouteId(routes.size() - 1);
}

Bandwidth Wires::rate_alone(RouteId route) const {
  Bandwidth rate = routes[route.index()].cap;
  for (const LinkId link : path(route)) rate = std::min(rate, links[link.index()].capacity);
  return rate;
}

}  // namespace stretto::network
