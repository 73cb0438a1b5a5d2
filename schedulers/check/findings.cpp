// SPDX-License-Identifier: Apache-2.0
#include "schedulers/check/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stretto::check {

namespace {

// What rounding leaves of an amount of time.
double tolerance(Duration time) {
  return static_cast<double>(kSlack.ps()) + kRelative * static_cast<double>(time.ps());
}

}  // namespace

std::string time_text(Time time) {
  return fmt::format("{}.{:09} ms", time.ps() / 1'000'000'000, time.ps() % 1'000'000'000);
}

std::string wrong_length(const Happening& e, Duration time) {
  const Duration length = e.end - e.begin;
  if (static_cast<double>(std::abs((length - time).ps())) <= tolerance(time)) return "";
  return fmt::format("lasts {} ps in place of {} ps", length.ps(), time.ps());
}

std::string too_fast(const Happening& e, const AnyJob& job, const Channel& channel, Bandwidth cap, Bytes bytes) {
  for (const std::uint32_t l : channel.links) cap = std::min(cap, job.links[l].rate);
  const Duration least = transfer_duration(bytes, cap);
  if (static_cast<double>((least - (e.arrived - e.begin)).ps()) <= tolerance(least)) return "";
  return fmt::format("takes {} ps on the wire, less than the {} ps that its route needs", (e.arrived - e.begin).ps(),
                     least.ps());
}

std::string waits_for_turn(const Happening& e) {
  if (e.handed <= e.ready + kSlack) return "";
  return fmt::format("waits for its turn from {} to {}, although its discipline lets it go", time_text(e.ready),
                     time_text(e.handed));
}

void Findings::found_too_early(const std::string& name, Time at, Time after, const std::string& what) {
  found("dependency", fmt::format("{} is ready at {}, before {} at {}", name, time_text(at), what, time_text(after)));
}

void Findings::check_ends_are_there(const std::vector<std::vector<Time>>& ends, std::size_t lists,
                                    std::uint32_t steps) {
  if (ends.size() != lists ||
      std::any_of(ends.begin(), ends.end(), [&](const std::vector<Time>& list) { return list.size() != steps; }))
    found("end", "not every step has an end");
}

void Findings::compare_end(std::uint32_t step, Time claimed, Time last, const std::string& whose) {
  if (std::abs((claimed - last).ps()) > kSlack.ps())
    found("end", fmt::format("step {}{} is said to end at {}, and the last of its parts ends at {}", step, whose,
                             time_text(claimed), time_text(last)));
}

}  // namespace stretto::check
