// SPDX-License-Identifier: Apache-2.0
// Nodes of a Chakra execution trace (MLCommons Chakra, schema et_def.proto), as they stand in the file.
//   .et     protobuf messages, each after its length as a varint: GlobalMetadata, then Node after Node. What is 0 is
//           not on the wire, so a node without id is node 0.
//   JSON    the same messages as JSON objects, one after the other, in an array, or under "nodes" or "workload_graph";
//           keys in snake_case, camelCase or CamelCase, attributes in "attr" or beside the others, dependencies as a
//           list or one number, numbers as text, "<None>" for none.
// An attribute may have any of the schema's integer types, or a floating-point one with a whole value; of any other
// type it is refused, so that no size is read as 0. Refused as well: cut or damaged messages, an id twice.
// Cost: linear in the text. Limits: 4 million nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stretto::io {

// The longest duration of a node, 28 hours.
inline constexpr std::int64_t kMostMicroseconds = 100'000'000'000;

enum class ChakraKind : std::uint8_t { Invalid, Metadata, Load, Store, Compute, Send, Receive, Collective };

// In the order of CollectiveCommType.
enum class ChakraCollective : std::uint8_t {
  AllReduce,
  Reduce,
  AllGather,
  Gather,
  Scatter,
  Broadcast,
  AllToAll,
  ReduceScatter,
  ReduceScatterBlock,
  Barrier,
};
std::string_view name_of(ChakraCollective collective);

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  ChakraKind kind = ChakraKind::Invalid;
  std::vector<std::uint64_t> control;  // ids of nodes that it depends on
  std::vector<std::uint64_t> data;
  std::int64_t duration_us = 0;
  bool host = false;         // is_cpu_op
  std::int64_t thread = -1;  // tid: thread of the host, stream of the device; -1: not said
  std::optional<ChakraCollective> collective;
  std::optional<std::int64_t> bytes;        // comm_size
  std::optional<std::int64_t> transfer_us;  // of a collective: its least duration over the ranks (chakra_ranks.hpp)
  std::size_t offset = 0;                   // where it begins in the text
};

// A computation or memory access of the device.
bool is_computation(const ChakraNode& node);
// A collective of the device that may move gradients: no broadcast, no barrier.
bool is_exchange(const ChakraNode& node);

struct ChakraTrace {
  std::string version;            // as the file says it; may be empty
  std::vector<ChakraNode> nodes;  // by id
};

bool is_chakra(std::string_view text);
// Throws UserError with place.
ChakraTrace read_chakra(const std::string& text, const std::string& path);

}  // namespace stretto::io
