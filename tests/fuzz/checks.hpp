// SPDX-License-Identifier: Apache-2.0
// What a target holds against a reader: a fault is a std::logic_error.
#pragma once

#include <fmt/format.h>

#include <stdexcept>

#include "sim/base/diagnostic.hpp"

namespace stretto::fuzz {

inline void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

// Reads again what came out of a target; it must be accepted.
template <class Read>
auto again(const char* what, const Read& read) {
  try {
    return read();
  } catch (const UserError& e) {
    throw std::logic_error(fmt::format("{} is refused: {}", what, render(e.diagnostics())));
  }
}

}  // namespace stretto::fuzz
