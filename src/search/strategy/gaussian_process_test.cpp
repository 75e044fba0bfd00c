// SPDX-License-Identifier: MIT
#include "search/strategy/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "search/strategy/config_points.h"

namespace attune {
namespace {

using Point = GaussianProcess::Point;

TEST(GaussianProcess, OfTwoPointsIsTheFormulaOfTheBook) {
  // Without a search of weights that of all is the one that makes two values most likely, whose correlation c is known
  // from the prediction halfway: the noise is 0.001 of the variance, and the mean is that of the values.
  GaussianProcess process(1);
  const std::vector<double> values = {1, 3};
  process.fit({{0}, {1}}, values, true);
  const GaussianProcess::Queries queries(process, {{0}, {1}, {0.5F}});
  const double noise = 0.001;
  // At the first point: mean 2 + (k1 - k2) / (1 + noise - c), where k1 = 1 and k2 = c, of the values -1 and 1.
  const double below = 2 - queries.at(0).mean, c = 1 - noise * below / (1 - below);
  EXPECT_GT(c, 0);
  EXPECT_LT(c, 1);
  EXPECT_NEAR(queries.at(1).mean, 4 - queries.at(0).mean, 1e-9);
  EXPECT_NEAR(queries.at(2).mean, 2, 1e-9) << "as near to both";
  // Variance of the values: y' K^-1 y / n = 1 / (1 + noise - c). What is left of it at a point: 1 + noise - k' K^-1 k.
  const double scale = 1 / (1 + noise - c), determinant = (1 + noise) * (1 + noise) - c * c;
  const double explained = ((1 + noise) * (1 + c * c) - 2 * c * c) / determinant;
  EXPECT_NEAR(queries.at(0).variance, scale * (1 + noise - explained), 1e-6);
}

TEST(GaussianProcess, IsSurerNearWhatItKnows) {
  GaussianProcess process(2);
  std::vector<Point> points;
  std::vector<double> values;
  for (int i = 0; i < 8; ++i) {
    points.push_back({static_cast<float>(i) / 20, 0});
    values.push_back(std::sin(i));
  }
  process.fit(points, values, true);
  const GaussianProcess::Queries queries(process, {points[3], {0.4F, 0}, {1, 1}});
  EXPECT_LT(queries.at(0).variance, queries.at(1).variance);
  EXPECT_LT(queries.at(1).variance, queries.at(2).variance);
}

TEST(GaussianProcess, LearnsWhichCoordinatesMatter) {
  Random random(1);
  std::vector<Point> points;
  std::vector<double> values;
  for (int i = 0; i < 24; ++i) {
    const auto coordinate = [&] { return static_cast<float>(random.below(9)) / 8; };
    points.push_back({coordinate(), coordinate(), coordinate(), coordinate()});
    values.push_back(std::sin(9 * static_cast<double>(points.back()[1])));
  }
  GaussianProcess process(4);
  for (int i = 0; i < 4; ++i) process.fit(points, values, true);
  std::vector<Point> others;
  for (const float value : {0.25F, 0.5F, 0.75F}) {
    for (const float elsewhere : {0.F, 1.F}) others.push_back({elsewhere, value, 1 - elsewhere, elsewhere});
  }
  const GaussianProcess::Queries queries(process, others);
  double max = 0;
  for (size_t i = 0; i < others.size(); ++i)
    max = std::max(max, std::abs(queries.at(i).mean - std::sin(9 * static_cast<double>(others[i][1]))));
  EXPECT_LT(max, 0.1);
}

TEST(GaussianProcess, WhatIsTakenMakesItsNeighboursSurerAndChangesNoMean) {
  GaussianProcess process(1);
  std::vector<Point> points;
  std::vector<double> values;
  for (int i = 0; i < 9; ++i) {
    points.push_back({static_cast<float>(i) / 20});
    values.push_back(1 + 0.1 * i);
  }
  process.fit(points, values, true);
  GaussianProcess::Queries queries(process, {{0.9F}, {0.95F}, {0.45F}});
  const Prediction taken = queries.at(0), next = queries.at(1), near = queries.at(2);
  queries.add(0);
  EXPECT_LT(queries.at(0).variance, 0.1 * taken.variance);
  EXPECT_LT(queries.at(1).variance, 0.8 * next.variance);
  EXPECT_GT(queries.at(2).variance, 0.8 * near.variance) << "it was known already";
  EXPECT_EQ(queries.at(1).mean, next.mean);
}

TEST(GaussianProcess, TakesEqualPointsAndEqualValues) {
  GaussianProcess process(1);
  const std::vector<double> values = {2, 2, 2, 2};
  process.fit({{0}, {0}, {1}, {1}}, values, true);
  const GaussianProcess::Queries queries(process, {{0}, {0.5F}});
  EXPECT_NEAR(queries.at(1).mean, 2, 1e-9);
  EXPECT_GT(queries.at(1).variance, 0);
  EXPECT_TRUE(std::isfinite(queries.at(0).variance));
}

}  // namespace
}  // namespace attune
