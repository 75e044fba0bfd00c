// SPDX-License-Identifier: MIT
#include "dispatch/key_codes.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace attune {
namespace {

const FamilySpec& family(std::string_view op) { return *find_family(op); }

TEST(KeyCodes, TheNumbersOfTheFamiliesAreTheirPlaces) {
  EXPECT_EQ(family_of(OpId::gemm_a16w16).op, "gemm_a16w16");
  EXPECT_EQ(family_of(OpId::gemm_a8w8).op, "gemm_a8w8");
  EXPECT_EQ(family_of(OpId::gemm_a8w8_bpreshuffle).op, "gemm_a8w8_bpreshuffle");
  EXPECT_EQ(family_of(OpId::gemm_a8w8_blockscale).op, "gemm_a8w8_blockscale");
  EXPECT_EQ(family_of(OpId::gemm_a8w8_blockscale_bpreshuffle).op, "gemm_a8w8_blockscale_bpreshuffle");
  EXPECT_EQ(family_of(OpId::gemm_a4w4_blockscale).op, "gemm_a4w4_blockscale");
  EXPECT_EQ(family_of(OpId::batched_gemm_bf16).op, "batched_gemm_bf16");
  EXPECT_EQ(family_of(OpId::batched_gemm_a8w8).op, "batched_gemm_a8w8");
  EXPECT_EQ(family_of(OpId::fmoe).op, "fmoe");
  EXPECT_EQ(families().size(), static_cast<size_t>(OpId::fmoe) + 1);
}

TEST(KeyCodes, ATypedKeyAndItsTextAreTheSame) {
  const KeyCodes codes(family("gemm_a16w16"));
  GemmKey key{.m = 5, .n = 7, .k = 9, .in = DType::fp32, .out = DType::fp32};
  EXPECT_EQ(codes.codes(key), codes.codes(Problem::parse("gemm_a16w16 m=5 n=7 k=9 dtype=fp32")));
  key.flags = GemmKey::bias | GemmKey::trans_a | GemmKey::b_is_kn;
  key.out = DType::bf16;
  EXPECT_EQ(codes.codes(key),
            codes.codes(Problem::parse(
                "gemm_a16w16 m=5 n=7 k=9 dtype=fp32 outdtype=bf16 bias=1 scale_ab=0 trans_a=1 trans_b=0")));
  const KeyCodes batched(family("batched_gemm_bf16"));
  EXPECT_EQ(batched.codes(GemmKey{.op = OpId::batched_gemm_bf16, .m = 1, .n = 2, .k = 3, .batch = 4}),
            batched.codes(Problem::parse("batched_gemm_bf16 batch=4 m=1 n=2 k=3")));
  const KeyCodes a8w8(family("gemm_a8w8"));
  EXPECT_EQ(a8w8.codes(GemmKey{.op = OpId::gemm_a8w8, .m = 1, .n = 2, .k = 3, .in = DType::e4m3fn}),
            a8w8.codes(Problem::parse("gemm_a8w8 m=1 n=2 k=3 q_dtype_w=e4m3fn")));
}

TEST(KeyCodes, EveryFieldMakesAnotherKey) {
  const KeyCodes codes(family("gemm_a16w16"));
  const GemmKey key{.m = 1, .n = 1, .k = 1};
  std::vector<GemmKey> others(9, key);
  others[0].m = others[1].n = others[2].k = 2;
  others[3].in = others[4].out = DType::fp16;
  others[5].flags = GemmKey::bias;
  others[6].flags = GemmKey::bpreshuffle;
  others[7].flags = GemmKey::trans_a;
  others[8].flags = GemmKey::b_is_kn;
  for (const GemmKey& other : others)
    EXPECT_NE(codes.hash(codes.codes(other)).low, codes.hash(codes.codes(key)).low) << &other - others.data();
  EXPECT_NE(codes.hash(codes.codes(key), KeyCodes::layout_code("host.k16.v1")), codes.hash(codes.codes(key)));
  EXPECT_EQ(KeyCodes::layout_code("plain"), KeyCodes::layout_code(""));
}

TEST(KeyCodes, CellsAreReadAsTheTablesReadThem) {
  const KeyCodes codes(family("gemm_a16w16"));
  EXPECT_EQ(codes.code(0, "128"), 128);
  EXPECT_EQ(codes.code(0, "128.0"), 128);
  EXPECT_EQ(codes.code(0, "-1"), -1);
  EXPECT_EQ(codes.code(0, "2147483648"), int64_t{1} << 31);
  EXPECT_EQ(codes.code(0, "many"), std::nullopt);
  EXPECT_EQ(codes.code(3, "FALSE"), 0);
  EXPECT_EQ(codes.code(3, "True"), 1);
  EXPECT_EQ(codes.code(3, "2"), std::nullopt);
  EXPECT_EQ(codes.code(4, "torch.bfloat16"), static_cast<int64_t>(DType::bf16));
  EXPECT_LT(codes.code(4, "torch.quint8").value(), 0);
  EXPECT_NE(codes.code(4, "torch.quint8"), codes.code(4, "torch.quint4x2"));
  EXPECT_THROW(codes.codes(Problem::parse("gemm_a16w16 m=1 n=2 k=3 bias=7")), Error);
}

}  // namespace
}  // namespace attune
