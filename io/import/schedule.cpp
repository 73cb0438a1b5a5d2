// SPDX-License-Identifier: Apache-2.0
#include "io/import/schedule.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "io/file/file.hpp"
#include "io/file/sha256.hpp"
#include "io/json/reader.hpp"
#include "models/graph/canonical.hpp"
#include "models/plan/fusion.hpp"

namespace stretto::io {

namespace {

constexpr std::int64_t kMostSlices = 20'000'000;
constexpr std::int64_t kMostServers = 1'000'000;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMostWindow = 1'000'000'000;
constexpr std::int64_t kMostWorkers = 1'000'000;
constexpr std::int64_t kMostOffset = 1'000'000'000'000'000'000;  // ps
constexpr std::size_t kMostDifferences = 10;

struct RawSlice {
  std::int64_t bytes = 1;
  std::optional<std::int64_t> server;
  std::uint32_t bucket = plan::kUnranked;
  std::uint32_t pull = plan::kUnranked;
  std::uint32_t push = plan::kUnranked;
  json::Place place;
};

struct RawParameter {
  std::string name;
  std::int64_t bytes = 1;
  std::vector<RawSlice> slices;
  json::Place place;
};

struct RawSchedule {
  plan::Schedule schedule;
  std::string sha256;
  std::int64_t version = kScheduleVersion;
  std::optional<std::int64_t> servers;
  bool all_reduce = false;
  bool split = false;
  json::Place version_place;
  json::Place servers_place;
  json::Place offsets_place;
  std::vector<RawParameter> parameters;
  std::size_t slices = 0;
};

void read_text(const json::Value& value, std::string& out) {
  if (auto text = value.string()) out = std::move(*text);
}

void read_rank(const json::Value& value, std::uint32_t& rank) {
  if (const auto v = value.integer(0, std::int64_t{plan::kUnranked} - 1)) rank = static_cast<std::uint32_t>(*v);
}

void read_seconds(const json::Value& value, double& out) {
  const auto number = value.number();
  if (number && *number < 0)
    value.error("must not be negative");
  else if (number)
    out = *number;
}

void read_discipline(const json::Value& value, plan::Discipline& out) {
  const auto text = value.string();
  if (!text) return;
  if (const auto known = plan::find_discipline(*text)) {
    out = *known;
    return;
  }
  std::vector<std::string> names;
  for (const plan::DisciplineTraits& d : plan::kDisciplines) names.emplace_back(d.name);
  value.error(fmt::format("there is no discipline \"{}\"", *text), name_hint(*text, names));
}

void read_alternatives(const json::Value& value, std::vector<std::vector<std::uint32_t>>& alternatives) {
  value.elements([&](const json::Value& list) {
    std::vector<std::uint32_t>& ranks = alternatives.emplace_back();
    list.elements([&](const json::Value& v) {
      ranks.push_back(plan::kUnranked);
      if (v.kind() != json::Kind::Null) read_rank(v, ranks.back());
    });
  });
}

void read_direction(const json::Value& value, plan::DirectionOrder& order) {
  using plan::Discipline;
  std::int64_t credit = 0;
  std::int64_t window = 0;
  const auto positive = [](std::int64_t most, std::int64_t& out) {
    return [most, &out](const json::Value& v) { out = v.integer(1, most).value_or(1); };
  };
  value.fields({
      {"discipline", true, [&](const json::Value& v) { read_discipline(v, order.discipline); }},
      {"credit_bytes", false, positive(kMostBytes, credit)},
      {"window", false, positive(kMostWindow, window)},
      {"alternatives", false, [&](const json::Value& v) { read_alternatives(v, order.alternatives); }},
  });
  const bool windowed = plan::has_window(order.discipline);
  if (plan::has_credit(order.discipline) != (credit > 0))
    value.error("credit_bytes belongs to the disciplines credit and credit_skip, and to them alone");
  if (windowed != (window > 0))
    value.error("window belongs to the disciplines window and chain_window, and to them alone");
  if (!order.alternatives.empty() && order.discipline != Discipline::Unordered)
    value.error("alternatives belong to the discipline unordered");
  order.credit = Bytes(credit);
  order.window = static_cast<std::uint32_t>(window);
}

void read_prediction(const json::Value& value, plan::Prediction& p) {
  value.fields({
      {"mean_s", true, [&](const json::Value& v) { read_seconds(v, p.mean_s); }},
      {"ci95_low_s", true, [&](const json::Value& v) { read_seconds(v, p.ci95_low_s); }},
      {"ci95_high_s", true, [&](const json::Value& v) { read_seconds(v, p.ci95_high_s); }},
      {"replications", true,
       [&](const json::Value& v) { p.replications = static_cast<std::uint64_t>(v.integer(1).value_or(1)); }},
      {"lower_bound_s", false, [&](const json::Value& v) { read_seconds(v, p.lower_bound_s.emplace()); }},
  });
}

void read_slice(const json::Value& value, RawSlice& slice) {
  slice.place = value.place();
  value.fields({
      {"bytes", true, [&](const json::Value& v) { slice.bytes = v.integer(1, kMostBytes).value_or(1); }},
      {"server", false, [&](const json::Value& v) { slice.server = v.integer(0, kMostServers).value_or(0); }},
      {"bucket", false, [&](const json::Value& v) { read_rank(v, slice.bucket); }},
      {"pull", false, [&](const json::Value& v) { read_rank(v, slice.pull); }},
      {"push", false, [&](const json::Value& v) { read_rank(v, slice.push); }},
  });
}

void read_parameter(const json::Value& value, RawSchedule& raw) {
  RawParameter& p = raw.parameters.emplace_back();
  p.place = value.place();
  value.fields({
      {"name", true, [&](const json::Value& v) { read_text(v, p.name); }},
      {"bytes", true, [&](const json::Value& v) { p.bytes = v.integer(1, kMostBytes).value_or(1); }},
      {"slices", true,
       [&](const json::Value& v) {
         v.elements([&](const json::Value& slice) {
           if (++raw.slices > kMostSlices) slice.fatal(fmt::format("more than {} slices", kMostSlices));
           read_slice(slice, p.slices.emplace_back());
         });
       }},
  });
}

void read_offsets(const json::Value& value, RawSchedule& raw) {
  raw.offsets_place = value.place();
  std::vector<Duration>& offsets = raw.schedule.plan.order.start_offsets;
  value.elements([&](const json::Value& v) {
    if (offsets.size() >= kMostWorkers) v.fatal(fmt::format("more than {} workers", kMostWorkers));
    offsets.push_back(Duration::ps(v.integer(0, kMostOffset).value_or(0)));
  });
  if (offsets.empty()) value.error("names no worker");
}

void read_root(const json::Value& root, RawSchedule& raw) {
  plan::Schedule& s = raw.schedule;
  root.fields({
      {"format", true,
       [](const json::Value& v) {
         const auto text = v.string();
         if (text && *text != kScheduleFormat) v.fatal(fmt::format("must be \"{}\"", kScheduleFormat));
       }},
      {"version", true,
       [&](const json::Value& v) {
         const auto version = v.integer(1);
         raw.version = version.value_or(kScheduleVersion);
         raw.version_place = v.place();
         if (version && *version > kScheduleVersion)
           v.fatal(
               fmt::format("version {} is newer than this program, which reads up to {}", *version, kScheduleVersion),
               "use a newer stretto");
       }},
      {"workload", true,
       [&](const json::Value& v) {
         v.fields({{"name", true, [&](const json::Value& name) { read_text(name, s.workload); }},
                   {"sha256", true, [&](const json::Value& hash) { read_text(hash, raw.sha256); }}});
       }},
      {"policy", true, [&](const json::Value& v) { read_text(v, s.plan.policy); }},
      {"found_by", true, [&](const json::Value& v) { read_text(v, s.found_by); }},
      {"prediction", false, [&](const json::Value& v) { read_prediction(v, s.prediction.emplace()); }},
      {"exchange", false,
       [&](const json::Value& v) {
         const auto text = v.string();
         raw.all_reduce = text && *text == "all_reduce";
         if (text && !raw.all_reduce) v.error("must be \"all_reduce\"", "leave it out for parameter servers");
       }},
      {"split", false, [&](const json::Value& v) { raw.split = v.boolean().value_or(false); }},
      {"servers", false,
       [&](const json::Value& v) {
         raw.servers_place = v.place();
         raw.servers = v.integer(1, kMostServers).value_or(1);
       }},
      {"pull", true, [&](const json::Value& v) { read_direction(v, s.plan.order.pull); }},
      {"push", true, [&](const json::Value& v) { read_direction(v, s.plan.order.push); }},
      {"start_offsets_ps", false, [&](const json::Value& v) { read_offsets(v, raw); }},
      {"parameters", true,
       [&](const json::Value& v) { v.elements([&](const json::Value& p) { read_parameter(p, raw); }); }},
  });
}

// What the schedule says that cannot be, whatever the workload.
void check(json::Document& document, const RawSchedule& raw) {
  const plan::Order& order = raw.schedule.plan.order;
  const bool new_discipline =
      order.pull.discipline == plan::Discipline::CreditSkip || order.push.discipline == plan::Discipline::CreditSkip;
  if (raw.version < 2 && (new_discipline || !order.start_offsets.empty()))
    document.error(raw.version_place, "version", "version 1 knows neither credit_skip nor start_offsets_ps",
                   "\"version\": 2");
  if (raw.all_reduce && raw.version < 3)
    document.error(raw.version_place, "version", "before version 3 there is no all-reduce", "\"version\": 3");
  if (raw.all_reduce == raw.servers.has_value())
    document.error(raw.version_place, "servers",
                   raw.all_reduce ? "all-reduce has no servers" : "is missing: the number of servers",
                   raw.all_reduce ? "leave it out" : "\"servers\": 1, or \"exchange\": \"all_reduce\"");
  if (raw.split && !raw.all_reduce)
    document.error(raw.version_place, "split", "belongs to all-reduce", "\"exchange\": \"all_reduce\"");
  const auto ranks = [](const plan::DirectionOrder& o) {
    return o.discipline != plan::Discipline::Free && o.discipline != plan::Discipline::Unordered;
  };
  for (std::size_t i = 0; i < raw.parameters.size(); ++i) {
    const RawParameter& p = raw.parameters[i];
    const std::string key = fmt::format("parameters[{}]", i);
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < p.slices.size(); ++k) {
      const RawSlice& slice = p.slices[k];
      const std::string slice_key = fmt::format("{}.slices[{}]", key, k);
      sum += slice.bytes;
      if (sum > p.bytes) break;
      if (raw.servers && !slice.server)
        document.error(slice.place, slice_key + ".server", "is missing");
      else if (raw.servers && *slice.server >= *raw.servers)
        document.error(slice.place, slice_key + ".server", fmt::format("there is no server {}", *slice.server),
                       fmt::format("valid: 0 to {}", *raw.servers - 1));
      if (raw.all_reduce && slice.server)
        document.error(slice.place, slice_key + ".server", "all-reduce has no servers");
      if (!raw.all_reduce && slice.bucket != plan::kUnranked)
        document.error(slice.place, slice_key + ".bucket", "belongs to all-reduce", "\"exchange\": \"all_reduce\"");
      if ((slice.pull != plan::kUnranked && !ranks(order.pull)) ||
          (slice.push != plan::kUnranked && !ranks(order.push)))
        document.error(slice.place, slice_key, "has a rank, but the discipline of its direction knows none");
      const auto too_large = [&](const plan::DirectionOrder& o, std::uint32_t rank) {
        return o.discipline == plan::Discipline::CreditSkip && rank != plan::kUnranked &&
               slice.bytes > o.credit.count();
      };
      if (too_large(order.pull, slice.pull) || too_large(order.push, slice.push))
        document.error(slice.place, slice_key + ".bytes", "more than the credit of credit_skip: it could never go");
    }
    if (sum != p.bytes)
      document.error(p.place, key + ".slices", fmt::format("do not add up to the {} bytes of the parameter", p.bytes));
  }
  if (!order.pull.alternatives.empty() && !order.push.alternatives.empty())
    document.error(raw.servers_place, "push.alternatives", "only one direction can have alternatives");
  for (const auto* direction : {&order.pull, &order.push})
    for (const auto& alternative : direction->alternatives)
      if (alternative.size() != raw.slices)
        return document.error(raw.servers_place, direction == &order.pull ? "pull.alternatives" : "push.alternatives",
                              fmt::format("{} ranks for {} slices", alternative.size(), raw.slices));
}

using Index = std::map<std::string_view, std::size_t>;

[[noreturn]] void refuse(const RawSchedule& raw, const std::string& path, const graph::Graph& graph,
                         std::vector<std::string> differences, std::size_t count) {
  std::string hint;
  for (const std::string& d : differences) hint += (hint.empty() ? "" : "; ") + d;
  if (count > differences.size()) hint += fmt::format("; and {} more", count - differences.size());
  throw UserError(
      {{Severity::Error,
        {path, 0, 0, 1, ""},
        "workload",
        fmt::format("the schedule was made for another workload ('{}') than '{}'", raw.schedule.workload, graph.name),
        std::move(hint)}});
}

// Refuses the schedule if it belongs to another workload.
void check_workload(const RawSchedule& raw, const std::string& path, const graph::Graph& graph, const Index& index) {
  std::vector<std::string> differences;
  std::size_t count = 0;
  const auto differ = [&](std::string text) {
    if (count++ < kMostDifferences) differences.push_back(std::move(text));
  };
  Index known;
  for (const graph::Parameter& p : graph.parameters) {
    known.emplace(p.name, 0);
    const auto at = index.find(p.name);
    if (at == index.end())
      differ(fmt::format("the schedule lacks '{}'", p.name));
    else if (const std::int64_t bytes = raw.parameters[at->second].bytes; bytes != p.bytes.count())
      differ(fmt::format("'{}' has {} bytes there and {} here", p.name, bytes, p.bytes.count()));
  }
  for (const RawParameter& p : raw.parameters)
    if (known.find(p.name) == known.end()) differ(fmt::format("the workload lacks '{}'", p.name));
  if (count > 0) refuse(raw, path, graph, std::move(differences), count);
  if (raw.sha256 != file::sha256_hex(graph::canonical_text(graph)))
    refuse(raw, path, graph,
           {"the parameters are the same, but ops, gradients or the order of parameters differ: another version, mode, "
            "batch of transforms or freezing of the model"},
           1);
}

// Every gradient is in a bucket, and nothing else is.
void check_buckets(const RawSchedule& raw, const std::string& path, const graph::Graph& graph, const Index& index) {
  for (const graph::Parameter& p : graph.parameters) {
    const std::vector<RawSlice>& slices = raw.parameters[index.at(p.name)].slices;
    for (std::size_t k = 0; k < slices.size(); ++k)
      if ((slices[k].bucket != plan::kUnranked) != p.gradient.valid())
        throw UserError({{Severity::Error,
                          {path, 0, 0, 1, ""},
                          fmt::format("parameters.{}.slices[{}].bucket", p.name, k),
                          p.gradient.valid() ? "is missing: the parameter has a gradient"
                                             : "the parameter has no gradient, so that it is in no bucket",
                          ""}});
  }
}

// Moves the slices into the layout, parameters in the order of the graph.
void fill(RawSchedule& raw, const graph::Graph& graph, const Index& index) {
  plan::Plan& plan = raw.schedule.plan;
  std::vector<std::size_t> first(raw.parameters.size() + 1, 0);  // slices by place in the file
  for (std::size_t i = 0; i < raw.parameters.size(); ++i) first[i + 1] = first[i] + raw.parameters[i].slices.size();
  std::vector<std::size_t> origin;
  std::vector<std::uint32_t> pull;
  std::vector<std::uint32_t> push;
  plan.layout.servers = static_cast<std::uint32_t>(raw.servers.value_or(1));
  plan.layout.split = raw.split;
  plan.layout.first.push_back(0);
  for (std::size_t p = 0; p < graph.parameters.size(); ++p) {
    const std::size_t at = index.at(graph.parameters[p].name);
    const std::vector<RawSlice>& slices = raw.parameters[at].slices;
    for (std::size_t k = 0; k < slices.size(); ++k) {
      plan.layout.transfers.push_back({graph::ParameterId(p), static_cast<std::uint32_t>(k), Bytes(slices[k].bytes),
                                       static_cast<std::uint32_t>(slices[k].server.value_or(0))});
      if (raw.all_reduce) plan.layout.bucket.push_back(slices[k].bucket);
      pull.push_back(slices[k].pull);
      push.push_back(slices[k].push);
      origin.push_back(first[at] + k);
    }
    plan.layout.first.push_back(static_cast<std::uint32_t>(plan.layout.transfers.size()));
  }
  const auto finish = [&](plan::DirectionOrder& order, std::vector<std::uint32_t> rank) {
    if (order.discipline != plan::Discipline::Free && order.discipline != plan::Discipline::Unordered)
      order.rank = std::move(rank);
    for (auto& alternative : order.alternatives) {
      std::vector<std::uint32_t> moved(alternative.size());
      for (std::size_t t = 0; t < moved.size(); ++t) moved[t] = alternative[origin[t]];
      alternative = std::move(moved);
    }
  };
  finish(plan.order.pull, std::move(pull));
  finish(plan.order.push, std::move(push));
}

// What the file says; `index` finds its parameters by name.
RawSchedule parse_raw(const std::string& text, const std::string& path, Index& index) {
  RawSchedule raw;
  json::Document document(text, path);
  document.read([&](const json::Value& root) {
    read_root(root, raw);
    check(document, raw);
    for (std::size_t i = 0; i < raw.parameters.size(); ++i)
      if (!index.emplace(raw.parameters[i].name, i).second)
        document.error(raw.parameters[i].place, fmt::format("parameters[{}].name", i),
                       fmt::format("\"{}\" is named twice", raw.parameters[i].name));
  });
  return raw;
}

}  // namespace

plan::Schedule parse_schedule(const std::string& text, const std::string& path, const graph::Graph& graph,
                              Processes there) {
  Index index;
  RawSchedule raw = parse_raw(text, path, index);
  check_workload(raw, path, graph, index);
  if (raw.all_reduce != (there.servers == 0))
    throw UserError(
        {{Severity::Error, file::span_at(text, path, raw.version_place.offset, raw.version_place.length), "exchange",
          fmt::format("the schedule is for {}", raw.all_reduce ? "all-reduce" : "parameter servers"),
          fmt::format("training.exchange: {}", raw.all_reduce ? "all_reduce" : "parameter_server")}});
  if (raw.servers && *raw.servers != there.servers)
    throw UserError(
        {{Severity::Error, file::span_at(text, path, raw.servers_place.offset, raw.servers_place.length), "servers",
          fmt::format("the schedule is for {} server{}, and there {} {}", *raw.servers, *raw.servers == 1 ? "" : "s",
                      there.servers == 1 ? "is" : "are", there.servers),
          fmt::format("set cluster.servers.count to {}", *raw.servers)}});
  if (const std::size_t n = raw.schedule.plan.order.start_offsets.size(); n != 0 && n != there.workers)
    throw UserError({{Severity::Error, file::span_at(text, path, raw.offsets_place.offset, raw.offsets_place.length),
                      "start_offsets_ps",
                      fmt::format("the schedule is for {} worker{}, and there {} {}", n, n == 1 ? "" : "s",
                                  there.workers == 1 ? "is" : "are", there.workers),
                      fmt::format("set cluster.workers.count to {}", n)}});
  if (raw.all_reduce) check_buckets(raw, path, graph, index);
  fill(raw, graph, index);
  // Numbered anew by readiness, whatever the numbers of the file are.
  if (plan::Layout& layout = raw.schedule.plan.layout; raw.all_reduce)
    plan::group(graph, layout, std::vector<std::uint32_t>(layout.bucket));
  return std::move(raw.schedule);
}

plan::Schedule read_schedule(const std::string& path, const graph::Graph& graph, Processes there) {
  return parse_schedule(read_schedule_text(path), path, graph, there);
}

plan::StatedSchedule parse_stated_schedule(const std::string& text, const std::string& path) {
  RawSchedule raw;
  json::Document document(text, path);
  document.read([&](const json::Value& root) { read_root(root, raw); });
  plan::StatedSchedule stated{
      std::move(raw.schedule), std::move(raw.sha256), raw.servers.value_or(0), {}, raw.all_reduce};
  for (RawParameter& p : raw.parameters) {
    plan::StatedParameter& parameter = stated.parameters.emplace_back();
    parameter.name = std::move(p.name);
    parameter.bytes = p.bytes;
    for (const RawSlice& slice : p.slices)
      parameter.slices.push_back({slice.bytes, slice.server.value_or(-1), slice.pull, slice.push, slice.bucket});
  }
  return stated;
}

ScheduleAlone parse_schedule_alone(const std::string& text, const std::string& path) {
  Index index;
  RawSchedule raw = parse_raw(text, path, index);
  if (raw.all_reduce)
    throw UserError({{Severity::Error,
                      {path, 0, 0, 1, ""},
                      "exchange",
                      "a schedule for all-reduce has no meaning without its workload",
                      "give the experiment"}});
  ScheduleAlone alone;
  alone.parameters.name = raw.schedule.workload;
  for (const RawParameter& p : raw.parameters)
    alone.parameters.parameters.push_back({p.name, Bytes(p.bytes), true, {}});
  fill(raw, alone.parameters, index);
  alone.schedule = std::move(raw.schedule);
  return alone;
}

std::string read_schedule_text(const std::string& path) {
  file::Limits limits;
  limits.max_bytes = std::size_t{256} << 20;
  return file::read(path, limits);
}

}  // namespace stretto::io
