// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/pick_sweep.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/join.hpp"
#include "study/export.hpp"
#include "study/store.hpp"

namespace stretto::app {

namespace {

using study::Store;
using study::StoredPoint;
using study::SweepInfo;

constexpr std::size_t kWidth = 100;
constexpr std::size_t kShownFailures = 10;

struct Action {
  const char* name;
  const char* words;  // that follow it
};
constexpr Action kActions[] = {{"list", "STORE"},       {"show", "STORE"},         {"compare", "STORE"},
                               {"export", "csv STORE"}, {"merge", "INTO FROM..."}, {"gc", "STORE"}};

std::string usage() {
  std::vector<std::string> all;
  for (const Action& action : kActions) all.push_back(fmt::format("{} {}", action.name, action.words));
  return "results " + join(all);
}

std::size_t column(const std::string& name) {
  const auto& names = study::figure_names();
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::string milliseconds(double seconds) { return fmt::format("{:.4g} ms", 1e3 * seconds); }
std::string percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

report::Cell cell(std::string text) { return {std::move(text), ""}; }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::string list(Store& store) {
  report::Table table{{{"number"},
                       {"sweep", report::Align::Left},
                       {"points"},
                       {"done"},
                       {"deadlock"},
                       {"failed"},
                       {"version", report::Align::Left},
                       {"hash", report::Align::Left}},
                      {}};
  for (const SweepInfo& s : store.sweeps()) {
    const Store::Counts c = store.counts(s.id);
    table.rows.push_back({cell(std::to_string(s.id)), cell(escape_control(s.name)), cell(std::to_string(s.size)),
                          cell(std::to_string(c.done)), cell(std::to_string(c.deadlock)),
                          cell(std::to_string(c.failed)), cell(escape_control(s.version)), cell(s.hash.substr(0, 12))});
  }
  return table.rows.empty() ? "The store is empty.\n" : report::render(table, kWidth);
}

// Policies in the order in which they first appear.
struct PolicyFigures {
  std::string policy;
  std::vector<double> steps;
  std::vector<double> gains;
};

std::string show(Store& store, const SweepInfo& sweep) {
  const std::size_t step = column("step_time_s");
  const std::size_t gain = column("gain_over_fifo");
  std::vector<PolicyFigures> policies;
  std::vector<std::string> failures;
  std::size_t bad = 0;
  store.each_point(sweep.id, [&](const StoredPoint& p) {
    for (const study::StoredResult& r : p.results) {
      auto at = std::find_if(policies.begin(), policies.end(), [&](const auto& f) { return f.policy == r.policy; });
      if (at == policies.end()) at = policies.insert(policies.end(), {r.policy, {}, {}});
      if (r.figures[step]) at->steps.push_back(*r.figures[step]);
      if (r.figures[gain]) at->gains.push_back(*r.figures[gain]);
    }
    if (p.status == study::PointStatus::Done || ++bad > kShownFailures) return;
    std::string where;
    for (std::size_t i = 0; i < sweep.paths.size() && i < p.values.size(); ++i)
      where += (where.empty() ? "" : ", ") + sweep.paths[i] + " = " + p.values[i];
    std::string why = p.error.substr(0, p.error.find('\n'));
    for (const study::StoredResult& r : p.results)
      if (why.empty() && !r.deadlock.empty()) why = fmt::format("deadlock of {}: {}", r.policy, r.deadlock);
    failures.push_back(fmt::format("Point {} ({}): {}", p.index, where, why));
  });
  const Store::Counts c = store.counts(sweep.id);
  std::string out =
      report::wrap(escape_control(fmt::format(
                       "Sweep '{}' (number {}) over {}: {} points done, {} in a deadlock, {} failed.", sweep.name,
                       sweep.id, sweep.paths.empty() ? "nothing" : join(sweep.paths), c.done, c.deadlock, c.failed)),
                   kWidth, 2);
  report::Table table{{{"policy", report::Align::Left},
                       {"points"},
                       {"step: least"},
                       {"median"},
                       {"most"},
                       {"over fifo: least"},
                       {"median"},
                       {"most"}},
                      {}};
  for (const PolicyFigures& p : policies) {
    std::vector<report::Cell> row{cell(escape_control(p.policy)), cell(std::to_string(p.steps.size()))};
    for (const auto& [values, text] : {std::pair(&p.steps, &milliseconds), std::pair(&p.gains, &percent)}) {
      const bool none = values->empty();
      row.push_back(cell(none ? "-" : text(*std::min_element(values->begin(), values->end()))));
      row.push_back(cell(none ? "-" : text(median(*values))));
      row.push_back(cell(none ? "-" : text(*std::max_element(values->begin(), values->end()))));
    }
    table.rows.push_back(std::move(row));
  }
  if (!table.rows.empty()) out += report::render(table, kWidth);
  for (const std::string& line : failures) out += report::wrap(escape_control(line), kWidth, 2);
  if (bad > kShownFailures) out += fmt::format("and {} more that failed\n", bad - kShownFailures);
  return out;
}

// Policies of points that both have, known by what is varied.
std::string compare(Store& store, const SweepInfo& a, const SweepInfo& b) {
  const std::size_t step = column("step_time_s");
  const auto key = [](const SweepInfo& sweep, const StoredPoint& p) {
    std::map<std::string, std::string> by_path;
    for (std::size_t i = 0; i < sweep.paths.size() && i < p.values.size(); ++i) by_path[sweep.paths[i]] = p.values[i];
    return by_path;
  };
  std::map<std::pair<std::map<std::string, std::string>, std::string>, double> base;
  store.each_point(a.id, [&](const StoredPoint& p) {
    for (const study::StoredResult& r : p.results)
      if (r.figures[step]) base[{key(a, p), r.policy}] = *r.figures[step];
  });
  struct Ratios {
    std::string policy;
    std::vector<double> changes;
  };
  std::vector<Ratios> policies;
  store.each_point(b.id, [&](const StoredPoint& p) {
    for (const study::StoredResult& r : p.results) {
      const auto other = base.find({key(b, p), r.policy});
      if (other == base.end() || !r.figures[step] || other->second <= 0) continue;
      auto at = std::find_if(policies.begin(), policies.end(), [&](const auto& f) { return f.policy == r.policy; });
      if (at == policies.end()) at = policies.insert(policies.end(), {r.policy, {}});
      at->changes.push_back(*r.figures[step] / other->second - 1);
    }
  });
  std::string out =
      escape_control(fmt::format("Step times of '{}' (number {}) against those of '{}' (number {}):", b.name, b.id,
                                 a.name, a.id)) +
      "\n";
  report::Table table{{{"policy", report::Align::Left}, {"points"}, {"equal"}, {"least"}, {"median"}, {"most"}}, {}};
  for (const Ratios& p : policies)
    table.rows.push_back({cell(escape_control(p.policy)), cell(std::to_string(p.changes.size())),
                          cell(std::to_string(std::count(p.changes.begin(), p.changes.end(), 0.0))),
                          cell(percent(*std::min_element(p.changes.begin(), p.changes.end()))),
                          cell(percent(median(p.changes))),
                          cell(percent(*std::max_element(p.changes.begin(), p.changes.end())))});
  return table.rows.empty() ? out + "They have no policy at a point in common.\n" : out + report::render(table, kWidth);
}

// A sweep is replaced by a later one of its name.
std::string gc(Store& store) {
  const std::vector<SweepInfo> all = store.sweeps();
  std::size_t removed = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto later = [&](const SweepInfo& s) { return s.name == all[i].name && s.id > all[i].id; };
    if (std::none_of(all.begin(), all.end(), later)) continue;
    store.remove(all[i].id);
    ++removed;
  }
  store.shrink();
  return fmt::format("Removed {} of {} sweeps.\n", removed, all.size());
}

}  // namespace

const std::vector<std::string>& results_actions() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Action& action : kActions) all.emplace_back(action.name);
    return all;
  }();
  return names;
}

int results_command(const ResultsOptions& options) {
  std::vector<std::string> words = options.words;
  const std::string action = words.front();
  words.erase(words.begin());
  const std::vector<std::string>& actions = results_actions();
  if (std::find(actions.begin(), actions.end(), action) == actions.end())
    throw UserError(fmt::format("unknown action '{}'", action), name_hint(action, actions));
  if (action == "export") {
    if (words.empty() || words.front() != "csv")
      throw UserError("only CSV can be exported", "stretto results export csv STORE");
    words.erase(words.begin());
  }
  if (action == "merge" ? words.size() < 2 : words.size() != 1)
    throw UserError(fmt::format("results {}: {} files", action, words.size()), usage());
  if (action == "merge") {
    // Every store is opened before the first is changed.
    std::vector<Store> from;
    for (std::size_t i = 1; i < words.size(); ++i) from.emplace_back(words[i], Store::Access::Read);
    Store into(words.front(), Store::Access::Create);
    for (Store& store : from) {
      const study::MergeReport r = study::merge(into, store);
      print(escape_control(
                fmt::format("{}: {} sweeps, {} points added, {} known.", store.path(), r.sweeps, r.points, r.known)) +
            "\n");
    }
    return 0;
  }
  Store store(words.front(), action == "gc" ? Store::Access::Write : Store::Access::Read);
  if (action == "list") {
    print(list(store));
  } else if (action == "show") {
    print(show(store, pick_sweep(store, "--sweep", options.sweep)));
  } else if (action == "export") {
    study::export_csv(store, pick_sweep(store, "--sweep", options.sweep), [](std::string_view text) { print(text); });
  } else if (action == "gc") {
    print(gc(store));
  } else {
    const SweepInfo b = pick_sweep(store, "--sweep", options.sweep);
    std::string against = options.against;
    if (against.empty())
      for (const SweepInfo& s : store.sweeps())
        if (s.id < b.id) against = std::to_string(s.id);
    if (against.empty()) throw UserError("there is no earlier sweep to compare with", "--against NUMBER names one");
    print(compare(store, pick_sweep(store, "--against", against), b));
  }
  return 0;
}

}  // namespace stretto::app
