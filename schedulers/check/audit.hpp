// SPDX-License-Identifier: Apache-2.0
// Parts of the audit, private to this directory: steps.cpp (once, dependency, duration, end), messages.cpp (order,
// wire), capacity.cpp (device, capacity).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedulers/check/findings.hpp"
#include "schedulers/check/timeline.hpp"

namespace stretto::check {

// Events by what they are; null where there is none. The timeline must outlive it.
class Index {
 public:
  // Events that do not exist in the job or stand twice are kept aside in `fault`.
  Index(const Job& job, const Timeline& timeline);

  const Event* op(std::uint32_t step, std::uint32_t worker, std::uint32_t pass, std::uint32_t op) const {
    return ops_[((std::size_t{step} * workers_ + worker) * passes_ + pass) * op_count_ + op];
  }
  const Event* message(bool push, std::uint32_t step, std::uint32_t worker, std::uint32_t t) const {
    return messages_[push][(std::size_t{step} * workers_ + worker) * transfers_ + t];
  }
  const Event* sum(std::uint32_t step, std::uint32_t worker, std::uint32_t t) const {
    return sums_[(std::size_t{step} * workers_ + worker) * transfers_ + t];
  }
  // Pace::Own: one per worker; else worker 0.
  const Event* update(std::uint32_t step, std::uint32_t worker, std::uint32_t t) const {
    return updates_[(std::size_t{step} * workers_ + worker) * transfers_ + t];
  }
  const Event* copy(bool out, std::uint32_t step, std::uint32_t worker, std::uint32_t t) const {
    return copies_[out][(std::size_t{step} * workers_ + worker) * transfers_ + t];
  }
  std::optional<Violation> fault;

 private:
  std::size_t workers_, passes_, op_count_, transfers_;
  std::vector<const Event*> ops_, messages_[2], sums_, updates_, copies_[2];
};

// "pull fc6/weights slice 2 of worker 3 in step 1".
std::string event_name(const Job& job, const Event& event);

std::optional<Violation> audit_steps(const Job& job, const Timeline& timeline, const Index& index);
std::optional<Violation> audit_messages(const Job& job, const Timeline& timeline, const Index& index);
std::optional<Violation> audit_capacity(const Job& job, const Timeline& timeline);

}  // namespace stretto::check
