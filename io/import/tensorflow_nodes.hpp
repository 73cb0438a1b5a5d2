// SPDX-License-Identifier: Apache-2.0
// A GraphDef as indices: nodes, resolved inputs, a topological order, devices parsed in every spelling that
// TensorFlow has had. Partition graphs of a RunMetadata are joined again at their sends and receives.
// Cost: O(nodes log nodes + edges).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/import/proto/tensorflow.pb.h"

namespace stretto::io {

// "/job:ps/replica:0/task:1/device:GPU:0", "/job:ps/task:1/gpu:0", "/gpu:0/stream:all", "".
struct TfDevice {
  std::string job;  // "" if it is not said
  std::int64_t task = 0;
  bool gpu = false;
  std::string rest;  // what follows the device: "stream:all", "memcpy"

  bool same_task(const TfDevice& other) const { return job == other.job && task == other.task; }
  bool is_server() const { return job == "ps"; }
  std::string task_name() const;  // "/job:ps/task:1"
};

TfDevice parse_device(std::string_view text);

using TfShape = std::vector<std::int64_t>;  // -1: not known

// Bytes of one element of TensorFlow's DataType; 0 if it has no fixed size. Reference types count as what they refer
// to.
std::int64_t type_bytes(std::int32_t type);

// Elements of a shape; nothing if a dimension is unknown, negative, or the product does not fit 62 bits.
std::optional<std::int64_t> element_count(const TfShape& shape);

struct TfInput {
  std::uint32_t node = 0;
  std::int32_t slot = 0;
  bool control = false;
};

class TfNode {
 public:
  std::string name;
  std::string op;
  TfDevice device;
  std::vector<TfInput> inputs;         // data first, in order; then control
  std::vector<TfShape> output_shapes;  // an unknown rank is {-1}; empty: not in the graph
  std::int32_t type = 0;               // T or dtype
  std::optional<TfShape> shape;        // attribute "shape"
  std::vector<std::int64_t> kernel;    // ksize
  std::vector<std::int64_t> strides;
  std::string data_format;
  bool transpose_a = false;
  bool transpose_b = false;
  bool is_training = true;
  std::int64_t data_inputs = 0;
  std::optional<std::int64_t> bytes;  // of a variable, known from elsewhere than shape and type
};

struct TfGraph {
  std::vector<TfNode> nodes;                             // in the file's order
  std::unordered_map<std::string, std::uint32_t> index;  // by name
  std::vector<std::uint32_t> order;                      // topological; the smallest index that is ready first
  std::vector<std::string> repaired;                     // notes
};

// Throws UserError: doubled names, inputs that are not there, a cycle.
TfGraph build_graph(const tf::GraphDef& graph, const std::string& path);

// One graph of all partitions: each receive is replaced by what its send sends.
TfGraph join_partitions(const tf::RunMetadata& metadata, const std::string& path);

}  // namespace stretto::io
