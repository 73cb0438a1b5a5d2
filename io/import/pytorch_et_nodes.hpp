// SPDX-License-Identifier: Apache-2.0
// The nodes of a PyTorch execution trace, by id. pytorch_et.hpp says what they become. Cost: O(text + nodes log nodes).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stretto::io {

struct EtTensor {
  std::vector<std::int64_t> shape;
  std::int64_t width = 0;  // bytes of an element; 0: not known
  bool is_tensor = false;  // else a number, a list without tensors, ...

  double elements() const;
  double bytes() const { return elements() * static_cast<double>(width); }
};

struct EtNode {
  std::int64_t id = 0;
  std::int64_t parent = 0;
  std::string name;
  std::vector<EtTensor> inputs;  // tensors in lists follow each other
  std::vector<EtTensor> outputs;
  std::string collective;             // of record_param_comms: "allreduce"
  std::int64_t collective_bytes = 0;  // of its input tensors
};

// Nodes by id, each id once. Throws UserError with place.
std::vector<EtNode> read_et_nodes(const std::string& text, const std::string& path);

}  // namespace stretto::io
