// SPDX-License-Identifier: MIT
#include "ops/attribute_setting.h"

#include <gtest/gtest.h>

#include "attune/error.h"

namespace attune {
namespace {

std::string flag(std::string_view op, std::string_view attribute) {
  return flag_of(*find_column(*find_family(op), attribute));
}

std::string refusal(std::string_view op, const std::vector<AttributeSetting>& settings) {
  try {
    static_cast<void>(problem_of_size(*find_family(op), settings, {}));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(AttributeSettings, AFlagHasOneLetterWhereTheColumnHas) {
  EXPECT_EQ(flag("gemm_a16w16", "m"), "-m");
  EXPECT_EQ(flag("batched_gemm_bf16", "batch"), "-b");
  EXPECT_EQ(flag("gemm_a16w16", "act"), "--act");
  EXPECT_EQ(flag("fmoe", "token"), "--token");
}

TEST(AttributeSettings, ALetterOfACommandsOwnFlagIsNoFlagOfAnAttribute) {
  EXPECT_EQ(flag("conv", "h"), "-H");
  EXPECT_EQ(flag("conv", "w"), "-w");
}

TEST(AttributeSettings, OfAllSizesTheyAreAProblem) {
  const std::vector<AttributeSetting> settings = {
      {"m", "4", "-m"}, {"n", "8", "-n"}, {"k", "16", "-k"}, {"act", "gelu", "--act"}, {"alpha", "any", "--alpha"}};
  EXPECT_TRUE(has_sizes(settings));
  EXPECT_FALSE(has_sizes(std::span(settings).subspan(3)));
  EXPECT_EQ(problem_of_size(default_family(), settings, {}).key(),
            "gemm_a16w16 m=4 n=8 k=16 dtype=bf16 outdtype=bf16 bias=0 act=gelu alpha=any");
}

TEST(AttributeSettings, TheTypeOfTheInputsHasOneNameOnTheCommandLine) {
  const std::vector<AttributeSetting> settings = {{"dtype", "torch.float8_e4m3fn", "--dtype"}};
  const auto values = values_of(*find_family("gemm_a8w8"), settings);
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0], std::pair(std::string("q_dtype_w"), std::string("e4m3fn")));
  EXPECT_EQ(values_of(*find_family("fmoe"), settings)[0].first, "dtype");
}

TEST(AttributeSettings, TheLastOfAnAttributeCounts) {
  const std::vector<AttributeSetting> settings = {{"trans_b", "0", "--trans_b"}, {"trans_b", "1", "--col_b"}};
  EXPECT_EQ(find_setting(settings, "trans_b")->flag, "--col_b");
  EXPECT_EQ(values_of(default_family(), settings).size(), 1u);
  EXPECT_EQ(values_of(default_family(), settings)[0].second, "1");
}

TEST(AttributeSettings, WrongOnesAreRefusedByTheirFlags) {
  EXPECT_EQ(refusal("gemm_a16w16", {{"token", "4", "--token"}}),
            "--token has no meaning for the family gemm_a16w16, omit it");
  EXPECT_EQ(refusal("gemm_a16w16", {{"m", "4", "-m"}}), "one size needs all of -m, -n and -k");
  EXPECT_EQ(refusal("gemm_a16w16", {{"m", "4x", "-m"}}), "-m expects a whole number, got '4x'");
  EXPECT_EQ(refusal("gemm_a16w16", {{"bias", "2", "--bias"}}), "--bias expects 0 or 1, got '2'");
  EXPECT_EQ(refusal("gemm_a16w16", {{"beta", "2", "--beta"}}), "--beta expects one of 0, 1, any, got '2'");
  EXPECT_EQ(refusal("fmoe", {{"token", "4", "--token"}}),
            "this build reads the tables of the family but cannot tune it yet: 'fmoe'");
}

TEST(Families, NameTheirRows) {
  EXPECT_EQ(rows_of(Problem::parse("gemm_a16w16 m=4 n=8 k=16")), 4);
  EXPECT_EQ(rows_of(Problem::parse("fmoe token=7")), 7);
  EXPECT_EQ(rows_of(Problem::parse("no_op m=4")), std::nullopt);
}

}  // namespace
}  // namespace attune
