// SPDX-License-Identifier: MIT
#include "formats/find_db/find_db_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"
#include "ops/op.h"

namespace attune {
namespace {

using testing::HasSubstr;

std::string key_error(const std::string& key) {
  try {
    FindDbKey::parse(key);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

struct KeyAndProblem {
  const char *key, *problem;
};
constexpr KeyAndProblem kKeys[] = {
    {"64-56-28-3x1-32-28-28-8-1x0-2x1-1x1-0-NCHW-FP32-F_g4",
     "conv direction=fwd n=8 c=64 h=56 w=28 k=32 y=3 x=1 pad_h=1 stride_h=2 groups=4 dtype=fp32"},
    {"1-161-700-5x20-32-79-341-2-0x0-2x2-1x1-0-NCHW-BF16-F",
     "conv direction=fwd n=2 c=1 h=161 w=700 k=32 y=5 x=20 stride_h=2 stride_w=2 dtype=bf16"},
    // Of gradients the output stands first.
    {"1000-13-12-1x1-512-13-12-16-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-B",
     "conv direction=bwd_data n=16 c=512 h=13 w=12 k=1000 y=1 x=1 dtype=fp16 layout=NHWC"},
    {"32-26-24-3x5-16-28-28-4-0x0-1x1-1x1-0-NCHW-INT8-W",
     "conv direction=bwd_weights n=4 c=16 h=28 w=28 k=32 y=3 x=5 dtype=int8"},
    {"64-4-14-14-1x3x3-32-4-14-14-2-0x1x1-1x1x1-1x1x1-0-NCDHW-FP32-B_g32",
     "conv direction=bwd_data n=2 c=32 d=4 h=14 w=14 k=64 y=3 x=3 pad_h=1 pad_w=1 groups=32 dtype=fp32 layout=NCDHW"},
    {"64-4-14-14-1x3x3-32-4-14-14-2-0x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP32-F",
     "conv direction=fwd n=2 c=64 d=4 h=14 w=14 k=32 y=3 x=3 pad_h=1 pad_w=1 dtype=fp32 layout=NDHWC"}};

TEST(FindDbKey, NamesAProblemAndBack) {
  for (const auto& [key, expected] : kKeys) {
    EXPECT_EQ(FindDbKey::parse(key).text(), key);
    const auto problem = problem_of_find_db_key(key);
    ASSERT_TRUE(problem) << key;
    EXPECT_EQ(problem->key(), std::string(expected)) << key;
    EXPECT_EQ(find_db_key_of(*problem), key);
    EXPECT_EQ(find_db_key_of(find_op("conv")->normalise(*problem, {})), key);
    EXPECT_EQ(find_op("conv")->normalise(*problem, {}).key(), problem->key()) << "equal problems have equal keys";
  }
}

TEST(FindDbKey, WhatNamesNoProblemSaysWhy) {
  const auto why = [](const char* key) {
    EXPECT_EQ(FindDbKey::parse(key).text(), key);
    EXPECT_FALSE(problem_of_find_db_key(key));
    return why_untunable(FindDbKey::parse(key));
  };
  EXPECT_EQ(why("1-1-1-4x4-512-1-1-128-0x0-1x1-1x1-0-NCHW-FP32-F"), "it states the output 1x1, its input gives none");
  EXPECT_EQ(why("3-14-14-2x2-8-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F"),
            "it states the output 14x14, its input gives 13x13");
  EXPECT_EQ(why("3-14-14-1x1-8-14-14-1-0x0-1x1-1x1-1-NCHW-FP32-F"), "it has a bias, 1");
  EXPECT_EQ(why("3-14-14-1x1-8-14-14-1-0x0-1x1-1x1-0-NHWC-NCHW-NHWC-FP32-F"),
            "its tensors differ in layout, NHWC-NCHW-NHWC");
  EXPECT_EQ(why("3-14-14-1x1-8-14-14-1-0x0-1x1-1x1-0-CHWN-CHWN-CHWN-FP32-F"), "its layout is CHWN");
  EXPECT_EQ(why("3-14-14-1x1-8-14-14-1-0x0-1x1-1x1-0-NCHW-INT8INT8INT32-F"), "its type is INT8INT8INT32");
  EXPECT_EQ(why("3-14-14-1x1-8-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F_ciFP8_cwFP8"), "it casts its tensors, _ciFP8_cwFP8");
}

TEST(FindDbKey, ABadKeySaysWhichGroup) {
  EXPECT_THAT(key_error("64-56"),
              HasSubstr("a 2-D key has 15 groups, or 17 with the layout of each tensor, this one 2"));
  EXPECT_THAT(key_error("1-1-1-1-1x1x1-1"), HasSubstr("a 3-D key has 17 groups, or 19"));
  EXPECT_THAT(key_error("0-1-1-1x1-1-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F"), HasSubstr("first channels must be a whole"));
  EXPECT_THAT(key_error("1-1-1-1x1x1-1-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F"), HasSubstr("filter must be 2 numbers"));
  EXPECT_THAT(key_error("1-1-1-1x1-1-1-1-1-0x0-0x1-1x1-0-NCHW-FP32-F"), HasSubstr("strides must be a whole number"));
  EXPECT_THAT(key_error("1-1-1-1x1-1-1-1-99999999999-0x0-1x1-1x1-0-NCHW-FP32-F"), HasSubstr("batch size"));
  EXPECT_THAT(key_error("1-1-1-1x1-1-1-1-+1-0x0-1x1-1x1-0-NCHW-FP32-F"), HasSubstr("batch size"));
  EXPECT_THAT(key_error("1-1-1-1x1-1-1-1-1-0x0-1x1-1x1-0-NHWC-FP32-F"), HasSubstr("layout must be NCHW or that of ea"));
  EXPECT_THAT(key_error("1-1-1-1x1-1-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-X"), HasSubstr("direction must be F, B or W"));
  EXPECT_THAT(key_error("1-1-1-1x1-1-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F_q4"), HasSubstr("the key ends in '_q4'"));
  EXPECT_THAT(key_error("1-1-1-1x1-1-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F_g"), HasSubstr("groups must be a whole number"));
  EXPECT_THAT(key_error("1-1-1-1x1-1-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F_g1"), HasSubstr("groups must be"));
}

TEST(FindDbKey, SomeProblemsHaveNone) {
  EXPECT_THROW(find_db_key_of(
                   Problem::parse("conv direction=fwd n=2 c=6 h=5 w=4 k=8 y=3 x=3 stride_h=2 dtype=fp32 transposed=1")),
               Error);
  EXPECT_THROW(find_db_key_of(Problem::parse("conv direction=fwd n=2 c=6 h=5 w=4 k=8 y=3 x=3 dtype=e4m3fn")), Error);
}

}  // namespace
}  // namespace attune
