// SPDX-License-Identifier: Apache-2.0
// A Horovod timeline (HOROVOD_TIMELINE) as a workload: when each gradient was ready, and how large it is.
//
// The file is an array of Chrome events that Horovod never closes. Each tensor is a process; on it NEGOTIATE_ALLREDUCE
// lasts from the first rank's readiness to the last's, an event of no duration named by a rank marks that rank's, and
// ALLREDUCE follows, whose end carries dtype and shape. The k-th such pair of a tensor belongs to step k.
//
// Step: of all but the first, the one of the median duration, from the end of the last all-reduce of the step before to
// the end of its own last.
// Ops: "forward" lasts from the end of the last all-reduce of the step before to the first readiness on rank 0 (update,
// input and the backward pass of that gradient are in it: the file does not tell them apart) and reads all parameters;
// then one backward op per gradient, in order of readiness on rank 0, from the readiness before it to its own.
// Parameters: one per tensor, of its bytes. The times of all-reduces are dropped, the simulated network gives them.
// Ranks: how late each was ready on the mean, is said: a record of stragglers.
// Refused: steps with allgathers or alltoalls (a workload would lose them); no all-reduce; an unknown dtype or shape; a
// begin or end before the one of the same tensor that it follows (time runs backward).
// Broadcasts are dropped, and tensors that are not reduced in every step. Cost: O(text + events log events).
#pragma once

#include <string>
#include <string_view>

#include "io/import/import.hpp"

namespace stretto::io {

bool is_horovod(std::string_view text);
ImportResult import_horovod(const std::string& text, const std::string& path, const ImportOptions& options);

}  // namespace stretto::io
