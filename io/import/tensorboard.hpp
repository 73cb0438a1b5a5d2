// SPDX-License-Identifier: Apache-2.0
// TensorBoard's event files: records (length, its checksum, an Event message, its checksum) of which one may hold the
// GraphDef of the program, as its own field or inside a MetaGraphDef. Checksums are CRC-32C, masked as TensorFlow masks
// them. Cost: O(text).
#pragma once

#include <string>
#include <string_view>

namespace stretto::io {

bool is_tensorboard(std::string_view text);

// The bytes of the last GraphDef in the file. Throws UserError: a record is cut or damaged (with its byte), no record
// holds a graph.
std::string graph_in_events(std::string_view text, const std::string& path);

}  // namespace stretto::io
