// SPDX-License-Identifier: Apache-2.0
// The text workload of ASTRA-sim 1 and SimAI as a workload: layers with compute times and collectives.
//
// First line: the parallelisation ("DATA", "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ..."); second:
// the number of layers; then a line per layer, fields apart by spaces or tabs:
//   name  dependency  forward-time kind bytes  input-gradient-time kind bytes  weight-gradient-time kind bytes  update
// Times are ns (ASTRA-sim's ticks at its one frequency of 1 GHz). With HYBRID_CUSTOMIZED a layer may name its own
// parallelisation behind the update time, which is passed over and said.
//
// Ops: "NAME" forward, one after the other; in the backward pass from the last layer to the first "NAME/weights", then
// "NAME/inputs", the order in which ASTRA-sim runs data-parallel layers. An all-reduce of a weight gradient is the
// layer's parameter, read by its forward op and complete with its "NAME/weights". Ops of no time that nothing needs are
// kept where they carry a parameter, else dropped. Update times are dropped and said.
// Refused with line: any other field behind the update time; other collectives than all-reduce, and any in the forward
// pass or on input gradients (a workload holds gradients that are summed over all workers, and would lose them). Cost:
// O(text).
#pragma once

#include <string>
#include <string_view>

#include "io/import/import.hpp"

namespace stretto::io {

bool is_astra_sim(std::string_view text);
ImportResult import_astra_sim(const std::string& text, const std::string& path, const ImportOptions& options);

}  // namespace stretto::io
