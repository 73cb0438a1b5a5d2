// SPDX-License-Identifier: Apache-2.0
#include "validation/measurement.hpp"

#include "io/file/file.hpp"
#include "io/json/reader.hpp"

namespace stretto::validation {

namespace {

constexpr std::int64_t kVersion = 1;

void read_text(const json::Value& v, std::string& into) {
  if (const auto text = v.string()) into = *text;
}

void read_time(const json::Value& v, double& into) {
  const auto number = v.number();
  if (!number) return;
  if (*number < 0 || *number > 1e9) v.error("is no time in ms");
  into = *number;
}

// An array of exactly the given readers.
void read_tuple(const json::Value& v, const std::vector<std::function<void(const json::Value&)>>& readers) {
  std::size_t i = 0;
  v.elements([&](const json::Value& entry) {
    if (i < readers.size()) readers[i](entry);
    ++i;
  });
  if (i != readers.size()) v.error("has the wrong number of values");
}

void read_arrivals(const json::Value& v, std::vector<Arrival>& into) {
  v.elements([&](const json::Value& entry) {
    Arrival arrival;
    read_tuple(entry, {[&](const json::Value& e) {
                         if (const auto t = e.integer(0, 1 << 30)) arrival.transfer = static_cast<std::uint32_t>(*t);
                       },
                       [&](const json::Value& e) { read_time(e, arrival.ms); }});
    into.push_back(arrival);
  });
}

WorkerStep read_step(const json::Value& v) {
  WorkerStep step;
  v.fields({{"step_ms", true, [&](const json::Value& e) { read_time(e, step.step_ms); }},
            {"start_ms", true, [&](const json::Value& e) { read_time(e, step.start_ms); }},
            {"inversions", true,
             [&](const json::Value& e) {
               if (const auto n = e.integer(0)) step.inversions = *n;
             }},
            {"pull_arrival_ms", true, [&](const json::Value& e) { read_arrivals(e, step.pulls); }},
            {"push_arrival_ms", true, [&](const json::Value& e) { read_arrivals(e, step.pushes); }},
            {"compute_ms", true, [&](const json::Value& e) {
               e.elements([&](const json::Value& entry) {
                 OpTime op;
                 read_tuple(entry, {[&](const json::Value& x) { read_text(x, op.op); },
                                    [&](const json::Value& x) { read_time(x, op.start_ms); },
                                    [&](const json::Value& x) { read_time(x, op.end_ms); }});
                 step.ops.push_back(std::move(op));
               });
             }}});
  return step;
}

void read_members(const json::Value& v, const std::vector<json::Field>& wanted) {
  std::vector<bool> found(wanted.size());
  v.members([&](std::string_view key, const json::Value& value) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].key != key) continue;
      wanted[i].read(value);
      found[i] = true;
    }
  });
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i].required && !found[i]) v.error("'" + wanted[i].key + "' is missing");
}

Cell read_cell(const json::Value& v) {
  Cell cell;
  std::size_t workers = 0;
  const auto read_load = [&](const json::Value& load) {
    read_members(load,
                 {{"own_cores", true, [&](const json::Value& e) { cell.own_cores = e.number().value_or(0); }},
                  {"other_cores", true, [&](const json::Value& e) { cell.other_cores = e.number().value_or(0); }}});
  };
  const auto read_summary = [&](const json::Value& summary) {
    read_members(summary, {{"pairs", true, [&](const json::Value& e) { cell.pairs = e.integer(0).value_or(0); }}});
  };
  const auto read_steps = [&](const json::Value& steps) {
    steps.elements([&](const json::Value& entry) {
      cell.steps.emplace_back();
      entry.elements([&](const json::Value& worker) { cell.steps.back().push_back(read_step(worker)); });
      if (cell.steps.size() == 1) workers = cell.steps.back().size();
      if (cell.steps.back().empty() || cell.steps.back().size() != workers)
        entry.error("has another number of workers");
    });
    if (cell.steps.empty()) steps.error("there are no steps");
  };
  read_members(v, {{"policy", true, [&](const json::Value& e) { read_text(e, cell.policy); }},
                   {"load", true, read_load},
                   {"summary", true, read_summary},
                   {"steps", true, read_steps}});
  return cell;
}

}  // namespace

Measurement parse_measurement(const std::string& text, const std::string& path) {
  Measurement m;
  json::Document document(text, path);
  document.read([&](const json::Value& root) {
    read_members(
        root, {{"format", true,
                [&](const json::Value& v) {
                  if (v.string().value_or("") != "stretto-measurement") v.fatal("is not 'stretto-measurement'");
                }},
               {"version", true,
                [&](const json::Value& v) {
                  if (v.integer().value_or(0) != kVersion) v.fatal("is not 1, the version that this program reads");
                }},
               {"name", true, [&](const json::Value& v) { read_text(v, m.name); }},
               {"tensorflow", true, [&](const json::Value& v) { read_text(v, m.tensorflow); }},
               {"network", true,
                [&](const json::Value& v) {
                  read_members(v, {{"kind", true, [&](const json::Value& e) { read_text(e, m.network); }},
                                   {"reason", false, [&](const json::Value& e) { read_text(e, m.reason); }}});
                }},
               {"machine", true,
                [&](const json::Value& v) {
                  read_members(v, {{"cores", true, [&](const json::Value& e) { m.cores = e.integer(1).value_or(1); }}});
                }},
               {"cells", true, [&](const json::Value& v) {
                  v.elements([&](const json::Value& e) { m.cells.push_back(read_cell(e)); });
                }}});
  });
  return m;
}

Measurement read_measurement(const std::string& path) { return parse_measurement(file::read(path), path); }

}  // namespace stretto::validation
