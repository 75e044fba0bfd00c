// SPDX-License-Identifier: MIT
#include "device/environment_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"
#include "device/devices.h"
#include "testing/environment.h"

namespace attune {
namespace {

constexpr const char* kVariables[] = {"ATTUNE_THREADS", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT"};

class StatedThreadsTest : public testing::Test {
 protected:
  static int64_t stated(const std::string& own, const std::string& openmp) {
    const TestEnvironment first("ATTUNE_THREADS", own), second("OMP_NUM_THREADS", openmp);
    return environment_threads().threads;
  }
  TestEnvironment unlimited_{kVariables};
};

TEST_F(StatedThreadsTest, AreTheLeastOfTheVariables) {
  EXPECT_EQ(environment_threads().threads, 0);
  EXPECT_EQ(stated("3", "5"), 3);
  EXPECT_EQ(stated("5", "3"), 3);
  EXPECT_EQ(stated("", "4"), 4);
  EXPECT_EQ(stated("4", ""), 4);
  EXPECT_EQ(stated("", " 6 , 2"), 6) << "OpenMP's second number is that of nested regions";
  const TestEnvironment limit("OMP_THREAD_LIMIT", "3");
  EXPECT_EQ(environment_threads().threads, 3);
  EXPECT_EQ(stated("", "4"), 3);
  EXPECT_EQ(stated("2", "4"), 2);
}

TEST_F(StatedThreadsTest, InvalidValuesAreIgnoredAndOursIsReported) {
  EXPECT_EQ(stated("many", "2"), 2);
  EXPECT_EQ(stated("2", "-1"), 2);
  EXPECT_EQ(stated("0", "99999999999999999999"), 0);
  EXPECT_EQ(environment_threads().error, "");
  const TestEnvironment wrong("ATTUNE_THREADS", "2x");
  EXPECT_EQ(environment_threads().error, "ATTUNE_THREADS expects a number of threads from 1, ignoring it: '2x'");
}

TEST_F(StatedThreadsTest, LimitTheUnitsOfTheHost) {
  const int64_t all = find_device({.ids = "cpu:0"}).num_units;
  {
    const TestEnvironment one("ATTUNE_THREADS", "1");
    EXPECT_EQ(find_device({.ids = "cpu:0"}).num_units, 1);
    EXPECT_EQ(find_device({.ids = "cpu:0"}).facts.at("num_units"), 1);
    EXPECT_EQ(open_device("cpu:0")->info().num_units, 1);
    EXPECT_THROW(find_device({.ids = {}, .threads = 2}), Error);
  }
  EXPECT_EQ(find_device({.ids = {}, .threads = 1}).num_units, 1);
  EXPECT_EQ(open_device("cpu:0", 1)->info().num_units, 1);
  EXPECT_EQ(open_device("cpu:0", all + 1)->info().num_units, all);
  EXPECT_THROW(find_device({.ids = {}, .threads = all + 1}), Error);
  EXPECT_EQ(find_device({.ids = "fake:0", .threads = 1}).num_units, 4);
}

}  // namespace
}  // namespace attune
