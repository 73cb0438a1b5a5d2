// SPDX-License-Identifier: Apache-2.0
// The section `search` of an experiment: which dimensions of the plan `stretto search` may change, and how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace stretto::experiment {

// Values to try: all of a list, or any between two ends. Empty: the dimension is not searched.
template <class T>
struct ValuesSpec {
  std::vector<T> list;
  T min{};
  T max{};  // > 0: a range
  bool none() const { return list.empty() && max == T{}; }
  bool range() const { return max > T{}; }
  bool operator==(const ValuesSpec&) const = default;
};

using SizesSpec = ValuesSpec<Bytes>;
using CountsSpec = ValuesSpec<std::uint32_t>;

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
