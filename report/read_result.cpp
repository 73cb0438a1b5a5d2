// SPDX-License-Identifier: Apache-2.0
#include "report/read_result.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json/reader.hpp"
#include "report/json.hpp"
#include "report/kinds.hpp"

namespace stretto::report {

namespace {

using analysis::Estimate;
using analysis::Figure;
using analysis::Gain;
using analysis::PolicyResult;
using analysis::Waits;
using json::Field;
using json::Kind;
using json::Value;

void read(const Value& v, std::string& to) {
  if (auto text = v.string()) to = std::move(*text);
}

void read(const Value& v, double& to) {
  if (const auto number = v.number()) to = *number;
}

void read(const Value& v, std::int64_t& to) {
  if (const auto number = v.integer()) to = *number;
}

// All 64 bits, more than the integers of the reader.
void read(const Value& v, std::uint64_t& to) {
  const auto text = v.number_text();
  if (!text) return;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), to);
  if (error != std::errc() || end != text->data() + text->size())
    v.error("is no whole number from 0 to 18446744073709551615");
}

template <class T>
Field field(const char* key, T& to) {
  return {key, true, [&to](const Value& v) { read(v, to); }};
}

// Null, and why under the key with "_reason" behind it, or what `read_value` takes.
void add_maybe(std::vector<Field>& fields, const std::string& key, std::string& reason,
               std::function<void(const Value&)> read_value) {
  fields.push_back({key, true, [read_value = std::move(read_value)](const Value& v) {
                      if (v.kind() != Kind::Null) read_value(v);
                    }});
  fields.push_back({key + "_reason", false, [&reason](const Value& v) { read(v, reason); }});
}

void add_figure(std::vector<Field>& fields, const char* key, Figure& f) {
  add_maybe(fields, key, f.reason, [&f](const Value& v) { f.value = v.number(); });
}

void add_gain(std::vector<Field>& fields, const std::string& key, Gain& g) {
  const auto estimate = [&g]() -> Estimate& { return g.estimate ? *g.estimate : g.estimate.emplace(); };
  add_maybe(fields, key, g.reason, [estimate](const Value& v) { read(v, estimate().mean); });
  add_maybe(fields, key + "_ci95", g.reason, [estimate](const Value& v) {
    v.fields({field("low", estimate().ci95_low), field("high", estimate().ci95_high)});
  });
}

void add_waits(std::vector<Field>& fields, const char* key, Waits& w, std::string& reason) {
  add_maybe(fields, key, reason, [&w](const Value& v) {
    v.fields({field("sender_not_ready", w.sender_not_ready), field("turn", w.turn), field("service", w.service),
              field("wire_queue", w.wire_queue), field("wire_own", w.wire_own), field("wire_shared", w.wire_shared)});
  });
}

void read_step_time(const Value& v, analysis::StepTime& t) {
  v.fields({field("mean", t.estimate.mean), field("ci95_low", t.estimate.ci95_low),
            field("ci95_high", t.estimate.ci95_high), field("min", t.min), field("max", t.max), field("n", t.n),
            field("steps", t.steps), field("trend", t.trend)});
}

void read_staleness(const Value& v, analysis::Staleness& s) {
  s.known = true;
  v.fields({field("mean", s.mean), field("max", s.max), {"histogram", true, [&s](const Value& list) {
                                                           list.elements([&s](const Value& share) {
                                                             read(share, s.histogram.emplace_back());
                                                           });
                                                         }}});
}

template <class E>
void read_kind(const Value& v, E& to) {
  const auto key = v.string();
  if (!key) return;
  if (const auto kind = kind_of<E>(*key))
    to = *kind;
  else
    v.error(fmt::format("is '{}'", *key), "valid: " + kind_keys<E>());
}

void read_resource(const Value& v, analysis::ResourceUse& use) {
  v.fields({field("name", use.name),
            {"kind", true, [&](const Value& k) { read_kind(k, use.kind); }},
            field("utilisation", use.utilisation),
            {"bytes_per_step", false, [&](const Value& b) { read(b, use.bytes_per_step); }}});
}

template <class T, class F>
Field list(const char* key, std::vector<T>& to, F read_one) {
  return {key, true,
          [&to, read_one](const Value& v) { v.elements([&](const Value& e) { read_one(e, to.emplace_back()); }); }};
}

void read_job(const Value& v, analysis::JobResult& j) {
  std::string ignored;
  std::vector<Field> fields{field("name", j.name), field("compared", j.compared), field("start_s", j.start)};
  add_figure(fields, "alone_s", j.alone_s);
  add_maybe(fields, "slowdown", ignored, [&](const Value& s) {
    Estimate& e = j.slowdown.emplace();
    s.fields({field("mean", e.mean), field("ci95_low", e.ci95_low), field("ci95_high", e.ci95_high)});
  });
  add_maybe(fields, "contended", ignored, [&](const Value& c) {
    c.fields({field("name", j.contended),
              field("utilisation", j.contended_use),
              {"shares", true, [&](const Value& s) {
                 s.members([&](std::string_view job, const Value& share) {
                   j.contended_by.push_back({std::string(job), 0});
                   read(share, j.contended_by.back().share);
                 });
               }}});
  });
  v.fields(fields);
}

void read_policy(const Value& v, PolicyResult& r) {
  std::string ignored;
  std::vector<Field> fields{field("policy", r.policy), {"vary", true, [&](const Value& vary) {
                                                          vary.members([&](std::string_view key, const Value& value) {
                                                            r.vary.emplace_back(key, "");
                                                            read(value, r.vary.back().second);
                                                          });
                                                        }}};
  fields.push_back({"job", false, [&](const Value& j) { read_job(j, r.job.emplace()); }});
  add_maybe(fields, "step_time_s", ignored, [&](const Value& t) { read_step_time(t, r.step_time); });
  add_maybe(fields, "samples_per_s", ignored, [&](const Value& s) { read(s, r.samples_per_s); });
  add_figure(fields, "scaling_efficiency", r.scaling_efficiency);
  add_gain(fields, "gain_over_random", r.gain_over_random);
  add_gain(fields, "gain_over_fifo", r.gain_over_fifo);
  add_figure(fields, "lower_bound_s", r.lower_bound_s);
  fields.push_back(field("lower_bound_name", r.lower_bound_name));
  add_figure(fields, "lower_bound_any_layout_s", r.lower_bound_any_layout_s);
  add_figure(fields, "gap", r.gap);
  add_figure(fields, "ordering_efficiency", r.ordering_efficiency);
  add_figure(fields, "speedup_limit", r.speedup_limit);
  add_figure(fields, "straggler_effect", r.straggler_effect);
  add_maybe(fields, "staleness", r.staleness.reason, [&](const Value& s) { read_staleness(s, r.staleness); });
  add_figure(fields, "dropped_gradients", r.dropped_gradients);
  fields.push_back(list("resources", r.resources, read_resource));
  fields.push_back(list("servers", r.servers, [](const Value& s, analysis::ServerLoad& load) {
    s.fields({field("name", load.name), field("bytes", load.bytes), field("transfers", load.transfers),
              field("largest", load.largest), field("largest_bytes", load.largest_bytes)});
  }));
  add_waits(fields, "pull_waits_s", r.pull_waits, ignored);
  add_waits(fields, "push_waits_s", r.push_waits, ignored);
  fields.push_back(list("what_if", r.what_if, [](const Value& w, analysis::WhatIf& change) {
    w.fields({field("change", change.change),
              {"kind", true, [&](const Value& k) { read_kind(k, change.kind); }},
              field("gain", change.gain)});
  }));
  fields.push_back(list("what_if_not_tried", r.not_tried, [](const Value& w, analysis::NotTried& change) {
    w.fields({field("change", change.change), field("reason", change.reason)});
  }));
  fields.back().required = false;
  fields.push_back(field("verdict", r.verdict));
  add_maybe(fields, "deadlock", ignored, [&](const Value& d) { r.deadlock = d.string(); });
  v.fields(fields);
  if (r.servers.empty()) r.all_reduce = true;
  if (!r.deadlock && r.step_time.estimate.mean <= 0) v.error("has neither a step time nor a deadlock");
}

}  // namespace

analysis::RunResult read_result(const std::string& text, const std::string& path) {
  analysis::RunResult result;
  json::Document document(text, path);
  document.read([&](const Value& root) {
    const auto read_format = [](const Value& v) {
      const auto format = v.string();
      if (format && *format != kResultFormat)
        v.fatal(fmt::format("is '{}'", *format), fmt::format("a result says '{}'", kResultFormat));
    };
    const auto read_version = [](const Value& v) {
      const auto version = v.integer(1);
      if (version && *version > kResultVersion)
        v.fatal(fmt::format("is {}, newer than this stretto knows", *version),
                fmt::format("the newest known version is {}", kResultVersion));
    };
    root.fields({{"format", true, read_format},
                 {"version", true, read_version},
                 field("name", result.name),
                 field("setup", result.setup),
                 field("seed", result.seed),
                 list("assumptions", result.assumptions, [](const Value& v, std::string& to) { read(v, to); }),
                 list("results", result.results, read_policy)});
    if (result.results.empty()) root.error("has no results");
  });
  return result;
}

}  // namespace stretto::report
