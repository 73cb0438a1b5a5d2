// SPDX-License-Identifier: Apache-2.0
#include "io/import/unsupported.hpp"

#include <algorithm>

#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

constexpr std::size_t kHead = std::size_t{1} << 16;

[[noreturn]] void refuse(const std::string& path, std::string message, std::string hint) {
  Diagnostic d;
  d.span.file = path;
  d.message = std::move(message);
  d.hint = std::move(hint);
  throw UserError({d});
}

bool is_object(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && text[start] == '{';
}

bool has(std::string_view head, std::string_view part) { return head.find(part) != std::string_view::npos; }

}  // namespace

bool is_tensorflow_timeline(std::string_view text) {
  const std::string_view head = text.substr(0, kHead);
  return is_object(head) && has(head, "\"traceEvents\"") && has(head, "\"process_name\"") && has(head, "/job:");
}

ImportResult refuse_tensorflow_timeline(const std::string&, const std::string& path, const ImportOptions&) {
  refuse(path, "a TensorFlow timeline cannot become a workload: its transfers carry neither tensor nor bytes nor peer",
         "give the RunMetadata that it was made from, with --graph and the GraphDef of the program");
}

bool is_pytorch_execution_trace(std::string_view text) {
  const std::string_view head = text.substr(0, kHead);
  return is_object(head) && has(head, "\"schema\"") && has(head, "\"nodes\"") &&
         (has(head, "execution_trace") || has(head, "execution_graph") || has(head, "\"rf_id\""));
}

ImportResult refuse_pytorch_execution_trace(const std::string&, const std::string& path, const ImportOptions&) {
  refuse(path, "an execution trace of PyTorch cannot become a workload: it says what was called, not how long it took",
         "give the Kineto trace of the step, or the Chakra trace that links both");
}

bool is_tensorboard(std::string_view text) { return has(text.substr(0, 64), "brain.Event:"); }

ImportResult refuse_tensorboard(const std::string&, const std::string& path, const ImportOptions&) {
  refuse(path, "an event file of TensorBoard is a log, not a graph", "give the GraphDef itself, binary or text");
}

}  // namespace stretto::io
