// SPDX-License-Identifier: Apache-2.0
#include "schedulers/search/bayes.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "sim/base/assert.hpp"
#include "sim/base/random.hpp"

namespace stretto::search {

namespace {

constexpr double kNoise = 1e-6;
constexpr double kLengths[] = {0.05, 0.1, 0.2, 0.4, 0.8, 1.6};
constexpr std::size_t kCandidates = 400;

using Points = std::vector<std::vector<double>>;

double matern(const std::vector<double>& a, const std::vector<double>& b, double length) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  const double r = std::sqrt(5 * squares) / length;
  return (1 + r + r * r / 3) * std::exp(-r);
}

// The process conditioned on standardised values.
struct Process {
  const Points& points;
  double length;
  Eigen::LLT<Eigen::MatrixXd> factor;
  Eigen::VectorXd weights;
  double likelihood = 0;  // log, up to a constant

  Process(const Points& p, const Eigen::VectorXd& values, double l) : points(p), length(l) {
    const auto n = static_cast<Eigen::Index>(p.size());
    Eigen::MatrixXd k(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j < n; ++j)
        k(i, j) = matern(p[static_cast<std::size_t>(i)], p[static_cast<std::size_t>(j)], l) + (i == j ? kNoise : 0);
    factor.compute(k);
    weights = factor.solve(values);
    const Eigen::MatrixXd lower = factor.matrixL();
    likelihood = -0.5 * values.dot(weights) - lower.diagonal().array().log().sum();
  }

  double improvement(const std::vector<double>& x, double target) const {
    const auto n = static_cast<Eigen::Index>(points.size());
    Eigen::VectorXd k(n);
    for (Eigen::Index i = 0; i < n; ++i) k(i) = matern(x, points[static_cast<std::size_t>(i)], length);
    const double mean = k.dot(weights);
    const double variance = 1 - factor.matrixL().solve(k).squaredNorm();
    if (variance <= 1e-12) return 0;
    const double sigma = std::sqrt(variance);
    const double z = (target - mean) / sigma;
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
    return (target - mean) * 0.5 * std::erfc(-z / std::numbers::sqrt2) + sigma * density;
  }
};

std::vector<double> next_point(const Points& points, const std::vector<double>& values, double xi,
                               RandomStream& random) {
  const auto n = static_cast<Eigen::Index>(values.size());
  Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXd>(values.data(), n);
  const double mean = y.mean();
  const double deviation = std::sqrt((y.array() - mean).square().mean());
  y = (y.array() - mean) / (deviation > 0 ? deviation : 1);
  std::optional<Process> process;
  for (const double length : kLengths) {
    Process candidate(points, y, length);
    if (!process || candidate.likelihood > process->likelihood) process.emplace(std::move(candidate));
  }
  Eigen::Index best = 0;
  const double least = y.minCoeff(&best);
  const std::vector<double>& incumbent = points[static_cast<std::size_t>(best)];
  std::vector<double> chosen;
  double chosen_value = -1;
  for (std::size_t c = 0; c < kCandidates; ++c) {
    std::vector<double> x(incumbent.size());
    const double width = std::pow(0.5, static_cast<double>(c % 8));
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = c % 2 == 0 ? random.unit() : std::clamp(incumbent[i] + width * (random.unit() - 0.5), 0.0, 1.0);
    if (const double value = process->improvement(x, least - xi); value > chosen_value) {
      chosen_value = value;
      chosen = std::move(x);
    }
  }
  return chosen;
}

}  // namespace

BayesResult minimise(std::size_t dimensions, const std::function<double(std::span<const double>)>& f,
                     const BayesOptions& options, const std::function<bool()>& continue_search) {
  STRETTO_ASSERT(dimensions > 0 && options.evaluations > 0, "{} dimensions, {} evaluations", dimensions,
                 options.evaluations);
  RandomStream random(options.seed, "bayes");
  Points points;
  std::vector<double> values;
  std::vector<double> shift(dimensions);
  for (double& s : shift) s = random.unit();
  // Additive recurrence with the roots of x^(d+1) = x + 1, which spreads evenly for any number of points.
  double root = 2;
  for (int i = 0; i < 60; ++i) root = std::pow(1 + root, 1.0 / static_cast<double>(dimensions + 1));
  for (std::size_t n = 0; n < options.evaluations; ++n) {
    if (n > 0 && continue_search && !continue_search()) break;
    std::vector<double> x(dimensions);
    if (n < std::max<std::size_t>(options.initial, 2)) {
      for (std::size_t i = 0; i < dimensions; ++i) {
        const double v = shift[i] + static_cast<double>(n + 1) * std::pow(root, -static_cast<double>(i + 1));
        x[i] = v - std::floor(v);
      }
    } else {
      x = next_point(points, values, options.xi, random);
    }
    const double value = f(x);
    STRETTO_ASSERT(std::isfinite(value), "value {}", value);
    points.push_back(std::move(x));
    values.push_back(value);
  }
  BayesResult result;
  const auto best = static_cast<std::size_t>(std::min_element(values.begin(), values.end()) - values.begin());
  result.point = points[best];
  result.value = values[best];
  for (std::size_t i = 0; i < values.size(); ++i) result.history.emplace_back(points[i], values[i]);
  return result;
}

}  // namespace stretto::search
