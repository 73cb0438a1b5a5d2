// SPDX-License-Identifier: Apache-2.0
#include "analysis/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/statistics.hpp"
#include "sim/base/assert.hpp"

namespace stretto::analysis {

namespace {

constexpr double kFirstDamping = 1e-3;
constexpr double kMostDamping = 1e6;
constexpr double kSettled = 1e-6;  // relative gain of a round below which the fit ends
constexpr double kRidge = 1e-12;   // of a matrix with ones on its diagonal, so that its inverse exists

using Matrix = std::vector<std::vector<double>>;

double square_sum(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return sum;
}

// The lower triangle L of a = L L'; a symmetric and positive definite.
Matrix cholesky(Matrix a) {
  for (std::size_t j = 0; j < a.size(); ++j) {
    for (std::size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = std::sqrt(std::max(a[j][j], std::numeric_limits<double>::min()));
    for (std::size_t i = j + 1; i < a.size(); ++i) {
      for (std::size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  return a;
}

// The x of a x = b.
std::vector<double> solve(const Matrix& a, std::vector<double> b) {
  const Matrix l = cholesky(a);
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= l[i][k] * b[k];
    b[i] /= l[i][i];
  }
  for (std::size_t i = b.size(); i-- > 0;) {
    for (std::size_t k = i + 1; k < b.size(); ++k) b[i] -= l[k][i] * b[k];
    b[i] /= l[i][i];
  }
  return b;
}

class Solver {
 public:
  Solver(const Residuals& residuals, std::span<const FitParameter> parameters, const FitOptions& options)
      : residuals_(residuals), parameters_(parameters), options_(options), free_(parameters.size(), true) {
    for (const FitParameter& p : parameters) {
      STRETTO_ASSERT(p.scale > 0 && p.least <= p.start && p.start <= p.most, "start {} of [{}, {}], scale {}", p.start,
                     p.least, p.most, p.scale);
      x_.push_back(p.start);
    }
  }

  Fit run() {
    at_ = evaluate(x_);
    while (true) {
      minimise();
      const std::vector<double> widths = half_widths();
      const auto untold = least_told(widths);
      if (!untold) {
        Fit fit{x_, std::vector<std::optional<double>>(x_.size()), at_};
        for (std::size_t j = 0; j < x_.size(); ++j)
          if (free_[j]) fit.half_widths[j] = widths[j];
        return fit;
      }
      free_[*untold] = false;
      x_[*untold] = parameters_[*untold].start;
      at_ = evaluate(x_);
    }
  }

 private:
  std::vector<double> evaluate(std::span<const double> x) {
    std::vector<double> r = residuals_(x);
    STRETTO_ASSERT(at_.empty() || r.size() == at_.size(), "{} residuals, then {}", at_.size(), r.size());
    return r;
  }

  // Columns of the free parameters, per scale; others are empty.
  Matrix slopes() {
    Matrix columns(x_.size());
    for (std::size_t j = 0; j < x_.size(); ++j) {
      if (!free_[j]) continue;
      const FitParameter& p = parameters_[j];
      double move = options_.step * p.scale;
      const double above = p.most - x_[j];
      const double below = x_[j] - p.least;
      if (move > above) move = above >= below ? above : -std::min(move, below);
      std::vector<double> moved = x_;
      moved[j] += move;
      const double done = (moved[j] - x_[j]) / p.scale;
      columns[j].assign(at_.size(), 0.0);
      if (done == 0) continue;
      const std::vector<double> there = evaluate(moved);
      for (std::size_t i = 0; i < at_.size(); ++i) columns[j][i] = (there[i] - at_[i]) / done;
    }
    return columns;
  }

  static double product(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }

  // The damped step in the parameters of `moving`, in scales.
  std::vector<double> damped_step(const Matrix& columns, const std::vector<std::size_t>& moving, double damping) const {
    Matrix normal(moving.size(), std::vector<double>(moving.size()));
    std::vector<double> right(moving.size());
    for (std::size_t a = 0; a < moving.size(); ++a) {
      for (std::size_t b = 0; b < moving.size(); ++b) normal[a][b] = product(columns[moving[a]], columns[moving[b]]);
      normal[a][a] = normal[a][a] * (1 + damping) + kRidge;
      right[a] = -product(columns[moving[a]], at_);
    }
    return solve(normal, std::move(right));
  }

  // Those that may move: free, and not at a bound that the gradient points out of.
  std::vector<std::size_t> moving_of(const Matrix& columns) const {
    std::vector<std::size_t> moving;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      if (!free_[j]) continue;
      const double gradient = product(columns[j], at_);
      const bool stuck =
          (x_[j] <= parameters_[j].least && gradient >= 0) || (x_[j] >= parameters_[j].most && gradient <= 0);
      if (!stuck) moving.push_back(j);
    }
    return moving;
  }

  void minimise() {
    double damping = kFirstDamping;
    for (std::size_t round = 0; round < options_.most_rounds; ++round) {
      const Matrix columns = slopes();
      const std::vector<std::size_t> moving = moving_of(columns);
      const double before = square_sum(at_);
      if (moving.empty() || before == 0) return;
      bool better = false;
      while (!better && damping <= kMostDamping) {
        const std::vector<double> step = damped_step(columns, moving, damping);
        std::vector<double> x = x_;
        for (std::size_t a = 0; a < moving.size(); ++a) {
          const FitParameter& p = parameters_[moving[a]];
          x[moving[a]] = std::clamp(x_[moving[a]] + step[a] * p.scale, p.least, p.most);
        }
        std::vector<double> there = evaluate(x);
        better = square_sum(there) < before;
        if (better) {
          x_ = std::move(x);
          at_ = std::move(there);
          damping /= 4;
        } else {
          damping = std::max(10 * damping, 0.01);
        }
      }
      if (!better || square_sum(at_) > before * (1 - kSettled)) return;
    }
  }

  std::vector<double> half_widths() {
    const double unknown = std::numeric_limits<double>::infinity();
    std::vector<double> widths(x_.size(), unknown);
    std::vector<std::size_t> free;
    for (std::size_t j = 0; j < x_.size(); ++j)
      if (free_[j]) free.push_back(j);
    if (free.empty() || at_.size() <= free.size()) return widths;
    const Matrix columns = slopes();
    std::vector<double> norms;
    for (const std::size_t j : free) norms.push_back(std::sqrt(square_sum(columns[j])));
    Matrix normal(free.size(), std::vector<double>(free.size()));
    for (std::size_t a = 0; a < free.size(); ++a)
      for (std::size_t b = 0; b < free.size(); ++b) {
        if (a == b)
          normal[a][b] = 1 + kRidge;
        else if (norms[a] > 0 && norms[b] > 0)
          normal[a][b] = product(columns[free[a]], columns[free[b]]) / (norms[a] * norms[b]);
      }
    const std::size_t freedom = at_.size() - free.size();
    const double t_s = t_quantile95(freedom) * std::sqrt(square_sum(at_) / static_cast<double>(freedom));
    for (std::size_t a = 0; a < free.size(); ++a) {
      if (norms[a] == 0) continue;
      std::vector<double> unit(free.size(), 0.0);
      unit[a] = 1;
      const double variance = solve(normal, unit)[a];
      widths[free[a]] = t_s * std::sqrt(std::max(variance, 0.0)) / norms[a] * parameters_[free[a]].scale;
    }
    return widths;
  }

  // The free parameter that the data tell least of, if there is one that they do not tell.
  std::optional<std::size_t> least_told(const std::vector<double>& widths) const {
    std::optional<std::size_t> least;
    double worst = 1;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      if (!free_[j]) continue;
      const double relative = widths[j] / std::max(parameters_[j].scale, std::abs(x_[j]));
      if (relative > worst) {
        worst = relative;
        least = j;
      }
    }
    return least;
  }

  const Residuals& residuals_;
  std::span<const FitParameter> parameters_;
  FitOptions options_;
  std::vector<bool> free_;
  std::vector<double> x_;
  std::vector<double> at_;
};

}  // namespace

Fit least_squares(const Residuals& residuals, std::span<const FitParameter> parameters, const FitOptions& options) {
  return Solver(residuals, parameters, options).run();
}

}  // namespace stretto::analysis
