// SPDX-License-Identifier: Apache-2.0
// The elements of one large array of objects, one after the other, out of a text that is never in memory as a whole:
// {"...": ..., "traceEvents": [{...}, {...}, ...], "...": ...}.
//
// Of every element the members that are asked for come as cells: kind and characters of scalars, as they stand in the
// text (no double holds a timestamp of 1.7e15 us with fractions). The text is read in blocks, cut behind an element and
// parsed by simdjson, which checks UTF-8, quotes and control characters of all of it; of members that nobody asks for,
// it checks no more than quotes and the number of brackets. What stands around the array is read by the strict reader.
// Cost: linear; memory: one block of 1 MiB (more if an element is longer, up to 64 MiB), and its index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json/reader.hpp"

namespace stretto::file {
class Source;
}

namespace stretto::json {

// A scalar or the kind of a container; `text` is empty for these. Absent members have Kind::Null and no text.
struct Cell {
  Kind kind = Kind::Null;
  std::string_view text;  // of a number: its characters; of a string: unescaped. Valid during the visit only
};

class Records {
 public:
  // `array` is a key of the root object; `keys` are members of its elements, "args/stream" those of member "args".
  // Of doubled members the last counts. At most 64 keys.
  Records(std::string array, const std::vector<std::string>& keys);

  using Visit = std::function<void(const std::vector<Cell>& cells)>;

  // Visits all elements; cells are in the order of `keys`. False if the text is not sound JSON of that form: what was
  // visited until then does not count, and the strict reader can say what is wrong. Throws UserError of the source.
  bool read(file::Source& source, const Visit& visit);

 private:
  struct Key {
    Key(std::string text, std::size_t i);

    std::string name;
    std::size_t cell;
    std::uint64_t head = 0;  // the first eight bytes of `name` and the quote behind it, and which of them count
    std::uint64_t mask = 0;
  };
  struct Reading;

  std::string array_;
  std::vector<Key> members_;  // of an element
  std::vector<Key> inner_;    // the member whose members are asked for too, if there is one
  std::vector<Key> inner_members_;
  std::size_t cells_ = 0;
};

}  // namespace stretto::json
