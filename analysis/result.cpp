// SPDX-License-Identifier: Apache-2.0
#include "analysis/result.hpp"

#include <array>

namespace stretto::analysis {

namespace {
constexpr std::array kStages = {&Waits::sender_not_ready, &Waits::turn,     &Waits::service,
                                &Waits::wire_queue,       &Waits::wire_own, &Waits::wire_shared};
}

Waits& Waits::operator+=(const Waits& more) {
  for (const auto stage : kStages) this->*stage += more.*stage;
  return *this;
}

Waits& Waits::operator*=(double factor) {
  for (const auto stage : kStages) this->*stage *= factor;
  return *this;
}

}  // namespace stretto::analysis
