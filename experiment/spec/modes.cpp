// SPDX-License-Identifier: Apache-2.0
// The rows of sharing modes and hosts of servers, and the rules between them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiment/spec/rows.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

constexpr std::int64_t kMaxPasses = 1024;
constexpr std::uint32_t kMaxAllPasses = 65'535;  // of local steps with accumulation
constexpr std::int64_t kMaxStaleness = 1'000'000;

const std::vector<std::string> kModes = {"sync", "async", "ssp", "backup", "local"};

bool is(const Spec& s, Synchronization mode) { return s.training.synchronization == mode; }

// A field of one mode: none stands for its default.
template <class Access>
void add_count(Rows& rows, const std::string& path, std::int64_t low, std::int64_t high, std::string help,
               Access access) {
  config::Field<Spec> field;
  field.record = {path, "integer", fmt::format("{} to {}", low, high), "", std::move(help), ""};
  field.read = [=](Reader& reader, const Node& node, const std::string& key, Spec& s) {
    if (const auto value = reader.read_integer(node, key, low, high)) access(s) = static_cast<std::uint32_t>(*value);
  };
  field.write = [=](const Spec& s) {
    const auto& value = access(s);
    return value ? std::to_string(*value) : std::string();
  };
  rows.push_back(std::move(field));
}

void check_training(Reader& reader, const Node& root, const Spec& s) {
  const auto refuse = [&](const std::string& key, std::string message, std::string hint) {
    reader.error(place_of(root, key), key, std::move(message), std::move(hint));
  };
  const std::string& mode = kModes.at(static_cast<std::size_t>(s.training.synchronization));
  if (s.workload.mode == Mode::Inference) {
    if (!is(s, Synchronization::Sync))
      refuse("training.synchronization", fmt::format("inference knows no '{}'", mode), "leave it out");
    if (s.training.accumulation > 1)
      refuse("training.accumulation", "inference has no gradients to accumulate", "leave it out");
  }
  const auto belongs = [&](const std::string& key, bool fits, const char* modes) {
    if (config::find_path(root, key) && !fits)
      refuse(key, fmt::format("means nothing with synchronization: {}", mode), fmt::format("goes with {}", modes));
  };
  belongs("training.staleness", is(s, Synchronization::Ssp), "ssp");
  belongs("training.backups", is(s, Synchronization::Backup), "backup");
  belongs("training.local_steps", is(s, Synchronization::Local), "local");
  belongs("training.barrier", is(s, Synchronization::Sync) || is(s, Synchronization::Local), "sync and local");
  if (const std::uint32_t local = s.training.local_steps.value_or(kDefaultLocalSteps);
      is(s, Synchronization::Local) && local * s.training.accumulation > kMaxAllPasses)
    refuse("training.local_steps",
           fmt::format("{} local steps of {} batches are more than {} passes", local, s.training.accumulation,
                       kMaxAllPasses),
           "fewer local_steps, or a smaller accumulation");
  if (is(s, Synchronization::Backup)) {
    const std::uint32_t backups = s.training.backups.value_or(kDefaultBackups);
    if (backups >= s.cluster.workers.count)
      refuse("training.backups",
             fmt::format("{} of {} workers would leave no gradient to wait for", backups, s.cluster.workers.count),
             s.cluster.workers.count == 1 ? std::string("backup workers need at least two workers")
                                          : fmt::format("valid: 0 to {}", s.cluster.workers.count - 1));
    if (s.workload.input_pipeline > Duration())
      refuse("workload.input_pipeline", "is not modelled with backup workers", "leave it out, or say sync");
  }
}

void read_colocated(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  if (node.is_scalar() && (node.text == "true" || node.text == "false")) {
    if (const auto all = reader.read_bool(node, key)) s.cluster.servers.colocated = *all ? kAllColocated : 0;
  } else if (const auto count = reader.read_integer(node, key, 0, kMaxServers)) {
    s.cluster.servers.colocated = static_cast<std::uint32_t>(*count);
  }
}

void check_hosts(Reader& reader, const Node& root, const Spec& s) {
  const ServersSpec& servers = s.cluster.servers;
  const std::uint32_t on_workers = std::min(servers.colocated, servers.count);
  const std::uint32_t hosts = (on_workers + servers.per_host - 1) / servers.per_host;
  const WorkersSpec& workers = s.cluster.workers;
  const std::uint32_t worker_hosts = host_count(workers);
  const auto refuse = [&](std::string message, std::string hint) {
    reader.error(place_of(root, "cluster.servers.colocated"), "cluster.servers.colocated", std::move(message),
                 std::move(hint));
  };
  if (servers.colocated != kAllColocated && servers.colocated > servers.count)
    refuse(fmt::format("{} of {} servers", servers.colocated, servers.count), "at most cluster.servers.count");
  else if (hosts > worker_hosts)
    refuse(worker_hosts == workers.count
               ? fmt::format("{} servers need {} hosts, and there are {} workers", on_workers, hosts, workers.count)
               : fmt::format("{} servers need {} hosts, and the {} workers have {}", on_workers, hosts, workers.count,
                             worker_hosts),
           "raise per_host or cluster.workers.count, or lower cluster.servers.count");
  else if (on_workers < servers.count && on_workers % servers.per_host != 0)
    refuse(fmt::format("{} servers leave a worker's host with fewer than per_host", on_workers),
           fmt::format("a multiple of {}", servers.per_host));
  const std::uint32_t together = std::min(servers.per_host, servers.count);
  if (servers.cores > 0 && servers.threads > 0 && servers.threads < servers.cores &&
      servers.cores < servers.threads * together)
    reader.error(place_of(root, "cluster.servers.cores"), "cluster.servers.cores",
                 fmt::format("{} processes of {} threads on {} cores: either limit alone can be modelled", together,
                             servers.threads, servers.cores),
                 fmt::format("valid: at most {}, or {} and more", servers.threads, servers.threads * together));
}

}  // namespace

void add_training_fields(Rows& rows) {
  rows.push_back(config::choice<Spec>(
      "training.synchronization", kModes, "sync",
      "sync: all workers' gradients make one update; async: each makes its own; ssp: async with bounded lead; backup: "
      "the first gradients make the update; local: steps of a worker by itself between syncs",
      [](auto& s) -> auto& { return s.training.synchronization; }));
  rows.push_back(config::boolean<Spec>(
      "training.barrier", "true", "sync, local: a step starts when all workers have ended theirs",
      [](auto& s) -> auto& { return s.training.barrier; }));
  only(rows, [](const Spec& s) { return is(s, Synchronization::Sync) || is(s, Synchronization::Local); });
  add_count(
      rows, "training.staleness", 0, kMaxStaleness,
      fmt::format("ssp: steps that a worker may lead the slowest by; {} if left out", kDefaultStaleness),
      [](auto& s) -> auto& { return s.training.staleness; });
  add_count(
      rows, "training.backups", 0, 4095,
      fmt::format("backup: gradients of a step that are not waited for; {} if left out", kDefaultBackups),
      [](auto& s) -> auto& { return s.training.backups; });
  add_count(
      rows, "training.local_steps", 1, kMaxPasses,
      fmt::format("local: steps of a worker between two syncs; {} if left out", kDefaultLocalSteps),
      [](auto& s) -> auto& { return s.training.local_steps; });
  rows.push_back(config::integer<Spec>(
      "training.accumulation", 1, kMaxPasses, "1", "batches whose gradients a worker adds up before it pushes them",
      [](auto& s) -> auto& { return s.training.accumulation; }));
  only(rows, [](const Spec& s) { return s.training.accumulation != 1; });
  rows.push_back(config::choice<Spec>(
      "training.optimizer", {"sgd", "momentum", "adam"}, "sgd",
      "what an update does at the server: momentum takes 5/3 and adam 7/3 of the time of sgd",
      [](auto& s) -> auto& { return s.training.optimizer; }));
  only(rows, [](const Spec& s) { return s.training.optimizer != Optimizer::Sgd; });
}

void add_server_host_fields(Rows& rows) {
  rows.push_back(config::bandwidth<Spec>(
      "cluster.servers.aggregate_rate", "unlimited", "bytes of gradients that one thread adds to the others per time",
      [](auto& s) -> auto& { return s.cluster.servers.aggregate_rate; }));
  only(rows, [](const Spec& s) { return !s.cluster.servers.aggregate_rate.is_unlimited(); });
  rows.push_back(config::integer<Spec>(
      "cluster.servers.per_host", 1, 64, "1", "server processes on one host, which share its NIC",
      [](auto& s) -> auto& { return s.cluster.servers.per_host; }));
  only(rows, [](const Spec& s) { return s.cluster.servers.per_host != 1; });
  rows.push_back(custom(
      "cluster.servers.colocated", "true, false or integer", "0 to 1024", "false",
      "servers run on the workers' hosts and share their NICs, from worker 0 on: all, none, or so many of the first",
      read_colocated, [](const Spec& s) {
        const std::uint32_t n = s.cluster.servers.colocated;
        return n == 0 ? std::string() : n == kAllColocated ? std::string("true") : std::to_string(n);
      }));
  rows.push_back(config::integer<Spec>(
      "cluster.servers.cores", 0, 65'536, "0", "cores of a host for its server processes' threads; 0 = enough for all",
      [](auto& s) -> auto& { return s.cluster.servers.cores; }));
  only(rows, [](const Spec& s) { return s.cluster.servers.cores != 0; });
}

void add_loopback_field(Rows& rows) {
  rows.push_back(config::bandwidth<Spec>(
      "cluster.network.loopback", "unlimited", "what a host carries between a worker and servers on it, both ways",
      [](auto& s) -> auto& { return s.cluster.network.loopback; }));
  only(rows, [](const Spec& s) { return !s.cluster.network.loopback.is_unlimited(); });
}

double update_cost(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return 1;
    case Optimizer::Momentum:
      return 5.0 / 3.0;
    case Optimizer::Adam:
      return 7.0 / 3.0;
  }
  return 1;
}

std::string training_text(const Spec& spec) {
  const TrainingSpec& t = spec.training;
  const std::string barrier = t.barrier ? "with barrier" : "without barrier";
  std::string text = "sync " + barrier;
  if (is(spec, Synchronization::Async)) text = "async";
  if (is(spec, Synchronization::Ssp))
    text = fmt::format("ssp with staleness {}", t.staleness.value_or(kDefaultStaleness));
  if (is(spec, Synchronization::Backup))
    text = fmt::format("backup, first {} of {} gradients",
                       spec.cluster.workers.count - t.backups.value_or(kDefaultBackups), spec.cluster.workers.count);
  if (is(spec, Synchronization::Local))
    text = fmt::format("local, sync {} every {} steps", barrier, t.local_steps.value_or(kDefaultLocalSteps));
  return t.accumulation == 1 ? text : text + fmt::format(", {} batches accumulated", t.accumulation);
}

void check_modes(Reader& reader, const Node& root, const Spec& s) {
  const StragglersSpec& straggler = s.noise.stragglers;
  const Duration least = std::min(straggler.mean_on, straggler.mean_off);
  if (straggler.slowdown > 1 && least < Duration::us(1)) {
    const std::string key = straggler.mean_on == least ? "noise.stragglers.mean_on" : "noise.stragglers.mean_off";
    reader.error(place_of(root, key), key, "stragglers need both mean times", "valid: 1 us and more");
  }
  check_training(reader, root, s);
  check_hosts(reader, root, s);
}

}  // namespace stretto::experiment
