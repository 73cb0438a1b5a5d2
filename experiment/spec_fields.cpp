// SPDX-License-Identifier: Apache-2.0
#include "experiment/spec_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace stretto::experiment {

namespace {

using config::Field;
using config::Node;
using config::Reader;
using Rows = std::vector<Field<Spec>>;

const std::vector<std::string> kPlacements = {"round_robin", "greedy", "partitioned", "by_name"};
constexpr std::int64_t kMaxServers = 1024;
constexpr std::int64_t kMaxWorkers = 4096;
constexpr double kMaxRatio = 1e6;

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// A field with a form of its own.
Field<Spec> custom(std::string path, std::string type, std::string range, std::string fallback, std::string help,
                   std::function<void(Reader&, const Node&, const std::string&, Spec&)> read,
                   std::function<std::string(const Spec&)> write) {
  return {{std::move(path), std::move(type), std::move(range), std::move(fallback), std::move(help), ""},
          std::move(read),
          std::move(write)};
}

void read_version(Reader& reader, const Node& node, const std::string& key, Spec&) {
  const auto version = reader.read_integer(node, key, 1, std::numeric_limits<std::int64_t>::max());
  if (version && *version > config::kFormatVersion)
    reader.error(node.place, key, fmt::format("version {} of the file format is newer than this program", *version),
                 fmt::format("this program reads version {}", config::kFormatVersion));
}

// One slot of the workload is a name, the other a file; which one was given is checked between fields.
void read_model(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  if (auto name = reader.read_text(node, key)) s.workload.model = std::move(*name);
  s.workload.place = node.place;
}

void read_file(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  if (const auto path = reader.read_text(node, key)) s.workload.file = node.place.resolve(*path);
  s.workload.place = node.place;
}

void read_batch(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  s.workload.batch_per_worker = reader.read_integer(node, key, 1, 1'000'000'000);
  s.workload.batch_place = node.place;
}

void read_ratio(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  const auto ratio = reader.read_number(node, key);
  s.cluster.network.ratio_place = node.place;
  if (!ratio) return;
  if (*ratio > 0 && *ratio <= kMaxRatio)
    s.cluster.network.comm_compute_ratio = ratio;
  else
    reader.error(node.place, key, config::describe(node) + " is out of range", "valid: more than 0, at most 1e6");
}

void read_by_name(Reader& reader, const Node& node, const std::string& key, PlacementSpec& placement) {
  if (!node.is_map() || node.entries.empty())
    return reader.error(node.place, key,
                        "expected a mapping from parameter names to servers, found " + config::describe(node),
                        "for example {by_name: {fc6/weights: 0, fc7/weights: 1}}");
  for (const config::Entry& entry : node.entries)
    if (const auto server = reader.read_integer(entry.value, key + "." + entry.key, 0, kMaxServers - 1))
      placement.by_name.push_back({entry.key, static_cast<std::uint32_t>(*server), entry.place});
}

void read_partitioned(Reader& reader, const Node& node, const std::string& key, PlacementSpec& placement) {
  const std::string hint = "for example {partitioned: {size: 4 MiB}} or {partitioned: {parts: 8}}";
  if (!node.is_map() || node.entries.size() != 1)
    return reader.error(node.place, key,
                        "expected a mapping with either size or parts, found " +
                            (node.is_map() ? fmt::format("{} keys", node.entries.size()) : config::describe(node)),
                        hint);
  const config::Entry& entry = node.entries[0];
  if (entry.key == "size") {
    const auto size = reader.read_bytes(entry.value, key + ".size");
    if (size && size->count() < 1) reader.error(entry.value.place, key + ".size", "a part needs at least one byte");
    if (size) placement.part_size = *size;
  } else if (entry.key == "parts") {
    if (const auto parts = reader.read_integer(entry.value, key + ".parts", 1, 65'536))
      placement.parts = static_cast<std::uint32_t>(*parts);
  } else {
    reader.error(entry.place, key + "." + entry.key, "unknown key", "valid here: size, parts");
  }
}

void read_placement(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  PlacementSpec placement;
  placement.place = node.place;
  if (!node.is_map()) {
    const auto kind = reader.read_choice(node, key, kPlacements);
    if (!kind) return;
    placement.kind = static_cast<PlacementKind>(*kind);
    if (placement.kind == PlacementKind::ByName)
      return reader.error(node.place, key, "by_name needs to know the servers",
                          "for example {by_name: {fc6/weights: 0, fc7/weights: 1}}");
  } else {
    if (node.entries.size() != 1)
      return reader.error(node.place, key,
                          fmt::format("expected one placement, found a mapping with {} keys", node.entries.size()),
                          "valid: round_robin, greedy, partitioned, by_name");
    const config::Entry& entry = node.entries[0];
    if (entry.key == "partitioned") {
      placement.kind = PlacementKind::Partitioned;
      read_partitioned(reader, entry.value, key + ".partitioned", placement);
    } else if (entry.key == "by_name") {
      placement.kind = PlacementKind::ByName;
      read_by_name(reader, entry.value, key + ".by_name", placement);
    } else if (std::find(kPlacements.begin(), kPlacements.end(), entry.key) != kPlacements.end()) {
      return reader.error(entry.place, key, fmt::format("{} has no options", entry.key),
                          "write placement: " + entry.key);
    } else {
      const std::string guess = nearest_name(entry.key, kPlacements);
      return reader.error(entry.place, key + "." + entry.key, "unknown placement",
                          (guess.empty() ? "" : fmt::format("did you mean '{}'? ", guess)) +
                              "valid: round_robin, greedy, partitioned, by_name");
    }
  }
  s.cluster.servers.placement = std::move(placement);
}

std::string write_placement(const Spec& s) {
  const PlacementSpec& p = s.cluster.servers.placement;
  if (p.part_size.count() > 0) return fmt::format("{{partitioned: {{size: {}}}}}", config::format_bytes(p.part_size));
  if (p.parts > 0) return fmt::format("{{partitioned: {{parts: {}}}}}", p.parts);
  if (p.kind != PlacementKind::ByName) return kPlacements.at(static_cast<std::size_t>(p.kind));
  std::string out;
  for (const NamedServer& n : p.by_name)
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", config::quote_if_needed(n.parameter), n.server);
  return "{by_name: {" + out + "}}";
}

// Option `file` is a path, relative to the file that says it.
void read_option(Reader& reader, const config::Entry& option, const std::string& key, PolicySpec& policy) {
  auto text = reader.read_text(option.value, key);
  if (!text) return;
  if (option.key == "file") *text = option.value.place.resolve(*text);
  policy.options.push_back({option.key, std::move(*text), option.place, option.value.place});
}

void read_policy(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  PolicySpec policy;
  policy.place = node.place;
  if (!node.is_map()) {
    const auto name = reader.read_text(node, key);
    if (!name) return;
    policy.name = *name;
  } else {
    if (node.entries.size() != 1)
      return reader.error(node.place, key,
                          fmt::format("expected one policy, found a mapping with {} keys", node.entries.size()),
                          "options go below the name: {name: {option: value}}");
    const config::Entry& entry = node.entries[0];
    policy.name = entry.key;
    policy.place = entry.place;
    const std::string path = key + "." + entry.key;
    if (entry.value.is_scalar())
      read_option(reader, {"file", entry.value.place, entry.value}, path, policy);
    else if (!entry.value.is_map() && !entry.value.is_null())
      return reader.error(entry.value.place, path, "expected options, found " + config::describe(entry.value),
                          "options go below the name: {name: {option: value}}");
    for (const config::Entry& option : entry.value.entries)
      read_option(reader, option, path + "." + option.key, policy);
  }
  if (std::find(s.policies.begin(), s.policies.end(), policy) != s.policies.end())
    return reader.error(policy.place, key, fmt::format("the policy '{}' stands here twice", policy.name));
  s.policies.push_back(std::move(policy));
}

void read_policies(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  if (!node.is_sequence() || node.items.empty())
    return reader.error(node.place, key,
                        "expected a list of policies, found " +
                            (node.is_sequence() ? std::string("an empty list") : config::describe(node)),
                        "for example [fifo, tac]");
  s.policies.clear();
  for (std::size_t i = 0; i < node.items.size(); ++i)
    read_policy(reader, node.items[i], fmt::format("{}[{}]", key, i), s);
}

std::string write_policies(const Spec& s) {
  std::string out;
  for (const PolicySpec& p : s.policies) {
    std::string options;
    for (const PolicyOption& o : p.options)
      options += fmt::format("{}{}: {}", options.empty() ? "" : ", ", config::quote_if_needed(o.key),
                             config::quote_if_needed(o.text));
    const std::string name = config::quote_if_needed(p.name);
    out += (out.empty() ? "" : ", ") + (options.empty() ? name : fmt::format("{{{}: {{{}}}}}", name, options));
  }
  return "[" + out + "]";
}

void add_head(Rows& rows) {
  rows.push_back(custom("stretto", "integer", "1", "", "version of the file format; every experiment says it",
                        read_version, [](const Spec&) { return std::to_string(config::kFormatVersion); }));
  rows.push_back(config::text<Spec>(
      "name", "", "name of the experiment; the file's name if left out", [](auto& s) -> auto& { return s.name; }));
}

constexpr double kMaxFactor = 1000;

void read_transfer_ratio(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  const auto ratio = reader.read_fraction(node, key);
  if (!ratio) return;
  if (*ratio > 0 && *ratio <= 1)
    s.workload.transfers.ratio = ratio;
  else
    reader.error(node.place, key, config::describe(node) + " is out of range", "valid: more than 0, at most 1");
}

void read_freeze(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  if (!node.is_sequence())
    return reader.error(node.place, key, "expected a list of names, found " + config::describe(node),
                        "for example [conv1/*, conv2/*]");
  for (std::size_t i = 0; i < node.items.size(); ++i)
    if (auto pattern = reader.read_text(node.items[i], fmt::format("{}[{}]", key, i)))
      s.workload.freeze.push_back({std::move(*pattern), node.items[i].place});
}

std::string write_freeze(const Spec& s) {
  std::string out;
  for (const FreezeSpec& f : s.workload.freeze) out += (out.empty() ? "" : ", ") + config::quote_if_needed(f.pattern);
  return out.empty() ? "" : "[" + out + "]";
}

void add_workload(Rows& rows) {
  rows.push_back(custom("workload.model", "text", "a shipped workload", "",
                        "shipped workload, by name; this or workload.file", read_model, [](const Spec& s) {
                          return s.workload.model.empty() ? "" : config::quote_if_needed(s.workload.model);
                        }));
  rows.push_back(
      custom("workload.file", "path", "", "",
             "workload file, relative to the file that says it; this or workload.model", read_file,
             [](const Spec& s) { return s.workload.model.empty() ? config::quote_if_needed(s.workload.file) : ""; }));
  rows.push_back(custom(
      "workload.batch_per_worker", "integer", "1 to 1000000000", "",
      "samples per worker and step; other than that of the profile it scales the times of the ops", read_batch,
      [](const Spec& s) { return s.workload.batch_per_worker ? std::to_string(*s.workload.batch_per_worker) : ""; }));
  rows.push_back(config::number<Spec>(
      "workload.batch_fixed_share", true, {0, 1, false, "0 to 1"}, "0",
      "share of each op's time that does not grow with the batch",
      [](auto& s) -> auto& { return s.workload.batch_fixed_share; }));
  rows.push_back(config::choice<Spec>(
      "workload.mode", {"training", "inference"}, "training", "whole training steps, or pulls and forward pass only",
      [](auto& s) -> auto& { return s.workload.mode; }));
  rows.push_back(config::choice<Spec>(
      "workload.transfers.precision", {"fp32", "fp16", "int8"}, "fp32",
      "what variables and gradients are sent as: 1, 1/2 or 1/4 of their bytes",
      [](auto& s) -> auto& { return s.workload.transfers.precision; }));
  rows.back().write = [write = rows.back().write](const Spec& s) { return s.workload.transfers.ratio ? "" : write(s); };
  rows.push_back(custom("workload.transfers.ratio", "fraction", "more than 0, at most 1", "",
                        "in place of a precision: bytes sent over bytes of the variable", read_transfer_ratio,
                        [](const Spec& s) {
                          const auto& ratio = s.workload.transfers.ratio;
                          return ratio ? config::format_number(*ratio) : "";
                        }));
  rows.push_back(config::per_byte<Spec>(
      "workload.transfers.encode", "0 ns/B", "service time at the sender, per byte of the variable",
      [](auto& s) -> auto& { return s.workload.transfers.encode_ps; }));
  rows.push_back(config::per_byte<Spec>(
      "workload.transfers.decode", "0 ns/B", "service time at the receiver, per byte of the variable",
      [](auto& s) -> auto& { return s.workload.transfers.decode_ps; }));
  rows.push_back(config::duration<Spec>(
      "workload.input_pipeline", "0 us", "time to prepare one batch, beside the step before",
      [](auto& s) -> auto& { return s.workload.input_pipeline; }));
  rows.push_back(custom("workload.freeze", "list", "patterns with * and ?", "",
                        "variables that are not trained: pulled, but neither computed gradients for nor pushed",
                        read_freeze, write_freeze));
}

template <class Nic>
void add_nic(Rows& rows, const std::string& path, Nic nic) {
  rows.push_back(config::bandwidth<Spec>(
      path + ".up", "unlimited",
      "what a host can send; nic: RATE sets both directions", [nic](auto& s) -> auto& { return nic(s).up; }, path));
  rows.push_back(config::bandwidth<Spec>(
      path + ".down", "unlimited", "what a host can receive", [nic](auto& s) -> auto& { return nic(s).down; }, path));
}

template <class Service>
void add_service(Rows& rows, const std::string& path, const std::string& what, Service service) {
  rows.push_back(config::duration<Spec>(
      path + ".per_message", "0 us",
      "service time of " + what + " one message", [service](auto& s) -> auto& { return service(s).per_message; }));
  rows.push_back(config::per_byte<Spec>(
      path + ".per_byte", "0 ns/B",
      "service time of " + what + " one byte", [service](auto& s) -> auto& { return service(s).per_byte_ps; }));
}

// The cost model of ops that have no profiled time (models/device/roofline.hpp).
void add_roofline(Rows& rows) {
  const std::string device = "cluster.workers.device.";
  const config::Range positive{0, 1e9, true, "more than 0, at most 1e9"};
  const config::Range share{0, 1, true, "more than 0, at most 1"};
  rows.push_back(config::number<Spec>(
      device + "peak_gflops", false, positive, "", "peak rate in 1e9 operations/s, for workloads without times",
      [](auto& s) -> auto& { return s.cluster.workers.device.peak_gflops; }));
  rows.back().read = [read = rows.back().read](Reader& reader, const Node& node, const std::string& key, Spec& s) {
    s.cluster.workers.device.roofline_place = node.place;
    read(reader, node, key, s);
  };
  rows.push_back(config::number<Spec>(
      device + "memory_gbytes", false, positive, "", "memory bandwidth in 1e9 bytes/s; goes with peak_gflops",
      [](auto& s) -> auto& { return s.cluster.workers.device.memory_gbytes; }));
  rows.push_back(config::number<Spec>(
      device + "flops_efficiency", true, share, "1", "share of the peak rate that kernels reach",
      [](auto& s) -> auto& { return s.cluster.workers.device.flops_efficiency; }));
  rows.push_back(config::number<Spec>(
      device + "memory_efficiency", true, share, "1", "share of the memory bandwidth that kernels reach",
      [](auto& s) -> auto& { return s.cluster.workers.device.memory_efficiency; }));
  rows.push_back(config::duration<Spec>(
      device + "launch", "0 us", "time that every op costs beside its work",
      [](auto& s) -> auto& { return s.cluster.workers.device.launch; }));
}

void add_workers(Rows& rows) {
  rows.push_back(config::integer<Spec>(
      "cluster.workers.count", 1, kMaxWorkers, "1", "workers, each on a host of its own",
      [](auto& s) -> auto& { return s.cluster.workers.count; }));
  rows.push_back(config::text<Spec>(
      "cluster.workers.device.name", "gpu", "name of the device, for the report",
      [](auto& s) -> auto& { return s.cluster.workers.device.name; }));
  rows.push_back(config::choice<Spec>(
      "cluster.workers.device.kind", {"gpu", "cpu"}, "gpu", "a gpu runs one op at a time, a cpu one per core",
      [](auto& s) -> auto& { return s.cluster.workers.device.kind; }));
  rows.push_back(config::integer<Spec>(
      "cluster.workers.device.cores", 1, 1024, "1", "cores of a cpu",
      [](auto& s) -> auto& { return s.cluster.workers.device.cores; }));
  rows.back().write = [](const Spec& s) {
    const DeviceSpec& device = s.cluster.workers.device;
    return device.kind == DeviceKind::Cpu ? std::to_string(device.cores) : "";
  };
  rows.push_back(config::number<Spec>(
      "cluster.workers.device.speed", false, {0, kMaxRatio, true, "more than 0, at most 1e6"}, "1",
      "speed relative to the device that the workload was profiled on",
      [](auto& s) -> auto& { return s.cluster.workers.device.speed; }));
  add_roofline(rows);
  add_nic(
      rows, "cluster.workers.nic", [](auto& s) -> auto& { return s.cluster.workers.nic; });
  rows.push_back(config::integer<Spec>(
      "cluster.workers.threads", 0, 65'536, "0", "threads that handle messages; 0 = unlimited",
      [](auto& s) -> auto& { return s.cluster.workers.threads; }));
  add_service(
      rows, "cluster.workers.send", "sending", [](auto& s) -> auto& { return s.cluster.workers.send; });
  add_service(
      rows, "cluster.workers.receive", "receiving", [](auto& s) -> auto& { return s.cluster.workers.receive; });
}

void add_servers(Rows& rows) {
  rows.push_back(config::integer<Spec>(
      "cluster.servers.count", 1, kMaxServers, "1", "parameter servers, each on a host of its own",
      [](auto& s) -> auto& { return s.cluster.servers.count; }));
  add_nic(
      rows, "cluster.servers.nic", [](auto& s) -> auto& { return s.cluster.servers.nic; });
  rows.push_back(config::integer<Spec>(
      "cluster.servers.threads", 0, 65'536, "0", "threads that send, receive, aggregate and update; 0 = unlimited",
      [](auto& s) -> auto& { return s.cluster.servers.threads; }));
  add_service(
      rows, "cluster.servers.send", "sending", [](auto& s) -> auto& { return s.cluster.servers.send; });
  add_service(
      rows, "cluster.servers.receive", "receiving", [](auto& s) -> auto& { return s.cluster.servers.receive; });
  rows.push_back(config::bandwidth<Spec>(
      "cluster.servers.update_rate", "unlimited", "bytes of variables that one thread updates per time",
      [](auto& s) -> auto& { return s.cluster.servers.update_rate; }));
  add_server_host_fields(rows);
  rows.push_back(
      custom("cluster.servers.placement", "placement", "round_robin, greedy, partitioned, by_name", "round_robin",
             "which server holds a variable: a name, {partitioned: {size: 4 MiB}}, {partitioned: {parts: 8}} "
             "or {by_name: {variable: server}}",
             read_placement, write_placement));
}

void add_network(Rows& rows) {
  rows.push_back(config::choice<Spec>(
      "cluster.network.topology", {"star"}, "star", "hosts joined by one switch that never limits",
      [](auto& s) -> auto& { return s.cluster.network.topology; }));
  rows.push_back(config::choice<Spec>(
      "cluster.network.model", {"fluid", "fifo"}, "fluid",
      "fluid: max-min fair sharing; fifo: one message or chunk after another",
      [](auto& s) -> auto& { return s.cluster.network.model; }));
  rows.push_back(config::bytes<Spec>(
      "cluster.network.chunk", "0 B", "fifo: what a link stores and forwards; 0 B = whole messages",
      [](auto& s) -> auto& { return s.cluster.network.chunk; }));
  rows.push_back(config::duration<Spec>(
      "cluster.network.latency", "0 us", "one way, host to host",
      [](auto& s) -> auto& { return s.cluster.network.latency; }));
  rows.push_back(config::number<Spec>(
      "cluster.network.efficiency", true, {0, 1, true, "more than 0, at most 1"}, "1",
      "payload over wire bytes: 0.956 for TCP over Ethernet",
      [](auto& s) -> auto& { return s.cluster.network.efficiency; }));
  rows.push_back(config::integer<Spec>(
      "cluster.network.streams", 0, 65'536, "1", "messages of one connection that move at a time; 0 = unlimited",
      [](auto& s) -> auto& { return s.cluster.network.streams; }));
  rows.push_back(config::bandwidth<Spec>(
      "cluster.network.rate_cap", "unlimited", "most that one connection can carry",
      [](auto& s) -> auto& { return s.cluster.network.rate_cap; }));
  add_loopback_field(rows);
  rows.push_back(custom("cluster.network.comm_compute_ratio", "number", "more than 0, at most 1e6", "",
                        "in place of NIC rates: time of all pulls over time of the forward pass", read_ratio,
                        [](const Spec& s) {
                          const auto& ratio = s.cluster.network.comm_compute_ratio;
                          return ratio ? config::format_number(*ratio) : "";
                        }));
  rows.push_back(config::duration<Spec>(
      "cluster.step_overhead", "0 us", "time at the start of each worker's step",
      [](auto& s) -> auto& { return s.cluster.step_overhead; }));
}

// One mapping of a list: calls `read` with each entry; what it does not take is unknown.
void read_item(Reader& reader, const Node& node, const std::string& key, const std::vector<std::string>& names,
               const std::function<void(const config::Entry&, const std::string& path)>& read) {
  if (!node.is_map())
    return reader.error(node.place, key, "expected a mapping, found " + config::describe(node), "keys: " + join(names));
  for (const config::Entry& entry : node.entries) {
    const std::string path = key + "." + entry.key;
    if (std::find(names.begin(), names.end(), entry.key) != names.end()) {
      read(entry, path);
      continue;
    }
    const std::string guess = nearest_name(entry.key, names);
    reader.error(entry.place, path, "unknown key",
                 (guess.empty() ? "" : fmt::format("did you mean '{}'? ", guess)) + "valid here: " + join(names));
  }
}

void read_factor(Reader& reader, const Node& node, const std::string& key, double& factor) {
  const auto number = reader.read_number(node, key);
  if (!number) return;
  if (*number > 0 && *number <= kMaxFactor)
    factor = *number;
  else
    reader.error(node.place, key, config::describe(node) + " is out of range",
                 fmt::format("valid: more than 0, at most {}", kMaxFactor));
}

void read_list(Reader& reader, const Node& node, const std::string& key, const char* example,
               const std::function<void(const Node&, const std::string&)>& read) {
  if (!node.is_sequence())
    return reader.error(node.place, key, "expected a list, found " + config::describe(node), example);
  for (std::size_t i = 0; i < node.items.size(); ++i) read(node.items[i], fmt::format("{}[{}]", key, i));
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

void add_noise(Rows& rows) {
  rows.push_back(config::number<Spec>(
      "noise.compute_cv", true, {0, 10, false, "0 to 10"}, "0", "coefficient of variation of each op's time",
      [](auto& s) -> auto& { return s.noise.compute_cv; }));
  add_noise_fields(rows);
  rows.push_back(
      custom("noise.slow_workers", "list", "{worker, slowdown, from, until}", "",
             "ops that a worker starts from `from` until `until` take `slowdown` times as long; windows that "
             "overlap multiply",
             read_slow_workers, write_slow_workers));
  rows.push_back(custom("noise.nics", "list", "{worker or server, at, factor}", "",
                        "from `at` on, a NIC has `factor` times its rate in both directions", read_nics, write_nics));
}

void add_rest(Rows& rows) {
  add_training_fields(rows);
  rows.push_back(custom("policies", "list", "names, or {name: {option: value}}", "[random, fifo, tic, tac]",
                        "what to compare; random and fifo always run as baselines", read_policies, write_policies));
  add_noise(rows);
  add_search_fields(rows);
  rows.push_back(config::integer<Spec>(
      "runs.iterations", 1, 1'000'000, "20", "steps of one replication, warm-up included",
      [](auto& s) -> auto& { return s.runs.iterations; }));
  rows.push_back(config::integer<Spec>(
      "runs.warm_up", 0, 1'000'000, "2", "steps that are not measured",
      [](auto& s) -> auto& { return s.runs.warm_up; }));
  rows.push_back(config::integer<Spec>(
      "runs.replications.min", 1, 100'000, "5", "replications at least; replications: N sets min and max",
      [](auto& s) -> auto& { return s.runs.min_replications; }, "runs.replications"));
  rows.push_back(config::integer<Spec>(
      "runs.replications.max", 1, 100'000, "50", "replications at most",
      [](auto& s) -> auto& { return s.runs.max_replications; }, "runs.replications"));
  rows.push_back(config::number<Spec>(
      "runs.replications.precision", true, {0, 1, true, "more than 0, at most 1"}, "0.01",
      "replications end when the 95 % interval is this narrow, relative to the mean",
      [](auto& s) -> auto& { return s.runs.precision; }));
  rows.push_back(config::integer<Spec>(
      "runs.seed", 0, std::numeric_limits<std::int64_t>::max(), "1", "root of all random numbers",
      [](auto& s) -> auto& { return s.runs.seed; }));
  rows.push_back(custom(
      "vary", "mapping", fmt::format("at most {} points", kMaxPoints), "",
      "path: list of values; every combination is run, the first path varies slowest",
      [](Reader&, const Node&, const std::string&, Spec&) {}, [](const Spec&) { return ""; }));
}

}  // namespace

const std::vector<Field<Spec>>& spec_fields() {
  static const Rows kRows = [] {
    Rows rows;
    add_head(rows);
    add_workload(rows);
    add_workers(rows);
    add_servers(rows);
    add_network(rows);
    add_rest(rows);
    return rows;
  }();
  return kRows;
}

}  // namespace stretto::experiment
