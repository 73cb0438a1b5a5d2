// SPDX-License-Identifier: Apache-2.0
#include "models/generate/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/generate/recommender.hpp"
#include "models/generate/transformer.hpp"
#include "sim/base/assert.hpp"

namespace stretto::generate {

namespace {

const std::vector<Generator>& table() {
  static const std::vector<Generator> kTable{
      {"transformer", "a training step of BERT or GPT-2 of any size", transformer_fields(), check_transformer,
       make_transformer},
      {"recommender", "a training step of DLRM: many embedding tables, some of them huge, and two small networks",
       recommender_fields(), check_recommender, make_recommender},
  };
  return kTable;
}

}  // namespace

std::span<const Generator> generators() { return table(); }

std::vector<std::string> generator_names() {
  std::vector<std::string> names;
  for (const Generator& generator : table()) names.emplace_back(generator.name);
  return names;
}

const Generator* find_generator(std::string_view name) {
  for (const Generator& generator : table())
    if (generator.name == name) return &generator;
  return nullptr;
}

Values with_defaults(const Generator& generator, Values values) {
  for (const Field& field : generator.fields)
    if (!field.fallback.empty()) values.try_emplace(std::string(field.name), field.fallback);
  return values;
}

std::vector<std::string> choices_of(const Field& field) {
  std::vector<std::string> names;
  for (std::string_view rest = field.choices; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

std::string value_text(const Field& field, const std::vector<std::int64_t>& value) {
  if (field.kind == FieldKind::Choice) return choices_of(field).at(static_cast<std::size_t>(value.at(0)));
  if (value.size() == 1) return std::to_string(value[0]);
  std::string out;
  for (const std::int64_t number : value) out += (out.empty() ? "" : ", ") + std::to_string(number);
  return "[" + out + "]";
}

std::string text_of(const Generator& generator, const Values& values) {
  std::string out;
  for (const Field& field : generator.fields)
    if (const auto it = values.find(field.name); it != values.end())
      out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", field.name, value_text(field, it->second));
  return fmt::format("{}: {{{}}}", generator.name, out);
}

Generated make(const Generator& generator, const Values& values) {
  Generated made = generator.make(values);
  made.graph.source = fmt::format("generated, {}; no times", text_of(generator, values));
  return made;
}

double touched_share(const Lookups& lookups, std::int64_t batch) {
  STRETTO_ASSERT(lookups.rows >= 1 && lookups.per_sample > 0 && batch > 0, "{} lookups of {} rows", lookups.per_sample,
                 lookups.rows);
  return -std::expm1(static_cast<double>(batch) * lookups.per_sample * std::log1p(-1 / lookups.rows));
}

std::int64_t number_or(const Values& values, std::string_view field, std::int64_t fallback) {
  const auto it = values.find(field);
  return it == values.end() ? fallback : it->second.at(0);
}

std::int64_t number(const Values& values, std::string_view field) {
  const auto it = values.find(field);
  STRETTO_ASSERT(it != values.end(), "no value of {}", field);
  return it->second.at(0);
}

}  // namespace stretto::generate
