// SPDX-License-Identifier: Apache-2.0
// Uses of a pool or a link over time, private to this directory.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedulers/check/job.hpp"

namespace stretto::check {

struct Use {
  Time begin;
  Time end;
  double bytes = 0;       // of a link
  std::size_t event = 0;  // in the caller's list
};
// The name of an event.
using EventName = std::function<std::string(std::size_t)>;

// More jobs at once than the pool has units? Jobs that touch by no more than the slack do not overlap.
std::optional<Violation> check_pool(const Pool& pool, const char* rule, std::vector<Use> jobs, const EventName& name);

// For all a < b: bytes of messages that begin at a or later and arrive by b <= rate x (b - a).
std::optional<Violation> check_link(const Link& link, std::vector<Use> messages, const EventName& name);

}  // namespace stretto::check
