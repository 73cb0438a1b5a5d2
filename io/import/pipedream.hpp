// SPDX-License-Identifier: Apache-2.0
// PipeDream profile (graph.txt of its PyTorch profiler): one line per layer,
//   nodeN -- text -- forward_compute_time=MS, backward_compute_time=MS, activation_size=BYTES, parameter_size=BYTES
// and one line per edge, TAB "nodeA -- nodeB", in any order.
//
// What it becomes: each layer gives op "nodeN/Type" (forward) and "nodeN/Type/backward", and, if parameter_size > 0,
// one parameter "nodeN/Type" that both ops read and whose gradient the backward op completes. Forward ops follow the
// edges. The backward op of a layer waits for the layer's own forward op and for the backward ops of the layers that
// consume it; that of a last layer waits for the forward ops of all last layers (the loss). Forward ops are listed by
// node number, backward ops in reverse; parameters by node number. Milliseconds become picoseconds by decimal digits,
// without rounding through binary fractions.
//
// Not in the file, so not in the graph: the optimizer's time; one parameter stands for weight and bias together. The
// time of an Input node is waiting for the data loader and is dropped. The batch is Input's activation bytes /
// (3 x 224 x 224 x 4), or 299 instead of 224, if that divides evenly.
#pragma once

#include <string>
#include <string_view>

#include "io/import/import.hpp"

namespace stretto::io {

bool is_pipedream(std::string_view text);
ImportResult import_pipedream(const std::string& text, const std::string& path, const ImportOptions& options);

}  // namespace stretto::io
