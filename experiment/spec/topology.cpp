// SPDX-License-Identifier: Apache-2.0
// The rows of topologies.
#include "experiment/spec/topology.hpp"

#include <fmt/format.h>

#include <utility>

#include "experiment/spec/rows.hpp"
#include "models/cluster/fabric.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

constexpr std::size_t kMaxLinks = 4096;
constexpr std::uint32_t kMaxRacks = 1024;
const std::string kNetwork = "cluster.network.";

bool is(const Spec& s, Topology kind) { return s.cluster.network.topology.kind == kind; }

void read_deal(Reader& reader, const Node& node, const std::string& key, DealSpec& deal) {
  deal.place = node.place;
  if (!node.is_sequence()) {
    const auto index = reader.read_choice(node, key, {"blocks", "spread"});
    if (index) deal.deal = *index == 0 ? Deal::Blocks : Deal::Spread;
    return;
  }
  deal.deal = Deal::Listed;
  deal.places.clear();
  for (std::size_t i = 0; i < node.items.size(); ++i)
    if (auto text = reader.read_text(node.items[i], fmt::format("{}[{}]", key, i))) deal.places.push_back(*text);
}

std::string write_deal(const DealSpec& deal) {
  if (deal.deal != Deal::Listed) return deal.deal == Deal::Blocks ? "blocks" : "spread";
  std::string out;
  for (const std::string& place : deal.places) out += (out.empty() ? "" : ", ") + config::quote_if_needed(place);
  return "[" + out + "]";
}

void read_between(Reader& reader, const Node& node, const std::string& key, LinkSpec& link) {
  if (!node.is_sequence() || node.items.size() != 2)
    return reader.error(node.place, key, "expected the two ends, found " + config::describe(node),
                        "for example [worker 0, leaf 0]");
  link.both = true;
  link.from = reader.read_text(node.items[0], key + "[0]").value_or("");
  link.to = reader.read_text(node.items[1], key + "[1]").value_or("");
}

void read_link(Reader& reader, const Node& item, const std::string& at, LinkSpec& link) {
  link.place = item.place;
  read_item(reader, item, at, {"between", "from", "to", "rate", "latency"}, [&](const config::Entry& e, const auto& p) {
    if (e.key == "between")
      read_between(reader, e.value, p, link);
    else if (e.key == "rate")
      link.rate = reader.read_bandwidth(e.value, p).value_or(link.rate);
    else if (e.key == "latency")
      link.latency = reader.read_duration(e.value, p);
    else if (auto text = reader.read_text(e.value, p))
      (e.key == "from" ? link.from : link.to) = std::move(*text);
  });
  if (!item.is_map()) return;
  const bool one_way = item.find("from") && item.find("to");
  if (item.find("between") ? item.find("from") || item.find("to") : !one_way)
    reader.error(item.place, at, "a link has two ends",
                 "say between: [A, B] for both directions, or from: A and to: B for one");
  else if (!link.from.empty() && link.from == link.to)
    reader.error(item.place, at, fmt::format("joins '{}' with itself", link.from));
  if (!item.find("rate")) reader.error(item.place, at, "'rate' is missing", "for example rate: 10 Gbit/s");
}

void read_links(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  std::vector<LinkSpec>& links = s.cluster.network.topology.links;
  links.clear();
  if (node.is_sequence() && node.items.size() > kMaxLinks)
    return reader.error(node.place, key, fmt::format("{} links", node.items.size()),
                        fmt::format("valid: at most {}", kMaxLinks));
  read_list(reader, node, key, "for example [{between: [worker 0, leaf 0], rate: 10 Gbit/s}]",
            [&](const Node& item, const std::string& at) { read_link(reader, item, at, links.emplace_back()); });
}

std::string write_links(const Spec& s) {
  std::string out;
  for (const LinkSpec& l : s.cluster.network.topology.links) {
    const std::string from = config::quote_if_needed(l.from);
    const std::string to = config::quote_if_needed(l.to);
    out += (out.empty() ? "{" : ", {") +
           (l.both ? fmt::format("between: [{}, {}]", from, to) : fmt::format("from: {}, to: {}", from, to)) +
           ", rate: " + config::format_bandwidth(l.rate);
    if (l.latency) out += ", latency: " + config::format_duration(*l.latency);
    out += "}";
  }
  return out.empty() ? "" : "[" + out + "]";
}

}  // namespace

void add_topology_fields(Rows& rows) {
  const auto with = [&](Topology kind) { only(rows, [kind](const Spec& s) { return is(s, kind); }); };
  rows.push_back(config::integer<Spec>(
      kNetwork + "racks.count", 1, kMaxRacks, "2", "racks: how many",
      [](auto& s) -> auto& { return s.cluster.network.topology.racks; }));
  with(Topology::Racks);
  rows.push_back(config::bandwidth<Spec>(
      kNetwork + "racks.uplink", "unlimited", "racks: what a rack exchanges with the others, each direction",
      [](auto& s) -> auto& { return s.cluster.network.topology.uplink; }));
  only(rows, [](const Spec& s) { return is(s, Topology::Racks) && !s.cluster.network.topology.oversubscription; });
  rows.push_back(config::number<Spec>(
      kNetwork + "racks.oversubscription", false, {0, kMaxRatio, true, "more than 0, at most 1e6"}, "",
      "racks: in place of uplink, NIC rates of a rack's hosts over its uplink",
      [](auto& s) -> auto& { return s.cluster.network.topology.oversubscription; }));
  rows.push_back(config::integer<Spec>(
      kNetwork + "fat_tree.k", 2, cluster::kMaxFatTree, "4", "fat_tree: ports of a switch, even; k^3 / 4 hosts fit",
      [](auto& s) -> auto& { return s.cluster.network.topology.k; }));
  with(Topology::FatTree);
  rows.push_back(custom(
      kNetwork + "fat_tree.rate", "bandwidth", "1 kbit/s or more, or unlimited", "",
      "fat_tree: of the links between switches; that of the fastest NIC if left out",
      [](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        s.cluster.network.topology.rate = reader.read_bandwidth(node, key);
      },
      [](const Spec& s) {
        const auto& rate = s.cluster.network.topology.rate;
        return rate ? config::format_bandwidth(*rate) : std::string();
      }));
  rows.push_back(custom(kNetwork + "links", "list", "{between or from and to, rate, latency}", "",
                        "links: those between named switches and hosts; routes take the fewest", read_links,
                        write_links));
  rows.push_back(config::duration<Spec>(
      kNetwork + "hop_latency", "0 us", "what each link between switches adds to the latency",
      [](auto& s) -> auto& { return s.cluster.network.topology.hop_latency; }));
  only(rows, [](const Spec& s) { return !is(s, Topology::Star); });
  rows.push_back(custom(
      kNetwork + "workers_at", "deal", "blocks, spread, or a list", "blocks",
      "how workers' hosts are dealt over racks or slots; or the rack, slot or node of each",
      [](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        read_deal(reader, node, key, s.cluster.network.topology.workers);
      },
      [](const Spec& s) { return write_deal(s.cluster.network.topology.workers); }));
  const auto dealt = [](const DealSpec& deal, const Spec& s) {
    return is(s, Topology::Racks) || is(s, Topology::FatTree) || deal.deal == Deal::Listed;
  };
  only(rows, [dealt](const Spec& s) { return dealt(s.cluster.network.topology.workers, s); });
  rows.push_back(custom(
      kNetwork + "servers_at", "deal", "blocks, spread, or a list", "spread", "the same for servers' hosts",
      [](Reader& reader, const Node& node, const std::string& key, Spec& s) {
        read_deal(reader, node, key, s.cluster.network.topology.servers);
      },
      [](const Spec& s) { return write_deal(s.cluster.network.topology.servers); }));
  only(rows, [dealt](const Spec& s) {
    return s.cluster.servers.colocated < s.cluster.servers.count && dealt(s.cluster.network.topology.servers, s);
  });
  add_background_field(rows);
}

}  // namespace stretto::experiment
