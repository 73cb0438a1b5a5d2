// SPDX-License-Identifier: Apache-2.0
// Chrome trace JSON ("Trace Event Format"), opens in Perfetto and chrome://tracing. Complete events (ph X) with
// timestamps in microseconds and six decimals, so picoseconds are exact; metadata events (ph M) name processes and
// threads. Processes and tracks are numbered in the order of their first span. Spans of one track that overlap are
// laid onto further lanes "track (2)", "track (3)", ... of the same process. Cost: n log n.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"

namespace stretto::io {

struct Span {
  std::string process;
  std::string track;
  std::string name;
  Time start;
  Time end;  // >= start
  std::vector<std::pair<std::string, std::string>> args;
};

std::string write_chrome_trace(const std::vector<Span>& spans);

}  // namespace stretto::io
