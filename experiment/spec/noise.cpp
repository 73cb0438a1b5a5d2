// SPDX-License-Identifier: Apache-2.0
// The rows of the section `noise`.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <sstream>
#include <utility>

#include "experiment/spec/rows.hpp"
#include "io/file/file.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

constexpr double kMaxFactor = 1000;
constexpr double kMaxTime = 1e12;

void read_factor(Reader& reader, const Node& node, const std::string& key, double& factor) {
  const auto number = reader.read_number(node, key);
  if (!number) return;
  if (*number > 0 && *number <= kMaxFactor)
    factor = *number;
  else
    reader.error(node.place, key, config::describe(node) + " is out of range",
                 fmt::format("valid: more than 0, at most {}", kMaxFactor));
}

// Findings of a host that the cluster lacks need all fields and come with the rules between fields (spec.cpp).
void read_host(Reader& reader, const Node& node, const std::string& key, std::uint32_t& host) {
  if (const auto number = reader.read_integer(node, key, 0, kMaxWorkers - 1))
    host = static_cast<std::uint32_t>(*number);
}

void read_slow_workers(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  read_list(reader, node, key, "for example [{worker: 3, slowdown: 1.3}]",
            [&](const Node& item, const std::string& at) {
              SlowWorkerSpec slow;
              read_item(reader, item, at, {"worker", "slowdown", "from", "until"},
                        [&](const config::Entry& e, const auto& path) {
                          if (e.key == "worker")
                            read_host(reader, e.value, path, slow.worker);
                          else if (e.key == "slowdown")
                            read_factor(reader, e.value, path, slow.slowdown);
                          else if (e.key == "from")
                            slow.from = reader.read_duration(e.value, path).value_or(Duration());
                          else
                            slow.until = reader.read_duration(e.value, path);
                        });
              if (item.is_map())
                for (const char* name : {"worker", "slowdown"})
                  if (!item.find(name)) reader.error(item.place, at, fmt::format("'{}' is missing", name));
              if (slow.until && *slow.until <= slow.from)
                reader.error(item.find("until")->value.place, at + ".until", "is not after from");
              s.noise.slow_workers.push_back(slow);
            });
}

void read_nics(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  read_list(reader, node, key, "for example [{server: 0, at: 1 s, factor: 0.5}]",
            [&](const Node& item, const std::string& at) {
              NicChangeSpec change;
              read_item(reader, item, at, {"worker", "server", "at", "factor"},
                        [&](const config::Entry& e, const auto& path) {
                          if (e.key == "at")
                            change.at = reader.read_duration(e.value, path).value_or(Duration());
                          else if (e.key == "factor")
                            read_factor(reader, e.value, path, change.factor);
                          else
                            read_host(reader, e.value, path, change.host);
                        });
              change.server = item.find("server") != nullptr;
              if (item.is_map()) {
                if (change.server == (item.find("worker") != nullptr))
                  reader.error(item.place, at, "a change is of one NIC", "say worker: N or server: N");
                if (!item.find("factor")) reader.error(item.place, at, "'factor' is missing");
              }
              s.noise.nics.push_back(change);
            });
}

constexpr std::size_t kMaxFactors = 1'000'000;
constexpr std::size_t kMaxFactorsBytes = std::size_t{64} << 20;

// Numbers of a text, by white space or commas; what is after # in a line is left out.
void read_factors_file(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  const auto path = reader.read_text(node, key);
  if (!path) return;
  s.noise.factors_file = node.place.resolve(*path);
  std::istringstream in;
  try {
    in.str(file::read(s.noise.factors_file, {kMaxFactorsBytes}));
  } catch (const UserError& e) {
    const Diagnostic& d = e.diagnostics().front();
    return reader.error(node.place, key, fmt::format("'{}': {}", s.noise.factors_file, d.message), d.hint);
  }
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      double value = 0;
      const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (code != std::errc() || end != word.data() + word.size() || !(value > 0 && value <= kMaxTime) ||
          s.noise.factors.size() == kMaxFactors)
        return reader.error(
            node.place, key,
            fmt::format("line {} of '{}' has something else than a time", number, s.noise.factors_file),
            fmt::format("at most {} numbers, each more than 0 and at most {:g}", kMaxFactors, kMaxTime));
      s.noise.factors.push_back(value);
    }
  }
  if (s.noise.factors.empty())
    reader.error(node.place, key, fmt::format("there is no number in '{}'", s.noise.factors_file));
}

void read_factors(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  s.noise.factors.clear();
  s.noise.factors_file.clear();
  if (!node.is_sequence()) return read_factors_file(reader, node, key, s);
  if (node.items.empty()) reader.error(node.place, key, "an empty list", "for example [0.9, 1, 1.3]");
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", key, i);
    const auto number = reader.read_number(node.items[i], at);
    if (number && !(*number > 0 && *number <= kMaxTime))
      reader.error(node.items[i].place, at, config::describe(node.items[i]) + " is out of range",
                   fmt::format("valid: more than 0, at most {:g}", kMaxTime));
    else if (number)
      s.noise.factors.push_back(*number);
  }
}

std::string write_factors(const Spec& s) {
  if (!s.noise.factors_file.empty()) return config::quote_if_needed(s.noise.factors_file);
  std::string out;
  for (const double factor : s.noise.factors) out += (out.empty() ? "" : ", ") + config::format_number(factor);
  return out.empty() ? "" : "[" + out + "]";
}

void read_late_starts(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  read_list(reader, node, key, "for example [{worker: 3, delay: 50 ms}]", [&](const Node& item, const std::string& at) {
    LateStartSpec late;
    read_item(reader, item, at, {"worker", "delay", "probability", "times"},
              [&](const config::Entry& e, const auto& path) {
                if (e.key == "worker") {
                  read_host(reader, e.value, path, late.worker);
                } else if (e.key == "delay") {
                  late.delay = reader.read_duration(e.value, path).value_or(Duration::ps(1));
                  if (late.delay == Duration()) reader.error(e.value.place, path, "is 0", "valid: more than 0");
                } else if (e.key == "probability") {
                  late.probability = reader.read_fraction(e.value, path).value_or(1);
                  if (!(late.probability > 0 && late.probability <= 1))
                    reader.error(e.value.place, path, config::describe(e.value) + " is out of range",
                                 "valid: more than 0, at most 1");
                } else if (const auto choice = reader.read_choice(e.value, path, {"fixed", "exponential"})) {
                  late.times = static_cast<LateTimes>(*choice);
                }
              });
    if (item.is_map())
      for (const char* name : {"worker", "delay"})
        if (!item.find(name)) reader.error(item.place, at, fmt::format("'{}' is missing", name));
    if (item.find("worker") && std::any_of(s.noise.late_starts.begin(), s.noise.late_starts.end(),
                                           [&](const LateStartSpec& other) { return other.worker == late.worker; }))
      reader.error(item.place, at, fmt::format("worker {} has one already", late.worker), "one entry per worker");
    s.noise.late_starts.push_back(late);
  });
}

std::string write_late_starts(const Spec& s) {
  std::string out;
  for (const LateStartSpec& late : s.noise.late_starts) {
    out += fmt::format("{}{{worker: {}, delay: {}", out.empty() ? "" : ", ", late.worker,
                       config::format_duration(late.delay));
    if (late.probability < 1) out += ", probability: " + config::format_number(late.probability);
    if (late.times == LateTimes::Exponential) out += ", times: exponential";
    out += "}";
  }
  return out.empty() ? "" : "[" + out + "]";
}

std::string write_slow_workers(const Spec& s) {
  std::string out;
  for (const SlowWorkerSpec& slow : s.noise.slow_workers) {
    out += fmt::format("{}{{worker: {}, slowdown: {}", out.empty() ? "" : ", ", slow.worker,
                       config::format_number(slow.slowdown));
    if (slow.from > Duration()) out += ", from: " + config::format_duration(slow.from);
    if (slow.until) out += ", until: " + config::format_duration(*slow.until);
    out += "}";
  }
  return out.empty() ? "" : "[" + out + "]";
}

std::string write_nics(const Spec& s) {
  std::string out;
  for (const NicChangeSpec& n : s.noise.nics)
    out += fmt::format("{}{{{}: {}, at: {}, factor: {}}}", out.empty() ? "" : ", ", n.server ? "server" : "worker",
                       n.host, config::format_duration(n.at), config::format_number(n.factor));
  return out.empty() ? "" : "[" + out + "]";
}

}  // namespace

void add_noise_fields(Rows& rows) {
  rows.push_back(config::number<Spec>(
      "noise.compute_cv", true, {0, 10, false, "0 to 10"}, "0", "coefficient of variation of each op's time",
      [](auto& s) -> auto& { return s.noise.compute_cv; }));
  rows.push_back(config::choice<Spec>(
      "noise.distribution", {"lognormal", "gamma", "empirical"}, "lognormal",
      "of the noise of op times; empirical: noise.factors", [](auto& s) -> auto& { return s.noise.distribution; }));
  only(rows, [](const Spec& s) { return s.noise.distribution != NoiseLaw::Lognormal; });
  rows.push_back(config::choice<Spec>(
      "noise.drawn_per", {"op", "step"}, "op", "step: all ops of a worker's step take the same factor",
      [](auto& s) -> auto& { return s.noise.drawn_per; }));
  only(rows, [](const Spec& s) { return s.noise.drawn_per != DrawnPer::Op; });
  rows.push_back(custom("noise.factors", "list or path", "each more than 0, at most 1e12", "",
                        "for distribution empirical: factors or measured times in any unit, or a file of them; op "
                        "times are multiplied by one of them over their mean",
                        read_factors, write_factors));
  const auto straggles = [](const Spec& s) { return s.noise.stragglers != StragglersSpec(); };
  rows.push_back(config::number<Spec>(
      "noise.stragglers.slowdown", false, {1, 1000, false, "1 to 1000"}, "1",
      "each worker is slow and normal in turn; ops that it starts while slow take so many times as long",
      [](auto& s) -> auto& { return s.noise.stragglers.slowdown; }));
  only(rows, straggles);
  rows.push_back(config::duration<Spec>(
      "noise.stragglers.mean_on", "0 us", "mean time that a worker is slow",
      [](auto& s) -> auto& { return s.noise.stragglers.mean_on; }));
  only(rows, straggles);
  rows.push_back(config::duration<Spec>(
      "noise.stragglers.mean_off", "0 us", "mean time that a worker is normal",
      [](auto& s) -> auto& { return s.noise.stragglers.mean_off; }));
  only(rows, straggles);
  rows.push_back(config::choice<Spec>(
      "noise.stragglers.times", {"exponential", "fixed"}, "exponential", "how those times are spread",
      [](auto& s) -> auto& { return s.noise.stragglers.times; }));
  only(rows, straggles);
  rows.push_back(
      custom("noise.slow_workers", "list", "{worker, slowdown, from, until}", "",
             "ops that a worker starts from `from` until `until` take `slowdown` times as long; windows that "
             "overlap multiply",
             read_slow_workers, write_slow_workers));
  rows.push_back(custom("noise.nics", "list", "{worker or server, at, factor}", "",
                        "from `at` on, a NIC has `factor` times its rate in both directions", read_nics, write_nics));
  rows.push_back(custom("noise.late_starts", "list", "{worker, delay, probability, times}", "",
                        "a worker begins its steps later by `delay`, in each step with this probability; times: "
                        "exponential draws the delay with this mean",
                        read_late_starts, write_late_starts));
}

}  // namespace stretto::experiment
