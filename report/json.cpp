// SPDX-License-Identifier: Apache-2.0
#include "report/json.hpp"

#include <optional>

#include "io/json/writer.hpp"
#include "report/kinds.hpp"

namespace stretto::report {

namespace {

using analysis::Estimate;
using analysis::Figure;
using analysis::Gain;
using analysis::PolicyResult;
using analysis::ResourceKind;
using analysis::Waits;
using json::Writer;

constexpr Writer::Style kInline = Writer::Style::Inline;

bool is_link(ResourceKind kind) {
  return kind != ResourceKind::Device && kind != ResourceKind::ServerThreads && kind != ResourceKind::WorkerThreads &&
         kind != ResourceKind::CopyEngine;
}

void absent(Writer& w, const std::string& key, const std::string& reason) {
  w.key(key).value(nullptr);
  w.member(key + "_reason", reason);
}

void figure(Writer& w, const std::string& key, const Figure& f) {
  if (f.value)
    w.member(key, *f.value);
  else
    absent(w, key, f.reason);
}

void gain(Writer& w, const std::string& key, const Gain& g) {
  if (!g.estimate) {
    absent(w, key, g.reason);
    absent(w, key + "_ci95", g.reason);
    return;
  }
  w.member(key, g.estimate->mean);
  w.key(key + "_ci95").begin_object(kInline);
  w.member("low", g.estimate->ci95_low).member("high", g.estimate->ci95_high).end_object();
}

void staleness(Writer& w, const analysis::Staleness& s) {
  if (!s.known) return absent(w, "staleness", s.reason);
  w.key("staleness").begin_object(kInline);
  w.member("mean", s.mean).member("max", s.max);
  w.key("histogram").begin_array(kInline);
  for (const double share : s.histogram) w.value(share);
  w.end_array().end_object();
}

void waits(Writer& w, const std::string& key, const Waits& v, bool deadlock) {
  if (deadlock) return absent(w, key, "deadlock");
  w.key(key).begin_object(kInline);
  w.member("sender_not_ready", v.sender_not_ready).member("turn", v.turn).member("service", v.service);
  w.member("wire_queue", v.wire_queue).member("wire_own", v.wire_own).member("wire_shared", v.wire_shared);
  w.end_object();
}

void step_time(Writer& w, const PolicyResult& r) {
  if (r.deadlock) {
    absent(w, "step_time_s", "deadlock");
    absent(w, "samples_per_s", "deadlock");
    return;
  }
  const Estimate& e = r.step_time.estimate;
  w.key("step_time_s").begin_object(kInline);
  w.member("mean", e.mean).member("ci95_low", e.ci95_low).member("ci95_high", e.ci95_high);
  w.member("min", r.step_time.min).member("max", r.step_time.max).member("n", r.step_time.n);
  w.member("steps", r.step_time.steps).member("trend", r.step_time.trend).end_object();
  w.member("samples_per_s", r.samples_per_s);
}

void job(Writer& w, const analysis::JobResult& j) {
  w.key("job").begin_object();
  w.member("name", j.name).member("compared", j.compared).member("start_s", j.start);
  figure(w, "alone_s", j.alone_s);
  if (j.slowdown) {
    w.key("slowdown").begin_object(kInline);
    w.member("mean", j.slowdown->mean).member("ci95_low", j.slowdown->ci95_low);
    w.member("ci95_high", j.slowdown->ci95_high).end_object();
  } else {
    absent(w, "slowdown", "deadlock");
  }
  if (j.contended.empty()) {
    absent(w, "contended", j.slowdown ? "the job shares no link with another one" : "deadlock");
  } else {
    w.key("contended").begin_object(kInline);
    w.member("name", j.contended).member("utilisation", j.contended_use);
    w.key("shares").begin_object(kInline);
    for (const analysis::JobShare& s : j.contended_by) w.member(s.job, s.share);
    w.end_object().end_object();
  }
  w.end_object();
}

void policy_result(Writer& w, const PolicyResult& r) {
  w.begin_object();
  w.member("policy", r.policy);
  if (r.job) job(w, *r.job);
  w.key("vary").begin_object(kInline);
  for (const auto& [path, value] : r.vary) w.member(path, value);
  w.end_object();
  step_time(w, r);
  figure(w, "scaling_efficiency", r.scaling_efficiency);
  gain(w, "gain_over_random", r.gain_over_random);
  gain(w, "gain_over_fifo", r.gain_over_fifo);
  figure(w, "lower_bound_s", r.lower_bound_s);
  w.member("lower_bound_name", r.lower_bound_name);
  figure(w, "lower_bound_any_layout_s", r.lower_bound_any_layout_s);
  figure(w, "gap", r.gap);
  figure(w, "ordering_efficiency", r.ordering_efficiency);
  figure(w, "speedup_limit", r.speedup_limit);
  figure(w, "straggler_effect", r.straggler_effect);
  staleness(w, r.staleness);
  figure(w, "dropped_gradients", r.dropped_gradients);
  w.key("resources").begin_array();
  for (const auto& use : r.resources) {
    w.begin_object(kInline).member("name", use.name).member("kind", kind_key(use.kind));
    w.member("utilisation", use.utilisation);
    if (is_link(use.kind)) w.member("bytes_per_step", use.bytes_per_step);
    w.end_object();
  }
  w.end_array();
  w.key("servers").begin_array();
  for (const auto& s : r.servers) {
    w.begin_object(kInline).member("name", s.name).member("bytes", s.bytes).member("transfers", s.transfers);
    w.member("largest", s.largest).member("largest_bytes", s.largest_bytes).end_object();
  }
  w.end_array();
  waits(w, "pull_waits_s", r.pull_waits, r.deadlock.has_value());
  waits(w, "push_waits_s", r.push_waits, r.deadlock.has_value());
  w.key("what_if").begin_array();
  for (const auto& c : r.what_if)
    w.begin_object(kInline)
        .member("change", c.change)
        .member("kind", kind_key(c.kind))
        .member("gain", c.gain)
        .end_object();
  w.end_array();
  if (!r.not_tried.empty()) {
    w.key("what_if_not_tried").begin_array();
    for (const auto& c : r.not_tried)
      w.begin_object(kInline).member("change", c.change).member("reason", c.reason).end_object();
    w.end_array();
  }
  w.member("verdict", r.verdict);
  if (r.deadlock)
    w.member("deadlock", *r.deadlock);
  else
    w.key("deadlock").value(nullptr).member("deadlock_reason", "the simulation ended");
  w.end_object();
}

}  // namespace

std::string json(const analysis::RunResult& result) {
  Writer w;
  w.begin_object();
  w.member("format", kResultFormat).member("version", kResultVersion);
  w.member("name", result.name).member("setup", result.setup).member("seed", result.seed);
  w.key("assumptions").begin_array();
  for (const std::string& a : result.assumptions) w.value(a);
  w.end_array();
  w.key("results").begin_array();
  for (const PolicyResult& r : result.results) policy_result(w, r);
  w.end_array();
  w.end_object();
  return w.finish();
}

}  // namespace stretto::report
