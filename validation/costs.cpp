// SPDX-License-Identifier: Apache-2.0
#include "validation/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "config/units_text.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::validation {

namespace {

using cluster::Cluster;
using cluster::ServiceCost;

constexpr double kBitPicoseconds = 8e12;  // bit/s of 1 ps per byte

Bandwidth rate_of(double ps_per_byte) {
  return ps_per_byte > 0 ? Bandwidth(std::llround(kBitPicoseconds / ps_per_byte)) : Bandwidth::unlimited();
}

double per_byte_of(Bandwidth rate) {
  return rate.is_unlimited() ? 0 : kBitPicoseconds / static_cast<double>(rate.bits_per_second());
}

template <class F>
void each_service(Cluster& c, F&& f) {
  for (auto& worker : c.workers) {
    f(worker.send);
    f(worker.receive);
  }
  for (auto& server : c.servers) {
    f(server.send);
    f(server.receive);
  }
}

std::string duration_text(double seconds) { return config::format_duration(Duration::seconds(seconds)); }
std::string rate_text(double ps_per_byte) { return config::format_bandwidth(rate_of(ps_per_byte)); }

const std::array<Cost, 7> kCosts{{
    {"per_message", 0, 1, 1e-4, [](const Cluster& c) { return c.servers.front().send.per_message.seconds(); },
     [](Cluster& c, double v) { each_service(c, [&](ServiceCost& s) { s.per_message = Duration::seconds(v); }); },
     duration_text},
    {"per_byte", 0, 1e6, 200, [](const Cluster& c) { return c.servers.front().send.per_byte_ps; },
     [](Cluster& c, double v) { each_service(c, [&](ServiceCost& s) { s.per_byte_ps = v; }); },
     config::format_per_byte},
    {"latency", 0, 1, 1e-4, [](const Cluster& c) { return c.network.latency.seconds(); },
     [](Cluster& c, double v) { c.network.latency = Duration::seconds(v); }, duration_text},
    {"efficiency", 0.01, 1, 0.1, [](const Cluster& c) { return c.network.efficiency; },
     [](Cluster& c, double v) { c.network.efficiency = v; }, config::format_number},
    {"step_overhead", 0, 100, 1e-3, [](const Cluster& c) { return c.step_overhead.seconds(); },
     [](Cluster& c, double v) { c.step_overhead = Duration::seconds(v); }, duration_text},
    {"update_rate", 0, 1e6, 200, [](const Cluster& c) { return per_byte_of(c.servers.front().update_rate); },
     [](Cluster& c, double v) {
       for (auto& server : c.servers) server.update_rate = rate_of(v);
     },
     rate_text},
    {"rate_cap", 0, 1e6, 200, [](const Cluster& c) { return per_byte_of(c.network.rate_cap); },
     [](Cluster& c, double v) { c.network.rate_cap = rate_of(v); }, rate_text},
}};

}  // namespace

std::span<const Cost> costs() { return kCosts; }

const Cost& cost(std::string_view name) {
  const auto found = std::find_if(kCosts.begin(), kCosts.end(), [&](const Cost& c) { return c.name == name; });
  if (found != kCosts.end()) return *found;
  std::vector<std::string> names;
  for (const Cost& c : kCosts) names.emplace_back(c.name);
  throw UserError(fmt::format("there is no cost '{}'", escape_control(name)), name_hint(name, names));
}

double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

std::string write_costs(const Cluster& c, const std::vector<std::string>& comments) {
  std::string out;
  for (const std::string& line : comments) out += fmt::format("# {}\n", escape_control(line));
  const auto process = [&](const char* name, std::uint32_t threads, const ServiceCost& send,
                           const ServiceCost& receive) {
    out += fmt::format("{}:\n  threads: {}\n", name, threads);
    for (const auto& [end, s] : {std::pair{"send", &send}, std::pair{"receive", &receive}})
      out += fmt::format("  {}: {{per_message: {}, per_byte: {}}}\n", end, config::format_duration(s->per_message),
                         config::format_per_byte(s->per_byte_ps));
  };
  out += "stretto: 1\n";
  const cluster::Worker& worker = c.workers.front();
  const cluster::Server& server = c.servers.front();
  process("workers", worker.threads, worker.send, worker.receive);
  process("servers", server.threads, server.send, server.receive);
  out += fmt::format("  update_rate: {}\n", config::format_bandwidth(server.update_rate));
  out += fmt::format("network: {{latency: {}, efficiency: {}, streams: {}, rate_cap: {}}}\n",
                     config::format_duration(c.network.latency), config::format_number(c.network.efficiency),
                     c.network.streams, config::format_bandwidth(c.network.rate_cap));
  return out + fmt::format("step_overhead: {}\n", config::format_duration(c.step_overhead));
}

}  // namespace stretto::validation
