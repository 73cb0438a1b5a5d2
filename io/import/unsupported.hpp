// SPDX-License-Identifier: Apache-2.0
// Files that are known and cannot become a workload, because what one needs is not in them. They are told from their
// content and refused with the reason and with the file to give instead:
//   tensorflow-timeline  a Chrome trace that TensorFlow's timeline.py made: its RecvTensor events carry neither tensor
//                        nor bytes nor peer, and its lanes are no threads
//   pytorch-et           an execution trace of PyTorch (ExecutionTraceObserver): calls and tensors, no times
//   tensorboard          an event file: records around a GraphDef
#pragma once

#include <string>
#include <string_view>

#include "io/import/import.hpp"

namespace stretto::io {

bool is_tensorflow_timeline(std::string_view text);
[[noreturn]] ImportResult refuse_tensorflow_timeline(const std::string& text, const std::string& path,
                                                     const ImportOptions& options);

bool is_pytorch_execution_trace(std::string_view text);
[[noreturn]] ImportResult refuse_pytorch_execution_trace(const std::string& text, const std::string& path,
                                                         const ImportOptions& options);

bool is_tensorboard(std::string_view text);
[[noreturn]] ImportResult refuse_tensorboard(const std::string& text, const std::string& path,
                                             const ImportOptions& options);

}  // namespace stretto::io
