// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace attune {

/// What a GaussianProcess expects of a point.
struct Prediction {
  double mean = 0, variance = 0;
};

/// Regression by a Gaussian process (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapters 2
/// and 5): values of near points are alike, by exp(-sum of weight × distance over the coordinates)
/// (coordinate_distance()). The variance of the values is the one that makes them most likely; the weights are searched
/// for that, one after the other. Not thread-safe.
///
/// Cost of a fit with n points of d coordinates: n³/6 + n²d/2 multiplications and n²/2 exponentials, 5 + 2d times the
/// first time that weights are looked for and 3 + 2d times later. Of a prediction: n²/2 + nd and n exponentials.
class GaussianProcess {
 public:
  using Point = std::vector<float>;

  explicit GaussianProcess(size_t num_coordinates) : num_coordinates_(num_coordinates) {}

  /// Replaces the points. `looks_for_weights`: whether to search the weights, beginning with the present ones;
  /// otherwise they stay. Requires: a point at least, one value for each.
  void fit(const std::vector<Point>& points, std::span<const double> values, bool looks_for_weights);

  /// The mean of what is expected of a point; nd multiplications and n exponentials. Requires: fit().
  double mean(const Point& point) const;

  /// Points whose values are to be predicted, and which of them is taken next. `add` keeps what the others are expected
  /// to be, and makes them as certain as they would be with its value known.
  class Queries {
   public:
    Queries(const GaussianProcess& process, std::vector<Point> points);
    size_t size() const noexcept { return points_.size(); }
    const Prediction& at(size_t query) const { return predictions_[query]; }
    void add(size_t query);

   private:
    const GaussianProcess& process_;
    std::vector<Point> points_;
    std::vector<float> coordinates_;              ///< Of all queries, by coordinate.
    std::vector<std::vector<double>> solutions_;  ///< Of each query: the inverse of the factor times its covariances.
    std::vector<Prediction> predictions_;
  };

 private:
  /// Weights, and what they make of the points.
  struct Fit {
    std::vector<double> weights;
    std::vector<double> factor;    ///< Lower triangle of the Cholesky factor of the correlations, by rows.
    std::vector<double> solution;  ///< Their inverse times the values around the mean.
    double scale = 0;              ///< Variance of the values.
    double likelihood = 0;         ///< Logarithm, but for a constant; of an impossible one the lowest.
  };
  /// The coordinates of points, those of one coordinate together.
  std::vector<float> by_coordinate(std::span<const Point> points) const;
  /// Correlations of a point with others, which are given by_coordinate(). Many at once, because a processor then
  /// computes several with one instruction.
  std::vector<double> correlations(const Point& point, std::span<const float> others) const;
  Fit fit_with(std::vector<double> weights) const;
  void look_for_weights();

  size_t num_coordinates_;
  std::vector<float> coordinates_;  ///< Of all points, by coordinate.
  std::vector<float> distances_;    ///< Of each pair of points, each coordinate.
  double mean_ = 0;
  std::vector<double> values_;  ///< Around the mean.
  Fit fit_;
};

}  // namespace attune
