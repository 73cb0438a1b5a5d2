// SPDX-License-Identifier: Apache-2.0
#include "sim/base/assert.hpp"

namespace stretto {

void raise_internal_error(const char* file, int line, const char* condition, std::string_view values) {
  throw InternalError(fmt::format("{}:{}: internal error: {} is false: {}", file, line, condition, values));
}

}  // namespace stretto
