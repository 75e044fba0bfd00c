// SPDX-License-Identifier: MIT
#include "dispatch/table/key_codes.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/random.h"

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
  for (const GemmKey& other : others) EXPECT_NE(codes.hash(other).low, codes.hash(key).low) << &other - others.data();
  EXPECT_NE(codes.hash(codes.codes(key), KeyCodes::layout_code("host.k16.v1")), codes.hash(key));
  EXPECT_EQ(KeyCodes::layout_code("plain"), KeyCodes::layout_code(""));
}

TEST(KeyCodes, ATypedKeyIsFoundByWhatItsRowIs) {
  Random random(1);
  for (const FamilySpec& one : families()) {
    if (one.op == "fmoe") continue;
    const KeyCodes codes(one);
    for (int i = 0; i < 200; ++i) {
      const GemmKey key{.op = op_id(one),
                        .m = static_cast<int64_t>(random.below(1 << 20)),
                        .n = static_cast<int64_t>(random.below(1 << 20)),
                        .k = static_cast<int64_t>(random.below(1 << 20)),
                        .batch = static_cast<int64_t>(random.below(100)),
                        .in = static_cast<DType>(random.below(12)),
                        .out = static_cast<DType>(random.below(12)),
                        .flags = static_cast<uint8_t>(random.below(256))};
      EXPECT_EQ(codes.hash(key), codes.hash(codes.codes(key))) << one.op;
      GemmKey other = key;
      other.flags ^= static_cast<uint8_t>(1 << random.below(8));
      if (i % 2 == 0) other.batch += 1;
      EXPECT_TRUE(codes.same(key, key));
      EXPECT_EQ(codes.same(key, other), codes.hash(key) == codes.hash(other)) << one.op;
      EXPECT_FALSE(codes.same(key, GemmKey{key.op, key.m + 1, key.n, key.k, key.batch, key.in, key.out, key.flags}));
      EXPECT_EQ(codes.group_key(key).with_m(7),
                codes.hash(GemmKey{key.op, 7, key.n, key.k, key.batch, key.in, key.out, key.flags}));
    }
  }
}

TEST(KeyCodes, NearbyShapesDifferInEveryPartOfTheHash) {
  const KeyCodes codes(family("gemm_a16w16"));
  std::set<uint64_t> high, low;
  std::set<uint32_t> low_bits;
  for (int64_t m = 1; m <= 64; ++m) {
    for (int64_t n = 64; n <= 64 * 64; n += 64) {
      for (int64_t k = 64; k <= 8 * 64; k += 64) {
        const ProblemKey hash = codes.hash(GemmKey{.m = m, .n = n, .k = k});
        high.insert(hash.high);
        low.insert(hash.low);
        low_bits.insert(static_cast<uint32_t>(hash.low) & 0xfffff);
      }
    }
  }
  EXPECT_EQ(high.size(), 64u * 64 * 8);
  EXPECT_EQ(low.size(), 64u * 64 * 8);
  EXPECT_GT(low_bits.size(), 31'000u) << "of 2^20 places 32,768 random ones meet in about 500";
}

TEST(KeyCodes, WhatHasNoNumberTellsRowsApart) {
  const KeyCodes codes(family("fmoe"));
  const auto hash = [&](const std::string& act, const std::string& expert) {
    return codes.hash(
        codes.codes(Problem::parse("fmoe token=1 model_dim=2 inter_dim=3 expert=" + expert + " topk=2 act_type=" + act +
                                   " dtype=bf16 q_dtype_a=x q_dtype_w=y q_type=z use_g1u1=1 doweight_stage1=0")));
  };
  EXPECT_EQ(hash("silu", "8"), hash("silu", "8"));
  EXPECT_NE(hash("silu", "8"), hash("gelu", "8"));
  EXPECT_NE(hash("silu", "8"), hash("silu", "9"));
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
