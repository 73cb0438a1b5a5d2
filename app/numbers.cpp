// SPDX-License-Identifier: Apache-2.0
#include "app/numbers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "sim/base/diagnostic.hpp"

namespace stretto::app {

std::uint64_t whole_number(std::string_view option, const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw UserError(fmt::format("{}: '{}' is no number from {} to {}", option, text, least, most));
  return value;
}

}  // namespace stretto::app
