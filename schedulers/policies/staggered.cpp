// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/staggered.hpp"

#include <algorithm>

#include "schedulers/policies/fifo.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::policies {

namespace {

constexpr double kMostDelay = 1e6;  // seconds; more is a typing error

std::optional<std::int64_t> option(const PolicyOptions& options, const char* name) {
  const auto found = options.find(name);
  return found == options.end() ? std::nullopt : number_of(found->second);
}

std::int64_t filling_group(const PolicyInput& input) {
  const std::int64_t server = input.pulls_at_server.ps();
  const std::int64_t group = server == 0 ? input.workers : input.pulls_at_worker.ps() / server;
  return std::clamp<std::int64_t>(group, 1, input.workers);
}

}  // namespace

plan::Order make_staggered(const PolicyInput& input, const PolicyOptions& options) {
  plan::Order order = make_fifo(input, {});
  const std::int64_t group = option(options, "group").value_or(filling_group(input));
  const std::int64_t together = std::min<std::int64_t>(group, input.workers);
  const auto given = option(options, "offset");
  const Duration offset =
      given ? Duration::ps(*given) : std::max(input.pulls_at_worker, input.pulls_at_server * together);
  if (offset.seconds() * static_cast<double>((input.workers - 1) / group) > kMostDelay)
    throw UserError("the last group of workers would start more than 1e6 s late", "a shorter offset, or larger groups");
  for (std::int64_t w = 0; w < input.workers; ++w) order.start_offsets.push_back(offset * (w / group));
  return order;
}

}  // namespace stretto::policies
