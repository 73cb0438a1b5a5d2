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

// Times in ps; doubles, since a million workers' pulls may not fit a Duration.
double pulls_of(const PolicyInput& input, std::int64_t workers) {
  return std::max(static_cast<double>(input.pulls_at_worker.ps()),
                  static_cast<double>(input.pulls_at_server.ps()) * static_cast<double>(workers));
}

// Group g pulls from g to g + 1 times the offset and pushes so much later; the last group's pushes come behind.
double transfers_of_a_step(const PolicyInput& input, std::int64_t group) {
  const std::int64_t groups = (input.workers + group - 1) / group;
  const std::int64_t last = input.workers - (groups - 1) * group;
  return static_cast<double>(groups) * pulls_of(input, group) + pulls_of(input, last);
}

std::int64_t shortest_group(const PolicyInput& input) {
  std::int64_t best = 1;
  for (std::int64_t group = 2; group <= input.workers; ++group)
    if (transfers_of_a_step(input, group) < transfers_of_a_step(input, best)) best = group;
  return best;
}

}  // namespace

plan::Order make_staggered(const PolicyInput& input, const PolicyOptions& options) {
  plan::Order order = make_fifo(input, {});
  const std::int64_t group = option(options, "group").value_or(shortest_group(input));
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
