// SPDX-License-Identifier: Apache-2.0
// Critical path of a traced process (a Kineto trace): the longest chain of work through host threads and device
// streams, each link of which had to wait for the one before it. Shorten what is not on it and the traced time stays.
//
// The graph has two points per call and per work, begin and end, and an edge from each point to what it lets go on:
//   call    along a host thread, from point to point of nested calls; a call that waits for the device (stream, event
//           and device synchronisation, copies) weighs nothing itself
//   gap     from the end of a call that no other contains to the next such of its thread; weighs nothing
//   launch  from the begin of the call that launched work to the begin of that work, if its stream was idle when the
//           call began, nothing else was launched on that stream until the work began, and the work of another stream
//           that it waits for (an event) had ended before the call began
//   work    from the begin of a work to its end
//   turn    from the end of the work before it on the stream to the begin of the next; weighs nothing
//   event   from the end of a work on another stream to the begin of the one that waits for it; weighs nothing
//   wait    from the end of a work to the end of the call that waits for it; weighs nothing
// Edges weigh their duration but where that is idling. The path is the chain of the largest sum; of equal ones the one
// that ends first. These are the rules of Holistic Trace Analysis (Meta; docs/reference/critical_path.md says where the
// two differ). Calls of no duration are left out.
//
// Edges that would lead back in time (clocks of host and device differ) are dropped and counted.
// Cost: O(n log n + edges). Validated: hand-made traces (tests/unit/trace_path_test.cpp), the published path and counts
// of HTA's own test traces (tests/crosscheck/trace_path_test.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/timeline/host_device.hpp"

namespace stretto::analysis {

enum class TraceLink : std::uint8_t { Call, Gap, Launch, Work, Turn, Event, Wait };
inline constexpr std::size_t kTraceLinks = 7;
std::string_view trace_link_key(TraceLink link);    // "launch", as in JSON
std::string_view trace_link_words(TraceLink link);  // for people

// A call or a work on the path.
struct TracePathItem {
  bool device = false;
  std::uint32_t index = 0;  // in HostDevice::calls or works
};

struct TracePath {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t weight_ns = 0;  // of the chain
  std::size_t points = 0;
  std::vector<TracePathItem> items;                    // each once, in order of the chain
  std::vector<std::int64_t> item_ns;                   // of each item: the time of its own links (call, work)
  std::array<std::int64_t, kTraceLinks> elapsed_ns{};  // by kind of link; sums to end - begin
  std::array<std::size_t, kTraceLinks> links{};        // how many
  std::size_t backward_edges = 0;                      // dropped
};

// Only calls that begin in [from_ns, to_ns] and what they launched count. Throws UserError if there are none.
TracePath trace_path(const timeline::HostDevice& trace, std::int64_t from_ns, std::int64_t to_ns);

// The whole trace.
TracePath trace_path(const timeline::HostDevice& trace);

}  // namespace stretto::analysis
