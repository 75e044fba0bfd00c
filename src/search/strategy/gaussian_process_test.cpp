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
  GaussianProcess process(1);
  const std::vector<double> values = {1, 3};
  process.fit({{0}, {1}}, values, true);
  // Whatever the weight: halfway both are as near, and the mean is theirs.
  EXPECT_NEAR(GaussianProcess::Candidates(process, {{0.5F}}).at(0).mean, 2, 1e-9);
  EXPECT_NEAR(GaussianProcess::Candidates(process, {{0}}).at(0).mean, 1, 0.02);
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
  const GaussianProcess::Candidates candidates(process, {points[3], {0.4F, 0}, {1, 1}});
  EXPECT_LT(candidates.at(0).variance, candidates.at(1).variance);
  EXPECT_LT(candidates.at(1).variance, candidates.at(2).variance);
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
  const GaussianProcess::Candidates candidates(process, others);
  double most = 0;
  for (size_t i = 0; i < others.size(); ++i)
    most = std::max(most, std::abs(candidates.at(i).mean - std::sin(9 * static_cast<double>(others[i][1]))));
  EXPECT_LT(most, 0.1);
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
  GaussianProcess::Candidates candidates(process, {{0.9F}, {0.95F}, {0.45F}});
  const Prediction taken = candidates.at(0), next = candidates.at(1), near = candidates.at(2);
  candidates.add(0);
  EXPECT_LT(candidates.at(0).variance, 0.1 * taken.variance);
  EXPECT_LT(candidates.at(1).variance, 0.8 * next.variance);
  EXPECT_GT(candidates.at(2).variance, 0.8 * near.variance) << "it was known already";
  EXPECT_EQ(candidates.at(1).mean, next.mean);
}

TEST(GaussianProcess, TakesEqualPointsAndEqualValues) {
  GaussianProcess process(1);
  const std::vector<double> values = {2, 2, 2, 2};
  process.fit({{0}, {0}, {1}, {1}}, values, true);
  const GaussianProcess::Candidates candidates(process, {{0}, {0.5F}});
  EXPECT_NEAR(candidates.at(1).mean, 2, 1e-9);
  EXPECT_GT(candidates.at(1).variance, 0);
  EXPECT_TRUE(std::isfinite(candidates.at(0).variance));
}

}  // namespace
}  // namespace attune
