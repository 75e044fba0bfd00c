// SPDX-License-Identifier: MIT
#include "attune/attune_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kProblem = "gemm_a16w16 m=2 n=2 k=16 dtype=fp32";

class CCandidates : public testing::Test {
 protected:
  void SetUp() override {
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.device = "fake:0";
    ASSERT_EQ(attune_open(&options, &dispatcher_), ATTUNE_OK);
  }
  void TearDown() override { EXPECT_EQ(attune_close(dispatcher_), ATTUNE_OK); }
  /// Receives at most `wanted`.
  std::vector<std::string> list(const char* solver, uint64_t first, uint64_t limit, size_t wanted = 1000) {
    struct Received {
      size_t wanted;
      std::vector<std::string> names;
    } received{wanted, {}};
    const auto receive = [](void* data, const attune_candidate* one) {
      auto& all = *static_cast<Received*>(data);
      EXPECT_EQ(one->size, sizeof(attune_candidate));
      EXPECT_EQ(one->short_name, "fake#" + std::to_string(one->number));
      EXPECT_EQ(one->name, one->solver + std::string(one->name).substr(std::string(one->solver).size()));
      all.names.emplace_back(one->short_name);
      return all.names.size() == all.wanted ? 1 : 0;
    };
    EXPECT_EQ(attune_candidates(dispatcher_, kProblem, solver, first, limit, receive, &received, &num_numbers_),
              ATTUNE_OK);
    return received.names;
  }
  attune_dispatcher* dispatcher_ = nullptr;
  uint64_t num_numbers_ = 0;
};

TEST_F(CCandidates, AreGivenOneByOneUntilTheReceiverHasEnough) {
  const auto all = list("fake.gemm", 0, 1000);
  EXPECT_GT(all.size(), 8u);
  EXPECT_LE(all.size(), num_numbers_);
  EXPECT_EQ(list(nullptr, 0, 1000), all) << "no other solver runs on this device";
  EXPECT_THAT(list("fake", 0, 1000, 2), ElementsAre(all[0], all[1]));
  EXPECT_TRUE(list("fake", num_numbers_, 1000).empty());
  EXPECT_THAT(list("fake", 0, 1), ElementsAre("fake#0"));
}

TEST_F(CCandidates, MistakesAreCodesAndSentences) {
  const auto receive = [](void*, const attune_candidate*) { return 0; };
  EXPECT_EQ(attune_candidates(dispatcher_, kProblem, "gone", 0, 1, receive, nullptr, nullptr), ATTUNE_UNAVAILABLE);
  EXPECT_THAT(attune_last_error(), HasSubstr("'gone'"));
  EXPECT_EQ(attune_candidates(dispatcher_, kProblem, nullptr, 0, 1, nullptr, nullptr, nullptr), ATTUNE_INVALID_INPUT);
  EXPECT_EQ(attune_candidates(dispatcher_, nullptr, nullptr, 0, 1, receive, nullptr, nullptr), ATTUNE_INVALID_INPUT);
  EXPECT_EQ(attune_candidates(nullptr, kProblem, nullptr, 0, 1, receive, nullptr, nullptr), ATTUNE_INVALID_INPUT);
}

}  // namespace
}  // namespace attune
