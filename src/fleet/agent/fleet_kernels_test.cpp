// SPDX-License-Identifier: MIT
#include "fleet/agent/fleet_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "store/fleet/store_away.h"
#include "testing/tuner_doubles.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// The store of a test.
struct StoredKernels {
  std::map<KernelKey, SharedKernel> all;
  std::vector<std::string> refused;
  size_t num_calls = 0;
  bool is_away = false, takes_none = false;
};

class FakeSharedKernels final : public SharedKernels {
 public:
  explicit FakeSharedKernels(StoredKernels& stored) : stored_(stored) {}
  std::vector<SharedKernel> get(std::span<const KernelKey> keys) override {
    call();
    std::vector<SharedKernel> found;
    for (const KernelKey& key : keys) {
      if (stored_.all.contains(key)) found.push_back(stored_.all.at(key));
    }
    return found;
  }
  std::vector<KernelKey> missing(std::span<const KernelKey> keys) override {
    call();
    std::vector<KernelKey> found;
    for (const KernelKey& key : keys) {
      if (!stored_.all.contains(key)) found.push_back(key);
    }
    return found;
  }
  void put(std::span<const SharedKernel> kernels) override {
    call();
    for (const SharedKernel& one : kernels) {
      if (one.bytes.size() > 100 || stored_.takes_none) fail(ErrorCode::database, "the server takes no such statement");
    }
    for (const SharedKernel& one : kernels) stored_.all.emplace(one.key, one);
  }
  void refuse(int64_t, const std::string&, const SharedKernel& kernel) override {
    stored_.all.erase(kernel.key);
    stored_.refused.push_back(kernel.key.recipe);
  }

 private:
  void call() {
    ++stored_.num_calls;
    if (stored_.is_away) throw StoreAway("the store does not answer");
  }
  StoredKernels& stored_;
};

class FleetKernelsTest : public testing::Test {
 protected:
  static CompileTask task(const std::string& source) { return {"hostcc", source, "x86-64", {}, {}}; }
  Binary binary(const std::string& source, const std::string& toolchain = "gcc-12.2.0") {
    const auto file = folder_.path() / task(source).recipe();
    std::ofstream(file) << source;
    return {.arch = "x86-64",
            .recipe = task(source).recipe(),
            .toolchain = toolchain,
            .sha256 = sha256(source),
            .file = file,
            .metadata = {{"compiler", "script"}}};
  }

  TemporaryFolder folder_{"fleet-kernels-test"};
  StoredKernels stored_;
  std::string said_;
  TestClock clock_;
  FleetKernels kernels_{std::make_unique<FakeSharedKernels>(stored_),
                        {.session = 1,
                         .agent = "me",
                         .toolchains = {{"hostcc", "gcc-12.2.0"}, {"script", "gcc-12.2.0"}},
                         .say = [this](const std::string& line) { said_ += line + "\n"; }},
                        clock_};
};

TEST_F(FleetKernelsTest, WhatOneAgentOffersAnotherFetches) {
  kernels_.offer(std::vector{binary("a"), binary("b")});
  const auto found = kernels_.fetch(std::vector{task("a"), task("c")});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].recipe, task("a").recipe());
  EXPECT_EQ(found[0].toolchain, "gcc-12.2.0");
  EXPECT_EQ(found[0].metadata.at("compiler"), "script");
  EXPECT_EQ(read_file(found[0].file), "a");
  EXPECT_EQ(stored_.num_calls, 3u) << "two for the offer, however many kernels it has";
}

TEST_F(FleetKernelsTest, KernelsOfOtherToolchainsTakeNoPart) {
  kernels_.offer(std::vector{binary("a", "gcc-13.1.0")});
  EXPECT_THAT(stored_.all, IsEmpty());
  CompileTask other = task("a");
  other.compiler = "nvrtc";
  EXPECT_THAT(kernels_.fetch(std::vector{other}), IsEmpty());
  EXPECT_EQ(stored_.num_calls, 0u);
}

TEST_F(FleetKernelsTest, DamagedBytesAreRefusedAndCanBeOfferedAgain) {
  kernels_.offer(std::vector{binary("a")});
  stored_.all.begin()->second.bytes = "b";
  EXPECT_THAT(kernels_.fetch(std::vector{task("a")}), IsEmpty());
  EXPECT_EQ(stored_.refused, std::vector{task("a").recipe()});
  EXPECT_THAT(said_, HasSubstr("does not match its SHA-256"));
  kernels_.offer(std::vector{binary("a")});
  EXPECT_THAT(kernels_.fetch(std::vector{task("a")}), SizeIs(1));
}

TEST_F(FleetKernelsTest, AKernelThatTheServerDoesNotTakeKeepsNoOtherOut) {
  kernels_.offer(std::vector{binary("a"), binary(std::string(200, 'b')), binary("c")});
  EXPECT_THAT(stored_.all, SizeIs(2));
  EXPECT_THAT(said_, HasSubstr("the server takes no such statement"));
}

TEST_F(FleetKernelsTest, AKernelThatTheStoreDidNotTakeIsSentAgainAFewTimes) {
  stored_.takes_none = true;
  kernels_.offer(std::vector{binary("a"), binary(std::string(200, 'b'))});
  EXPECT_THAT(stored_.all, IsEmpty());
  stored_.takes_none = false;
  kernels_.offer({});
  EXPECT_THAT(stored_.all, IsEmpty()) << "after a while";
  clock_.sleep_s(31);
  kernels_.offer({});
  EXPECT_THAT(stored_.all, SizeIs(1));
  clock_.sleep_s(31);
  kernels_.offer({});
  const size_t num_calls = stored_.num_calls;
  clock_.sleep_s(31);
  kernels_.offer({});
  EXPECT_EQ(stored_.num_calls, num_calls) << "not for ever";
}

TEST_F(FleetKernelsTest, AKernelThatTheCacheHasEvictedKeepsNoOtherOut) {
  const std::vector both = {binary("a"), binary("b")};
  std::filesystem::remove(both[0].file);
  kernels_.offer(both);
  ASSERT_THAT(stored_.all, SizeIs(1));
  EXPECT_EQ(stored_.all.begin()->second.bytes, "b");
  EXPECT_EQ(said_, "");
}

TEST_F(FleetKernelsTest, AStoreThatIsAwayHasNoKernelsAndIsNotAskedForAWhile) {
  kernels_.offer(std::vector{binary("a")});
  stored_.is_away = true;
  EXPECT_THAT(kernels_.fetch(std::vector{task("a")}), IsEmpty());
  const size_t num_calls = stored_.num_calls;
  EXPECT_THAT(kernels_.fetch(std::vector{task("a")}), IsEmpty());
  EXPECT_EQ(stored_.num_calls, num_calls);
  EXPECT_EQ(said_, "kernels are not shared: the store does not answer\n");
  kernels_.offer(std::vector{binary("b")});
  stored_.is_away = false;
  clock_.sleep_s(31);
  EXPECT_THAT(kernels_.fetch(std::vector{task("a")}), SizeIs(1));
  EXPECT_THAT(stored_.all, SizeIs(2)) << "what was offered meanwhile is stored";
}

}  // namespace
}  // namespace attune
