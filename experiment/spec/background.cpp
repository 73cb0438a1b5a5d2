// SPDX-License-Identifier: Apache-2.0
// The row of background traffic, and the rules around it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "experiment/spec/rows.hpp"
#include "models/cluster/topology.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

constexpr std::size_t kMaxEntries = 4096;
// A burst and its pause take at least so long, lest a step be made of nothing but bursts.
const Duration kLeastCycle = Duration::us(1);
const std::string kKey = "cluster.network.background";
const std::vector<std::string> kTimes = {"fixed", "exponential"};

bool constant(const BackgroundSpec& b) { return b.burst == Bytes(); }

void read_entry(Reader& reader, const Node& item, const std::string& at, BackgroundSpec& traffic) {
  traffic.place = item.place;
  read_item(reader, item, at, {"from", "to", "rate", "burst", "pause", "times"},
            [&](const config::Entry& e, const std::string& path) {
              if (e.key == "rate") {
                traffic.rate = reader.read_bandwidth(e.value, path).value_or(Bandwidth(1));
              } else if (e.key == "burst") {
                traffic.burst = reader.read_bytes(e.value, path).value_or(Bytes(1));
                if (traffic.burst == Bytes()) reader.error(e.value.place, path, "a burst of nothing", "at least 1 B");
              } else if (e.key == "pause") {
                traffic.pause = reader.read_duration(e.value, path).value_or(Duration());
              } else if (e.key == "times") {
                const auto index = reader.read_choice(e.value, path, kTimes);
                if (index) traffic.times = static_cast<PauseTimes>(*index);
              } else if (auto text = reader.read_text(e.value, path)) {
                (e.key == "from" ? traffic.from : traffic.to) = std::move(*text);
              }
            });
  if (!item.is_map()) return;
  const auto has = [&](const char* name) { return item.find(name) != nullptr; };
  for (const char* name : {"from", "to"})
    if (!has(name)) reader.error(item.place, at, fmt::format("'{}' is missing", name));
  if (has("rate") == has("burst"))
    reader.error(item.place, at, has("rate") ? "both rate and burst are given" : "neither rate nor burst is given",
                 "rate: RATE for constant traffic; burst: BYTES and pause: TIME for traffic that comes and goes");
  else if (has("burst") && !has("pause"))
    reader.error(item.place, at, "'pause' is missing", "for example pause: 10 ms");
  for (const char* name : {"pause", "times"})
    if (has(name) && !has("burst"))
      reader.error(item.find(name)->value.place, fmt::format("{}.{}", at, name), "means nothing without burst",
                   "constant traffic has a rate alone");
}

void read_background(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  std::vector<BackgroundSpec>& list = s.cluster.network.topology.background;
  list.clear();
  if (node.is_sequence() && node.items.size() > kMaxEntries)
    return reader.error(node.place, key, fmt::format("{} entries", node.items.size()),
                        fmt::format("valid: at most {}", kMaxEntries));
  read_list(reader, node, key,
            "for example [{from: worker 0, to: server 0, rate: 2 Gbit/s}, {from: worker 1, to: server 0, burst: 20 MB, "
            "pause: 10 ms}]",
            [&](const Node& item, const std::string& at) { read_entry(reader, item, at, list.emplace_back()); });
}

std::string write_background(const Spec& s) {
  std::string out;
  for (const BackgroundSpec& b : s.cluster.network.topology.background) {
    out += fmt::format("{}{{from: {}, to: {}, ", out.empty() ? "" : ", ", config::quote_if_needed(b.from),
                       config::quote_if_needed(b.to));
    if (constant(b))
      out += fmt::format("rate: {}}}", config::format_bandwidth(b.rate));
    else
      out += fmt::format("burst: {}, pause: {}, times: {}}}", config::format_bytes(b.burst),
                         config::format_duration(b.pause), kTimes.at(static_cast<std::size_t>(b.times)));
  }
  return out.empty() ? "" : "[" + out + "]";
}

}  // namespace

void add_background_field(Rows& rows) {
  rows.push_back(custom(kKey, "list", "{from, to, rate}, or {from, to, burst, pause, times}", "",
                        "traffic of others between hosts: at a constant rate, which it takes from every link on its "
                        "route; or bursts of so "
                        "many bytes, which share their links as messages do, each `pause` after the end of the one "
                        "before (times: fixed, or "
                        "exponential with this mean)",
                        read_background, write_background));
}

std::optional<cluster::End> find_process(const cluster::Cluster& cluster, const std::string& name) {
  for (std::uint32_t w = 0; w < cluster.workers.size(); ++w)
    if (cluster.workers[w].name == name) return cluster::End{false, w};
  for (std::uint32_t s = 0; s < cluster.servers.size(); ++s)
    if (cluster.servers[s].name == name) return cluster::End{true, s};
  return std::nullopt;
}

std::vector<cluster::Reservation> reservations(const TopologySpec& topology, const cluster::Cluster& cluster) {
  std::map<cluster::LinkRef, std::int64_t> sums;
  for (const BackgroundSpec& b : topology.background) {
    const auto from = find_process(cluster, b.from);
    const auto to = find_process(cluster, b.to);
    if (!constant(b) || !from || !to || *from == *to || !cluster::reachable(cluster, *from, *to)) continue;
    for (const cluster::LinkRef link : cluster::route(cluster, *from, *to).links) {
      std::int64_t& sum = sums[link];
      if (__builtin_add_overflow(sum, b.rate.bits_per_second(), &sum)) sum = Bandwidth::unlimited().bits_per_second();
    }
  }
  std::vector<cluster::Reservation> list;
  for (const auto& [link, sum] : sums)
    if (!cluster::link_rate(cluster, link).is_unlimited()) list.push_back({link, Bandwidth(sum)});
  return list;
}

std::optional<Diagnostic> burst_finding(const cluster::Cluster& cluster, const BackgroundSpec& b, std::size_t number) {
  const cluster::Path path =
      cluster::route(cluster, find_process(cluster, b.from).value(), find_process(cluster, b.to).value());
  Bandwidth rate = Bandwidth::unlimited();
  for (const cluster::LinkRef link : path.links) rate = std::min(rate, cluster::link_rate(cluster, link));
  Diagnostic d{Severity::Error, b.place.span(), fmt::format("{}[{}]", kKey, number), "", ""};
  if (rate.is_unlimited()) {
    d.message = fmt::format("no link from {} to {} has a limit, so that a burst takes no time", b.from, b.to);
    d.hint = "give NIC rates";
    return d;
  }
  const Duration time = b.pause + path.latency + transfer_duration(b.burst, rate);
  if (time >= kLeastCycle) return std::nullopt;
  d.message = fmt::format("a burst and its pause take {} alone", config::format_duration(time));
  d.hint = fmt::format("larger bursts or longer pauses: {} together at least", config::format_duration(kLeastCycle));
  return d;
}

void check_background(Reader& reader, const Node& root, const Spec& s) {
  const std::vector<BackgroundSpec>& list = s.cluster.network.topology.background;
  const NetworkSpec& network = s.cluster.network;
  if (network.comm_compute_ratio && std::any_of(list.begin(), list.end(), constant))
    return reader.error(network.ratio_place, "cluster.network.comm_compute_ratio",
                        "sets the rates that background traffic takes its share of", "give NIC rates in place of it");
  cluster::Cluster cluster = make_cluster(s);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const BackgroundSpec& b = list[i];
    const auto wrong = [&](std::string message, std::string hint) {
      reader.error(b.place, fmt::format("{}[{}]", kKey, i), std::move(message), std::move(hint));
    };
    const auto from = find_process(cluster, b.from);
    const auto to = find_process(cluster, b.to);
    if (!from || !to)
      wrong(fmt::format("there is no '{}'", from ? b.to : b.from), "a process: worker N or server N");
    else if (*from == *to)
      wrong(fmt::format("'{}' sends to itself", b.from), "");
    else if (!cluster::reachable(cluster, *from, *to))
      wrong(fmt::format("no links lead from {} to {}", b.from, b.to), "");
    else if (auto finding = constant(b) || network.comm_compute_ratio ? std::nullopt : burst_finding(cluster, b, i))
      reader.diagnostics().push_back(std::move(*finding));
  }
  const std::vector<cluster::Reservation> reserved = std::exchange(cluster.network.reserved, {});
  for (const cluster::Reservation& r : reserved)
    if (const Bandwidth rate = cluster::link_rate(cluster, r.link); r.rate >= rate)
      reader.error(place_of(root, kKey), kKey,
                   fmt::format("{} of {} leave nothing of {}", config::format_bandwidth(r.rate),
                               config::format_bandwidth(rate), cluster::link_name(cluster, r.link)),
                   "lower the rates, or raise that of the link");
}

}  // namespace stretto::experiment
