// SPDX-License-Identifier: MIT
#include "attune/requirement.h"

#include <gtest/gtest.h>

#include "attune/error.h"

namespace attune {
namespace {

constexpr Requirement kAllRequirements[] = {Requirement::none, Requirement::deterministic,
                                            Requirement::batch_invariant};

TEST(Requirement, Its_text_reads_back) {
  for (const Requirement one : kAllRequirements) EXPECT_EQ(parse_requirement(text(one)), one);
  EXPECT_EQ(text(Requirement::none), "");
  EXPECT_EQ(text(Requirement::deterministic), "deterministic");
  EXPECT_EQ(text(Requirement::batch_invariant), "batch-invariant");
}

TEST(Requirement, A_level_meets_itself_and_those_before_it) {
  for (const Requirement stated : kAllRequirements) {
    for (const Requirement required : kAllRequirements) {
      EXPECT_EQ(meets(stated, required), static_cast<int>(stated) >= static_cast<int>(required));
    }
  }
}

TEST(Requirement, Another_word_is_refused_by_name) {
  for (const char* wrong : {"none", "Deterministic", "batch_invariant", " deterministic", "determinstic"}) {
    try {
      parse_requirement(wrong);
      FAIL() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      EXPECT_NE(std::string(error.what()).find(wrong), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("deterministic or batch-invariant"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace attune
