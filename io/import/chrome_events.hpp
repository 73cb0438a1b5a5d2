// SPDX-License-Identifier: Apache-2.0
// The events of a Chrome trace in the object form {"traceEvents": [...]}, as cells (io/json/records.hpp) of the members
// that are asked for. A regular file that is sound is read piece by piece. Any other text is read as a whole by the
// strict reader, which says what is wrong and where; if it is no JSON, io/json/repair.hpp puts right what is certain.
// Cost: linear.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json/records.hpp"

namespace stretto::io {

struct ChromeReading {
  std::vector<std::string> keys;  // "ts", "args/stream"; "args" is the only member whose members can be asked for
  std::function<void(const std::vector<json::Cell>& cells)> visit;
  std::function<void()> restart;  // forgets all that was visited: the text is read again
};

// Both return what was repaired, one sentence each, and throw UserError with place.
std::vector<std::string> read_chrome_events(const std::string& text, const std::string& path,
                                            const ChromeReading& reading);
std::vector<std::string> read_chrome_file(const std::string& path, const ChromeReading& reading);

// A file of at most this many bytes (unpacked) is read piece by piece: 64 GiB.
inline constexpr std::size_t kLargestChromeFile = std::size_t{1} << 36;

// Like ==, but capital letters of `text` count as small ones.
bool same_word(std::string_view text, std::string_view lower_case);

// Capital letters (ASCII) as small ones.
std::string lower_case(std::string_view text);

}  // namespace stretto::io
