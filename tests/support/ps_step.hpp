// SPDX-License-Identifier: Apache-2.0
// The parameter-server step that public network simulators are compared on: W workers, S servers, K tensors, a star of
// 10 Gbit/s NICs with 50 us per link. All pulls of a worker are in flight at once; forward op i follows pull i and
// forward op i - 1; backward runs from the last; each push follows its backward op; update i takes no time and follows
// all pushes of tensor i; the next iteration's pull i follows update i. With jitter, worker w computes
// 1 + (w * 37 % 101) / 1000 times slower; nic scales the workers' NICs.
#pragma once

#include "sim/program/program.hpp"

namespace stretto::testing {

struct PsStep {
  std::uint32_t workers = 4;
  std::uint32_t servers = 1;
  std::uint32_t tensors = 160;
  bool jitter = false;
  double worker_nic = 1.0;
  // The makespan is the time of the last marker of the last iteration.
  program::StepProgram compile() const;
};

}  // namespace stretto::testing
