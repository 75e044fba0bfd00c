// SPDX-License-Identifier: MIT
// Dispatchers that require something of the kernels they serve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "attune/error.h"
#include "testing/dispatcher_fixture.h"

namespace attune {
namespace {

using testing::HasSubstr;

/// The fake solver's configs state batch-invariant with split_k=1, deterministic with 2 and nothing with 4.
class RequiredTest : public DispatcherTest {
 protected:
  static constexpr const char* kInvariant = kGood;
  static constexpr const char* kDeterministic = "fake.gemm@1:split_k=2;tile_m=16;tile_n=32";
  static constexpr const char* kFree = "fake.gemm@1:split_k=4;tile_m=16;tile_n=16";

  static std::string row_stating(int64_t m, const std::string& kernel, double us, const std::string& stated) {
    return fmt::format("fake,4,{},16,16,torch.float32,torch.float32,{},{},{}\n", m, us, kernel, stated);
  }
  void write_stating(const std::string& rows) {
    write_file_atomically(table_, "gfx,cu_num,M,N,K,dtype,outdtype,us,kernelName,require\n" + rows);
  }
  void require(Requirement required) {
    dispatcher_.reset();
    options_.require = required;
  }
  /// Line of the row that serves; 0: none.
  std::string served_by(int64_t m) {
    const Hit hit = dispatcher().require(key(m));
    EXPECT_NE(hit.plan, nullptr);
    return hit.row == 0 ? "untuned" : dispatcher().explain(key(m)).substr(0, 4096);
  }
};

TEST_F(RequiredTest, OnlyRowsThatStateItServe) {
  write_stating(row_stating(5, kFree, 1, "") + row_stating(5, kDeterministic, 2, "deterministic") +
                row_stating(5, kInvariant, 3, "batch-invariant"));
  require(Requirement::none);
  EXPECT_THAT(served_by(5), HasSubstr(kFree));
  require(Requirement::deterministic);
  EXPECT_THAT(served_by(5), HasSubstr(kDeterministic)) << "the faster of the two that state at least that";
  require(Requirement::batch_invariant);
  EXPECT_THAT(served_by(5), HasSubstr(kInvariant));
  EXPECT_THAT(dispatcher().explain(key(5)), HasSubstr("required        batch-invariant"));
}

TEST_F(RequiredTest, ARowThatStatesSomethingServesOthersOnlyIfNoOtherDoes) {
  write_stating(row_stating(5, kFree, 9, "") + row_stating(5, kDeterministic, 2, "deterministic") +
                row_stating(6, kDeterministic, 2, "deterministic"));
  require(Requirement::none);
  EXPECT_THAT(served_by(5), HasSubstr(kFree)) << "though it is slower";
  EXPECT_THAT(served_by(6), HasSubstr(kDeterministic));
}

TEST_F(RequiredTest, WithoutARowADefaultPlanThatStatesItServes) {
  write_stating(row_stating(5, kFree, 1, ""));
  require(Requirement::deterministic);
  const Hit hit = dispatcher().require(key(5));
  EXPECT_EQ(hit.row, 0u);
  EXPECT_EQ(hit.match, Match::fallback);
  ASSERT_NE(hit.plan, nullptr);
  EXPECT_TRUE(meets(hit.plan->traits().states, Requirement::deterministic));
}

TEST_F(RequiredTest, ARowThatStatesMoreThanItsKernelIsNotBelieved) {
  write_stating(row_stating(5, kFree, 1, "deterministic"));
  require(Requirement::deterministic);
  testing::internal::CaptureStderr();
  const Hit hit = dispatcher().require(key(5));
  EXPECT_EQ(hit.row, 0u);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("it does not state that it is deterministic"));
}

TEST_F(RequiredTest, AWordThatIsUnknownIsARowThatIsNotUsed) {
  write_stating(row_stating(5, kInvariant, 1, "bit-exact"));
  for (const auto required : {Requirement::none, Requirement::deterministic}) {
    require(required);
    EXPECT_EQ(dispatcher().require(key(5)).row, 0u);
    EXPECT_THAT(dispatcher().notices(),
                testing::Contains(HasSubstr("a requirement is deterministic or batch-invariant, not 'bit-exact'")));
  }
}

TEST_F(RequiredTest, ANamedCandidateThatDoesNotStateItIsRefused) {
  write_stating("");
  require(Requirement::deterministic);
  std::array<float, 16> a{}, b{}, c{};
  const std::array<void*, 3> operands = {a.data(), b.data(), c.data()};
  const std::string problem = "gemm_a16w16 m=1 n=4 k=4 dtype=fp32 outdtype=fp32 bias=0";
  dispatcher().run_candidate(problem, kDeterministic, operands);
  try {
    dispatcher().run_candidate(problem, kFree, operands);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("it does not state that it is deterministic"));
  }
}

TEST_F(RequiredTest, OnlineTuningIsRefusedBesideIt) {
  write_stating("");
  require(Requirement::deterministic);
  options_.online_tuning = true;
  EXPECT_THROW(dispatcher(), Error);
}

TEST_F(RequiredTest, ABatchInvariantWeightIsServedByItsRowsWhateverMIs) {
  write_stating(row_stating(16, kInvariant, 1, "batch-invariant") +
                row_stating(64, kInvariant, 1000, "batch-invariant"));
  options_.max_regret = 0.01;
  require(Requirement::batch_invariant);
  for (const int64_t m : {1, 5, 17, 40, 65, 9000}) {
    const Hit hit = dispatcher().require(key(m));
    EXPECT_NE(hit.row, 0u) << m;
    EXPECT_NE(hit.match, Match::fallback) << m;
  }
}

TEST_F(RequiredTest, ABatchInvariantWeightHasOneKernelOnly) {
  write_stating(row_stating(16, kInvariant, 2, "batch-invariant") + row_stating(64, kOther, 1, "batch-invariant"));
  require(Requirement::batch_invariant);
  for (const int64_t m : {16, 64, 100}) {
    const Hit hit = dispatcher().require(key(m));
    EXPECT_EQ(hit.row, dispatcher().choose(key(16)).row) << m;
  }
  EXPECT_THAT(dispatcher().notices(),
              testing::Contains(HasSubstr("another kernel than the first row of their weight")));
}

TEST_F(RequiredTest, ARowWhoseKernelIsMissingLeavesItsWeightUnserved) {
  write_stating(row_stating(16, "gone.gemm@1:a=1", 1, "batch-invariant"));
  require(Requirement::batch_invariant);
  try {
    dispatcher().require(key(5));
    FAIL() << "another kernel would change the results";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("another one would change the results"));
  }
}

TEST_F(RequiredTest, WithoutRowsEveryMHasTheConfigOfASingleRow) {
  write_stating("");
  require(Requirement::batch_invariant);
  for (const int64_t m : {1, 200}) {
    const Hit hit = dispatcher().require(key(m));
    EXPECT_EQ(hit.row, 0u);
    EXPECT_EQ(hit.plan->traits().states, Requirement::batch_invariant);
  }
}

}  // namespace
}  // namespace attune
