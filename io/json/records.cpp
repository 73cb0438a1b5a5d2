// SPDX-License-Identifier: Apache-2.0
#include "io/json/records.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "io/file/source.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::json {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kLongest = std::size_t{64} << 20;  // of an element, and of what stands around the array
constexpr std::size_t kTries = 64;                       // places at which a block may be cut
constexpr std::string_view kOpen = "{\"e\":[";           // makes a piece of the array a text of its own
constexpr std::string_view kClose = "]}";
constexpr std::string_view kSpace = " \t\r\n";

// digits as JSON has them: -? (0 | [1-9] digits) (. digits)? ([eE] [+-]? digits)?
bool is_number(std::string_view t) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t from = i;
    while (i < t.size() && t[i] >= '0' && t[i] <= '9') ++i;
    return i - from;
  };
  if (i < t.size() && t[i] == '-') ++i;
  const std::size_t first = i;
  const std::size_t whole = digits();
  if (whole == 0 || (whole > 1 && t[first] == '0')) return false;
  if (i < t.size() && t[i] == '.') {
    ++i;
    if (digits() == 0) return false;
  }
  if (i < t.size() && (t[i] == 'e' || t[i] == 'E')) {
    ++i;
    if (i < t.size() && (t[i] == '-' || t[i] == '+')) ++i;
    if (digits() == 0) return false;
  }
  return i == t.size();
}

bool is_space(char c) {
  return std::any_of(kSpace.begin(), kSpace.end(), [c](char space) { return c == space; });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Reads a scalar's characters; false if it is malformed. Containers give their kind.
bool read_cell(ondemand::value value, Cell& cell) {
  const std::string_view token = trimmed(value.raw_json_token());
  if (token.empty()) return false;
  switch (token.front()) {
    case '"':
      cell.kind = Kind::String;
      cell.text = token.substr(1, token.size() - 2);
      if (token.size() >= 2 && token.back() == '"' && std::memchr(cell.text.data(), '\\', cell.text.size()) == nullptr)
        return true;
      return value.get_string().get(cell.text) == simdjson::SUCCESS;
    case '{':
      cell = {Kind::Object, {}};
      return true;
    case '[':
      cell = {Kind::Array, {}};
      return true;
    case 't':
    case 'f':
      cell = {Kind::Bool, {}};
      return token == "true" || token == "false";
    case 'n':
      cell = {Kind::Null, {}};
      return token == "null";
    default:
      cell = {Kind::Number, token};
      return is_number(token);
  }
}

// Behind the '[' of member `array` of the root object that `text` begins with; none if it is not (or not yet) there.
std::optional<std::size_t> find_array(std::string_view text, std::string_view array) {
  std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  std::size_t depth = 0;
  std::string_view last;  // string at depth 1
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t begin = ++at;
      while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
      if (at >= text.size()) return std::nullopt;
      if (depth == 1) last = text.substr(begin, at - begin);
    } else if (c == '{' || c == '[') {
      if (c == '[' && depth == 1 && last == array) return at + 1;
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth <= 1) return std::nullopt;
      --depth;
    } else if (c == ',' && depth == 1) {
      last = {};
    }
  }
  return std::nullopt;
}

}  // namespace

struct Records::Reading {
  Reading(const Records& r, file::Source& s, const Visit& v) : records(r), source(s), visit(v), cells(r.cells_) {}

  bool run() {
    if (!find()) return false;
    while (!behind) {
      if (!block()) return false;
    }
    return finish();
  }

  // Reads on; false at the end of the source.
  bool more(std::size_t bytes) {
    const std::size_t used = text.size();
    text.resize(used + bytes);
    const std::size_t n = source.read(text.data() + used, bytes);
    text.resize(used + n);
    ended = n < bytes;
    return n > 0;
  }

  // Up to the first element; what stands before goes to `around`.
  bool find() {
    for (std::size_t bytes = kBlock;; bytes = text.size()) {
      if (text.size() > kLongest || !more(bytes)) return false;
      const auto begin = find_array(text, records.array_);
      if (begin) {
        around = text.substr(0, *begin);
        text.erase(0, *begin);
        return true;
      }
      if (ended) return false;
    }
  }

  // Takes as many whole elements from the front of `text` as there are.
  bool block() {
    if (!ended && text.size() < kBlock) more(kBlock - text.size());
    for (;;) {
      if (ended) return last_block();
      std::size_t cut = text.size();
      for (std::size_t tries = 0; tries < kTries; ++tries) {
        cut = cut_before(cut);
        if (cut == std::string::npos) break;
        const Result r = parse(std::string_view(text).substr(0, cut), true);
        if (r.status == Status::Unsound) continue;
        if (r.status == Status::Failed) return false;
        if (r.status == Status::Broken && r.taken == 0) break;  // one element, longer than the block
        if (r.status == Status::Behind) {
          text.erase(0, r.taken);
          behind = true;
          return true;
        }
        std::size_t rest = r.taken;
        if (r.status == Status::Whole) {
          rest = text.find_first_not_of(kSpace, cut);
          if (rest == std::string::npos || text[rest] != ',') return false;
          ++rest;
        }
        text.erase(0, rest);
        return true;
      }
      if (text.size() > kLongest) return false;
      more(text.size());
    }
  }

  // Behind the last '}' before `from` that a comma follows.
  std::size_t cut_before(std::size_t from) const {
    while (from > 0) {
      const std::size_t comma = text.rfind(',', from - 1);
      if (comma == std::string::npos || comma == 0) return std::string::npos;
      const std::size_t last = text.find_last_not_of(kSpace, comma - 1);
      if (last != std::string::npos && text[last] == '}') return last + 1;
      from = comma;
    }
    return std::string::npos;
  }

  bool last_block() {
    const Result r = parse(text, false);
    if (r.status != Status::Behind) return false;
    text.erase(0, r.taken);
    behind = true;
    return true;
  }

  enum class Status {
    Whole,    // elements to the end of the piece
    Behind,   // the array ends in the piece; `taken` is behind its ']'
    Broken,   // the element at `taken` is malformed, or cut
    Unsound,  // the piece is not even a row of tokens: it is cut in a string
    Failed,   // what follows the array is malformed
  };
  struct Result {
    Status status = Status::Unsound;
    std::size_t taken = 0;
  };

  // Parses a piece of the array; `closed`: it ends before the array does and has to be closed for the parser.
  Result parse(std::string_view piece, bool closed) {
    padded.resize(kOpen.size() + piece.size() + kClose.size() + simdjson::SIMDJSON_PADDING);
    char* to = padded.data();
    std::memcpy(to, kOpen.data(), kOpen.size());
    std::memcpy(to + kOpen.size(), piece.data(), piece.size());
    std::size_t size = kOpen.size() + piece.size();
    if (closed) {
      std::memcpy(to + size, kClose.data(), kClose.size());
      size += kClose.size();
    }
    std::memset(to + size, 0, padded.size() - size);
    const simdjson::padded_string_view view(padded.data(), size, padded.size());
    ondemand::document document;
    ondemand::object root;
    if (parser.iterate(view).get(document) != simdjson::SUCCESS) return {};
    if (document.get_object().get(root) != simdjson::SUCCESS) return {};
    ondemand::array array;
    if (root.find_field("e").get_array().get(array) != simdjson::SUCCESS) return {};
    Result result{Status::Broken, 0};
    // An element is whole when what follows it is: in a cut one, brackets skipped may pair with those that close.
    bool whole = false;
    for (auto item : array) {
      ondemand::value value;
      if (std::move(item).get(value) != simdjson::SUCCESS) return result;
      if (whole) visit(cells);
      result.taken = offset(value.raw_json_token().data());
      if (!element(value)) return result;
      whole = true;
    }
    if (whole) visit(cells);
    const char* here = nullptr;
    if (document.current_location().get(here) != simdjson::SUCCESS) here = padded.data() + size;
    // The parser stands behind the array's ']', at what follows it.
    std::size_t at = offset(here);
    while (at > 0 && is_space(padded[kOpen.size() + at - 1])) --at;
    if (at == 0 || padded[kOpen.size() + at - 1] != ']') return {Status::Failed, 0};
    if (closed && at == piece.size() + 1) return {Status::Whole, piece.size()};
    return at <= piece.size() ? Result{Status::Behind, at} : Result{Status::Failed, 0};
  }

  std::size_t offset(const char* p) const { return static_cast<std::size_t>(p - padded.data()) - kOpen.size(); }

  bool element(ondemand::value& value) {
    for (Cell& cell : cells) cell = {};
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) return false;
    return members(object, records.members_, true);
  }

  static const Key* find(const char* raw, const std::vector<Key>& keys) {
    std::uint64_t head = 0;
    std::memcpy(&head, raw, sizeof head);
    for (const Key& key : keys)
      if ((head & key.mask) == key.head && is(raw, key)) return &key;
    return nullptr;
  }

  // Does the key at `raw`, whose first characters are right, say `key`? Padding behind the text may be compared too.
  static bool is(const char* raw, const Key& key) {
    const std::size_t size = key.name.size();
    return size < sizeof key.head || (std::memcmp(raw, key.name.data(), size) == 0 && raw[size] == '"');
  }

  // NOLINTNEXTLINE(misc-no-recursion): one level down at most
  bool members(ondemand::object& object, const std::vector<Key>& keys, bool outer) {
    for (auto member : object) {
      ondemand::field field;
      if (std::move(member).get(field) != simdjson::SUCCESS) return false;
      const char* const raw = field.key().raw();
      const Key* const found = find(raw, keys);
      if (found != nullptr) {
        if (!read_cell(field.value(), cells[found->cell])) return false;
      } else if (outer && find(raw, records.inner_) != nullptr) {
        ondemand::json_type type{};
        if (field.value().type().get(type) != simdjson::SUCCESS) return false;
        if (type != ondemand::json_type::object) continue;
        ondemand::object inner;
        if (field.value().get_object().get(inner) != simdjson::SUCCESS) return false;
        if (!members(inner, records.inner_members_, false)) return false;
      }
    }
    return true;
  }

  // What stands around the array must be sound too, and hold no second one.
  bool finish() {
    while (!ended) {
      if (around.size() + text.size() > kLongest) return false;
      more(kBlock);
    }
    std::size_t arrays = 0;
    try {
      Document document(around + ']' + text, source.path());
      document.read([&](const Value& root) {
        root.members([&](std::string_view key, const Value&) { arrays += key == records.array_ ? 1U : 0U; });
      });
    } catch (const UserError&) {
      return false;
    }
    return arrays == 1;
  }

  const Records& records;
  file::Source& source;
  const Visit& visit;
  std::vector<Cell> cells;
  ondemand::parser parser;
  std::string text;    // read and not yet taken
  std::string padded;  // the piece that is parsed
  std::string around;  // up to the array's '['
  bool ended = false;  // the source is
  bool behind = false;
};

Records::Records(std::string array, const std::vector<std::string>& keys)
    : array_(std::move(array)), cells_(keys.size()) {
  STRETTO_ASSERT(keys.size() <= 64, "{} keys", keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t slash = keys[i].find('/');
    if (slash == std::string::npos) {
      members_.emplace_back(keys[i], i);
      continue;
    }
    if (inner_.empty()) inner_.emplace_back(keys[i].substr(0, slash), 0);
    inner_members_.emplace_back(keys[i].substr(slash + 1), i);
  }
}

Records::Key::Key(std::string text, std::size_t i) : name(std::move(text)), cell(i) {
  STRETTO_ASSERT(name.size() < simdjson::SIMDJSON_PADDING, "key {}", name);
  const std::string quoted = name + '"';
  const std::size_t n = std::min(quoted.size(), sizeof head);
  std::memcpy(&head, quoted.data(), n);
  std::memset(&mask, 0xff, n);
}

bool Records::read(file::Source& source, const Visit& visit) { return Reading(*this, source, visit).run(); }

}  // namespace stretto::json
