// SPDX-License-Identifier: Apache-2.0
// The row of the placement of variables on servers.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiment/spec/rows.hpp"
#include "models/placement/placement.hpp"
#include "sim/base/join.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

bool takes(const placement::Placement& placement, std::string_view option) {
  return (' ' + std::string(placement.options) + ' ').find(' ' + std::string(option) + ' ') != std::string::npos;
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

void read_slices(Reader& reader, const Node& node, const std::string& key, const placement::Placement& row,
                 PlacementSpec& placement) {
  const bool parts = takes(row, "parts");
  const std::string hint = fmt::format("for example {{{}: {{size: 4 MiB}}}}", row.name) +
                           (parts ? fmt::format(" or {{{}: {{parts: 8}}}}", row.name) : "");
  if (!node.is_map() || node.entries.size() != 1)
    return reader.error(
        node.place, key,
        (parts ? "expected a mapping with either size or parts, found " : "expected a mapping with size, found ") +
            (node.is_map() ? fmt::format("{} keys", node.entries.size()) : config::describe(node)),
        hint);
  const config::Entry& entry = node.entries[0];
  if (entry.key == "size") {
    const auto size = reader.read_bytes(entry.value, key + ".size");
    if (size && size->count() < 1) reader.error(entry.value.place, key + ".size", "a part needs at least one byte");
    if (size) placement.part_size = *size;
  } else if (entry.key == "parts" && parts) {
    if (const auto parts = reader.read_integer(entry.value, key + ".parts", 1, 65'536))
      placement.parts = static_cast<std::uint32_t>(*parts);
  } else {
    reader.error(entry.place, key + "." + entry.key, "unknown key",
                 parts ? "valid here: size, parts" : "valid here: size");
  }
}

void read_placement(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  PlacementSpec placement;
  placement.place = node.place;
  const std::vector<std::string> names = placement::placement_names();
  if (!node.is_map()) {
    const auto kind = reader.read_choice(node, key, names);
    if (!kind) return;
    placement.name = names[*kind];
    if (placement.name == "by_name")
      return reader.error(node.place, key, "by_name needs to know the servers",
                          "for example {by_name: {fc6/weights: 0, fc7/weights: 1}}");
  } else {
    if (node.entries.size() != 1)
      return reader.error(node.place, key,
                          fmt::format("expected one placement, found a mapping with {} keys", node.entries.size()),
                          "valid: " + join(names));
    const config::Entry& entry = node.entries[0];
    if (std::find(names.begin(), names.end(), entry.key) == names.end()) {
      const std::string guess = nearest_name(entry.key, names);
      return reader.error(entry.place, key + "." + entry.key, "unknown placement",
                          (guess.empty() ? "" : fmt::format("did you mean '{}'? ", guess)) + "valid: " + join(names));
    }
    placement.name = entry.key;
    const placement::Placement& row = placement::find_placement(entry.key);
    if (takes(row, "size"))
      read_slices(reader, entry.value, key + "." + entry.key, row, placement);
    else if (takes(row, "servers"))
      read_by_name(reader, entry.value, key + ".by_name", placement);
    else
      return reader.error(entry.place, key, fmt::format("{} has no options", entry.key),
                          "write placement: " + entry.key);
  }
  s.cluster.servers.placement = std::move(placement);
}

std::string write_placement(const Spec& s) {
  const PlacementSpec& p = s.cluster.servers.placement;
  if (p.part_size.count() > 0) return fmt::format("{{{}: {{size: {}}}}}", p.name, config::format_bytes(p.part_size));
  if (p.parts > 0) return fmt::format("{{{}: {{parts: {}}}}}", p.name, p.parts);
  if (p.name != "by_name") return p.name;
  std::string out;
  for (const NamedServer& n : p.by_name)
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", config::quote_if_needed(n.parameter), n.server);
  return "{by_name: {" + out + "}}";
}

}  // namespace

void add_placement_field(Rows& rows) {
  rows.push_back(
      custom("cluster.servers.placement", "placement", join(placement::placement_names()), "round_robin",
             "which server holds a variable: a name, {partitioned: {size: 4 MiB}} (hash, p3 and byteps take size too), "
             "{partitioned: {parts: 8}} or {by_name: {variable: server}}",
             read_placement, write_placement));
}

}  // namespace stretto::experiment
