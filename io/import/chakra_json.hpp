// SPDX-License-Identifier: Apache-2.0
// The JSON forms of Chakra traces; io/import/chakra_nodes.hpp says which.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/import/chakra_nodes.hpp"

namespace stretto::io {

bool is_chakra_json(std::string_view text);
ChakraTrace read_chakra_json(const std::string& text, const std::string& path);

// Attributes that are read: is_cpu_op, tid, comm_type, comm_size.
bool is_chakra_attribute(std::string_view name);
// Sets one of them; what is wrong with the value, or "".
std::string set_chakra_attribute(ChakraNode& node, std::string_view name, std::int64_t value);

}  // namespace stretto::io
