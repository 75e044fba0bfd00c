// SPDX-License-Identifier: MIT
#include "pipeline/run/chosen_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"
#include "formats/csv/untuned_table.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ChosenFamiliesTest : public testing::Test {
 protected:
  ChosenFamiliesTest() { put(default_family()); }

  void put(const FamilySpec& family) { folder_.put(untuned_file_name(family), "M,N,K\n1,2,3\n"); }
  std::vector<std::string> chosen(std::string_view names) {
    std::vector<std::string> ops;
    for (const ChosenFamily& one : choose_families(names, folder_.path()).families) ops.emplace_back(one.family->op);
    return ops;
  }
  std::string refusal(std::string_view names) {
    try {
      choose_families(names, folder_.path());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      return error.what();
    }
    return "";
  }

  TestFolder folder_;
};

TEST_F(ChosenFamiliesTest, AreNamedOnceWithBlanksAndThePrefixOfOlderJobs) {
  EXPECT_THAT(chosen(" gemm_a16w16 , ck_gemm_a16w16,"), ElementsAre("gemm_a16w16"));
}

TEST_F(ChosenFamiliesTest, WithoutANameAreThoseWithAList) {
  EXPECT_THAT(chosen(" "), ElementsAre("gemm_a16w16"));
  for (const FamilySpec& family : families()) put(family);
  const ChosenFamilies all = choose_families("", folder_.path());
  size_t num_tunable = 0;
  for (const FamilySpec& family : families()) num_tunable += family.tunable;
  EXPECT_EQ(all.families.size(), num_tunable);
  EXPECT_EQ(all.notices.size(), families().size() - num_tunable);
}

TEST_F(ChosenFamiliesTest, OfAnUnknownNameAreRefusedWithTheList) {
  for (const char* name : {"gemm_x", "gemm_a16w16; rm -rf /", "$(id)", "'gemm_a16w16'"})
    EXPECT_THAT(refusal(name), testing::AllOf(HasSubstr("unknown name in --shapes, this build tunes "),
                                              HasSubstr("gemm_a16w16"), testing::Not(HasSubstr("\n"))))
        << name;
  EXPECT_THAT(refusal("gemm_a16w16\n"), HasSubstr("control character"));
}

TEST_F(ChosenFamiliesTest, ThatCannotBeTunedAreSkippedWithAReason) {
  for (const char* names : {"ck_gemm_a8w8,gemm_a16w16,gemm_a8w8", "gemm_a16w16,gemm_a8w8"}) {
    const ChosenFamilies all = choose_families(names, folder_.path());
    ASSERT_EQ(all.families.size(), 1u) << names;
    EXPECT_EQ(all.families[0].family->op, "gemm_a16w16");
    ASSERT_EQ(all.skipped.size(), 1u) << names;
    EXPECT_EQ(all.skipped[0].family->op, "gemm_a8w8");
    EXPECT_THAT(all.skipped[0].reason, testing::AnyOf(HasSubstr("cannot tune"), HasSubstr("no list of shapes")));
  }
}

TEST_F(ChosenFamiliesTest, ThatCannotBeTunedAreSkippedIfNoOtherOneIsNamed) {
  const ChosenFamilies all =
      choose_families("ck_gemm_a8w8_bpreshuffle, ck_gemm_a8w8_blockscale_bpreshuffle", folder_.path());
  EXPECT_TRUE(all.families.empty());
  ASSERT_EQ(all.skipped.size(), 2u);
  EXPECT_THAT(all.skipped[1].reason, HasSubstr("gemm_a8w8_blockscale_bpreshuffle"));
}

TEST_F(ChosenFamiliesTest, WithoutAListOfShapesAreRefused) {
  std::filesystem::remove(folder_.path() / untuned_file_name(default_family()));
  EXPECT_THAT(refusal("gemm_a8w8_bpreshuffle,gemm_a16w16"), HasSubstr("no list of shapes of gemm_a16w16"));
  EXPECT_THAT(refusal(""), HasSubstr("nothing to tune"));
  EXPECT_THROW(choose_families("", folder_.path() / "none"), Error);
}

}  // namespace
}  // namespace attune
