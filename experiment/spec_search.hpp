// SPDX-License-Identifier: Apache-2.0
// The section `search` of an experiment: which dimensions of the plan `stretto search` may change, and how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace stretto::experiment {

// Sizes to try: all of a list, or any between two ends. Empty: the dimension is not searched.
struct SizesSpec {
  std::vector<Bytes> list;
  Bytes min;
  Bytes max;  // > 0: a range
  bool none() const { return list.empty() && max == Bytes(); }
  bool range() const { return max > Bytes(); }
  bool operator==(const SizesSpec&) const = default;
};

// The same of counts.
struct CountsSpec {
  std::vector<std::uint32_t> list;
  std::uint32_t min = 0;
  std::uint32_t max = 0;  // > 0: a range
  bool none() const { return list.empty() && max == 0; }
  bool range() const { return max > 0; }
  bool operator==(const CountsSpec&) const = default;
};

struct SearchSpec {
  bool order = true;
  SizesSpec partition;
  SizesSpec credit;
  SizesSpec fusion;   // all-reduce: most bytes of a bucket
  CountsSpec group;   // workers that start together
  CountsSpec window;  // places
  bool placement = false;
  std::vector<std::uint32_t> servers;  // numbers of servers to try
  std::vector<std::string> methods;    // empty: all
  bool operator==(const SearchSpec&) const = default;
};

}  // namespace stretto::experiment
