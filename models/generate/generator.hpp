// SPDX-License-Identifier: Apache-2.0
// Workloads made from a few figures in place of a profile. A generator is a row: its fields and a pure function from
// their values to a replica graph with operations and bytes but no times, which a device gives (models/device). This
// registry is the only place that names them all; the experiment format has the fields of every row.
//
// Conventions of all: 4 bytes a value; a multiply-add counts 2 operations; every input and output of an op is read or
// written once. What comes of variables is fixed, everything else grows with the batch. Cost: O(ops + parameters).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/graph.hpp"

namespace stretto::generate {

enum class FieldKind : std::uint8_t { Integer, Integers, Choice };

struct Field {
  std::string_view name;
  std::string_view help;  // one line; of a field without a default also what holds where it is left out
  std::int64_t low = 1;   // of an integer, and of each of several
  std::int64_t high = 1;
  std::vector<std::int64_t> fallback = {};  // empty: no default
  FieldKind kind = FieldKind::Integer;
  std::size_t most = 1;           // Integers: how many
  std::string_view choices = {};  // Choice: names apart by spaces; the value is the place of one, from 0
};

// By field, what was given or is the default: one number, or of Integers one or more. What is left out is not there.
using Values = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

// What is wrong between fields, each of which is in its range.
struct Problem {
  std::string_view field;
  std::string message;
  std::string hint;
};

// A table of which a step needs the rows that its lookups touch.
struct Lookups {
  graph::ParameterId table;
  double rows = 1;
  double per_sample = 1;
};

struct Generated {
  graph::Graph graph;
  std::vector<Lookups> lookups;
};

struct Generator {
  std::string_view name;
  std::string_view help;  // one line
  std::vector<Field> fields;
  std::vector<Problem> (*check)(const Values& values);
  Generated (*make)(const Values& values);  // for values that have all defaults and no problem
};

// The registry, in the order of `stretto list generators`.
std::span<const Generator> generators();
std::vector<std::string> generator_names();

// nullptr if there is none of this name.
const Generator* find_generator(std::string_view name);

// The values with every default that they leave out.
Values with_defaults(const Generator& generator, Values values = {});

// "24", "[512, 256]", "bert": as YAML flow text.
std::string value_text(const Field& field, const std::vector<std::int64_t>& value);
// "transformer: {layers: 24, hidden: 1024}", in the order of the fields.
std::string text_of(const Generator& generator, const Values& values);

std::vector<std::string> choices_of(const Field& field);

// The generator's graph for values as `make` takes them, with text_of() as its source. It is not checked: large values
// may make one that graph::check refuses.
Generated make(const Generator& generator, const Values& values);

// Expected share of the rows that a step touches, if each of n = batch x per_sample lookups takes any of the r rows
// with equal chance: 1 - (1 - 1 / r)^n. In (0, 1]. Real lookups prefer some rows, so that this is an upper bound.
double touched_share(const Lookups& lookups, std::int64_t batch);

// The value of a field that has one number, or `fallback`.
std::int64_t number_or(const Values& values, std::string_view field, std::int64_t fallback);
// The same of a field that has a default.
std::int64_t number(const Values& values, std::string_view field);

}  // namespace stretto::generate
