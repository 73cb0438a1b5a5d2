// SPDX-License-Identifier: Apache-2.0
// Broken JSON as profilers write it, put right where the meaning is certain:
//   control characters in strings  escaped (raw newlines)
//   unescaped quotes in strings  escaped; a quote ends a key only before ":", a value only before "}", "]", or a comma
//                                that a key (in an array: a value) follows
//   nan, inf, infinity as values, any case, signed null
//   an array at the top, or an object with or without such an array in it, that is never closed, after a whole element
//                                or member, with or without a comma (Chrome's array form; writers that were stopped)
// Everything else stays as it is, and the strict reader refuses it. Text that is sound is not changed. Cost: linear.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace stretto::json {

class Value;

struct Repair {
  std::string text;
  std::size_t control_characters = 0;
  std::size_t quotes = 0;
  std::size_t not_numbers = 0;
  bool closed = false;

  bool changed() const { return control_characters + quotes + not_numbers > 0 || closed; }
  // One sentence per kind of repair, for people.
  std::vector<std::string> notes() const;
};

Repair repair(std::string_view text);

// Hands `text` to `visit` as the strict reader does (io/json/reader.hpp). Text that it refuses and that can be repaired
// is read again after `restart`, which forgets all that was visited. What was repaired, as Repair::notes() says it.
// Throws the strict reader's UserError; `path` is for messages.
std::vector<std::string> read_repaired(const std::string& text, const std::string& path,
                                       const std::function<void(const Value& root)>& visit,
                                       const std::function<void()>& restart);

}  // namespace stretto::json
