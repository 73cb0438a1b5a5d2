// SPDX-License-Identifier: Apache-2.0
// The row of the policies that are compared.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiment/spec/rows.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

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

}  // namespace

void add_policies_field(Rows& rows) {
  rows.push_back(custom("policies", "list", "names, or {name: {option: value}}", "[random, fifo, tic, tac]",
                        "what to compare; random and fifo always run as baselines", read_policies, write_policies));
}

}  // namespace stretto::experiment
