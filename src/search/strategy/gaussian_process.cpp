// SPDX-License-Identifier: MIT
#include "search/strategy/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "search/strategy/config_points.h"

namespace attune {
namespace {

/// Variance of a value that its point does not explain, of the variance of all.
constexpr double kNoise = 0.001;
/// Weights of all coordinates that the first search begins with: values are alike over all of the space, or only near
/// by.
constexpr double kFirstWeights[] = {0.2, 0.4, 0.8, 1.6, 3.2};
/// Steps of one weight, the limits of all, and what a step has to gain in the logarithm of the likelihood.
constexpr double kSteps[] = {0.25, 4};
constexpr double kLeastWeight = 1.0 / 256, kMostWeight = 64, kLeastGain = 0.1;
constexpr double kLeastVariance = 1e-12;

size_t row_of(size_t i) { return i * (i + 1) / 2; }

/// The product of two vectors, in four sums, which a processor adds at once; always in the same order.
double dot(const double* a, const double* b, size_t size) {
  double sums[4] = {};
  size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    for (size_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < size; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Factors a matrix whose lower triangle is given by rows, in place. False if it is not positive definite.
bool factor_in_place(std::vector<double>& lower, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    double* const row = &lower[row_of(i)];
    for (size_t j = 0; j <= i; ++j) {
      const double* const other = &lower[row_of(j)];
      const double left = row[j] - dot(row, other, j);
      if (i != j) {
        row[j] = left / other[j];
      } else {
        if (!(left > 0)) return false;
        row[j] = std::sqrt(left);
      }
    }
  }
  return true;
}

/// Solves factor × x = right in place.
void solve_lower(const std::vector<double>& factor, std::vector<double>& right) {
  for (size_t i = 0; i < right.size(); ++i) {
    const double* const row = &factor[row_of(i)];
    right[i] = (right[i] - dot(row, right.data(), i)) / row[i];
  }
}

}  // namespace

std::vector<float> GaussianProcess::by_coordinate(std::span<const Point> points) const {
  std::vector<float> all;
  all.reserve(num_coordinates_ * points.size());
  for (size_t c = 0; c < num_coordinates_; ++c) {
    for (const Point& point : points) all.push_back(point[c]);
  }
  return all;
}

std::vector<double> GaussianProcess::correlations(const Point& point, std::span<const float> others) const {
  std::vector<double> result(others.size() / std::max<size_t>(1, num_coordinates_));
  const size_t num_others = result.size();
  for (size_t c = 0; c < num_coordinates_; ++c) {
    const double weight = fit_.weights[c];
    const float own = point[c];
    const float* const other = &others[c * num_others];
    for (size_t i = 0; i < num_others; ++i)
      result[i] += weight * static_cast<double>(coordinate_distance(own, other[i]));
  }
  for (double& one : result) one = std::exp(-one);
  return result;
}

void GaussianProcess::fit(const std::vector<Point>& points, std::span<const double> values, bool looks_for_weights) {
  ATTUNE_CHECK(!points.empty() && points.size() == values.size(), "a value is needed for each of {} points, got {}",
               points.size(), values.size());
  coordinates_ = by_coordinate(points);
  mean_ = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  values_.clear();
  for (const double value : values) values_.push_back(value - mean_);
  distances_.clear();
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      for (size_t c = 0; c < num_coordinates_; ++c)
        distances_.push_back(coordinate_distance(points[i][c], points[j][c]));
    }
  }
  if (looks_for_weights || fit_.weights.empty())
    look_for_weights();
  else
    fit_ = fit_with(std::move(fit_.weights));
}

void GaussianProcess::look_for_weights() {
  const auto consider = [this](std::vector<double> weights, double least_gain) {
    Fit other = fit_with(std::move(weights));
    if (fit_.weights.empty() || other.likelihood > fit_.likelihood + least_gain) fit_ = std::move(other);
  };
  if (fit_.weights.empty()) {
    for (const double weight : kFirstWeights) consider(std::vector<double>(num_coordinates_, weight), 0);
  } else {
    fit_ = fit_with(std::move(fit_.weights));
    // All of them at once, because more points tell more of what is near.
    for (const double step : {0.5, 2.0}) {
      std::vector<double> weights = fit_.weights;
      for (double& weight : weights) weight = std::clamp(step * weight, kLeastWeight, kMostWeight);
      consider(std::move(weights), kLeastGain);
    }
  }
  for (size_t c = 0; c < num_coordinates_; ++c) {
    for (const double step : kSteps) {
      std::vector<double> weights = fit_.weights;
      weights[c] = std::clamp(step * weights[c], kLeastWeight, kMostWeight);
      consider(std::move(weights), kLeastGain);
    }
  }
}

GaussianProcess::Fit GaussianProcess::fit_with(std::vector<double> weights) const {
  const size_t n = values_.size();
  Fit fit{.weights = std::move(weights),
          .factor = std::vector<double>(row_of(n)),
          .solution = values_,
          .scale = 0,
          .likelihood = std::numeric_limits<double>::lowest()};
  const float* distance = distances_.data();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) {
      double sum = 0;
      for (size_t c = 0; c < num_coordinates_; ++c) sum += fit.weights[c] * static_cast<double>(*distance++);
      fit.factor[row_of(i) + j] = std::exp(-sum);
    }
    fit.factor[row_of(i) + i] = 1 + kNoise;
  }
  if (!factor_in_place(fit.factor, n)) return fit;
  double log_determinant = 0;
  for (size_t i = 0; i < n; ++i) log_determinant += std::log(fit.factor[row_of(i) + i]);
  solve_lower(fit.factor, fit.solution);
  for (size_t i = n; i-- > 0;) {
    for (size_t j = i + 1; j < n; ++j) fit.solution[i] -= fit.factor[row_of(j) + i] * fit.solution[j];
    fit.solution[i] /= fit.factor[row_of(i) + i];
  }
  const double explained = dot(values_.data(), fit.solution.data(), n);
  fit.scale = std::max(kLeastVariance, explained / static_cast<double>(n));
  fit.likelihood = -0.5 * static_cast<double>(n) * std::log(fit.scale) - log_determinant;
  return fit;
}

double GaussianProcess::mean(const Point& point) const {
  const std::vector<double> alike = correlations(point, coordinates_);
  double sum = mean_;
  for (size_t i = 0; i < values_.size(); ++i) sum += alike[i] * fit_.solution[i];
  return sum;
}

GaussianProcess::Queries::Queries(const GaussianProcess& process, std::vector<Point> points)
    : process_(process), points_(std::move(points)), coordinates_(process.by_coordinate(points_)) {
  const Fit& fit = process_.fit_;
  for (const Point& point : points_) {
    std::vector<double> covariances = process_.correlations(point, process_.coordinates_);
    const double mean = process_.mean_ + dot(covariances.data(), fit.solution.data(), covariances.size());
    solve_lower(fit.factor, covariances);
    const double known = dot(covariances.data(), covariances.data(), covariances.size());
    predictions_.push_back({mean, fit.scale * std::max(kLeastVariance, 1 + kNoise - known)});
    solutions_.push_back(std::move(covariances));
  }
}

void GaussianProcess::Queries::add(size_t query) {
  const Fit& fit = process_.fit_;
  const std::vector<double> its = solutions_[query];
  const double deviation = std::sqrt(predictions_[query].variance / fit.scale);
  const std::vector<double> alike = process_.correlations(points_[query], coordinates_);
  for (size_t i = 0; i < points_.size(); ++i) {
    std::vector<double>& solution = solutions_[i];
    const double between = alike[i] - dot(its.data(), solution.data(), its.size());
    solution.push_back(between / deviation);
    predictions_[i].variance =
        fit.scale * std::max(kLeastVariance, predictions_[i].variance / fit.scale - solution.back() * solution.back());
  }
}

}  // namespace attune
