// SPDX-License-Identifier: Apache-2.0
#include "experiment/search/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "io/file/file.hpp"
#include "io/file/sha256.hpp"
#include "io/json/reader.hpp"
#include "io/json/writer.hpp"
#include "models/plan/schedule.hpp"
#include "sim/base/version.hpp"

namespace stretto::experiment {

namespace {

using Style = json::Writer::Style;

constexpr std::string_view kFormat = "stretto-search";
constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMost = std::int64_t{1} << 62;
constexpr std::size_t kMostWalkers = 1'000;
constexpr std::size_t kMostRanks = 20'000'000;

void write_direction(json::Writer& w, const char* key, const plan::DirectionOrder& order) {
  w.key(key).begin_object(Style::Inline);
  w.member("discipline", plan::traits(order.discipline).name);
  w.member("credit", order.credit.count()).member("window", order.window);
  const auto list = [&](const std::vector<std::uint32_t>& ranks) {
    w.begin_array();
    for (const std::uint32_t rank : ranks)
      if (rank == plan::kUnranked)
        w.value(nullptr);
      else
        w.value(rank);
    w.end_array();
  };
  w.key("rank");
  list(order.rank);
  w.key("alternatives").begin_array();
  for (const auto& ranks : order.alternatives) list(ranks);
  w.end_array().end_object();
}

void write_order(json::Writer& w, const plan::Order& order) {
  write_direction(w, "pull", order.pull);
  write_direction(w, "push", order.push);
  if (order.start_offsets.empty()) return;
  w.key("start_offsets_ps").begin_array(Style::Inline);
  for (const Duration offset : order.start_offsets) w.value(offset.ps());
  w.end_array();
}

void write_cost(json::Writer& w, const char* key, Duration cost) {
  w.key(key);
  if (cost == search::kAbove)
    w.value(nullptr);
  else
    w.value(cost.ps());
}

void read_ranks(const json::Value& value, std::vector<std::uint32_t>& ranks) {
  value.elements([&](const json::Value& v) {
    if (ranks.size() >= kMostRanks) v.fatal("too many ranks");
    if (v.kind() == json::Kind::Null)
      ranks.push_back(plan::kUnranked);
    else if (const auto rank = v.integer(0, std::int64_t{plan::kUnranked} - 1))
      ranks.push_back(static_cast<std::uint32_t>(*rank));
  });
}

void read_direction(const json::Value& value, plan::DirectionOrder& order) {
  value.fields({
      {"discipline", true,
       [&](const json::Value& v) {
         const auto name = v.string();
         if (!name) return;
         const auto known = plan::find_discipline(*name);
         if (!known) return v.error("unknown discipline");
         order.discipline = *known;
       }},
      {"credit", true, [&](const json::Value& v) { order.credit = Bytes(v.integer(0, kMost).value_or(0)); }},
      {"window", true,
       [&](const json::Value& v) {
         order.window = static_cast<std::uint32_t>(v.integer(0, std::int64_t{plan::kUnranked}).value_or(0));
       }},
      {"rank", true, [&](const json::Value& v) { read_ranks(v, order.rank); }},
      {"alternatives", true,
       [&](const json::Value& v) {
         v.elements([&](const json::Value& list) { read_ranks(list, order.alternatives.emplace_back()); });
       }},
  });
}

std::vector<json::Field> order_fields(plan::Order& order) {
  return {{"pull", true, [&order](const json::Value& v) { read_direction(v, order.pull); }},
          {"push", true, [&order](const json::Value& v) { read_direction(v, order.push); }},
          {"start_offsets_ps", false, [&order](const json::Value& v) {
             v.elements([&](const json::Value& offset) {
               order.start_offsets.push_back(Duration::ps(offset.integer(0, kMost).value_or(0)));
             });
           }}};
}

Duration read_cost(const json::Value& v) {
  if (v.kind() == json::Kind::Null) return search::kAbove;
  return Duration::ps(v.integer(0, kMost).value_or(0));
}

std::uint64_t read_count(const json::Value& v) { return static_cast<std::uint64_t>(v.integer(0, kMost).value_or(0)); }

std::string read_text(const json::Value& v) { return v.string().value_or(""); }

void read_walker(const json::Value& value, search::Walker& walker) {
  std::vector<json::Field> fields = order_fields(walker.order);
  fields.push_back({"cost_ps", true, [&](const json::Value& v) { walker.cost = read_cost(v); }});
  fields.push_back({"moves", true, [&](const json::Value& v) { walker.moves = read_count(v); }});
  value.fields(fields);
}

}  // namespace

std::string search_key(const Experiment& experiment, const SearchRunOptions& options) {
  return file::sha256_hex(
      fmt::format("{}\n{} {} {}", effective_yaml(experiment), options.evaluations, options.seed, version()));
}

std::string write_checkpoint(const search::State& state, const std::string& key) {
  json::Writer w;
  w.begin_object();
  w.member("format", kFormat).member("version", kVersion).member("key", key);
  w.member("method", state.method).member("evaluations", state.evaluations).member("method_end", state.method_end);
  write_cost(w, "cost_ps", state.cost);
  w.member("found_by", state.found_by);
  write_order(w, state.best);
  w.key("starts_ps").begin_array(Style::Inline);
  for (const Duration cost : state.starts)
    if (cost == search::kAbove)
      w.value(nullptr);
    else
      w.value(cost.ps());
  w.end_array();
  w.key("bound_ps");
  if (state.bound)
    w.value(state.bound->ps());
  else
    w.value(nullptr);
  w.member("bound_name", state.bound_name).member("done", state.done);
  w.key("walkers").begin_array();
  for (const search::Walker& walker : state.walkers) {
    w.begin_object();
    write_order(w, walker.order);
    write_cost(w, "cost_ps", walker.cost);
    w.member("moves", walker.moves).end_object();
  }
  w.end_array().end_object();
  return w.finish();
}

search::State read_checkpoint(const std::string& path, const std::string& key) {
  search::State state;
  json::Document document(file::read(path), path);
  document.read([&](const json::Value& root) {
    std::vector<json::Field> fields{
        {"format", true,
         [&](const json::Value& v) {
           if (v.string().value_or(std::string(kFormat)) != kFormat) v.fatal("no checkpoint of a search");
         }},
        {"version", true,
         [&](const json::Value& v) {
           if (v.integer(1, kMost).value_or(1) > kVersion)
             v.fatal("a newer version of the format", fmt::format("this program reads version {}", kVersion));
         }},
        {"key", true,
         [&](const json::Value& v) {
           if (const auto text = v.string(); text && *text != key)
             v.fatal("the checkpoint belongs to another search",
                     "experiment, --set, --budget, --seed and the version of stretto must be the same");
         }},
        {"method", true,
         [&](const json::Value& v) { state.method = static_cast<std::uint32_t>(v.integer(0, 1'000).value_or(0)); }},
        {"evaluations", true, [&](const json::Value& v) { state.evaluations = read_count(v); }},
        {"method_end", true, [&](const json::Value& v) { state.method_end = read_count(v); }},
        {"cost_ps", true, [&](const json::Value& v) { state.cost = read_cost(v); }},
        {"found_by", true, [&](const json::Value& v) { state.found_by = read_text(v); }},
        {"starts_ps", true,
         [&](const json::Value& v) {
           v.elements([&](const json::Value& cost) { state.starts.push_back(read_cost(cost)); });
         }},
        {"bound_ps", true,
         [&](const json::Value& v) {
           if (v.kind() != json::Kind::Null) state.bound = read_cost(v);
         }},
        {"bound_name", true, [&](const json::Value& v) { state.bound_name = read_text(v); }},
        {"done", true, [&](const json::Value& v) { state.done = v.boolean().value_or(false); }},
        {"walkers", true,
         [&](const json::Value& v) {
           v.elements([&](const json::Value& walker) {
             if (state.walkers.size() >= kMostWalkers) walker.fatal("too many walkers");
             read_walker(walker, state.walkers.emplace_back());
           });
         }},
    };
    for (json::Field& field : order_fields(state.best)) fields.push_back(std::move(field));
    root.fields(fields);
  });
  return state;
}

std::string search_json(const SearchResult& r) {
  json::Writer w;
  w.begin_object();
  w.member("setup", r.setup).member("workload", r.workload).member("found_by", r.found_by).member("layout", r.layout);
  w.key("step_time_s").begin_object(Style::Inline);
  w.member("mean", r.step_s).member("ci95_low", r.ci95_low_s).member("ci95_high", r.ci95_high_s);
  w.member("replications", r.replications).end_object();
  w.member("lower_bound_s", r.bound_s.value);
  w.member("lower_bound_name", r.bound_name).member("lower_bound_reason", r.bound_s.reason);
  w.member("lower_bound_any_layout_s", r.any_layout_bound_s.value);
  w.member("gap", r.gap.value);
  w.member("optimal", r.optimal).member("evaluations", r.evaluations);
  w.member("ops", static_cast<std::uint64_t>(r.ops)).member("reduced_ops", static_cast<std::uint64_t>(r.reduced_ops));
  w.member("reproducible", r.reproducible);
  w.key("layouts").begin_array();
  for (const LayoutTried& layout : r.layouts) {
    w.begin_object(Style::Inline).member("layout", layout.layout).member("step_s", layout.step_s);
    w.end_object();
  }
  w.end_array().key("policies").begin_array();
  for (const SearchedPolicy& p : r.policies) {
    w.begin_object(Style::Inline).member("policy", p.policy).member("step_s", p.step_s).key("gain");
    if (p.gain.estimate) {
      w.begin_object(Style::Inline).member("mean", p.gain.estimate->mean).member("ci95_low", p.gain.estimate->ci95_low);
      w.member("ci95_high", p.gain.estimate->ci95_high).end_object();
    } else {
      w.value(nullptr);
    }
    w.member("reason", p.gain.reason).end_object();
  }
  w.end_array().key("proven").begin_array();
  for (const std::string& sentence : r.proven) w.value(sentence);
  w.end_array().key("not_searched").begin_array();
  for (const std::string& sentence : r.not_searched) w.value(sentence);
  w.end_array().end_object();
  return w.finish();
}

}  // namespace stretto::experiment
