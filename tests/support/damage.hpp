// SPDX-License-Identifier: Apache-2.0
// Random damage to a text for tests of hostile input: one to four edits of a byte, a piece or a token.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/random.hpp"

namespace stretto {

// `tokens` is what an edit may put in; not empty.
inline std::string damage(std::string text, const std::vector<std::string>& tokens, RandomStream& random) {
  for (std::uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
    const std::size_t at = random.below(text.size() + 1);
    const std::size_t length = random.below(1 + std::min<std::size_t>(text.size() - at, 12));
    switch (random.below(5)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, tokens[random.below(tokens.size())]);
        break;
      case 3:
        text.replace(at, length, tokens[random.below(tokens.size())]);
        break;
      default: {  // a piece from elsewhere
        const std::size_t from = random.below(text.size() + 1);
        text.insert(at, text.substr(from, random.below(200)));
      }
    }
  }
  return text;
}

}  // namespace stretto
