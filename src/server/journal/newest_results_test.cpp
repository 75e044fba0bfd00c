// SPDX-License-Identifier: MIT
#include "server/journal/newest_results.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(NewestResults, AreOnePerProblemDeviceAndRequirement) {
  ResultIndex index;
  const auto add = [&](int64_t id, const std::string& problem, const std::string& device, Requirement require) {
    index.add_newest({.stamp = {id, 0, 1}, .problem = problem, .device = device, .winner = "A", .require = require});
  };
  add(1, "m=1", "cpu/2", Requirement::none);
  add(2, "m=1", "cpu/2", Requirement::deterministic);
  add(3, "m=1", "cpu/4", Requirement::none);
  add(4, "m=1", "cpu/2", Requirement::none);
  const NewestResults newest(index.rows());
  const auto id_of = [&](const ResultPlace& place) {
    const ResultRow* found = newest.find(place);
    return found == nullptr ? 0 : found->stamp.id;
  };
  EXPECT_EQ(id_of({"m=1", "cpu/2", Requirement::none}), 4);
  EXPECT_EQ(id_of({"m=1", "cpu/2", Requirement::deterministic}), 2);
  EXPECT_EQ(id_of({"m=1", "cpu/4", Requirement::none}), 3);
  EXPECT_EQ(id_of({"m=1", "cpu/4", Requirement::deterministic}), 0);
  std::vector<int64_t> ids;
  for (const auto& row : newest.rows()) ids.push_back(row->stamp.id);
  EXPECT_EQ(ids, (std::vector<int64_t>{4, 3, 2}));
}

TEST(NewestResults, OutliveTheIndex) {
  ResultIndex index;
  index.add_newest({.stamp = {1, 0, 1}, .problem = "m=1", .device = "cpu/2", .winner = "A"});
  const NewestResults newest(index.rows());
  index = {};
  EXPECT_EQ(newest.find({"m=1", "cpu/2", Requirement::none})->winner, "A");
}

}  // namespace
}  // namespace attune
