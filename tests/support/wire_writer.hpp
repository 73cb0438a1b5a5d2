// SPDX-License-Identifier: Apache-2.0
// Fields of protocol buffers on the wire, and TensorBoard's records around events, for tests that make such files.
#pragma once

#include <cstdint>
#include <string>

namespace stretto::test {

inline std::string varint(std::uint64_t x) {
  std::string out;
  for (; x >= 0x80; x >>= 7) out += static_cast<char>(0x80 | (x & 0x7f));
  return out + static_cast<char>(x);
}

inline std::string bytes(unsigned field, const std::string& b) { return varint(field << 3 | 2) + varint(b.size()) + b; }

inline std::string number(unsigned field, std::uint64_t x) { return varint(field << 3) + varint(x); }

// CRC-32C bit by bit.
inline std::uint32_t checksum(const std::string& text) {
  std::uint32_t c = 0xFFFFFFFF;
  for (const char byte : text) {
    c ^= static_cast<unsigned char>(byte);
    for (int i = 0; i < 8; ++i) c = (c & 1) != 0 ? c >> 1 ^ 0x82F63B78 : c >> 1;
  }
  return ~c;
}

// An event as a record of an event file.
inline std::string event_record(const std::string& event) {
  const auto little_endian = [](std::uint64_t value, int size) {
    std::string out;
    for (int i = 0; i < size; ++i) out += static_cast<char>(value >> 8 * i & 0xFF);
    return out;
  };
  const auto masked = [&](const std::string& text) {
    const std::uint32_t c = checksum(text);
    return little_endian(((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF, 4);
  };
  const std::string length = little_endian(event.size(), 8);
  return length + masked(length) + event + masked(event);
}

}  // namespace stretto::test
