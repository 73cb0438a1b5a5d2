// SPDX-License-Identifier: Apache-2.0
// The rows of the section `noise`.
#include <fmt/format.h>

#include <functional>
#include <utility>

#include "experiment/spec_rows.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

constexpr double kMaxFactor = 1000;

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
      "noise.distribution", {"lognormal", "gamma"}, "lognormal", "of the noise of op times",
      [](auto& s) -> auto& { return s.noise.distribution; }));
  only(rows, [](const Spec& s) { return s.noise.distribution != NoiseLaw::Lognormal; });
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
}

}  // namespace stretto::experiment
