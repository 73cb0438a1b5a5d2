// SPDX-License-Identifier: Apache-2.0
// Assertions about our own code, on in release builds. A failure raises InternalError with the values; app/ prints it
// and exits with code 3. No input of a user may reach one: inputs are refused with UserError (diagnostic.hpp).
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace stretto {

// A bug in stretto: message with file, line, condition and values.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// A quantity outside 64 bits: more than 106 days of simulated time, or 8 EiB. Legal inputs can ask for it (a very slow
// network, very many iterations), so app/ tells it as the user's to mend, exit code 2.
class OutOfRange : public std::range_error {
 public:
  using std::range_error::range_error;
};

[[noreturn]] void raise_out_of_range(std::string_view values);

[[noreturn]] void raise_internal_error(const char* file, int line, const char* condition, std::string_view values);

}  // namespace stretto

// STRETTO_ASSERT(condition, "format {}", values...): cost is one predicted branch.
#define STRETTO_ASSERT(condition, ...)                                                             \
  do {                                                                                             \
    if (!(condition)) [[unlikely]]                                                                 \
      ::stretto::raise_internal_error(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)
