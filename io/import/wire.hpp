// SPDX-License-Identifier: Apache-2.0
// The wire format of protocol buffers, for messages that are read field by field. Nothing is copied; whatever is cut or
// malformed gives no value. Groups (wire types 3 and 4, obsolete) count as malformed. Cost: linear in what is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stretto::io::wire {

enum class Type : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Field {
  std::uint64_t number = 0;
  Type type = Type::Varint;
  std::uint64_t value = 0;  // of a varint or a fixed one, its bits
  std::string_view bytes;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool at_end() const { return at_ >= text_.size(); }
  std::size_t offset() const { return at_; }

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_end()) return std::nullopt;
      const auto byte = static_cast<unsigned char>(text_[at_++]);
      if (shift == 63 && byte > 1) return std::nullopt;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  // What stands behind its length as a varint.
  std::optional<std::string_view> length_delimited() {
    const auto length = varint();
    if (!length || *length > text_.size() - at_) return std::nullopt;
    const std::string_view bytes = text_.substr(at_, *length);
    at_ += *length;
    return bytes;
  }

  std::optional<Field> field() {
    const auto tag = varint();
    if (!tag || *tag >> 3 == 0) return std::nullopt;
    Field f;
    f.number = *tag >> 3;
    switch (*tag & 7) {
      case 0: {
        const auto value = varint();
        if (!value) return std::nullopt;
        f.value = *value;
        return f;
      }
      case 1:
        f.type = Type::Fixed64;
        return fixed(8, f);
      case 5:
        f.type = Type::Fixed32;
        return fixed(4, f);
      case 2: {
        f.type = Type::Bytes;
        const auto bytes = length_delimited();
        if (!bytes) return std::nullopt;
        f.bytes = *bytes;
        return f;
      }
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<Field> fixed(std::size_t n, Field f) {
    if (n > text_.size() - at_) return std::nullopt;
    for (std::size_t i = 0; i < n; ++i)
      f.value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text_[at_ + i])) << (8 * i);
    at_ += n;
    return f;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace stretto::io::wire
