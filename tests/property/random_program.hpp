// SPDX-License-Identifier: Apache-2.0
// Random step programs and order tables that cannot deadlock: edges of distance 0 go from lower to higher ids, and
// Strict channels rank their messages by id.
#pragma once

#include "sim/base/random.hpp"
#include "sim/program/order_table.hpp"
#include "sim/program/program.hpp"

namespace stretto::testing {

struct RandomProgram {
  program::StepProgram program;
  program::OrderTable order;
  // (from, to, distance) of every edge
  struct Edge {
    std::uint32_t from, to, distance;
  };
  std::vector<Edge> edges;
};

RandomProgram random_program(RandomStream& random, std::uint32_t activities);

}  // namespace stretto::testing
