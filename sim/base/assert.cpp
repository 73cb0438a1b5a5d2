// SPDX-License-Identifier: Apache-2.0
#include "sim/base/assert.hpp"

namespace stretto {

void raise_internal_error(const char* file, int line, const char* condition, std::string_view values) {
  throw InternalError(fmt::format("{}:{}: internal error: {} is false: {}", file, line, condition, values));
}

void raise_out_of_range(std::string_view values) {
  throw OutOfRange(fmt::format("{}: more than 106 days of simulated time, or than 8 EiB of data", values));
}

}  // namespace stretto
