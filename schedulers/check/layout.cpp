// SPDX-License-Identifier: Apache-2.0
#include "schedulers/check/layout.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace stretto::check {

namespace {

using plan::Discipline;
using plan::StatedParameter;
using plan::StatedSchedule;

std::string slice_name(const StatedParameter& p, std::size_t slice) {
  return p.slices.size() > 1 ? fmt::format("'{}' slice {}", p.name, slice) : fmt::format("'{}'", p.name);
}

std::optional<Violation> check_parameters(const StatedSchedule& s, const graph::Graph& graph) {
  std::map<std::string_view, const StatedParameter*> stated;
  for (const StatedParameter& p : s.parameters)
    if (!stated.emplace(p.name, &p).second)
      return Violation{"each transfer once", fmt::format("variable '{}' stands twice", p.name)};
  for (const graph::Parameter& p : graph.parameters) {
    const auto at = stated.find(p.name);
    if (at == stated.end()) return Violation{"each transfer once", fmt::format("variable '{}' is missing", p.name)};
    if (at->second->bytes != p.bytes.count())
      return Violation{"workload", fmt::format("variable '{}' has {} bytes in the schedule and {} in the workload",
                                               p.name, at->second->bytes, p.bytes.count())};
    stated.erase(at);
  }
  if (!stated.empty())
    return Violation{"workload", fmt::format("the workload has no variable '{}'", stated.begin()->first)};
  return std::nullopt;
}

// Every slice of a gradient is in a bucket, and nothing else is.
std::optional<Violation> check_buckets(const StatedSchedule& s, const graph::Graph& graph) {
  std::map<std::string_view, bool> has_gradient;
  for (const graph::Parameter& p : graph.parameters) has_gradient[p.name] = p.gradient.valid();
  for (const StatedParameter& p : s.parameters)
    for (std::size_t k = 0; k < p.slices.size(); ++k)
      if ((p.slices[k].bucket != plan::kUnranked) != has_gradient[p.name])
        return Violation{"buckets", slice_name(p, k) + (has_gradient[p.name] ? " is in no bucket, and has a gradient"
                                                                             : " is in a bucket, and has no gradient")};
  return std::nullopt;
}

std::optional<Violation> check_servers(const StatedSchedule& s, std::uint32_t servers) {
  if (s.servers != servers)
    return Violation{"servers", fmt::format("the schedule is for {} server{} and the experiment has {}", s.servers,
                                            s.servers == 1 ? "" : "s", servers)};
  for (const StatedParameter& p : s.parameters)
    for (std::size_t k = 0; k < p.slices.size(); ++k)
      if (p.slices[k].server < 0 || p.slices[k].server >= s.servers)
        return Violation{"servers", fmt::format("{} lies on server {} of 0 to {}", slice_name(p, k), p.slices[k].server,
                                                s.servers - 1)};
  return std::nullopt;
}

std::optional<Violation> check_slices(const StatedSchedule& s) {
  for (const StatedParameter& p : s.parameters) {
    std::int64_t left = p.bytes;
    for (std::size_t k = 0; k < p.slices.size(); ++k) {
      const std::int64_t bytes = p.slices[k].bytes;
      if (bytes <= 0 || bytes > left)
        return Violation{"slices add up", fmt::format("{} has {} bytes, and {} of the variable's {} are left",
                                                      slice_name(p, k), bytes, left, p.bytes)};
      left -= bytes;
    }
    if (left > 0)
      return Violation{"slices add up",
                       fmt::format("the slices of '{}' leave {} of its {} bytes out", p.name, left, p.bytes)};
  }
  return std::nullopt;
}

std::optional<Violation> check_alternatives(const StatedSchedule& s, const plan::DirectionOrder& order,
                                            const char* name) {
  std::size_t slices = 0;
  for (const StatedParameter& p : s.parameters) slices += p.slices.size();
  for (std::size_t a = 0; a < order.alternatives.size(); ++a)
    if (order.alternatives[a].size() != slices)
      return Violation{"ranks", fmt::format("alternative {} of the {} has {} places for {} slices", a, name,
                                            order.alternatives[a].size(), slices)};
  return std::nullopt;
}

std::optional<Violation> check_direction(const StatedSchedule& s, bool push) {
  const plan::DirectionOrder& order = push ? s.schedule.plan.order.push : s.schedule.plan.order.pull;
  const char* name = push ? "pushes" : "pulls";
  const bool windowed = plan::has_window(order.discipline);
  if (plan::has_credit(order.discipline) && order.credit <= Bytes())
    return Violation{"credit", fmt::format("the credit of the {} is {} bytes", name, order.credit.count())};
  if (windowed && order.window == 0) return Violation{"window", fmt::format("the window of the {} is 0", name)};
  for (const StatedParameter& p : s.parameters)
    for (std::size_t k = 0; k < p.slices.size(); ++k) {
      const std::uint32_t rank = push ? p.slices[k].push : p.slices[k].pull;
      if (rank == plan::kUnranked) continue;
      if (!plan::traits(order.discipline).ranks)
        return Violation{"ranks", fmt::format("{} has rank {} among the {}, whose discipline knows none",
                                              slice_name(p, k), rank, name)};
      if (order.discipline == Discipline::CreditSkip && p.slices[k].bytes > order.credit.count())
        return Violation{"credit", fmt::format("{} has more bytes than the credit of the {}, and could never go",
                                               slice_name(p, k), name)};
    }
  return check_alternatives(s, order, name);
}

}  // namespace

std::optional<Violation> check_layout(const StatedSchedule& stated, const graph::Graph& graph,
                                      const std::string& sha256, std::uint32_t servers, std::uint32_t workers) {
  if (auto v = check_parameters(stated, graph)) return v;
  if (stated.sha256 != sha256)
    return Violation{"workload", fmt::format("the schedule was made for other ops or gradients ('{}') than those of "
                                             "'{}'",
                                             stated.schedule.workload, graph.name)};
  if (stated.all_reduce != (servers == 0))
    return Violation{"exchange", fmt::format("the schedule is for {}, and the experiment trains with {}",
                                             stated.all_reduce ? "all-reduce" : "parameter servers",
                                             servers == 0 ? "all-reduce" : "parameter servers")};
  if (auto v = check_slices(stated)) return v;
  if (auto v = servers == 0 ? check_buckets(stated, graph) : check_servers(stated, servers)) return v;
  if (const std::size_t n = stated.schedule.plan.order.start_offsets.size(); n != 0 && n != workers)
    return Violation{"workers",
                     fmt::format("the schedule has start offsets of {} workers and the experiment {}", n, workers)};
  if (auto v = check_direction(stated, false)) return v;
  return check_direction(stated, true);
}

}  // namespace stretto::check
