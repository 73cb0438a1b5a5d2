// SPDX-License-Identifier: Apache-2.0
// The search's evaluators (schedulers/search/evaluator.hpp): the engine, full or incremental, and the closed form of
// the forward problem.
//
// Step time of an order, as measured here:
//   barrier, nothing that changes over time    the first step: all steps are equal (up to the rounding of the network)
//   barrier, hosts or links that change over   steps warm_up .. iterations of the experiment
//     time, or an input pipeline
//   no barrier                                 mean over `steady_steps` steps and all workers after `steady_warm_up`;
//                                              once kEqualSteps of a single worker are equal to kSteadyRounding, the
//                                              others are taken to be so too (several workers may drift for longer)
//   drawn orders or noise                      mean over `replications`, each with the same draws for every order
//                                              (common random numbers)
// Means are rounded to the nearest picosecond.
//
// Incremental: the run of one order (the base) is kept as a log of its messages and `snapshots` copies of the
// simulation. Another order resumes from the last copy before the first choice between two messages that it makes the
// other way round: of two messages that wait for the same channel at the same time, when the first of them is handed
// over, or, if one choice hands over both at no cost, when the first starts to move. Equal to the full run bit for
// bit (tests/property/evaluator_test.cpp). Runs with draws or changes over time, and windows, are always full.
#pragma once

#include <cstdint>
#include <memory>

#include "experiment/setup/setup.hpp"
#include "schedulers/search/evaluator.hpp"

namespace stretto::experiment {

inline constexpr std::uint32_t kEqualSteps = 4;
inline constexpr Duration kSteadyRounding = Duration::ps(10);

struct EvaluatorOptions {
  std::uint32_t snapshots = 24;  // 0: every evaluation is full
  std::uint32_t steady_warm_up = 3;
  std::uint32_t steady_steps = 12;
  std::uint32_t replications = 8;
  std::uint32_t iterations = 20;  // where hosts or links change over time
  std::uint32_t warm_up = 2;
  std::uint64_t seed = 1;
};

// `setup` is copied. Compiles `setup.layout` once.
std::unique_ptr<search::Evaluator> make_engine_evaluator(const Setup& setup, const EvaluatorOptions& options = {});

// Nothing where T1 does not hold: inference, one worker with a serial device, one server, one stream, no latency, cap,
// service cost or overhead. Orders are Strict. Equal to the engine up to the rounding of a picosecond a transfer.
std::unique_ptr<search::Evaluator> make_closed_form_evaluator(const Setup& setup);

}  // namespace stretto::experiment
