// SPDX-License-Identifier: Apache-2.0
#include "experiment/simulate/traffic.hpp"

namespace stretto::experiment {

void Traffic::on_end(const program::ActivityRecord& record) {
  const program::Activity& a = program_->activities[record.activity];
  if (a.kind == program::Kind::Message)
    for (const network::LinkId link : program_->wires.path(program_->channels[a.where].route))
      bytes_[(*links_)[link.index()].index()] += static_cast<double>(a.amount);
  next_->on_end(record);
}

void own_bytes(const network::Wires& wires, const std::vector<network::LinkId>& links, std::span<const double> begin,
               std::span<const double> end, std::uint32_t steps, std::vector<analysis::ResourceUse>& uses) {
  for (analysis::ResourceUse& use : uses)
    for (std::size_t l = 0; l < wires.links.size() && use.bytes_per_step > 0; ++l) {
      if (wires.links[l].name != use.name) continue;
      const std::size_t at = links[l].index();
      use.bytes_per_step = (end[at] - begin[at]) / steps;
      break;
    }
}

}  // namespace stretto::experiment
