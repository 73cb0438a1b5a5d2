// SPDX-License-Identifier: Apache-2.0
// An execution trace of PyTorch (ExecutionTraceObserver) as a workload: what one step computes and all-reduces, by the
// shapes of its tensors. It has no times; a device has to give them (models/device), as for a GraphDef alone.
//
// Both layouts are read: flat keys (parent, input_shapes, ...; to 1.0.2) and nested ones (ctrl_deps, inputs.shapes,
// attrs; from 1.0.3 on, also named ...-chakra...).
// Step: the trace is cut where a step begins, at the nodes of the first kind that there is: ProfilerStep#N, "## forward
// ##", DistributedDataParallel.forward, Optimizer.zero_grad#. Of several steps the one after the first; what lies
// before the first counts to none. Without such nodes the whole trace is one step, which is said.
// Ops: "aten::" nodes that call no other such node, less those that move no data (view, empty, ...), one after the
// other by id, the order in which they were called: the trace does not say on which stream they ran. Backward from the
// first one below a node of autograd::engine on.
// Operations and bytes: a multiply-add counts 2. Convolutions and matrix products by their terms (the backward pass of
// a convolution once for each of the gradients of input and weight that it made), batch normalisation 5 per element, 8
// in the backward pass, anything else 1 per element of its outputs; bytes are those of all inputs and outputs.
// Parameters: every all-reduce that record_param_comms tells of, of the bytes of its tensors; the op that completes its
// gradient takes no time and follows all ops of lower id. The first op reads all. Broadcasts, barriers and waits are
// dropped; other collectives, sends and receives are refused. Refused with place: a dimension that is no whole number
// of 0 or more, a tensor of more than 2^50 elements, a collective of more than 2^50 bytes or of tensors without a size,
// a node of more than 4,096 tensors. Cost: O(text + nodes log nodes).
#pragma once

#include <string>
#include <string_view>

#include "io/import/import.hpp"

namespace stretto::io {

bool is_pytorch_et(std::string_view text);
ImportResult import_pytorch_et(const std::string& text, const std::string& path, const ImportOptions& options);

}  // namespace stretto::io
