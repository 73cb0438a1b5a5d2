// SPDX-License-Identifier: Apache-2.0
#include "experiment/search/left_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace stretto::experiment {

namespace {

constexpr double kWorthSaying = 5e-4;

std::string dimensions(const SearchSpec& s, const Setup& found, bool starts) {
  const bool all_reduce = found.training.exchange == training::Exchange::AllReduce;
  std::string list;
  const auto add = [&](bool missing, const char* name) {
    if (missing) list += fmt::format("{}{}", list.empty() ? "" : ", ", name);
  };
  add(!s.order, "order of transfers (order)");
  add(s.partition.none(), "size of slices (partition)");
  add(all_reduce && s.fusion.none(), "size of buckets (fusion)");
  add(s.window.none(), "windows (window)");
  add(!all_reduce && !s.placement && found.cluster.servers.size() > 1, "places of variables (placement)");
  add(!all_reduce && s.servers.empty(), "number of servers (servers)");
  add(starts, "groups of workers that start one after the other (group)");
  return list;
}

std::string try_starts(const Setup& found, std::uint64_t seed, double step_s, const SimulateOptions& options) {
  const std::optional<plan::Plan> plan = try_staggered(found, seed);
  if (!plan) return "";
  const std::vector<Duration>& offsets = plan->order.start_offsets;
  const auto group = std::count(offsets.begin(), offsets.end(), Duration());
  if (static_cast<std::size_t>(group) == offsets.size())
    return "By the model of policy staggered, workers that start one after the other gain nothing.";
  const Measured measured = simulate(found, *plan, options);
  if (measured.deadlock) return "";
  const double gain = step_s / measured.mean() - 1;
  const std::string what = group == 1 ? "Workers that start one after the other"
                                      : fmt::format("Groups of {} workers that start one after the other", group);
  if (gain <= kWorthSaying) return fmt::format("{} (policy staggered) were tried once and gain nothing.", what);
  return fmt::format(
      "{} (policy staggered) were tried once: a step of {:.6g} s, {:.2f} % faster. --set 'search.group=[{}]' searches "
      "with them.",
      what, measured.mean(), 100 * gain, group);
}

}  // namespace

std::vector<std::string> left_out(const Spec& spec, const Setup& found, bool together, double step_s,
                                  const SimulateOptions& options) {
  const bool starts = together && spec.search.group.none() && found.cluster.workers.size() > 1 &&
                      found.training.exchange == training::Exchange::ParameterServer;
  std::vector<std::string> sentences;
  if (const std::string list = dimensions(spec.search, found, starts); !list.empty())
    sentences.push_back(fmt::format("Not searched: {}. The section `search` adds each by the name in brackets.", list));
  if (!starts) return sentences;
  if (std::string tried = try_starts(found, spec.runs.seed, step_s, options); !tried.empty())
    sentences.push_back(std::move(tried));
  return sentences;
}

}  // namespace stretto::experiment
