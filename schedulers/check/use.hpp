// SPDX-License-Identifier: Apache-2.0
// Uses of pools and links over time, private to this directory.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedulers/check/job.hpp"
#include "schedulers/check/timeline.hpp"

namespace stretto::check {

struct Use {
  Time begin;
  Time end;
  double bytes = 0;       // of a link
  std::size_t event = 0;  // in the caller's list
};
// The name of an event.
using EventName = std::function<std::string(std::size_t)>;

// What the events of a timeline, by their place in it, use of a job's pools and links.
class Uses {
 public:
  explicit Uses(const AnyJob& job) : job_(job), pools_(job.pools.size()), links_(job.links.size()) {}
  void add_work(std::uint32_t pool, const Happening& e, std::size_t event) {
    pools_[pool].push_back({e.begin, e.end, 0, event});
  }
  // Services at both ends, each of which ends when its stage does, and the links between them.
  void add_message(const Channel& channel, Bytes bytes, const Happening& e, std::size_t event);
  // Pools, then links. More jobs at once than a pool has units? Jobs that touch by no more than the slack do not
  // overlap. Links, for all a < b: bytes of messages that begin at a or later and arrive by b <= rate x (b - a).
  std::optional<Violation> check(const EventName& name);

 private:
  const AnyJob& job_;
  std::vector<std::vector<Use>> pools_;
  std::vector<std::vector<Use>> links_;
};

}  // namespace stretto::check
