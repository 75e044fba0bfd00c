// SPDX-License-Identifier: MIT
#include "measure/bitwise/repeated_launches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

size_t num_threads_of_process() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

/// A candidate with four bytes of output; `byte` returns the last one.
class Candidate4 {
 public:
  explicit Candidate4(std::function<int(uint32_t)> byte) : byte_(std::move(byte)) {}
  HashOfLaunch launches() {
    return [this](uint32_t index) {
      bytes_[3] = static_cast<std::byte>(byte_(index));
      return hash128(std::span<const std::byte>(bytes_));
    };
  }

 private:
  std::function<int(uint32_t)> byte_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(4);
};

TEST(RepeatedLaunches, EqualBitsHaveOneHash) {
  Candidate4 same([](uint32_t) { return 7; }), other([](uint32_t) { return 8; });
  const auto one = compare_launches(same.launches(), 2, "");
  EXPECT_THAT(one.fault, IsEmpty());
  EXPECT_EQ(one.hash.size(), 32u);
  EXPECT_THAT(compare_launches(same.launches(), 2, one.hash).fault, IsEmpty());
  EXPECT_NE(compare_launches(other.launches(), 2, "").hash, one.hash);
}

TEST(RepeatedLaunches, AnotherProcessMustHaveGivenTheSameBits) {
  Candidate4 same([](uint32_t) { return 7; }), other([](uint32_t) { return 8; });
  const auto before = compare_launches(same.launches(), 1, "");
  EXPECT_THAT(compare_launches(other.launches(), 1, before.hash).fault, HasSubstr("in another process"));
}

TEST(RepeatedLaunches, EachLaunchIsCompared) {
  for (uint32_t odd = 1; odd < kQuietLaunches + kDisturbedLaunches; ++odd) {
    Candidate4 once([odd](uint32_t index) { return index == odd ? 1 : 0; });
    const auto found = compare_launches(once.launches(), 1, "");
    EXPECT_THAT(found.fault, HasSubstr(odd < kQuietLaunches ? "from launch to launch" : "take its cores")) << odd;
  }
}

TEST(RepeatedLaunches, NobodyTakesCoresWhereTheDeviceComputesWithNone) {
  Candidate4 last([](uint32_t index) { return index == kQuietLaunches + kDisturbedLaunches - 1 ? 1 : 0; });
  EXPECT_THAT(compare_launches(last.launches(), 0, "").fault, HasSubstr("from launch to launch"));
}

TEST(RepeatedLaunches, OtherThreadsCompeteWithTheLaterLaunchesOnly) {
  constexpr size_t kCores = 3;
  const size_t alone = num_threads_of_process();
  std::vector<size_t> threads;
  Candidate4 counting([&](uint32_t) {
    threads.push_back(num_threads_of_process());
    return 0;
  });
  compare_launches(counting.launches(), kCores, "");
  ASSERT_EQ(threads.size(), kQuietLaunches + kDisturbedLaunches);
  for (size_t i = 0; i < threads.size(); ++i) EXPECT_EQ(threads[i], i < kQuietLaunches ? alone : alone + kCores) << i;
  EXPECT_EQ(num_threads_of_process(), alone) << "they end with the check";
}

}  // namespace
}  // namespace attune
