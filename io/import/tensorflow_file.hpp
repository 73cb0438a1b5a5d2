// SPDX-License-Identifier: Apache-2.0
// TensorFlow's GraphDef, RunMetadata and StepStats as files: binary protocol buffers or their text form, told apart by
// the content. A damaged or cut file is a UserError with the byte at which reading ended; the number of nodes and
// records is limited, so that a small file cannot fill the memory. Names are checked to be UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/import/proto/tensorflow.pb.h"

namespace stretto::io {

enum class TfKind : std::uint8_t { None, Graph, Metadata, StepStats };

struct TfFormat {
  TfKind kind = TfKind::None;
  bool text = false;
};

// What a file's (unpacked) content is. Never throws; looks at the first fields only.
TfFormat tf_format(std::string_view content);

tf::GraphDef read_graph_def(std::string_view content, const std::string& path);
// A RunMetadata, or StepStats alone.
tf::RunMetadata read_run_metadata(std::string_view content, const std::string& path);

}  // namespace stretto::io
