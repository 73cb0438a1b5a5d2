// SPDX-License-Identifier: Apache-2.0
// A PyTorch Kineto trace of one rank as a workload: one step's kernels, and the gradients that NCCL all-reduces.
//
// Step: of several ProfilerStep#N, all but the first, the one of the median duration (of two in the middle the
// shorter), or one that has kernels where that one has none; a kernel belongs to the step that its launch lies in.
// Without them the whole trace is one step, which is said.
// Ops: kernels, copies and fills of the device with their durations, in the order of their begins. An op follows the
// one before it on its stream, and on every other stream the last one that had ended before it began: the measured
// order holds, so the device is never faster than its order allows, and may be slower than a freer one. Idle time of
// the device (launches, the host) is dropped and said.
// Gradients: an NCCL all-reduce becomes the parameter "all-reduce N" of its message's bytes ("In msg nelems" x dtype)
// and an op of no time that follows the last kernel of every stream that had ended before it began. Its own time,
// which includes waiting for the other ranks, is dropped. The first op reads all parameters.
// Backward: from the first kernel that was launched inside autograd::engine::evaluate_function on; without such, what
// the all-reduces need directly and all that depends on it.
// Several ranks (ImportOptions::rank_paths): the workload is that of the first file. The others give the offsets of
// their clocks and how long each collective moved data (kineto_ranks.hpp), which is said beside the computing of each
// rank; a collective of another kind than all-reduce is then kept as an op of that time, which no network changes.
// Refused: no event on the device; NCCL kernels of other kinds than all-reduce, broadcast and barrier of one rank alone
// (a workload would lose them); all-reduces without their size (old traces). Cost: O(kernels x streams + text).
#pragma once

#include <string>

#include "io/import/import.hpp"
#include "io/import/kineto_events.hpp"

namespace stretto::io {

ImportResult import_kineto(const std::string& text, const std::string& path, const ImportOptions& options);
// The same of a regular file of any size.
ImportResult import_kineto_file(const std::string& path, const ImportOptions& options);

}  // namespace stretto::io
