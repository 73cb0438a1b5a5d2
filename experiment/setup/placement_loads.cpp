// SPDX-License-Identifier: Apache-2.0
#include "experiment/setup/placement_loads.hpp"

#include <algorithm>

#include "models/placement/placement.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::experiment {

std::vector<analysis::ServerLoad> server_loads(const Setup& setup, const plan::Layout& layout) {
  std::vector<analysis::ServerLoad> loads(setup.cluster.servers.size());
  if (loads.empty()) return loads;  // all-reduce
  for (std::size_t s = 0; s < loads.size(); ++s) loads[s].name = setup.cluster.servers[s].name;
  for (std::size_t p = 0; p < setup.graph->parameters.size(); ++p) {
    std::vector<std::int64_t> part(loads.size());
    for (std::uint32_t t = layout.first[p]; t < layout.first[p + 1]; ++t) {
      const plan::Transfer& transfer = layout.transfers[t];
      part[transfer.server] += transfer.bytes.count();
      ++loads[transfer.server].transfers;
    }
    for (std::size_t s = 0; s < loads.size(); ++s) {
      loads[s].bytes += part[s];
      if (part[s] > loads[s].largest_bytes) {
        loads[s].largest_bytes = part[s];
        loads[s].largest = setup.graph->parameters[p].name;
      }
    }
  }
  return loads;
}

std::vector<PlacementLoads> placement_loads(const Setup& setup) {
  std::vector<PlacementLoads> list;
  for (const placement::Placement& row : placement::placements()) {
    const bool own = row.name == setup.placement;
    if (row.name == "by_name" && !own) continue;
    PlacementLoads& loads = list.emplace_back();
    loads.placement = row.name;
    try {
      const plan::Layout layout =
          own ? setup.layout : placement::place(row.name, *setup.graph, hosts_of(setup.cluster), {});
      loads.servers = server_loads(setup, layout);
    } catch (const UserError& error) {
      loads.reason = error.diagnostics().front().message;
    }
  }
  return list;
}

}  // namespace stretto::experiment
