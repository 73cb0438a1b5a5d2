// SPDX-License-Identifier: Apache-2.0
// What the audits of both kinds of timelines find alike, private to this directory.
//
// Functions that return text say what is wrong as the end of a sentence that begins with the name of an event; empty:
// nothing is.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/check/job.hpp"
#include "schedulers/check/timeline.hpp"

namespace stretto::check {

// Milliseconds, exact.
std::string time_text(Time time);

// What is no message lasts `time`.
std::string wrong_length(const Happening& e, Duration time);

// No message is faster than its route and what limits it by itself.
std::string too_fast(const Happening& e, const AnyJob& job, const Channel& channel, Bandwidth cap, Bytes bytes);

// Nothing keeps it from having its turn when it is ready.
std::string waits_for_turn(const Happening& e);

// The first violation.
class Findings {
 protected:
  void found(const char* rule, std::string text) {
    if (!violation_) violation_ = {rule, std::move(text)};
  }
  // What happens at `at` must not come before `after`. `name()`: of the event.
  template <class Name>
  void check_not_before(Name&& name, Time at, Time after, const std::string& what) {
    if (at + kSlack < after) found_too_early(name(), at, after, what);
  }
  // One end for each step in each of so many lists.
  void check_ends_are_there(const std::vector<std::vector<Time>>& ends, std::size_t lists, std::uint32_t steps);
  // The claimed end of a step `whose` (" of worker 3") last part ends at `last`.
  void compare_end(std::uint32_t step, Time claimed, Time last, const std::string& whose);

  std::optional<Violation> violation_;

 private:
  void found_too_early(const std::string& name, Time at, Time after, const std::string& what);
};

}  // namespace stretto::check
