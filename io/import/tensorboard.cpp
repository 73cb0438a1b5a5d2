// SPDX-License-Identifier: Apache-2.0
#include "io/import/tensorboard.hpp"

#include <array>
#include <cstdint>

#include "io/import/common.hpp"
#include "io/import/wire.hpp"

namespace stretto::io {

namespace {

constexpr std::uint64_t kGraph = 4;  // fields of Event
constexpr std::uint64_t kMetaGraph = 9;
constexpr std::uint64_t kGraphOfMeta = 2;  // of MetaGraphDef
constexpr std::size_t kHead = 12;          // length and its checksum
constexpr std::size_t kTail = 4;

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// CRC-32C (Castagnoli, reflected 0x82F63B78) of `bytes`, rotated and shifted as TensorFlow stores it.
std::uint32_t masked_checksum(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < t.size(); ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = c >> 1 ^ ((c & 1) != 0 ? 0x82F63B78U : 0U);
      t[i] = c;
    }
    return t;
  }();
  std::uint32_t c = ~0U;
  for (const char byte : bytes) c = c >> 8 ^ table[(c ^ static_cast<unsigned char>(byte)) & 0xFF];
  c = ~c;
  return (c >> 15 | c << 17) + 0xA282EAD8U;
}

// The GraphDef of one Event; empty if it has none.
std::string_view graph_of(std::string_view event, std::size_t at, std::size_t size, const std::string& path) {
  std::string_view graph;
  wire::Reader reader(event);
  while (!reader.at_end()) {
    const auto field = reader.field();
    if (!field) refuse_damaged(path, "the event of the record", at, size, "is malformed");
    if (field->type != wire::Type::Bytes) continue;
    if (field->number == kGraph) graph = field->bytes;
    if (field->number != kMetaGraph) continue;
    wire::Reader meta(field->bytes);
    while (!meta.at_end()) {
      const auto inner = meta.field();
      if (!inner) refuse_damaged(path, "the MetaGraphDef of the record", at, size, "is malformed");
      if (inner->type == wire::Type::Bytes && inner->number == kGraphOfMeta) graph = inner->bytes;
    }
  }
  return graph;
}

}  // namespace

bool is_tensorboard(std::string_view text) { return text.substr(0, 64).find("brain.Event:") != std::string_view::npos; }

std::string graph_in_events(std::string_view text, const std::string& path) {
  std::string graph;
  for (std::size_t at = 0; at < text.size();) {
    const auto damaged = [&](const char* what) {
      refuse_damaged(path, "the record", at, text.size(), what,
                     "copy the event file again, or give the GraphDef itself");
    };
    if (text.size() - at < kHead) damaged("is cut");
    const std::uint64_t length = little_endian(text.substr(at, 8));
    if (little_endian(text.substr(at + 8, 4)) != masked_checksum(text.substr(at, 8))) damaged("is damaged");
    if (length > text.size() - at - kHead || text.size() - at - kHead - length < kTail) damaged("is cut");
    const std::string_view event = text.substr(at + kHead, length);
    if (little_endian(text.substr(at + kHead + length, kTail)) != masked_checksum(event)) damaged("is damaged");
    if (const std::string_view found = graph_of(event, at, text.size(), path); !found.empty()) graph = found;
    at += kHead + length + kTail;
  }
  if (graph.empty())
    refuse_file(path, "no event in the file holds a graph",
                "write it with FileWriter(folder, graph), or give the GraphDef");
  return graph;
}

}  // namespace stretto::io
