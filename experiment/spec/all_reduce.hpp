// SPDX-License-Identifier: Apache-2.0
// The section `all_reduce` of an experiment: how workers sum gradients without servers (training.exchange: all_reduce).
#pragma once

#include <cstdint>

#include "config/node.hpp"
#include "sim/base/units.hpp"

namespace stretto::experiment {

enum class Exchange : std::uint8_t { ParameterServer, AllReduce };
enum class Algorithm : std::uint8_t { Ring, HalvingDoubling, Tree, Hierarchical };
enum class Detail : std::uint8_t { Auto, Messages, Aggregate };

struct AllReduceSpec {
  Algorithm algorithm = Algorithm::Ring;
  Bytes fusion;  // largest bucket of fused gradients; 0: none are fused
  bool split = false;
  Duration per_round;
  std::uint32_t streams = 1;
  Detail detail = Detail::Auto;
  config::Place detail_place;
  bool operator==(const AllReduceSpec&) const = default;
};

}  // namespace stretto::experiment
