// SPDX-License-Identifier: MIT
#include "algorithm_features.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/space/expression.h"

namespace attune {
namespace {

/// What a name of a meaning has for an id; -1: nothing.
int64_t meaning(const std::string& name, int64_t id) {
  for (const Meaning& one : meanings_of_ids()) {
    if (one.parameter + "." + one.name != name) continue;
    for (const auto& [value, number] : one.numbers) {
      if (value == Value(id)) return number;
    }
  }
  return -1;
}

TEST(CublasltFeatures, IdsStandForWhatTheHeaderNames) {
  // CUBLASLT_MATMUL_TILE_128x64, _80x64 and _144x64; CUBLASLT_CLUSTER_SHAPE_1x2x1 and _4x2x1.
  EXPECT_EQ(meaning("tile.rows", 18), 128);
  EXPECT_EQ(meaning("tile.columns", 18), 64);
  EXPECT_EQ(meaning("tile.rows", 134), 80);
  EXPECT_EQ(meaning("tile.columns", 134), 64);
  EXPECT_EQ(meaning("tile.rows", 183), 144);
  EXPECT_EQ(meaning("cluster.rows", 5), 1);
  EXPECT_EQ(meaning("cluster.columns", 5), 2);
  EXPECT_EQ(meaning("cluster.rows", 7), 4);
  EXPECT_EQ(meaning("tile.rows", 0), -1) << "undefined";
  EXPECT_EQ(meaning("cluster.rows", 0), 1) << "an algorithm without clusters";
}

TEST(CublasltFeatures, SayHowFullTheGpuIsAndHowMuchAMultiprocessorDoes) {
  // 232×4608×2048 on 132 multiprocessors.
  const auto features = [](int64_t rows, int64_t columns, int64_t parts) {
    const std::map<std::string, int64_t, std::less<>> names = {
        {"problem.m", 232},        {"problem.n", 4608}, {"problem.k", 2048},
        {"device.num_units", 132}, {"tile.rows", rows}, {"tile.columns", columns},
        {"splitk", parts},         {"cluster.rows", 2}, {"cluster.columns", 1}};
    std::map<std::string, int64_t> values;
    for (const Feature& one : algorithm_features()) {
      const Value value = Expression::parse(one.expression).evaluate([&](std::string_view name) {
        return std::optional<Value>(names.find(name)->second);
      });
      values[one.name] = std::get<int64_t>(value);
    }
    return values;
  };
  using Values = std::map<std::string, int64_t>;
  // A step of K is bound by the loads of rows and columns, 50 each, up to tiles of 256×256; parts are written and
  // added.
  EXPECT_EQ(features(144, 64, 1), (Values{{"tiles", 128},
                                          {"waves", 1},
                                          {"fill", 969},
                                          {"work", 144 * 64 * 2048},
                                          {"time", int64_t{18} * (50 * (144 + 64) * 2048)}}));
  EXPECT_EQ(features(128, 64, 1), (Values{{"tiles", 144},
                                          {"waves", 2},
                                          {"fill", 545},
                                          {"work", 2 * 128 * 64 * 2048},
                                          {"time", int64_t{18} * (2 * 50 * (128 + 64) * 2048)}}));
  EXPECT_EQ(features(256, 256, 3), (Values{{"tiles", 54},
                                           {"waves", 1},
                                           {"fill", 409},
                                           {"work", 256 * 256 * 683},
                                           {"time", int64_t{18} * (256 * 256 * 683 + 8 * 3 * 232 * 4608)}}));
  EXPECT_EQ(features(8, 512, 0), (Values{{"tiles", 576},
                                         {"waves", 5},
                                         {"fill", 872},
                                         {"work", 5 * 8 * 512 * 2048},
                                         {"time", int64_t{18} * (5 * 50 * (8 + 512) * 2048)}}))
      << "an algorithm without parts";
}

}  // namespace
}  // namespace attune
