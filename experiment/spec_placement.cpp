// SPDX-License-Identifier: Apache-2.0
// The row of the placement of variables on servers.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiment/spec_rows.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

const std::vector<std::string> kPlacements = {"round_robin", "greedy", "partitioned", "by_name"};

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

}  // namespace

void add_placement_field(Rows& rows) {
  rows.push_back(
      custom("cluster.servers.placement", "placement", "round_robin, greedy, partitioned, by_name", "round_robin",
             "which server holds a variable: a name, {partitioned: {size: 4 MiB}}, {partitioned: {parts: 8}} "
             "or {by_name: {variable: server}}",
             read_placement, write_placement));
}

}  // namespace stretto::experiment
