// SPDX-License-Identifier: Apache-2.0
// The rows of workers' hosts: several workers on one, groups that differ.
#include "experiment/spec/topology.hpp"

#include <fmt/format.h>

#include <utility>

#include "experiment/spec/rows.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

constexpr std::uint32_t kMaxPerHost = 64;

void read_group(Reader& reader, const Node& item, const std::string& at, WorkerGroupSpec& group) {
  const auto integer = [&](const config::Entry& e, const std::string& path, std::int64_t high) {
    const auto v = reader.read_integer(e.value, path, 1, high);
    return v ? std::optional(static_cast<std::uint32_t>(*v)) : std::nullopt;
  };
  read_item(reader, item, at, {"count", "device", "nic", "per_host", "pcie", "nvlink"},
            [&](const config::Entry& e, const auto& p) {
              if (e.key == "count")
                group.count = integer(e, p, kMaxWorkers).value_or(1);
              else if (e.key == "nic")
                group.nic = read_nic(reader, e.value, p);
              else if (e.key == "per_host")
                group.per_host = integer(e, p, kMaxPerHost);
              else if (e.key == "pcie")
                group.pcie = reader.read_bandwidth(e.value, p);
              else if (e.key == "nvlink")
                group.nvlink = reader.read_bandwidth(e.value, p);
              else
                read_item(reader, e.value, p, {"name", "speed", "cores"},
                          [&](const config::Entry& d, const auto& path) {
                            if (d.key == "name") {
                              group.device = reader.read_text(d.value, path);
                            } else if (d.key == "cores") {
                              group.cores = integer(d, path, 1024);
                            } else if (const auto speed = reader.read_number(d.value, path)) {
                              if (*speed > 0 && *speed <= kMaxRatio)
                                group.speed = speed;
                              else
                                reader.error(d.value.place, path, config::describe(d.value) + " is out of range",
                                             "valid: more than 0, at most 1e6");
                            }
                          });
            });
  if (item.is_map() && !item.find("count")) reader.error(item.place, at, "'count' is missing");
}

void read_groups(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  WorkersSpec& workers = s.cluster.workers;
  workers.groups.clear();
  workers.groups_place = node.place;
  read_list(reader, node, key, "for example [{count: 4}, {count: 4, device: {speed: 0.5}, nic: 25 Gbit/s}]",
            [&](const Node& item, const std::string& at) {
              if (workers.groups.size() < kMaxWorkers) read_group(reader, item, at, workers.groups.emplace_back());
            });
  std::uint64_t sum = 0;
  for (const WorkerGroupSpec& g : workers.groups) sum += g.count;
  if (sum > kMaxWorkers)
    reader.error(node.place, key, fmt::format("{} workers", sum), fmt::format("valid: at most {}", kMaxWorkers));
  else if (sum > 0)
    workers.count = static_cast<std::uint32_t>(sum);
}

std::string nic_flow(const NicSpec& nic) {
  return nic.up == nic.down ? config::format_bandwidth(nic.up)
                            : fmt::format("{{up: {}, down: {}}}", config::format_bandwidth(nic.up),
                                          config::format_bandwidth(nic.down));
}

std::string write_groups(const Spec& s) {
  std::string out;
  for (const WorkerGroupSpec& g : s.cluster.workers.groups) {
    std::string device;
    if (g.device) device += "name: " + config::quote_if_needed(*g.device);
    if (g.speed) device += (device.empty() ? "speed: " : ", speed: ") + config::format_number(*g.speed);
    if (g.cores) device += fmt::format("{}cores: {}", device.empty() ? "" : ", ", *g.cores);
    out += fmt::format("{}{{count: {}", out.empty() ? "" : ", ", g.count);
    if (!device.empty()) out += ", device: {" + device + "}";
    if (g.nic) out += ", nic: " + nic_flow(*g.nic);
    if (g.per_host) out += fmt::format(", per_host: {}", *g.per_host);
    if (g.pcie) out += ", pcie: " + config::format_bandwidth(*g.pcie);
    if (g.nvlink) out += ", nvlink: " + config::format_bandwidth(*g.nvlink);
    out += "}";
  }
  return out.empty() ? "" : "[" + out + "]";
}

}  // namespace

std::optional<NicSpec> read_nic(Reader& reader, const Node& node, const std::string& key) {
  if (!node.is_map()) {
    const auto rate = reader.read_bandwidth(node, key);
    return rate ? std::optional(NicSpec{*rate, *rate}) : std::nullopt;
  }
  NicSpec nic;
  read_item(reader, node, key, {"up", "down"}, [&](const config::Entry& e, const std::string& path) {
    if (const auto rate = reader.read_bandwidth(e.value, path)) (e.key == "up" ? nic.up : nic.down) = *rate;
  });
  for (const char* direction : {"up", "down"})
    if (!node.find(direction))
      reader.error(node.place, key, fmt::format("'{}' is missing", direction),
                   "give up and down, or one rate for both");
  return nic;
}

std::uint32_t host_count(const WorkersSpec& workers) {
  const auto hosts = [](std::uint32_t count, std::uint32_t per_host) { return (count + per_host - 1) / per_host; };
  if (workers.groups.empty()) return hosts(workers.count, workers.per_host);
  std::uint32_t sum = 0;
  for (const WorkerGroupSpec& g : workers.groups) sum += hosts(g.count, g.per_host.value_or(workers.per_host));
  return sum;
}

void add_worker_host_fields(Rows& rows) {
  rows.push_back(config::integer<Spec>(
      "cluster.workers.per_host", 1, kMaxPerHost, "1", "workers on one host, which share its NIC",
      [](auto& s) -> auto& { return s.cluster.workers.per_host; }));
  only(rows, [](const Spec& s) { return s.cluster.workers.per_host != 1; });
  rows.push_back(config::bandwidth<Spec>(
      "cluster.workers.pcie", "unlimited", "between a worker's device and its host, each direction of each device",
      [](auto& s) -> auto& { return s.cluster.workers.pcie; }));
  only(rows, [](const Spec& s) { return !s.cluster.workers.pcie.is_unlimited(); });
  rows.push_back(custom(
      "cluster.workers.nvlink.rate", "bandwidth", "1 kbit/s or more, or unlimited", "",
      "direct links of each device to the others of its host, each direction; nvlink: RATE sets it; without, workers "
      "of a "
      "host exchange over PCIe",
      [](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        s.cluster.workers.nvlink = reader.read_bandwidth(node, key);
      },
      [](const Spec& s) {
        return s.cluster.workers.nvlink ? config::format_bandwidth(*s.cluster.workers.nvlink) : std::string();
      }));
  rows.back().record.shorthand = "cluster.workers.nvlink";
  rows.push_back(config::duration<Spec>(
      "cluster.workers.nvlink.latency", "0 us", "of a message over direct links",
      [](auto& s) -> auto& { return s.cluster.workers.nvlink_latency; }));
  only(rows, [](const Spec& s) { return s.cluster.workers.nvlink_latency > Duration(); });
  rows.push_back(
      custom("cluster.workers.groups", "list", "{count, device: {name, speed, cores}, nic, per_host, pcie, nvlink}", "",
             "workers that differ, in order; what a group does not say is as for all", read_groups, write_groups));
}

}  // namespace stretto::experiment
