// SPDX-License-Identifier: Apache-2.0
// The rows of the section `all_reduce` and the rules around it.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "experiment/spec/rows.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

constexpr std::int64_t kMaxStreams = 64;

const std::vector<std::string> kAlgorithms = {"ring", "halving_doubling", "tree", "hierarchical"};

bool all_reduce(const Spec& s) { return s.training.exchange == Exchange::AllReduce; }

config::Field<Spec> fusion_field() {
  return custom(
      "all_reduce.fusion", "bytes", "1 B to 1 TiB, or off", "off",
      "gradients are summed in buckets of at most so many bytes, in the order of becoming ready; a larger one alone",
      [](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        if (node.is_scalar() && node.text == "off") {
          s.all_reduce.fusion = Bytes();
          return;
        }
        const auto bytes = reader.read_bytes(node, key);
        if (bytes && *bytes == Bytes()) reader.error(node.place, key, "nothing would be fused", "say off");
        if (bytes) s.all_reduce.fusion = *bytes;
      },
      [](const Spec& s) {
        return s.all_reduce.fusion == Bytes() ? std::string("off") : config::format_bytes(s.all_reduce.fusion);
      });
}

}  // namespace

void add_exchange_field(Rows& rows) {
  rows.push_back(config::choice<Spec>(
      "training.exchange", {"parameter_server", "all_reduce"}, "parameter_server",
      "how gradients are exchanged: over servers, or among the workers (section all_reduce)",
      [](auto& s) -> auto& { return s.training.exchange; }));
  only(rows, all_reduce);
}

void add_all_reduce_fields(Rows& rows) {
  // Written where it counts, or may for another point of the experiment.
  const auto add = [&](config::Field<Spec> field) {
    rows.push_back(std::move(field));
    const std::string fallback = rows.back().write(Spec());
    rows.back().write = [write = rows.back().write, fallback](const Spec& s) {
      return all_reduce(s) || write(s) != fallback ? write(s) : std::string();
    };
  };
  add(config::choice<Spec>(
      "all_reduce.algorithm", kAlgorithms, "ring",
      "ring; recursive halving and doubling; binary tree; hierarchical: inside the hosts, between them, inside again",
      [](auto& s) -> auto& { return s.all_reduce.algorithm; }));
  add(fusion_field());
  add(config::boolean<Spec>(
      "all_reduce.split", "false",
      "reduce-scatter first, and all-gather when all of the step are reduced; in two orders of turns",
      [](auto& s) -> auto& { return s.all_reduce.split; }));
  add(config::duration<Spec>(
      "all_reduce.per_round", "0 us", "start-up time of each message, besides the network's latency",
      [](auto& s) -> auto& { return s.all_reduce.per_round; }));
  add(config::integer<Spec>(
      "all_reduce.streams", 1, kMaxStreams, "1", "collectives that a worker does at a time",
      [](auto& s) -> auto& { return s.all_reduce.streams; }));
  add(config::choice<Spec>(
      "all_reduce.detail", {"auto", "messages", "aggregate"}, "auto",
      "messages: those of all workers; aggregate: those of one, which stand for all where all are equal; auto: "
      "aggregate where it is exact",
      [](auto& s) -> auto& { return s.all_reduce.detail; }));
  rows.back().read = [read = rows.back().read](Reader& reader, const Node& node, const std::string& key, Spec& s) {
    s.all_reduce.detail_place = node.place;
    read(reader, node, key, s);
  };
}

void hide_servers(Rows& rows) {
  for (config::Field<Spec>& row : rows) {
    if (!row.record.path.starts_with("cluster.servers.")) continue;
    row.write = [write = row.write, fallback = row.write(Spec())](const Spec& s) {
      const std::string text = write(s);
      return all_reduce(s) && text == fallback ? std::string() : text;
    };
  }
}

void check_all_reduce(Reader& reader, const Node& root, const Spec& s) {
  const auto refuse = [&](const std::string& key, std::string message, std::string hint) {
    reader.error(place_of(root, key), key, std::move(message), std::move(hint));
  };
  // Other points of the experiment, or other jobs, may exchange the other way.
  const Node* vary = config::find_path(root, "vary");
  const bool both = is_job(root) || (vary != nullptr && vary->is_map() && vary->find("training.exchange") != nullptr);
  if (!all_reduce(s)) {
    if (config::find_path(root, "all_reduce") && !both)
      refuse("all_reduce", "means nothing without training.exchange: all_reduce", "say it, or leave this out");
    if (!s.search.fusion.none() && !both)
      refuse("search.fusion", "means nothing without training.exchange: all_reduce", "say it, or leave this out");
    return;
  }
  const auto not_searched = [&](const std::string& key, bool given) {
    if (given && !both) refuse(key, "means nothing with training.exchange: all_reduce", "leave it out");
  };
  not_searched("search.placement", s.search.placement);
  not_searched("search.servers", !s.search.servers.empty());
  not_searched("search.group", !s.search.group.none());
  if (s.workload.mode == Mode::Inference)
    refuse("training.exchange", "inference exchanges no gradients", "leave it out");
  if (s.training.synchronization != Synchronization::Sync && s.training.synchronization != Synchronization::Local)
    refuse("training.synchronization", "an all-reduce waits for all workers", "valid with all_reduce: sync and local");
  if (const Node* servers = config::find_path(root, "cluster.servers"); servers && servers->is_map() && !both)
    for (const config::Entry& entry : servers->entries)
      if (entry.key != "nic")
        refuse("cluster.servers." + entry.key, "there are no servers with training.exchange: all_reduce",
               "leave it out (cluster.servers.nic, which cluster files give, is not used)");
  if (s.training.optimizer != Optimizer::Sgd && !both)
    refuse("training.optimizer", "means nothing with all_reduce: updates are ops of the workload", "leave it out");
  for (std::size_t i = 0; i < s.noise.nics.size(); ++i)
    if (const std::string key = fmt::format("noise.nics[{}]", i); s.noise.nics[i].server)
      refuse(key, "there are no servers with training.exchange: all_reduce", "name a worker");
  const DeviceSpec& device = s.cluster.workers.device;
  const auto not_on_device = [&](const std::string& key, bool used) {
    if (used) refuse(key, "is not modelled with training.exchange: all_reduce", "leave it out");
  };
  not_on_device("cluster.workers.device.order", device.order != cluster::OpOrder::Fifo);
  not_on_device("cluster.workers.device.copy_in", !device.copy_in.is_unlimited());
  not_on_device("cluster.workers.device.copy_out", !device.copy_out.is_unlimited());
  not_on_device("cluster.workers.device.copy_launch", device.copy_launch > Duration());
  if (s.all_reduce.algorithm == Algorithm::Hierarchical) {
    Spec star = s;
    star.cluster.network.topology = {};
    const std::uint32_t per_host = cluster::workers_per_host(make_cluster(star));
    if (per_host == 0)
      refuse("all_reduce.algorithm", "hierarchical needs hosts of equally many workers",
             "cluster.workers.per_host: a divisor of cluster.workers.count");
    if (per_host == 1 && s.cluster.workers.count > 1 && !both)
      refuse("all_reduce.algorithm", "hierarchical needs hosts of several workers", "give cluster.workers.per_host");
  }
  if (s.cluster.network.streams != 1 && config::find_path(root, "cluster.network.streams") && !both)
    refuse("cluster.network.streams", "means nothing with all_reduce", "all_reduce.streams: collectives at a time");
}

std::string exchange_text(const Spec& s) {
  std::string text = kAlgorithms.at(static_cast<std::size_t>(s.all_reduce.algorithm));
  for (char& c : text)
    if (c == '_') c = '-';
  text += " all-reduce";
  if (s.all_reduce.split) text += ", split";
  return text;
}

}  // namespace stretto::experiment
