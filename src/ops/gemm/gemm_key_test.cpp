// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_key.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/family.h"

namespace attune {
namespace {

/// Returns the value of an attribute of a problem with these sizes, types and flags.
int64_t expected_value(const GemmKey& key, std::string_view attribute) {
  const auto flag = [&](uint8_t mask) { return (key.flags & mask) != 0 ? 1 : 0; };
  if (attribute == "m") return key.m;
  if (attribute == "n") return key.n;
  if (attribute == "k") return key.k;
  if (attribute == "batch") return key.batch;
  if (attribute == "dtype" || attribute == "q_dtype_w") return static_cast<int64_t>(key.in);
  if (attribute == "outdtype") return static_cast<int64_t>(key.out);
  if (attribute == "bias") return flag(GemmKey::bias);
  if (attribute == "scale_ab") return flag(GemmKey::scale_ab);
  if (attribute == "bpreshuffle") return flag(GemmKey::bpreshuffle);
  if (attribute == "trans_a") return flag(GemmKey::trans_a);
  if (attribute == "trans_b") return 1 - flag(GemmKey::b_is_kn);
  if (attribute == "act" || attribute == "beta" || attribute == "out_scale" || attribute == "scale") return 0;
  if (attribute == "alpha") return 1;  // The place of "1".
  ADD_FAILURE() << "GemmKey has no field for " << attribute;
  return -1;
}

bool is_product(const FamilySpec& family) { return family.op.find("gemm") != std::string_view::npos; }

std::string_view attribute_of(uint8_t flag) {
  if (flag == GemmKey::bias) return "bias";
  if (flag == GemmKey::scale_ab) return "scale_ab";
  if (flag == GemmKey::bpreshuffle) return "bpreshuffle";
  return flag == GemmKey::trans_a ? "trans_a" : "trans_b";
}

TEST(GemmKeyConversion, FollowsTheOrderOfEveryFamily) {
  size_t num_families = 0;
  for (const FamilySpec& family : families()) {
    if (!is_product(family)) continue;
    ++num_families;
    const bool has_batch = family.key.front().name == "batch";
    GemmKey from{.op = family.number, .m = 3, .n = 5, .k = 7, .batch = has_batch ? 9 : 1};
    from.in = DType::int8;
    from.out = DType::fp16;
    for (const uint8_t flags :
         {GemmKey::bias, GemmKey::scale_ab, GemmKey::bpreshuffle, GemmKey::trans_a, GemmKey::b_is_kn}) {
      from.flags = find_column(family, attribute_of(flags)) != nullptr ? flags : 0;
      Key key;
      ASSERT_TRUE(to_key(from, key)) << family.op;
      ASSERT_EQ(key.op(), family.number);
      ASSERT_LE(key.size(), family.key.size()) << family.op;
      for (size_t i = 0; i < family.key.size(); ++i) {
        const int64_t expected = expected_value(from, family.key[i].name);
        if (i < key.size())
          EXPECT_EQ(key[i], expected) << family.op << " " << i;
        else
          EXPECT_EQ(expected, family.key[i].name == "trans_b" || family.key[i].name == "alpha") << i;
      }
      const auto back = to_gemm_key(key);
      ASSERT_TRUE(back);
      Key again;
      ASSERT_TRUE(to_key(*back, again));
      EXPECT_EQ(again, key) << family.op;
    }
  }
  EXPECT_EQ(num_families, 8u);
}

TEST(GemmKeyConversion, TheShortcutOfOneFamilyFollowsItsAttributesToo) {
  for (int flags = 0; flags < 32; ++flags) {
    const GemmKey from{
        .m = 3, .n = 5, .k = 7, .in = DType::fp32, .out = DType::fp16, .flags = static_cast<uint8_t>(flags)};
    Key key, expected;
    ASSERT_TRUE(to_key(from, key));
    ASSERT_TRUE(gemm_key::key_of_family(from, expected));
    EXPECT_EQ(key, expected) << flags;
  }
}

TEST(GemmKeyConversion, RefusesWhatTheOpHasNoAttributeFor) {
  Key key;
  EXPECT_FALSE(to_key({.m = 1, .n = 2, .k = 3, .batch = 2}, key));
  EXPECT_TRUE(to_key({.op = OpId::batched_gemm_bf16, .m = 1, .n = 2, .k = 3, .batch = 2}, key));
  EXPECT_TRUE(to_key({.op = OpId::gemm_a8w8, .m = 1, .n = 2, .k = 3, .flags = GemmKey::bias}, key));
  EXPECT_FALSE(to_key({.op = OpId::gemm_a8w8, .m = 1, .n = 2, .k = 3, .flags = GemmKey::b_is_kn}, key));
  EXPECT_FALSE(to_key({.op = OpId::batched_gemm_a8w8, .m = 1, .n = 2, .k = 3, .flags = GemmKey::trans_a}, key));
  EXPECT_FALSE(to_key({.op = OpId::fmoe, .m = 1, .n = 2, .k = 3}, key));
  EXPECT_THROW(checked_key({.op = static_cast<OpId>(500), .m = 1, .n = 2, .k = 3}), Error);
  EXPECT_THROW(checked_key({.m = 1, .n = 2, .k = 3, .batch = 2}), Error);
}

TEST(GemmKeyConversion, AKeyWithAnEpilogueHasNoTypedForm) {
  Key plain;
  ASSERT_TRUE(to_key({.m = 1, .n = 2, .k = 3}, plain));
  ASSERT_TRUE(to_gemm_key(plain)) << "act=none alpha=1 beta=0 out_scale=0";
  Key key = plain;
  for (const int64_t value : {0, 0, 0, 1, 0, 1, 0, 0}) {
    key.push_back(value);
    Key other = key;
    other[other.size() - 1] = 2;
    EXPECT_FALSE(to_gemm_key(other)) << key.size();
  }
}

TEST(GemmKeyConversion, AKeyOfAnotherOpHasNoTypedForm) {
  EXPECT_FALSE(to_gemm_key(Key(OpId::fmoe, {1, 2, 3})));
  EXPECT_FALSE(to_gemm_key(Key(OpId::gemm_a8w8_blockscale, {1, 2, 3, 4})));
  EXPECT_FALSE(to_gemm_key(Key(OpId::gemm_a8w8_blockscale, {1, 2}))) << "it leaves out sizes";
}

}  // namespace
}  // namespace attune
