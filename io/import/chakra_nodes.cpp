// SPDX-License-Identifier: Apache-2.0
#include "io/import/chakra_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "io/import/chakra_json.hpp"
#include "io/import/common.hpp"
#include "io/import/wire.hpp"

namespace stretto::io {

namespace {

constexpr std::array<std::string_view, 10> kCollectives = {
    "all-reduce", "reduce",         "all-gather",           "gather", "scatter", "broadcast",
    "all-to-all", "reduce-scatter", "reduce-scatter-block", "barrier"};
constexpr std::size_t kMostNodes = 4'000'000;

class BinaryReader {
 public:
  BinaryReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  ChakraTrace read() {
    ChakraTrace trace;
    wire::Reader file(text_);
    while (!file.at_end()) {
      at_ = file.offset();
      const auto message = file.length_delimited();
      if (!message) damaged(fmt::format("message {}", messages_));
      if (messages_++ == 0)
        trace.version = metadata(*message);
      else
        trace.nodes.push_back(node(*message));
      if (trace.nodes.size() > kMostNodes) fail(fmt::format("more than {} nodes", kMostNodes));
    }
    if (messages_ == 0) fail("the file is empty");
    return trace;
  }

 private:
  [[noreturn]] void fail(std::string_view message) const {
    refuse_file(path_, fmt::format("at byte {}: {}", at_, message));
  }
  [[noreturn]] void damaged(std::string_view what) const { refuse_damaged(path_, what, at_, text_.size()); }

  // Calls visit(field) for each field of a message.
  template <class F>
  void fields(std::string_view message, F&& visit) const {
    wire::Reader reader(message);
    while (!reader.at_end()) {
      const auto field = reader.field();
      if (!field) damaged("the message");
      visit(*field);
    }
  }

  std::string metadata(std::string_view message) const {
    std::string version;
    fields(message, [&](const wire::Field& f) {
      if (f.number == 1 && f.type == wire::Type::Bytes) version = std::string(f.bytes);
    });
    return version;
  }

  void ids(const wire::Field& f, std::vector<std::uint64_t>& out) const {
    if (f.type == wire::Type::Varint) {
      out.push_back(f.value);
      return;
    }
    if (f.type != wire::Type::Bytes) fail("a dependency has a wrong wire type");
    wire::Reader packed(f.bytes);
    while (!packed.at_end()) {
      const auto id = packed.varint();
      if (!id) damaged("a list of dependencies of the message");
      out.push_back(*id);
    }
  }

  ChakraNode node(std::string_view message) const {
    ChakraNode n;
    n.offset = at_;
    fields(message, [&](const wire::Field& f) {
      const bool number = f.type == wire::Type::Varint;
      const bool bytes = f.type == wire::Type::Bytes;
      switch (f.number) {
        case 1:
          if (!number) fail("the id of a node is no number");
          n.id = f.value;
          break;
        case 2:
          if (!bytes) fail("the name of a node is no text");
          n.name = std::string(f.bytes);
          break;
        case 3:
          if (!number || f.value > 7) fail("unknown type of node");
          n.kind = static_cast<ChakraKind>(f.value);
          break;
        case 4:
          ids(f, n.control);
          break;
        case 5:
          ids(f, n.data);
          break;
        case 7:
          if (!number || f.value > static_cast<std::uint64_t>(kMostMicroseconds))
            fail("the duration of a node is out of range");
          n.duration_us = static_cast<std::int64_t>(f.value);
          break;
        case 10:
          if (!bytes) fail("an attribute is no message");
          attribute(f.bytes, n);
          break;
        default:
          break;
      }
    });
    return n;
  }

  void attribute(std::string_view message, ChakraNode& n) const {
    std::string_view name;
    std::optional<wire::Field> value;
    fields(message, [&](const wire::Field& f) {
      if (f.number == 1 && f.type == wire::Type::Bytes)
        name = f.bytes;
      else if (f.number > 2)
        value = f;
    });
    if (!is_chakra_attribute(name)) return;
    const auto integer = value ? whole(*value) : std::nullopt;
    if (!integer) fail(fmt::format("{} of a node is no whole number that fits", name));
    const std::string wrong = set_chakra_attribute(n, name, *integer);
    if (!wrong.empty()) fail(wrong);
  }

  // A value of AttributeProto as an integer.
  static std::optional<std::int64_t> whole(const wire::Field& f) {
    const auto from_double = [](double x) -> std::optional<std::int64_t> {
      if (!(std::abs(x) < 9e15) || x != std::floor(x)) return std::nullopt;
      return static_cast<std::int64_t>(x);
    };
    const auto from_unsigned = [](std::uint64_t x) -> std::optional<std::int64_t> {
      // A 64-bit -1 is "none" also where the attribute is unsigned.
      if (x > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) && x != ~std::uint64_t{0})
        return std::nullopt;
      return static_cast<std::int64_t>(x);
    };
    using wire::Type;
    switch (f.number) {
      case 3:
        return f.type == Type::Fixed64 ? from_double(std::bit_cast<double>(f.value)) : std::nullopt;
      case 5:
        return f.type == Type::Fixed32 ? from_double(std::bit_cast<float>(static_cast<std::uint32_t>(f.value)))
                                       : std::nullopt;
      case 7:
      case 9:
        return f.type == Type::Varint ? std::optional(static_cast<std::int64_t>(f.value)) : std::nullopt;
      case 11:
      case 13:
      case 27:
        return f.type == Type::Varint ? from_unsigned(f.value) : std::nullopt;
      case 15:
      case 17:
        if (f.type != Type::Varint) return std::nullopt;
        return static_cast<std::int64_t>((f.value >> 1) ^ (~(f.value & 1) + 1));
      case 19:
        return f.type == Type::Fixed32 ? from_unsigned(f.value) : std::nullopt;
      case 21:
        return f.type == Type::Fixed64 ? from_unsigned(f.value) : std::nullopt;
      case 23:
        return f.type == Type::Fixed32
                   ? std::optional<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(f.value)))
                   : std::nullopt;
      case 25:
        return f.type == Type::Fixed64 ? std::optional(static_cast<std::int64_t>(f.value)) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t messages_ = 0;
  std::size_t at_ = 0;
};

// GlobalMetadata has a text and attributes, a Node at least a name and a type.
bool is_binary(std::string_view text) {
  wire::Reader file(text);
  const auto first = file.length_delimited();
  if (!first) return false;
  wire::Reader metadata(*first);
  while (!metadata.at_end()) {
    const auto f = metadata.field();
    if (!f || f->type != wire::Type::Bytes || (f->number != 1 && f->number != 2)) return false;
  }
  const auto second = file.length_delimited();
  if (!second) return false;
  wire::Reader node(*second);
  bool named = false;
  bool typed = false;
  while (!node.at_end()) {
    const auto f = node.field();
    if (!f || f->number > 10) return false;
    named |= f->number == 2 && f->type == wire::Type::Bytes;
    typed |= f->number == 3 && f->type == wire::Type::Varint && f->value <= 7;
  }
  return named && typed;
}

}  // namespace

std::string_view name_of(ChakraCollective collective) { return kCollectives[static_cast<std::size_t>(collective)]; }

bool is_computation(const ChakraNode& n) {
  return !n.host && (n.kind == ChakraKind::Compute || n.kind == ChakraKind::Load || n.kind == ChakraKind::Store);
}

bool is_exchange(const ChakraNode& n) {
  return !n.host && n.kind == ChakraKind::Collective && n.collective != ChakraCollective::Broadcast &&
         n.collective != ChakraCollective::Barrier;
}

bool is_chakra_attribute(std::string_view name) {
  return name == "is_cpu_op" || name == "tid" || name == "comm_type" || name == "comm_size";
}

std::string set_chakra_attribute(ChakraNode& node, std::string_view name, std::int64_t value) {
  if (name == "is_cpu_op") {
    node.host = value != 0;
  } else if (name == "tid") {
    node.thread = value;
  } else if (name == "comm_type") {
    if (value < 0 || value >= static_cast<std::int64_t>(kCollectives.size()))
      return fmt::format("comm_type {} is unknown", value);
    node.collective = static_cast<ChakraCollective>(value);
  } else {
    if (value < 0) return fmt::format("comm_size is {}", value);
    node.bytes = value;
  }
  return "";
}

bool is_chakra(std::string_view text) { return is_chakra_json(text) || is_binary(text); }

ChakraTrace read_chakra(const std::string& text, const std::string& path) {
  ChakraTrace trace = is_chakra_json(text) ? read_chakra_json(text, path) : BinaryReader(text, path).read();
  std::sort(trace.nodes.begin(), trace.nodes.end(),
            [](const ChakraNode& a, const ChakraNode& b) { return a.id != b.id ? a.id < b.id : a.offset < b.offset; });
  const auto twin = std::adjacent_find(trace.nodes.begin(), trace.nodes.end(),
                                       [](const ChakraNode& a, const ChakraNode& b) { return a.id == b.id; });
  if (twin != trace.nodes.end()) refuse_file(path, fmt::format("two nodes have the id {}", twin->id));
  if (trace.nodes.empty()) refuse_file(path, "the trace holds no node");
  return trace;
}

}  // namespace stretto::io
