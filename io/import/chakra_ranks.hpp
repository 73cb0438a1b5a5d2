// SPDX-License-Identifier: Apache-2.0
// Chakra traces of several ranks as one job: how long each collective really moved data.
//
// A trace has no begins, so no clock is aligned: the k-th collective of the device by id, broadcasts and barriers
// aside, is the k-th on every rank. They must be of the same kinds, all-reduces of the same bytes, else the files are
// refused as of different jobs or steps. What a collective moved takes the least of its durations over the ranks: the
// last to come waits for nobody. Cost: that of reading the traces.
#pragma once

#include <string>

#include "io/import/chakra_nodes.hpp"
#include "io/import/import.hpp"

namespace stretto::io {

// Sets transfer_us of the collectives of `trace`, read from `path`, by the traces of options.rank_paths, and says what
// these add. Does nothing without further ranks.
void match_chakra_ranks(ChakraTrace& trace, const std::string& path, const ImportOptions& options,
                        ImportReport& report);

}  // namespace stretto::io
