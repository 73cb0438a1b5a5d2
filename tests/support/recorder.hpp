// SPDX-License-Identifier: Apache-2.0
// Observer that keeps all records.
#pragma once

#include <vector>

#include "sim/base/assert.hpp"
#include "sim/program/observer.hpp"

namespace stretto::testing {

struct Recorder : program::Observer {
  std::vector<program::ActivityRecord> records;
  void on_end(const program::ActivityRecord& record) override { records.push_back(record); }
  const program::ActivityRecord& of(std::uint32_t activity, std::uint32_t iteration = 0) const {
    for (const auto& r : records)
      if (r.activity == activity && r.iteration == iteration) return r;
    raise_internal_error(__FILE__, __LINE__, "recorded", "no such record");
  }
};

inline bool same(const program::ActivityRecord& a, const program::ActivityRecord& b) {
  return a.activity == b.activity && a.iteration == b.iteration && a.ready == b.ready && a.handed == b.handed &&
         a.on_wire == b.on_wire && a.begin == b.begin && a.arrived == b.arrived && a.end == b.end;
}

}  // namespace stretto::testing
