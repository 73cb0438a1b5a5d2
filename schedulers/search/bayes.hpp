// SPDX-License-Identifier: Apache-2.0
// Bayesian optimisation of an expensive function of a few numbers: a Gaussian process and expected improvement.
//
// Minimises f over the unit cube. The first `initial` points are a shifted lattice; then each next point maximises the
// expected improvement over (best - xi) of a Gaussian process with zero mean on standardised values, kernel Matern 5/2
//   k(r) = (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r),  r = |x - y| / length,
// one length for all axes, taken from a list by marginal likelihood, and a fixed noise of 1e-6. Values must be finite.
// Deterministic for a seed. Cost: O(n^3) per point. Checked on known functions in tests/unit/search_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace stretto::search {

struct BayesOptions {
  std::size_t evaluations = 15;
  std::size_t initial = 5;
  std::uint64_t seed = 1;
  double xi = 0.01;  // in standard deviations of the values
};

struct BayesResult {
  std::vector<double> point;
  double value = 0;
  std::vector<std::pair<std::vector<double>, double>> history;
};

// `continue_search`: asked before each evaluation but the first; null: always.
BayesResult minimise(std::size_t dimensions, const std::function<double(std::span<const double>)>& f,
                     const BayesOptions& options, const std::function<bool()>& continue_search = nullptr);

}  // namespace stretto::search
