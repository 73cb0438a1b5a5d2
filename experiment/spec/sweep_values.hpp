// SPDX-License-Identifier: Apache-2.0
// Values of a sweep's fields: quantities in text, ranges between two of them, samples, comparisons.
//
// A quantity is read by its unit: a plain number, a percentage, a duration, bytes, a rate or a time per byte. A range
// goes from a to b: at u in [0, 1] it is a + u (b - a) (linear) or a (b / a)^u (log, a > 0). Whole fields get whole
// numbers; other values are rounded to six digits, so that no machine's last bit of pow makes another experiment; the
// ends stand as they are written. A sample of a whole field takes each number from a to b as often as its share of
// [a, b + 1) on the scale says.
//
// Samples (i of n, field with stream key k): random draws u = unit(hash_draw(k, i)); a Latin hypercube (McKay, Beckman
// and Conover 1979) draws u = (p(i) + unit(hash_draw(k, i))) / n with a random permutation p per field, so that each
// n-th of a field's range is drawn from once.
// Cost: 4 bytes per sample and field. Tested in tests/unit/sweep_values_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields.hpp"
#include "config/load.hpp"

namespace stretto::experiment {

enum class QuantityKind : std::uint8_t { None, Number, Fraction, Duration, Bytes, Bandwidth, PerByte };

struct Quantity {
  QuantityKind kind = QuantityKind::None;  // None: text that is no quantity
  double value = 0;                        // in ps, bytes, bit/s or ps per byte; unlimited is infinite
};

Quantity parse_quantity(std::string_view text);

struct ValueRange {
  QuantityKind kind = QuantityKind::Number;
  bool whole = false;
  bool log = false;
  double low = 0;
  double high = 0;
  std::string from;  // as written
  std::string to;
};

// The value at u of [0, 1] as text: of a grid, with both ends.
std::string grid_value(const ValueRange& range, double u);

// The same for a sample at u of (0, 1).
std::string sample_value(const ValueRange& range, double u);

// {from, to, scale} of the field at `path`; other keys are the caller's. Nothing after a finding.
std::optional<ValueRange> read_range(config::Reader& reader, const config::Node& node, const std::string& path,
                                     const std::string& key);

enum class SampleMethod : std::uint8_t { Random, LatinHypercube };

// Where a field's samples are drawn from: u of (0, 1) for each of n.
class Sampler {
 public:
  Sampler(SampleMethod method, std::uint64_t seed, const std::string& path, std::size_t n);
  double at(std::size_t i) const;

 private:
  std::uint64_t stream_;
  std::vector<std::uint32_t> strata_;  // Latin hypercube only
};

// "cluster.servers.count <= cluster.workers.count": two operands, each a path or a value.
struct Constraint {
  std::string text;
  std::string left;
  std::string right;
  std::string op;
  config::Place place;
};

// Reads one comparison; a finding without operator or operand.
std::optional<Constraint> read_constraint(config::Reader& reader, const config::Node& node, const std::string& key);

// True if the comparison holds in a tree with everything applied. Absent fields have their defaults. Throws UserError
// at the constraint for fields without a single value and for quantities of two kinds.
bool holds(const Constraint& constraint, const config::Node& root);

}  // namespace stretto::experiment
