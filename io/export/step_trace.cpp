// SPDX-License-Identifier: Apache-2.0
#include "io/export/step_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace stretto::io {

namespace {
std::string microseconds(Duration d) { return fmt::format("{:.6f}", d.seconds() * 1e6); }
}  // namespace

std::vector<Span> step_spans(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                             const training::Compiled& compiled, const std::vector<program::ActivityRecord>& records) {
  Time origin = Time::never();
  for (const auto& r : records) origin = std::min(origin, r.ready);
  std::vector<Span> spans;
  for (const auto& r : records) {
    const training::Label& label = compiled.labels[r.activity];
    const bool message = label.role == training::Role::Pull || label.role == training::Role::Push;
    if (!message && label.role != training::Role::Op && label.role != training::Role::Update) continue;
    Span span;
    span.start = Time() + (r.begin - origin);
    span.end = Time() + (r.arrived - origin);
    span.process = cluster.workers[label.worker].name;
    if (label.role == training::Role::Op) {
      span.track = "device";
      span.name = graph.ops[label.item].name;
      span.end = Time() + (r.end - origin);
      span.args.emplace_back("waited for the device, us", microseconds(r.begin - r.ready));
    } else {
      const plan::Transfer& t = layout.transfers[label.item];
      span.name = graph.parameters[t.parameter.index()].name;
      if (t.slice > 0 || layout.first[t.parameter.index() + 1] - layout.first[t.parameter.index()] > 1)
        span.name += fmt::format(" slice {}", t.slice);
      span.args.emplace_back("bytes", std::to_string(t.bytes.count()));
      if (message) {
        span.track =
            fmt::format("{} server {}", label.role == training::Role::Pull ? "pulls from" : "pushes to", t.server);
        span.args.emplace_back("waited for its turn, us", microseconds(r.handed - r.ready));
        span.args.emplace_back("sender service, us", microseconds(r.on_wire - r.handed));
        span.args.emplace_back("waited for the wire, us", microseconds(r.begin - r.on_wire));
        span.args.emplace_back("receiver service, us", microseconds(r.end - r.arrived));
      } else {
        span.process = cluster.servers[t.server].name;
        span.track = "updates";
        span.end = Time() + (r.end - origin);
      }
    }
    spans.push_back(std::move(span));
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.process, a.track, a.start) < std::tie(b.process, b.track, b.start);
  });
  return spans;
}

std::string write_step_trace(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                             const training::Compiled& compiled, const std::vector<program::ActivityRecord>& records) {
  return write_chrome_trace(step_spans(graph, cluster, layout, compiled, records));
}

}  // namespace stretto::io
