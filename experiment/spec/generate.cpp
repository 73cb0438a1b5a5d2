// SPDX-License-Identifier: Apache-2.0
// The rows of `workload.generate`, one per field of each generator, and what they must be together.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "experiment/spec/rows.hpp"
#include "models/generate/generator.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/join.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;
using generate::FieldKind;

constexpr const char* kPath = "workload.generate";

std::string type_of(const generate::Field& field) {
  switch (field.kind) {
    case FieldKind::Integer:
      return "integer";
    case FieldKind::Integers:
      return "integer or list";
    case FieldKind::Choice:
      return "one of " + join(generate::choices_of(field));
  }
  return "";
}

std::string range_of(const generate::Field& field) {
  if (field.kind == FieldKind::Choice) return "";
  const std::string range = fmt::format("{} to {}", field.low, field.high);
  return field.kind == FieldKind::Integer ? range : fmt::format("{} each, at most {} of them", range, field.most);
}

// Nothing after it reported an error.
std::vector<std::int64_t> read_value(Reader& reader, const Node& node, const std::string& key,
                                     const generate::Field& field) {
  std::vector<std::int64_t> value;
  if (field.kind == FieldKind::Choice) {
    if (const auto choice = reader.read_choice(node, key, generate::choices_of(field)))
      value.push_back(static_cast<std::int64_t>(*choice));
    return value;
  }
  const auto read_one = [&](const Node& item, const std::string& at) {
    if (const auto number = reader.read_integer(item, at, field.low, field.high)) value.push_back(*number);
  };
  if (field.kind == FieldKind::Integer || !node.is_sequence()) {
    read_one(node, key);
    return value;
  }
  if (node.items.empty() || node.items.size() > field.most)
    reader.error(node.place, key, fmt::format("a list of {} numbers", node.items.size()),
                 fmt::format("valid: 1 to {} of them", field.most));
  else
    read_list(reader, node, key, "", read_one);
  return value;
}

}  // namespace

void add_generate_fields(Rows& rows) {
  for (const generate::Generator& generator : generate::generators())
    for (const generate::Field& field : generator.fields)
      rows.push_back(custom(
          fmt::format("{}.{}.{}", kPath, generator.name, field.name), type_of(field), range_of(field), "",
          std::string(field.help),
          [&field](Reader& reader, const Node& node, const std::string& key, Spec& s) {
            if (auto value = read_value(reader, node, key, field); !value.empty())
              s.workload.generate.values[std::string(field.name)] = std::move(value);
          },
          [&generator, &field](const Spec& s) {
            const GenerateSpec& g = s.workload.generate;
            const auto value = g.values.find(field.name);
            return g.generator == generator.name && value != g.values.end() ? generate::value_text(field, value->second)
                                                                            : "";
          }));
}

void name_generator(const Node& root, WorkloadSpec& workload) {
  const config::Entry* entry = config::find_entry(root, kPath);
  if (entry == nullptr || entry->value.entries.size() != 1) return;
  const config::Entry& named = entry->value.entries.front();
  const generate::Generator* generator = generate::find_generator(named.key);
  if (generator == nullptr) return;
  workload.place = named.place;
  workload.generate.generator = generator->name;
  workload.generate.values = generate::with_defaults(*generator, std::move(workload.generate.values));
}

void check_generate(Reader& reader, const Node& root, const WorkloadSpec& workload) {
  const config::Entry& entry = *config::find_entry(root, kPath);
  const std::vector<config::Entry>& entries = entry.value.entries;
  if (entries.size() != 1)
    return reader.error(entries.empty() ? entry.place : entries[1].place, kPath,
                        entries.empty()
                            ? "no generator is named"
                            : fmt::format("two generators are named, {} and {}", entries[0].key, entries[1].key),
                        fmt::format("one of {}, for example generate: {{transformer: {{layers: 12}}}}",
                                    join(generate::generator_names())));
  const generate::Generator* generator = generate::find_generator(workload.generate.generator);
  STRETTO_ASSERT(generator != nullptr, "unknown keys were refused, '{}' was not", entries[0].key);
  for (const generate::Problem& problem : generator->check(workload.generate.values)) {
    const config::Entry* field = entries[0].value.find(problem.field);
    reader.error(field ? field->value.place : entries[0].place,
                 fmt::format("{}.{}.{}", kPath, generator->name, problem.field), problem.message, problem.hint);
  }
}

}  // namespace stretto::experiment
