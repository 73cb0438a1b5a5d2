// SPDX-License-Identifier: Apache-2.0
// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace stretto::json {

// Length in bytes of the well-formed sequence that starts at text[i], 0 if there is none. i < text.size().
std::size_t utf8_length(std::string_view text, std::size_t i);

// Offset of the first byte that starts no well-formed sequence; npos if the text is well-formed.
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace stretto::json
