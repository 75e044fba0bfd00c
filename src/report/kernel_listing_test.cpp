// SPDX-License-Identifier: MIT
#include "report/kernel_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/file.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

class KernelListing : public testing::Test {
 protected:
  KernelListing() {
    binary_.arch = "x86-64-v4";
    binary_.recipe = "0123";
    binary_.toolchain = "gcc-12.2.0";
    binary_.file = folder_.path() / "kernel.so";
    binary_.metadata = {{"entries", "f,g"}, {"candidate", "jit_cpu.gemm@1:tile_m=4"}};
    write_file_atomically(binary_.file, "12345");
  }
  TemporaryFolder folder_{"kernel_listing_test"};
  Binary binary_;
};

TEST_F(KernelListing, HasTheFactsOfTheFileAndTheFirstCandidate) {
  const auto kernel = listed_kernel(binary_);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->num_bytes, 5u);
  EXPECT_NEAR(static_cast<double>(kernel->made_at_ms), static_cast<double>(unix_ms()), 60'000);
  EXPECT_EQ(kernel->entries, "f,g");
  ASSERT_TRUE(kernel->candidate);
  EXPECT_EQ(kernel->candidate->name(), "jit_cpu.gemm@1:tile_m=4");
  EXPECT_THAT(kernel_line(*kernel),
              AllOf(HasSubstr("jit_cpu.gemm  "), HasSubstr("tile_m=4  "), HasSubstr("  5  gcc"), EndsWith("  0123")));
  EXPECT_EQ(kernel_line(*kernel).find("gcc-12.2.0"), kernel_header().find("toolchain"));
}

TEST_F(KernelListing, AKernelThatWasRemovedMeanwhileIsNotListed) {
  std::filesystem::remove(binary_.file);
  EXPECT_FALSE(listed_kernel(binary_));
}

TEST_F(KernelListing, ACandidateOfAnotherVersionIsUnknown) {
  binary_.metadata["candidate"] = "no candidate";
  const auto kernel = listed_kernel(binary_);
  ASSERT_TRUE(kernel);
  EXPECT_FALSE(kernel->candidate);
  EXPECT_THAT(kernel_line(*kernel), HasSubstr("  -   "));
  EXPECT_FALSE(nlohmann::json::parse(kernel_json(*kernel)).contains("solver"));
}

TEST_F(KernelListing, JsonHoldsAllFacts) {
  const auto json = nlohmann::json::parse(kernel_json(*listed_kernel(binary_)));
  EXPECT_EQ(json["recipe"], "0123");
  EXPECT_EQ(json["bytes"], 5);
  EXPECT_EQ(json["solver"], "jit_cpu.gemm");
  EXPECT_EQ(json["config"], "tile_m=4");
  EXPECT_EQ(json["metadata"]["entries"], "f,g");
  EXPECT_EQ(json["file"], binary_.file.string());
}

}  // namespace
}  // namespace attune
