// SPDX-License-Identifier: Apache-2.0
// Whole numbers that options are given as.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stretto::app {

// `text`, the value of `option`. UserError if it is no number from `least` to `most`.
std::uint64_t whole_number(std::string_view option, const std::string& text, std::uint64_t least, std::uint64_t most);

}  // namespace stretto::app
