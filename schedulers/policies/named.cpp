// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/named.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::policies {

namespace {

void refuse_missing(const PolicyInput& input, const std::vector<std::uint32_t>& rank) {
  constexpr std::size_t kShown = 10;
  std::string names;
  std::size_t missing = 0;
  for (std::size_t p = 0; p < input.graph.parameters.size(); ++p) {
    if (rank[input.layout.first[p]] != plan::kUnranked) continue;
    if (missing++ < kShown) names += (names.empty() ? "'" : ", '") + input.graph.parameters[p].name + "'";
  }
  if (missing == 0) return;
  throw UserError(fmt::format("the order leaves out {} parameter{}: {}{}", missing, missing == 1 ? "" : "s", names,
                              missing > kShown ? ", ..." : ""),
                  "missing: free lets them pass freely");
}

}  // namespace

plan::Order make_order_file(const PolicyInput& input, const PolicyOptions& options) {
  STRETTO_ASSERT(input.named.size() == 1, "{} named orders", input.named.size());
  plan::Order result;
  result.pull.discipline = input.barrier ? plan::Discipline::Strict : plan::Discipline::Priority;
  result.pull.rank = plan::ranks_of(input.named[0], input.graph, input.layout, plan::Slices::Adjacent);
  const auto missing = options.find("missing");
  if (missing != options.end() && missing->second == "error") refuse_missing(input, result.pull.rank);
  return result;
}

plan::Order make_recorded(const PolicyInput& input, const PolicyOptions&) {
  STRETTO_ASSERT(!input.named.empty(), "{} named orders", input.named.size());
  plan::Order result;
  result.pull.discipline = plan::Discipline::Unordered;
  for (const plan::NamedOrder& order : input.named)
    result.pull.alternatives.push_back(plan::ranks_of(order, input.graph, input.layout, plan::Slices::Equal));
  return result;
}

}  // namespace stretto::policies
