// SPDX-License-Identifier: Apache-2.0
#include "io/export/schedule.hpp"

#include "io/file/sha256.hpp"
#include "io/json/writer.hpp"
#include "models/graph/canonical.hpp"
#include "sim/base/assert.hpp"

namespace stretto::io {

namespace {

using Style = json::Writer::Style;

void write_direction(json::Writer& w, const plan::DirectionOrder& order) {
  w.begin_object();
  w.member("discipline", plan::traits(order.discipline).name);
  if (plan::has_credit(order.discipline)) w.member("credit_bytes", order.credit.count());
  if (plan::has_window(order.discipline)) w.member("window", order.window);
  if (!order.alternatives.empty()) {
    w.key("alternatives").begin_array();
    for (const auto& ranks : order.alternatives) {
      w.begin_array(Style::Inline);
      for (const std::uint32_t rank : ranks)
        if (rank == plan::kUnranked)
          w.value(nullptr);
        else
          w.value(rank);
      w.end_array();
    }
    w.end_array();
  }
  w.end_object();
}

void write_rank(json::Writer& w, const char* key, const plan::DirectionOrder& order, std::uint32_t transfer) {
  if (!order.rank.empty() && order.rank[transfer] != plan::kUnranked) w.member(key, order.rank[transfer]);
}

void write_prediction(json::Writer& w, const plan::Prediction& p) {
  w.begin_object(Style::Inline);
  w.member("mean_s", p.mean_s).member("ci95_low_s", p.ci95_low_s).member("ci95_high_s", p.ci95_high_s);
  w.member("replications", p.replications);
  if (p.lower_bound_s) w.member("lower_bound_s", *p.lower_bound_s);
  w.end_object();
}

}  // namespace

std::string write_schedule(const graph::Graph& graph, const plan::Schedule& schedule) {
  const plan::Layout& layout = schedule.plan.layout;
  const plan::Order& order = schedule.plan.order;
  STRETTO_ASSERT(layout.first.size() == graph.parameters.size() + 1, "layout of {} parameters for a graph of {}",
                 layout.first.size(), graph.parameters.size());
  json::Writer w;
  w.begin_object();
  const bool all_reduce = !layout.bucket.empty();
  w.member("format", "stretto-schedule").member("version", all_reduce ? 3 : 2);
  w.key("workload").begin_object(Style::Inline);
  w.member("name", schedule.workload).member("sha256", file::sha256_hex(graph::canonical_text(graph)));
  w.end_object();
  w.member("policy", schedule.plan.policy).member("found_by", schedule.found_by);
  if (schedule.prediction) {
    w.key("prediction");
    write_prediction(w, *schedule.prediction);
  }
  if (all_reduce)
    w.member("exchange", "all_reduce").member("split", layout.split);
  else
    w.member("servers", layout.servers);
  w.key("pull");
  write_direction(w, order.pull);
  w.key("push");
  write_direction(w, order.push);
  if (!order.start_offsets.empty()) {
    w.key("start_offsets_ps").begin_array(Style::Inline);
    for (const Duration offset : order.start_offsets) w.value(offset.ps());
    w.end_array();
  }
  w.key("parameters").begin_array();
  for (std::size_t p = 0; p < graph.parameters.size(); ++p) {
    w.begin_object(Style::Inline);
    w.member("name", graph.parameters[p].name).member("bytes", graph.parameters[p].bytes.count());
    w.key("slices").begin_array();
    for (std::uint32_t t = layout.first[p]; t < layout.first[p + 1]; ++t) {
      w.begin_object();
      w.member("bytes", layout.transfers[t].bytes.count());
      if (!all_reduce)
        w.member("server", layout.transfers[t].server);
      else if (layout.bucket[t] != plan::kUnranked)
        w.member("bucket", layout.bucket[t]);
      write_rank(w, "pull", order.pull, t);
      write_rank(w, "push", order.push, t);
      w.end_object();
    }
    w.end_array().end_object();
  }
  w.end_array().end_object();
  return w.finish();
}

}  // namespace stretto::io
