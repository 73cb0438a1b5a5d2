// SPDX-License-Identifier: Apache-2.0
// Traces of StragglerAnalysis (arXiv 2505.05713): one row per op, as CSV with a header or as a JSON array of objects,
// with the columns dp_rank, stage, rank, step, optype, start_ts (s), duration (s), seq_id, mc, gmc. Others are left
// out, and said. A cell that is empty, null or -1 stands for "none". Cost: linear in the text.
//
// It has no bytes and no parameters, so it is no workload: `import` refuses it and names `stretto stragglers`.
//
// Refused, with place: missing or doubled columns, cells that are no number, unknown op kinds, an op twice, ranks or
// stages with gaps, a worker under two ranks. Negative durations are kept and counted.
#pragma once

#include <string>
#include <string_view>

#include "io/import/import.hpp"
#include "models/timeline/timeline.hpp"

namespace stretto::io {

struct StragglerTrace {
  timeline::Timeline timeline;
  ImportReport report;
};

// Reads a file (gzip or plain).
StragglerTrace read_straggler_trace(const std::string& path);
// The same from memory; `path` is for messages.
StragglerTrace parse_straggler_trace(const std::string& text, const std::string& path);

bool is_straggler_trace(std::string_view text);
[[noreturn]] ImportResult import_straggler_trace(const std::string& text, const std::string& path,
                                                 const ImportOptions& options);

}  // namespace stretto::io
