// SPDX-License-Identifier: Apache-2.0
// Critical paths of traces against those that Holistic Trace Analysis publishes with its own test traces.
#include "analysis/trace_path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>

#include "io/file/file.hpp"
#include "io/import/chrome_events.hpp"
#include "io/import/kineto_calls.hpp"
#include "tests/support/paths.hpp"

namespace stretto::analysis {
namespace {

using timeline::HostDevice;

std::string trace_file(const std::string& name) { return data_path("kineto_hta/" + name + ".json.gz"); }

// On the device, name, begin, end.
using Span = std::tuple<bool, std::string, std::int64_t, std::int64_t>;

std::multiset<Span> spans_of(const TracePath& path, const HostDevice& trace) {
  std::multiset<Span> spans;
  for (const TracePathItem& item : path.items) {
    if (item.device) {
      const timeline::DeviceWork& w = trace.works[item.index];
      spans.emplace(true, trace.names[w.name], w.start_ns, w.end_ns);
    } else {
      const timeline::HostCall& c = trace.calls[item.index];
      spans.emplace(false, trace.names[c.name], c.start_ns, c.end_ns);
    }
  }
  return spans;
}

TEST(TracePathOfHta, EveryEventOfThePublishedOverlay) {
  if (!std::filesystem::exists(trace_file("simple_add_expected_overlay"))) GTEST_SKIP() << "no kineto_hta";
  std::multiset<Span> published;
  io::ChromeReading reading;
  reading.keys = {"ph", "cat", "name", "ts", "dur", "args/critical"};
  reading.visit = [&](const std::vector<json::Cell>& e) {
    if (e[0].text != "X" || e[5].text != "1") return;
    const std::int64_t start = std::stoll(std::string(e[3].text)) * 1000;  // whole us in this file
    published.emplace(e[1].text == "kernel" || e[1].text.starts_with("gpu_"), std::string(e[2].text), start,
                      start + std::stoll(std::string(e[4].text)) * 1000);
  };
  reading.restart = [&] { published.clear(); };
  io::read_chrome_file(trace_file("simple_add_expected_overlay"), reading);
  ASSERT_EQ(published.size(), 624U);
  io::ImportReport report;
  const HostDevice trace = io::read_kineto_calls_file(trace_file("simple_add_critical_path"), report);
  const std::multiset<Span> found = spans_of(trace_path(trace), trace);
  std::multiset<Span> more;
  std::multiset<Span> less;
  std::set_difference(found.begin(), found.end(), published.begin(), published.end(), std::inserter(more, more.end()));
  std::set_difference(published.begin(), published.end(), found.begin(), found.end(), std::inserter(less, less.end()));
  for (const auto& [device, name, start, end] : more)
    ADD_FAILURE() << "not in the overlay: " << name << " at " << start;
  for (const auto& [device, name, start, end] : less) ADD_FAILURE() << "missing: " << name << " at " << start;
}

struct Published {
  const char* file;
  std::size_t points;
  std::size_t items;  // 0: not published
};

// Their tests say how many nodes the path has inside the measured forward pass, and of the first how many events.
TEST(TracePathOfHta, PublishedCounts) {
  if (!std::filesystem::exists(trace_file("alexnet_critical_path"))) GTEST_SKIP() << "no kineto_hta";
  for (const Published& p :
       {Published{"simple_add_critical_path", 315, 159}, Published{"alexnet_critical_path", 149, 0}}) {
    io::ImportReport report;
    const HostDevice trace = io::read_kineto_calls_file(trace_file(p.file), report);
    std::size_t found = 0;
    for (const timeline::Annotation& a : trace.annotations) {
      if (trace.names[a.name] != "[param|pytorch.model.alex_net|0|0|0|measure|forward]" || found++ != 1) continue;
      const TracePath path = trace_path(trace, a.start_ns, a.end_ns);
      EXPECT_EQ(path.points, p.points) << p.file;
      if (p.items > 0) {
        EXPECT_EQ(path.items.size(), p.items) << p.file;
      }
      std::int64_t sum = 0;
      for (const std::int64_t ns : path.elapsed_ns) sum += ns;
      EXPECT_EQ(sum, path.end_ns - path.begin_ns) << p.file;
    }
    EXPECT_GE(found, 2U) << p.file;
  }
}

// Work on stream 7 waits for an event that stream 20 recorded; 5606 and 5629 are the correlations that HTA names.
TEST(TracePathOfHta, EventsBetweenStreams) {
  if (!std::filesystem::exists(trace_file("alexnet_critical_path"))) GTEST_SKIP() << "no kineto_hta";
  io::ImportReport report;
  const HostDevice trace = io::read_kineto_calls_file(trace_file("alexnet_critical_path"), report);
  std::size_t found = 0;
  for (const timeline::DeviceWork& w : trace.works) {
    if (w.after < 0) continue;
    const timeline::DeviceWork& before = trace.works[static_cast<std::size_t>(w.after)];
    EXPECT_NE(before.stream, w.stream);
    if (trace.names[before.name].starts_with("void fft2d_c2r_32x32<float, false, false, 0u, false, false>") &&
        trace.names[w.name].find("elementwise_kernel") != std::string::npos)
      ++found;
  }
  EXPECT_GE(found, 1U);
  const HostDevice events = io::read_kineto_calls_file(trace_file("event_sync_multi_stream"), report);
  const auto of_work = std::count_if(events.waits.begin(), events.waits.end(), [](const timeline::DeviceWait& w) {
    return w.of == timeline::DeviceWait::Of::Work;
  });
  EXPECT_EQ(of_work, 2);
}

}  // namespace
}  // namespace stretto::analysis
