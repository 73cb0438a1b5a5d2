// SPDX-License-Identifier: Apache-2.0
#include "validation/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>

#include "config/units_text.hpp"
#include "experiment/run/comparison.hpp"
#include "io/file/file.hpp"
#include "io/json/reader.hpp"
#include "models/graph/check.hpp"
#include "sim/base/diagnostic.hpp"
#include "validation/bundle.hpp"
#include "validation/measurement.hpp"

namespace stretto::validation {

namespace {

constexpr std::int64_t kMostProcesses = 1024;
constexpr std::int64_t kMostWindow = 1 << 20;

struct Direction {
  std::string mode = "none";
  std::uint32_t window = 0;
  std::vector<std::uint32_t> order;
};

// What a cell says, as it stands.
struct Raw {
  std::string policy;
  std::optional<std::uint32_t> servers;
  std::optional<std::uint32_t> workers;
  std::optional<Bandwidth> rate;
  Direction pull;
  Direction push;
  std::vector<std::int64_t> bytes;
  std::vector<std::uint32_t> server_of;
  std::vector<double> forward_us;
  std::vector<double> backward_us;
  std::vector<std::vector<double>> steps_ms;  // per step, per worker
};

template <class T>
void read_integer(const json::Value& v, T& into, std::int64_t least, std::int64_t most) {
  if (const auto n = v.integer(least, most)) into = static_cast<T>(*n);
}

template <class T>
void read_integers(const json::Value& v, std::vector<T>& into, std::int64_t least, std::int64_t most) {
  v.elements([&](const json::Value& e) {
    into.emplace_back();
    read_integer(e, into.back(), least, most);
  });
}

void read_times(const json::Value& v, std::vector<double>& into) {
  v.elements([&](const json::Value& e) {
    const double us = e.number().value_or(0);
    if (us < 0 || us > 1e10) e.error("is no time in us");
    into.push_back(us);
  });
}

void read_rate(const json::Value& v, std::optional<Bandwidth>& into) {
  const auto text = v.string();
  if (!text) return;
  if (*text == "unshaped") {
    into = Bandwidth::unlimited();
    return;
  }
  const auto rate = config::parse_bandwidth(*text);
  if (!rate.ok()) v.error(rate.message, rate.hint);
  into = rate.value;
}

void read_mode(const json::Value& v, std::string& into) {
  into = v.string().value_or("none");
  if (into == "cw") into = "chain_window";
  if (into != "none" && into != "window" && into != "chain_window")
    v.error(fmt::format("'{}' is no mode", escape_control(into)), "valid: none, window, chain_window (or cw)");
}

void read_steps(const json::Value& v, std::vector<std::vector<double>>& into) {
  v.elements([&](const json::Value& step) {
    into.emplace_back();
    step.elements([&](const json::Value& worker) {
      double ms = 0;
      worker.members([&](std::string_view key, const json::Value& e) {
        if (key == "step_ms") ms = e.number().value_or(0);
      });
      if (!(ms > 0 && ms < 1e9)) worker.error("has no step_ms, a time of more than 0 ms");
      into.back().push_back(ms);
    });
  });
}

void read_key(std::string_view key, const json::Value& v, Raw& raw) {
  if (key == "policy") raw.policy = v.string().value_or("");
  if (key == "servers") read_integer(v, raw.servers.emplace(1), 1, kMostProcesses);
  if (key == "workers") read_integer(v, raw.workers.emplace(1), 1, kMostProcesses);
  if (key == "rate") read_rate(v, raw.rate);
  if (key == "mode") read_mode(v, raw.pull.mode);
  if (key == "window") read_integer(v, raw.pull.window, 0, kMostWindow);
  if (key == "order") read_integers(v, raw.pull.order, 0, kMostWindow);
  if (key == "push_mode") read_mode(v, raw.push.mode);
  if (key == "push_window") read_integer(v, raw.push.window, 0, kMostWindow);
  if (key == "push_order") read_integers(v, raw.push.order, 0, kMostWindow);
  if (key == "bytes") read_integers(v, raw.bytes, 1, std::int64_t{1} << 50);
  if (key == "server_of") read_integers(v, raw.server_of, 0, kMostProcesses - 1);
  if (key == "forward_us") read_times(v, raw.forward_us);
  if (key == "backward_us") read_times(v, raw.backward_us);
  if (key == "steps") read_steps(v, raw.steps_ms);
}

void check_direction(const Direction& d, const char* what, std::size_t transfers, const json::Value& at) {
  std::vector<bool> seen(transfers);
  for (const std::uint32_t t : d.order) {
    if (t >= transfers || seen[t]) {
      at.error(fmt::format("{} names transfer {} twice, or there is none", what, t));
      return;
    }
    seen[t] = true;
  }
  if (d.mode != "none" && d.window == 0) at.error(fmt::format("{} is enforced by no window", what));
}

// Records what is wrong between the keys.
void check(const Raw& raw, const json::Value& at) {
  if (!raw.servers || !raw.workers || !raw.rate)
    at.error("is no measured cell: 'servers', 'workers' or 'rate' is missing");
  else if (raw.forward_us.empty())
    at.error("does not say its op times ('forward_us', 'backward_us'): its workload is no chain of layers",
             "give its experiment beside it: --case EXPERIMENT.yaml MEASURED.json");
  else if (const std::size_t n = raw.bytes.size();
           n == 0 || raw.server_of.size() != n || raw.forward_us.size() != n || raw.backward_us.size() != n)
    at.error("'bytes', 'server_of', 'forward_us' and 'backward_us' have different lengths");
  else if (std::any_of(raw.server_of.begin(), raw.server_of.end(), [&](auto s) { return s >= *raw.servers; }))
    at.error("'server_of' names a server that is not there");
  else if (raw.steps_ms.empty())
    at.error("has no measured 'steps'");
  else if (std::any_of(raw.steps_ms.begin(), raw.steps_ms.end(),
                       [&](const auto& step) { return step.size() != *raw.workers; }))
    at.error("'steps' have another number of workers");
  check_direction(raw.pull, "'order'", raw.bytes.size(), at);
  check_direction(raw.push, "'push_order'", raw.bytes.size(), at);
}

std::shared_ptr<const graph::Graph> graph_of(const Raw& raw) {
  auto g = std::make_shared<graph::Graph>();
  g->name = "layers";
  const std::size_t n = raw.bytes.size();
  const auto add = [&](std::string name, graph::Phase phase, double us, std::vector<graph::ParameterId> reads) {
    graph::Op op;
    op.name = std::move(name);
    op.phase = phase;
    op.time = Duration::seconds(us * 1e-6);
    if (!g->ops.empty()) op.inputs = {graph::OpId(static_cast<std::uint32_t>(g->ops.size() - 1))};
    op.reads = std::move(reads);
    g->ops.push_back(std::move(op));
  };
  for (std::size_t i = 0; i < n; ++i)
    add(fmt::format("forward{}", i), graph::Phase::Forward, raw.forward_us[i],
        {graph::ParameterId(static_cast<std::uint32_t>(i))});
  for (std::size_t i = n; i-- > 0;) add(fmt::format("backward{}", i), graph::Phase::Backward, raw.backward_us[i], {});
  for (std::size_t i = 0; i < n; ++i) {
    graph::Parameter p;
    p.name = fmt::format("v{}", i);
    p.bytes = Bytes(raw.bytes[i]);
    p.gradient = graph::OpId(static_cast<std::uint32_t>(2 * n - 1 - i));
    g->parameters.push_back(std::move(p));
  }
  return g;
}

plan::DirectionOrder order_of(const Direction& d, std::size_t transfers, plan::Discipline none) {
  plan::DirectionOrder order;
  order.discipline = none;
  if (d.mode == "none") return order;
  order.discipline = d.mode == "window" ? plan::Discipline::Window : plan::Discipline::ChainWindow;
  order.window = d.window;
  order.rank.assign(transfers, plan::kUnranked);
  for (std::size_t i = 0; i < d.order.size(); ++i) order.rank[d.order[i]] = static_cast<std::uint32_t>(i);
  return order;
}

std::vector<double> seconds(const std::vector<std::vector<double>>& steps_ms, bool barrier) {
  std::vector<double> result;
  for (const auto& step : steps_ms)
    result.push_back(1e-3 * (barrier
                                 ? *std::max_element(step.begin(), step.end())
                                 : std::accumulate(step.begin(), step.end(), 0.0) / static_cast<double>(step.size())));
  return result;
}

Case case_of(const Raw& raw, const std::shared_ptr<const graph::Graph>& graph, bool barrier, std::string name,
             experiment::Spec spec) {
  spec.cluster.workers.count = *raw.workers;
  spec.cluster.workers.nic = {*raw.rate, *raw.rate};
  spec.cluster.servers.count = *raw.servers;
  spec.cluster.servers.nic = {*raw.rate, *raw.rate};
  spec.training = {};
  if (!barrier) {
    spec.training.synchronization = experiment::Synchronization::Async;
    spec.training.barrier = false;
  }
  spec.workload.file = "layers";
  spec.cluster.servers.placement = {};
  spec.cluster.servers.placement.name = "by_name";
  for (std::size_t i = 0; i < raw.server_of.size(); ++i)
    spec.cluster.servers.placement.by_name.push_back({graph->parameters[i].name, raw.server_of[i], {}});
  experiment::Workloads workloads;
  workloads.add(spec.workload.file, graph);
  Case result{std::move(name), experiment::make_setup(spec, workloads), {}, seconds(raw.steps_ms, barrier)};
  result.plan.policy = raw.policy;
  result.plan.layout = result.setup.layout;
  result.plan.order.pull = order_of(raw.pull, raw.bytes.size(), plan::Discipline::Unordered);
  result.plan.order.push = order_of(raw.push, raw.bytes.size(), plan::Discipline::Free);
  return result;
}

std::string short_name(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const char* end : {".gz", ".json"}) {
    const std::string_view suffix(end);
    if (name.size() > suffix.size() && name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  // Every folder of `validate --out` has a measurement.json.
  const std::string folder = std::filesystem::path(path).parent_path().filename().string();
  return name == "measurement" && !folder.empty() ? folder : name;
}

// {"T": [seconds]}, or nothing if the file has no such key.
std::optional<std::vector<double>> read_seconds(const std::string& text, const std::string& path) {
  std::optional<std::vector<double>> steps;
  json::Document(text, path).read([&](const json::Value& root) {
    root.members([&](std::string_view key, const json::Value& v) {
      if (key != "T") return;
      steps.emplace();
      v.elements([&](const json::Value& e) {
        const double s = e.number().value_or(0);
        if (!(s > 0 && s < 1e6)) e.error("is no step time in s");
        steps->push_back(s);
      });
      if (steps->empty()) v.error("there are no steps");
    });
  });
  return steps;
}

}  // namespace

std::vector<Case> read_cells(const std::string& path, const experiment::Spec& base) {
  std::vector<Raw> cells;
  bool barrier = true;
  bool several = false;
  json::Document(file::read(path), path).read([&](const json::Value& root) {
    Raw top;
    root.members([&](std::string_view key, const json::Value& v) {
      if (key == "sync") barrier = v.boolean().value_or(true);
      if (key != "cells") {
        if (!several) read_key(key, v, top);
        return;
      }
      several = true;
      v.elements([&](const json::Value& entry) {
        Raw raw;
        entry.members([&](std::string_view inner, const json::Value& e) { read_key(inner, e, raw); });
        check(raw, entry);
        cells.push_back(std::move(raw));
      });
      if (cells.empty()) v.error("there are no cells");
    });
    if (several) return;
    check(top, root);
    cells.push_back(std::move(top));
  });
  std::vector<Case> cases;
  for (const Raw& raw : cells) {
    std::string name = short_name(path);
    if (several) name += fmt::format(" {}", raw.policy);
    const auto graph = graph_of(raw);
    if (const auto problems = graph::check(*graph); !problems.empty())
      throw UserError(fmt::format("{}: {}", path, problems.front().message));
    cases.push_back(case_of(raw, graph, barrier, std::move(name), base));
  }
  return cases;
}

std::vector<Case> read_case(const std::string& file, const std::string& measured, std::uint32_t window,
                            const experiment::Options& options) {
  const experiment::Experiment experiment = experiment::load_experiment(file, {}, options);
  if (experiment.points.size() != 1)
    throw UserError(fmt::format("{} varies over {} points; a case has one", file, experiment.points.size()));
  const experiment::Spec& spec = experiment.points.front().spec;
  if (spec.training.exchange != experiment::Exchange::ParameterServer || spec.cluster.network.comm_compute_ratio)
    throw UserError(fmt::format("{}: all-reduce and comm_compute_ratio cannot be calibrated", file),
                    "costs are those of parameter servers on NICs with rates");
  experiment::Workloads workloads;
  const experiment::Setup setup = experiment::make_setup(spec, workloads);
  const std::string text = file::read(measured);
  const auto plan_of = [&](const experiment::PolicySpec& policy) {
    return enforceable(experiment::make_plan(setup, policy, spec.runs.seed), window);
  };
  if (const auto steps = read_seconds(text, measured)) {
    if (spec.policies.size() != 1)
      throw UserError(fmt::format("{} has {} policies, and {} the steps of one", file, spec.policies.size(), measured));
    return {{spec.name, setup, plan_of(spec.policies.front()), *steps}};
  }
  const Measurement m = parse_measurement(text, measured);
  if (m.cells.size() != spec.policies.size())
    throw UserError(fmt::format("{} has {} policies, {} has {}", measured, m.cells.size(), file, spec.policies.size()));
  std::vector<Case> cases;
  for (std::size_t i = 0; i < m.cells.size(); ++i) {
    const std::string label = experiment::label(spec.policies[i]);
    if (m.cells[i].policy != label || m.cells[i].steps.front().size() != setup.cluster.workers.size())
      throw UserError(fmt::format("policy {} of {} is '{}' with {} workers, that of {} '{}' with {}", i, measured,
                                  escape_control(m.cells[i].policy), m.cells[i].steps.front().size(), file, label,
                                  setup.cluster.workers.size()));
    std::vector<std::vector<double>> steps_ms;
    for (const auto& step : m.cells[i].steps) {
      steps_ms.emplace_back();
      for (const WorkerStep& w : step) steps_ms.back().push_back(w.step_ms);
      if (std::any_of(steps_ms.back().begin(), steps_ms.back().end(), [](double ms) { return !(ms > 0); }))
        throw UserError(fmt::format("{}: a step of policy '{}' took 0 ms", measured, label));
    }
    cases.push_back({fmt::format("{} {}", spec.name, label), setup, plan_of(spec.policies[i]),
                     seconds(steps_ms, setup.training.barrier)});
  }
  return cases;
}

}  // namespace stretto::validation
