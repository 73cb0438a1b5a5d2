// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace_path.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/import/kineto_calls.hpp"
#include "report/trace_path.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::analysis {
namespace {

using timeline::DeviceWait;
using timeline::DeviceWork;
using timeline::HostDevice;

std::uint32_t name(HostDevice& t, const std::string& text) {
  t.names.push_back(text);
  return static_cast<std::uint32_t>(t.names.size() - 1);
}

std::int64_t call(HostDevice& t, const std::string& text, std::int64_t from, std::int64_t to, bool waits = false,
                  std::uint32_t thread = 0) {
  t.calls.push_back({name(t, text), thread, from, to, waits});
  return static_cast<std::int64_t>(t.calls.size()) - 1;
}

std::int64_t work(HostDevice& t, const std::string& text, std::int64_t from, std::int64_t to, std::int64_t launch,
                  std::uint32_t stream = 7, std::int64_t after = -1) {
  t.works.push_back({name(t, text), stream, from, to, launch, after});
  return static_cast<std::int64_t>(t.works.size()) - 1;
}

std::vector<std::string> names(const TracePath& path, const HostDevice& t) {
  std::vector<std::string> list;
  for (const TracePathItem& i : path.items)
    list.push_back(t.names[i.device ? t.works[i.index].name : t.calls[i.index].name]);
  return list;
}

std::int64_t elapsed(const TracePath& path, TraceLink link) { return path.elapsed_ns[static_cast<std::size_t>(link)]; }

using Names = std::vector<std::string>;

// op [0, 30] with launch [10, 20]; kernel [25, 125]; sync [40, 130]; last [140, 150].
HostDevice one_kernel() {
  HostDevice t;
  call(t, "op", 0, 30);
  const std::int64_t launch = call(t, "launch", 10, 20);
  const std::int64_t sync = call(t, "sync", 40, 130, true);
  call(t, "last", 140, 150);
  work(t, "kernel", 25, 125, launch);
  t.waits.push_back({DeviceWait::Of::Stream, sync, -1, 7, 128});
  return t;
}

TEST(TracePath, ThroughTheDeviceWhereTheHostWaits) {
  const HostDevice t = one_kernel();
  const TracePath path = trace_path(t);
  EXPECT_EQ(names(path, t), (Names{"op", "launch", "kernel", "sync", "last"}));
  EXPECT_EQ(path.begin_ns, 0);
  EXPECT_EQ(path.end_ns, 150);
  EXPECT_EQ(path.weight_ns, 10 + 15 + 100 + 10);  // op, launch to begin, kernel, last
  EXPECT_EQ(elapsed(path, TraceLink::Call), 10 + 10);
  EXPECT_EQ(elapsed(path, TraceLink::Launch), 15);
  EXPECT_EQ(elapsed(path, TraceLink::Work), 100);
  EXPECT_EQ(elapsed(path, TraceLink::Wait), 5);
  EXPECT_EQ(elapsed(path, TraceLink::Gap), 10);
  EXPECT_EQ(path.item_ns, (std::vector<std::int64_t>{10, 0, 100, 0, 10}));
}

TEST(TracePath, StaysOnTheHostWhereTheKernelIsShort) {
  HostDevice t = one_kernel();
  t.works[0].end_ns = 27;
  const TracePath path = trace_path(t);
  EXPECT_EQ(names(path, t), (Names{"op", "launch", "sync", "last"}));
  EXPECT_EQ(path.weight_ns, 30 + 10);
}

TEST(TracePath, KernelsOfOneStreamTakeTurns) {
  HostDevice t;
  const std::int64_t first = call(t, "launch a", 0, 5);
  const std::int64_t second = call(t, "launch b", 8, 12);
  work(t, "a", 20, 60, first);
  work(t, "b", 65, 80, second);
  const TracePath path = trace_path(t);
  // b was launched while a was to come, and a was not alone when it began: both wait for the stream.
  EXPECT_EQ(names(path, t), (Names{"a", "b"}));
  EXPECT_EQ(path.weight_ns, 40 + 15);
  EXPECT_EQ(elapsed(path, TraceLink::Turn), 5);
}

TEST(TracePath, WorkOfAnotherStreamIsWaitedFor) {
  HostDevice t;
  const std::int64_t first = call(t, "launch a", 0, 5);
  const std::int64_t second = call(t, "launch b", 8, 12);
  const std::int64_t a = work(t, "a", 6, 60, first, 1);
  work(t, "b", 65, 80, second, 2, a);
  const TracePath path = trace_path(t);
  EXPECT_EQ(names(path, t), (Names{"launch a", "a", "b"}));
  EXPECT_EQ(elapsed(path, TraceLink::Event), 5);
  EXPECT_EQ(path.weight_ns, 6 + 54 + 15);
}

TEST(TracePath, OnlyWhatBeginsInTheSpanCounts) {
  const HostDevice t = one_kernel();
  const TracePath path = trace_path(t, 35, 1000);
  EXPECT_EQ(names(path, t), (Names{"sync", "last"}));
  EXPECT_EQ(path.weight_ns, 10);
  EXPECT_THROW(trace_path(t, 1000, 2000), UserError);
}

TEST(TracePath, ClocksThatDisagreeDropLinks) {
  HostDevice t = one_kernel();
  t.works[0].start_ns = 5;  // before its launch
  const TracePath path = trace_path(t);
  EXPECT_EQ(path.backward_edges, 1U);
  EXPECT_NE(report::trace_path_text(path, t, "t").find("1 links would lead back in time"), std::string::npos);
}

// Two threads, nested calls, a copy that waits for itself, an event and the device: from JSON to the text.
constexpr const char* kTrace = R"({"schemaVersion": 1, "traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 9, "tid": 9, "ts": 100.000, "dur": 30},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 110, "dur": 10,
  "args": {"correlation": 1}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaEventRecord", "pid": 9, "tid": 9, "ts": 131, "dur": 1,
  "args": {"correlation": 2}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaEventSynchronize", "pid": 9, "tid": 9, "ts": 133, "dur": 99,
  "args": {"correlation": 3}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::item", "pid": 9, "tid": 9, "ts": 240, "dur": 5},
 {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 9, "tid": 9, "ts": 90, "dur": 150},
 {"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 125, "dur": 100,
  "args": {"correlation": 1, "stream": 7}},
 {"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 125, "dur": 100,
  "args": {"correlation": 1, "stream": 7}},
 {"ph": "X", "cat": "kernel", "name": "alone", "pid": 0, "tid": 7, "ts": 300, "dur": 1,
  "args": {"correlation": 77, "stream": 7}},
 {"ph": "X", "cat": "cuda_sync", "name": "Event Sync", "pid": 0, "tid": 7, "ts": 133, "dur": 98,
  "args": {"correlation": 3, "stream": -1, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 2}}]})";

TEST(TracePath, FromATrace) {
  io::ImportReport report;
  const HostDevice t = io::read_kineto_calls(kTrace, "t.json", report);
  ASSERT_EQ(t.works.size(), 2U);
  ASSERT_EQ(t.waits.size(), 1U);
  EXPECT_EQ(t.annotations.size(), 1U);
  EXPECT_EQ(report.dropped,
            (std::vector<std::string>{"1 exact copies of works",
                                      "1 works whose launch is not in the trace: no path leads through them"}));
  const TracePath path = trace_path(t);
  EXPECT_EQ(names(path, t), (Names{"aten::add", "cudaLaunchKernel", "add", "cudaEventSynchronize", "aten::item"}));
  EXPECT_EQ(path.end_ns - path.begin_ns, 145'000);
  const std::string text = report::trace_path_text(path, t, "t.json");
  EXPECT_NE(text.find("takes 145.0 us, 130.0 us of it work"), std::string::npos) << text;
  const std::string json = report::trace_path_json(path, t, "t.json");
  EXPECT_NE(json.find(R"({"on": "device", "name": "add", "start_ns": 125000, "end_ns": 225000, "path_ns": 100000})"),
            std::string::npos)
      << json;
  EXPECT_THROW(io::read_kineto_calls(R"({"traceEvents": []})", "t.json", report), UserError);
}

}  // namespace
}  // namespace stretto::analysis
