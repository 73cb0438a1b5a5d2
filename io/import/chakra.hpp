// SPDX-License-Identifier: Apache-2.0
// One rank's Chakra execution trace as a workload: what the device computes, and the gradients that it all-reduces.
//
// Ops: computations and memory accesses of the device (is_cpu_op false), with their durations. Every all-reduce of the
// device gives one parameter "all-reduce ID" of comm_size bytes and an op of the same name that takes no time: its
// gradient. The measured time of an all-reduce is dropped, the simulated network gives it. The first forward op reads
// all parameters: the trace does not say who reads which bucket.
//   Traces with host ops (PyTorch): host ops are the callers of kernels, not work of the device; they and the host's
//     wrappers of collectives are dropped. There are no begins and no dependencies between kernels, so kernels of one
//     stream (tid) follow each other by id, and an all-reduce takes what the kernels of lower id made. The launcher of
//     a kernel is the host op before it by id; the backward pass begins with the first kernel that a thread of the
//     all-reduces' wrappers launched.
//   Traces without: data_deps and ctrl_deps are the order; data_deps alone, which is said, where both together form a
//     circle. Backward are the ops that all-reduces need directly, and all that depends on them.
// Broadcasts and barriers are dropped and counted. Refused: all-to-alls, sends and other collectives (a workload would
// lose them), collectives of the device without type or size, traces of nothing but host ops.
// Several ranks (ImportOptions::rank_paths): the workload is that of the first file. The others say how long each
// collective moved data (chakra_ranks.hpp), which is said beside the computing of each rank; a collective of another
// kind than all-reduce is then kept as an op of that time, which no network changes. In traces with host ops it follows
// all kernels of lower id, and those of higher id follow it. Cost: O(nodes log nodes + dependencies).
#pragma once

#include <string>

#include "io/import/chakra_nodes.hpp"
#include "io/import/import.hpp"

namespace stretto::io {

ImportResult import_chakra(const std::string& text, const std::string& path, const ImportOptions& options);

}  // namespace stretto::io
