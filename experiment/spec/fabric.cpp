// SPDX-License-Identifier: Apache-2.0
// The fabric that a specification describes, and the rules between its fields.
#include "experiment/spec/topology.hpp"

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

constexpr std::size_t kUnreachableListed = 5;
const std::string kNetwork = "cluster.network.";
const std::vector<std::string> kTopologies = {"star", "racks", "fat_tree", "links"};

bool is(const Spec& s, Topology kind) { return s.cluster.network.topology.kind == kind; }

// Numbers of nodes by name, in the order of their first use.
class Nodes {
 public:
  explicit Nodes(const TopologySpec& topology) {
    for (const LinkSpec& l : topology.links) {
      number(l.from);
      number(l.to);
    }
  }
  std::uint32_t number(const std::string& name) {
    const auto [it, fresh] = numbers_.emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return it->second;
  }
  std::optional<std::uint32_t> find(const std::string& name) const {
    const auto it = numbers_.find(name);
    return it == numbers_.end() ? std::nullopt : std::optional(it->second);
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> names_;
};

// The hosts of one kind: numbers of their first processes.
std::vector<std::uint32_t> host_list(const cluster::Cluster& cluster, bool of_servers) {
  std::vector<std::uint32_t> hosts;
  const std::size_t count = of_servers ? cluster.servers.size() : cluster.workers.size();
  for (std::uint32_t i = 0; i < count; ++i)
    if (cluster::host_of(cluster, {of_servers, i}) == cluster::HostRef{of_servers, i}) hosts.push_back(i);
  return hosts;
}

const std::string& name_of(const cluster::Cluster& cluster, cluster::End end) {
  return end.server ? cluster.servers.at(end.index).name : cluster.workers.at(end.index).name;
}

// Where a listed host is; none where the text names no place.
std::optional<std::uint32_t> listed_port(const std::string& place, const TopologySpec& topology, const Nodes& nodes) {
  if (topology.kind == Topology::Links) return nodes.find(place);
  const auto number = config::parse_integer(place);
  const std::uint32_t ports = topology.kind == Topology::Racks ? topology.racks : cluster::fat_tree_slots(topology.k);
  if (!number.ok() || number.value < 0 || number.value >= ports) return std::nullopt;
  return static_cast<std::uint32_t>(number.value);
}

// Free slots of a fat tree, in the order in which hosts take them.
class Slots {
 public:
  explicit Slots(std::uint32_t k) : k_(k), taken_(cluster::fat_tree_slots(k), false) {}
  void take(std::uint32_t slot) { taken_.at(slot) = true; }
  std::uint32_t next(Deal deal) {
    const std::uint32_t half = k_ / 2;
    const auto edges = static_cast<std::uint32_t>(taken_.size()) / half;
    for (std::uint32_t i = 0; i < taken_.size(); ++i) {
      const std::uint32_t slot = deal == Deal::Spread ? i % edges * half + i / edges : i;
      if (taken_[slot]) continue;
      taken_[slot] = true;
      return slot;
    }
    return 0;  // refused by check_topology
  }

 private:
  std::uint32_t k_;
  std::vector<bool> taken_;
};

void set_ports(const TopologySpec& topology, cluster::Cluster& cluster) {
  const Nodes nodes(topology);
  Slots slots(topology.k);
  const auto port = [&](bool of_servers, std::uint32_t i) -> std::uint32_t& {
    return of_servers ? cluster.servers[i].port : cluster.workers[i].port;
  };
  const auto deal_of = [&](bool of_servers) -> const DealSpec& {
    return of_servers ? topology.servers : topology.workers;
  };
  const auto for_hosts = [&](bool listed, const auto& f) {
    for (const bool of_servers : {false, true}) {
      const std::vector<std::uint32_t> hosts = host_list(cluster, of_servers);
      if ((deal_of(of_servers).deal == Deal::Listed) == listed)
        for (std::uint32_t h = 0; h < hosts.size(); ++h) f(of_servers, h, hosts);
    }
  };
  for_hosts(true, [&](bool of_servers, std::uint32_t h, const auto& hosts) {
    const std::vector<std::string>& places = deal_of(of_servers).places;
    if (h >= places.size()) return;
    const std::uint32_t p = listed_port(places[h], topology, nodes).value_or(0);
    port(of_servers, hosts[h]) = p;
    if (topology.kind == Topology::FatTree) slots.take(p);
  });
  for_hosts(false, [&](bool of_servers, std::uint32_t h, const auto& hosts) {
    const Deal deal = deal_of(of_servers).deal;
    std::uint32_t& p = port(of_servers, hosts[h]);
    switch (topology.kind) {
      case Topology::Star:
        break;
      case Topology::Racks:
        p = deal == Deal::Spread ? h % topology.racks
                                 : static_cast<std::uint32_t>(std::uint64_t{h} * topology.racks / hosts.size());
        break;
      case Topology::FatTree:
        p = slots.next(deal);
        break;
      case Topology::Links:
        p = nodes.find(name_of(cluster, {of_servers, hosts[h]})).value_or(0);
        break;
    }
  });
  for (cluster::Worker& w : cluster.workers)
    if (w.with_worker) w.port = cluster.workers[*w.with_worker].port;
  for (cluster::Server& s : cluster.servers)
    if (s.on_worker)
      s.port = cluster.workers[*s.on_worker].port;
    else if (s.with_server)
      s.port = cluster.servers[*s.with_server].port;
}

cluster::Fabric racks_of(const TopologySpec& topology, const cluster::Cluster& cluster) {
  std::vector<Bandwidth> up(topology.racks, topology.uplink);
  std::vector<Bandwidth> down = up;
  if (topology.oversubscription) {
    std::vector<double> up_sum(topology.racks, 0);
    std::vector<double> down_sum(topology.racks, 0);
    for (const bool of_servers : {false, true})
      for (const std::uint32_t first : host_list(cluster, of_servers)) {
        const cluster::Nic& nic = cluster::nic_of(cluster, {of_servers, first});
        const std::uint32_t rack = cluster::port_of(cluster, {of_servers, first});
        up_sum[rack] += static_cast<double>(nic.up.bits_per_second());
        down_sum[rack] += static_cast<double>(nic.down.bits_per_second());
      }
    const auto share = [&](double sum) {
      const double rate = sum / *topology.oversubscription;
      return rate >= 1 && rate < 9e18 ? Bandwidth(static_cast<std::int64_t>(rate + 0.5)) : Bandwidth::unlimited();
    };
    std::transform(up_sum.begin(), up_sum.end(), up.begin(), share);
    std::transform(down_sum.begin(), down_sum.end(), down.begin(), share);
  }
  return cluster::make_racks(up, down, topology.hop_latency);
}

Bandwidth fastest_nic(const cluster::Cluster& cluster) {
  Bandwidth rate(1);
  for (const bool of_servers : {false, true})
    for (const std::uint32_t first : host_list(cluster, of_servers)) {
      const cluster::Nic& nic = cluster::nic_of(cluster, {of_servers, first});
      rate = std::max({rate, nic.up, nic.down});
    }
  return rate;
}

cluster::Fabric graph_of(const TopologySpec& topology) {
  Nodes nodes(topology);
  std::vector<cluster::GraphLink> links;
  for (const LinkSpec& l : topology.links) {
    const Duration latency = l.latency.value_or(topology.hop_latency);
    links.push_back({nodes.number(l.from), nodes.number(l.to), l.rate, latency});
    if (l.both) links.push_back({nodes.number(l.to), nodes.number(l.from), l.rate, latency});
  }
  return cluster::make_graph(nodes.names(), links);
}

class Checks {
 public:
  Checks(Reader& reader, const Node& root, const Spec& s) : reader_(reader), root_(root), s_(s) {}

  void run() {
    check_fields();
    check_fabric();
    if (reader_.diagnostics().empty() && !topology().background.empty()) check_background(reader_, root_, s_);
  }

  void check_workers() {
    const WorkersSpec& workers = s_.cluster.workers;
    const bool links = workers.nvlink || std::any_of(workers.groups.begin(), workers.groups.end(),
                                                     [](const WorkerGroupSpec& g) { return g.nvlink.has_value(); });
    if (workers.nvlink_latency > Duration() && !links)
      refuse("cluster.workers.nvlink.latency", "there are no direct links", "give cluster.workers.nvlink.rate");
    if (!workers.groups.empty()) {
      std::uint64_t sum = 0;
      for (const WorkerGroupSpec& g : workers.groups) sum += g.count;
      const Node* count = config::find_path(root_, "cluster.workers.count");
      if (count && config::parse_integer(count->text).value != static_cast<std::int64_t>(sum))
        refuse("cluster.workers.count", fmt::format("the groups have {} workers", sum),
               "leave count out where there are groups");
      if (s_.cluster.network.comm_compute_ratio)
        reader_.error(s_.cluster.network.ratio_place, "cluster.network.comm_compute_ratio",
                      "sets one rate for all NICs from one device, and workers.groups may differ",
                      "give NIC rates in place of it");
      const bool cores = std::any_of(workers.groups.begin(), workers.groups.end(),
                                     [](const WorkerGroupSpec& g) { return g.cores.has_value(); });
      if (cores && workers.device.kind == DeviceKind::Gpu)
        reader_.error(workers.groups_place, "cluster.workers.groups", "a gpu has no cores",
                      "say cluster.workers.device.kind: cpu, or leave cores out");
    }
  }

 private:
  void check_fabric() {
    if (is(s_, Topology::Star) || !reader_.diagnostics().empty()) return;
    const cluster::Cluster cluster = without_fabric();
    if (is(s_, Topology::Racks)) check_racks();
    if (is(s_, Topology::FatTree) && topology().k % 2 != 0)
      return refuse(kNetwork + "fat_tree.k", "a fat tree has an even k",
                    fmt::format("valid: 2, 4, ... {}", cluster::kMaxFatTree));
    if (is(s_, Topology::Links) && topology().links.empty())
      return refuse(kNetwork + "topology", "no links are listed", "list them in cluster.network.links");
    if (is(s_, Topology::Links) && Nodes(topology()).names().size() > cluster::kMaxNodes)
      return refuse(kNetwork + "links", fmt::format("{} nodes", Nodes(topology()).names().size()),
                    fmt::format("valid: at most {}", cluster::kMaxNodes));
    check_places(cluster, false);
    check_places(cluster, true);
    if (is(s_, Topology::FatTree)) check_slots(cluster);
    if (is(s_, Topology::Links) && reader_.diagnostics().empty()) check_reachable();
  }

  const TopologySpec& topology() const { return s_.cluster.network.topology; }
  void refuse(const std::string& key, std::string message, std::string hint) {
    reader_.error(place_of(root_, key), key, std::move(message), std::move(hint));
  }
  bool given(const std::string& key) const { return config::find_path(root_, key) != nullptr; }

  cluster::Cluster without_fabric() const {
    Spec star = s_;
    star.cluster.network.topology = {};
    return make_cluster(star);
  }

  void check_fields() {
    const auto belongs = [&](const std::string& key, std::initializer_list<Topology> kinds, const char* goes_with) {
      if (given(key) && std::none_of(kinds.begin(), kinds.end(), [&](Topology kind) { return is(s_, kind); }))
        refuse(
            key,
            fmt::format("means nothing with topology: {}", kTopologies.at(static_cast<std::size_t>(topology().kind))),
            fmt::format("goes with topology: {}", goes_with));
    };
    belongs(kNetwork + "racks", {Topology::Racks}, "racks");
    belongs(kNetwork + "fat_tree", {Topology::FatTree}, "fat_tree");
    belongs(kNetwork + "links", {Topology::Links}, "links");
    for (const char* key : {"hop_latency", "workers_at", "servers_at"})
      belongs(kNetwork + key, {Topology::Racks, Topology::FatTree, Topology::Links}, "racks, fat_tree or links");
    if (s_.cluster.servers.colocated >= s_.cluster.servers.count && given(kNetwork + "servers_at"))
      refuse(kNetwork + "servers_at", "the servers live on the workers' hosts", "say workers_at");
    if (is(s_, Topology::Links))
      for (const char* key : {"workers_at", "servers_at"})
        if (given(kNetwork + key) && !config::find_path(root_, kNetwork + key)->is_sequence())
          refuse(kNetwork + key, "hosts of listed links have names", "list the node of each host, or leave it out");
  }

  void check_racks() {
    const std::string key = kNetwork + "racks.oversubscription";
    if (!topology().oversubscription) return;
    if (given(kNetwork + "racks.uplink"))
      return refuse(key, "both uplink and oversubscription are given", "leave one of them out");
    if (s_.cluster.network.comm_compute_ratio) return;
    const cluster::Cluster cluster = without_fabric();
    for (const bool of_servers : {false, true})
      for (const std::uint32_t first : host_list(cluster, of_servers)) {
        const cluster::Nic& nic = cluster::nic_of(cluster, {of_servers, first});
        if (nic.up.is_unlimited() || nic.down.is_unlimited())
          return refuse(key,
                        fmt::format("is a ratio to NIC rates, and the NIC of {} {} has no limit",
                                    of_servers ? "server" : "worker", first),
                        "give cluster.workers.nic and cluster.servers.nic, or racks.uplink");
      }
  }

  void check_places(const cluster::Cluster& cluster, bool of_servers) {
    const DealSpec& deal = of_servers ? topology().servers : topology().workers;
    const std::string key = kNetwork + (of_servers ? "servers_at" : "workers_at");
    const std::vector<std::uint32_t> hosts = host_list(cluster, of_servers);
    const Nodes nodes(topology());
    const char* kind = of_servers ? "server" : "worker";
    if (deal.deal != Deal::Listed) {
      if (!is(s_, Topology::Links)) return;
      for (const std::uint32_t first : hosts)
        if (const std::string name = name_of(cluster, {of_servers, first}); !nodes.find(name))
          return refuse(kNetwork + "links", fmt::format("no link ends at '{}'", name),
                        fmt::format("name the host so in a link, or list nodes in {}", key));
      return;
    }
    if (deal.places.size() != hosts.size())
      return reader_.error(deal.place, key,
                           fmt::format("{} places for {} hosts of {}s", deal.places.size(), hosts.size(), kind),
                           "one place for each host");
    for (std::size_t i = 0; i < hosts.size(); ++i)
      if (!listed_port(deal.places[i], topology(), nodes))
        reader_.error(deal.place, fmt::format("{}[{}]", key, i), fmt::format("there is no place '{}'", deal.places[i]),
                      places_hint(deal.places[i], nodes));
  }

  std::string places_hint(const std::string& place, const Nodes& nodes) const {
    if (is(s_, Topology::Racks)) return fmt::format("valid: racks 0 to {}", topology().racks - 1);
    if (is(s_, Topology::FatTree))
      return fmt::format("valid: slots 0 to {}", cluster::fat_tree_slots(topology().k) - 1);
    const std::string guess = nearest_name(place, nodes.names());
    return guess.empty() ? "valid: names that links join" : fmt::format("did you mean '{}'?", guess);
  }

  void check_slots(const cluster::Cluster& cluster) {
    const std::size_t hosts = host_list(cluster, false).size() + host_list(cluster, true).size();
    const std::uint32_t slots = cluster::fat_tree_slots(topology().k);
    if (hosts > slots)
      return refuse(kNetwork + "fat_tree.k", fmt::format("{} hosts do not fit in {} slots", hosts, slots),
                    fmt::format("a fat tree has k^3 / 4 slots; valid: k at most {}", cluster::kMaxFatTree));
    std::map<std::uint32_t, std::string> taken;
    const Nodes nodes(topology());
    for (const bool of_servers : {false, true}) {
      const DealSpec& deal = of_servers ? topology().servers : topology().workers;
      for (const std::string& place : deal.places) {
        const auto slot = listed_port(place, topology(), nodes);
        if (slot && !taken.emplace(*slot, place).second)
          reader_.error(deal.place, kNetwork + (of_servers ? "servers_at" : "workers_at"),
                        fmt::format("slot {} is taken twice", *slot), "a slot holds one host");
      }
    }
  }

  void check_reachable() {
    const cluster::Cluster cluster = make_cluster(s_);
    const cluster::Fabric& fabric = cluster.network.fabric;
    std::size_t listed = 0;
    const auto check = [&](const std::string& from, std::uint32_t a, const std::string& to, std::uint32_t b) {
      if (cluster::reachable(fabric, a, b) || listed == kUnreachableListed) return;
      ++listed;
      refuse(kNetwork + "links", fmt::format("no links lead from {} to {}", from, to),
             "a link of from and to carries one direction; between: [A, B] carries both");
    };
    for (const std::uint32_t w : host_list(cluster, false))
      for (const cluster::Server& server : cluster.servers) {
        check(cluster.workers[w].name, cluster.workers[w].port, server.name, server.port);
        check(server.name, server.port, cluster.workers[w].name, cluster.workers[w].port);
      }
    if (s_.training.exchange == Exchange::AllReduce)
      for (const cluster::Worker& from : cluster.workers)
        for (const cluster::Worker& to : cluster.workers) check(from.name, from.port, to.name, to.port);
  }

  Reader& reader_;
  const Node& root_;
  const Spec& s_;
};

}  // namespace

std::string topology_text(const Spec& spec) {
  const TopologySpec& topology = spec.cluster.network.topology;
  std::string text;
  switch (topology.kind) {
    case Topology::Star:
      break;
    case Topology::Racks:
      text = fmt::format(", {} rack{}", topology.racks, topology.racks == 1 ? "" : "s");
      break;
    case Topology::FatTree:
      text = fmt::format(", fat tree of k = {}", topology.k);
      break;
    case Topology::Links:
      text = ", listed links";
      break;
  }
  if (spec.cluster.workers.per_host > 1) text += fmt::format(", {} workers a host", spec.cluster.workers.per_host);
  if (!spec.cluster.workers.groups.empty())
    text += fmt::format(", {} groups of workers", spec.cluster.workers.groups.size());
  return topology.background.empty() ? text : text + ", background traffic";
}

void check_workers(Reader& reader, const Node& root, const Spec& s) { Checks(reader, root, s).check_workers(); }

void check_topology(Reader& reader, const Node& root, const Spec& s) { Checks(reader, root, s).run(); }

void set_fabric(const Spec& spec, cluster::Cluster& cluster) {
  const TopologySpec& topology = spec.cluster.network.topology;
  if (topology.kind != Topology::Star) set_ports(topology, cluster);
  switch (topology.kind) {
    case Topology::Star:
      break;
    case Topology::Racks:
      cluster.network.fabric = racks_of(topology, cluster);
      break;
    case Topology::FatTree:
      cluster.network.fabric =
          cluster::make_fat_tree(topology.k, topology.rate.value_or(fastest_nic(cluster)), topology.hop_latency);
      break;
    case Topology::Links:
      cluster.network.fabric = graph_of(topology);
      break;
  }
  cluster.network.reserved.clear();
  cluster.network.reserved = reservations(topology, cluster);
}

}  // namespace stretto::experiment
