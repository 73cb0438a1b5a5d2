// SPDX-License-Identifier: Apache-2.0
#include "io/export/step_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace stretto::io {

namespace {
std::string microseconds(Duration d) { return fmt::format("{:.6f}", d.seconds() * 1e6); }

std::string variable(const graph::Graph& graph, const plan::Layout& layout, const plan::Transfer& t) {
  const std::string& name = graph.parameters[t.parameter.index()].name;
  const bool cut = layout.first[t.parameter.index() + 1] - layout.first[t.parameter.index()] > 1;
  return t.slice > 0 || cut ? fmt::format("{} slice {}", name, t.slice) : name;
}

void sort(std::vector<Span>& spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.process, a.track, a.start) < std::tie(b.process, b.track, b.start);
  });
}

}  // namespace

Time trace_origin(const std::vector<program::ActivityRecord>& records) {
  Time origin = Time::never();
  for (const auto& r : records) origin = std::min(origin, r.ready);
  return origin;
}

std::vector<Span> step_spans(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                             const training::Compiled& compiled, const std::vector<program::ActivityRecord>& records) {
  const Time origin = trace_origin(records);
  std::vector<Span> spans;
  for (const auto& r : records) {
    const training::Label& label = compiled.labels[r.activity];
    const bool of_round = label.role == training::Role::Message;
    const bool message = label.role == training::Role::Pull || label.role == training::Role::Push || of_round;
    const bool sum = label.role == training::Role::Sum;
    if (!message && label.role != training::Role::Op && label.role != training::Role::Update && !sum) continue;
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
      span.name = variable(graph, layout, t);
      const std::int64_t bytes = of_round ? compiled.program.activities[r.activity].amount : t.bytes.count();
      span.args.emplace_back("bytes", std::to_string(bytes));
      if (message) {
        if (of_round) {
          span.track = label.part == training::Part::Gather ? "sends in all-gathers" : "sends in collectives";
          span.name += fmt::format(" round {}", label.pass);
        } else {
          span.track =
              fmt::format("{} server {}", label.role == training::Role::Pull ? "pulls from" : "pushes to", t.server);
        }
        span.args.emplace_back("waited for its turn, us", microseconds(r.handed - r.ready));
        span.args.emplace_back("sender service, us", microseconds(r.on_wire - r.handed));
        span.args.emplace_back("waited for the wire, us", microseconds(r.begin - r.on_wire));
        span.args.emplace_back("receiver service, us", microseconds(r.end - r.arrived));
      } else {
        span.process = cluster.servers[t.server].name;
        span.track = sum ? "sums" : "updates";
        span.end = Time() + (r.end - origin);
      }
    }
    spans.push_back(std::move(span));
  }
  sort(spans);
  return spans;
}

std::vector<Span> server_spans(const graph::Graph& graph, const cluster::Cluster& cluster, const plan::Layout& layout,
                               const training::Compiled& compiled,
                               const std::vector<program::ActivityRecord>& records) {
  const Time origin = trace_origin(records);
  std::vector<Span> spans;
  for (const auto& r : records) {
    const training::Label& label = compiled.labels[r.activity];
    const bool pull = label.role == training::Role::Pull;
    if (!pull && label.role != training::Role::Push) continue;
    const plan::Transfer& t = layout.transfers[label.item];
    const std::string name = variable(graph, layout, t) + (pull ? " to " : " of ") + cluster.workers[label.worker].name;
    const auto add = [&](const char* track, Time from, Time to) {
      spans.push_back(
          {cluster.servers[t.server].name, track, name, Time() + (from - origin), Time() + (to - origin), {}});
    };
    add(pull ? "NIC up" : "NIC down", r.begin, r.arrived);
    const std::uint32_t c = compiled.program.activities[r.activity].where;
    const channel::Service& service = pull ? compiled.program.send_service(c) : compiled.program.receive_service(c);
    if (service.pool == channel::kNoPool) continue;
    // The service is the end of its stage, its queue the begin.
    const Time end = pull ? r.on_wire : r.end;
    add("messages", Time() + (end - Time() - service.of(t.bytes.count())), end);
  }
  sort(spans);
  return spans;
}

}  // namespace stretto::io
