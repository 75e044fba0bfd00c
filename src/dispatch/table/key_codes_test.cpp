// SPDX-License-Identifier: MIT
#include "dispatch/table/key_codes.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "dispatch/table/rows_by_m.h"
#include "ops/gemm/gemm_key.h"

namespace attune {
namespace {

const FamilySpec& family(std::string_view op) { return *find_family(op); }

/// The numbers are in programs and files: none may change.
TEST(KeyCodes, TheNumbersOfTheFamiliesArePermanent) {
  const FamilyCodes codes;
  EXPECT_EQ(codes.of(OpId::gemm_a16w16).family().op, "gemm_a16w16");
  EXPECT_EQ(codes.of(OpId::gemm_a8w8).family().op, "gemm_a8w8");
  EXPECT_EQ(codes.of(OpId::gemm_a8w8_bpreshuffle).family().op, "gemm_a8w8_bpreshuffle");
  EXPECT_EQ(codes.of(OpId::gemm_a8w8_blockscale).family().op, "gemm_a8w8_blockscale");
  EXPECT_EQ(codes.of(OpId::gemm_a8w8_blockscale_bpreshuffle).family().op, "gemm_a8w8_blockscale_bpreshuffle");
  EXPECT_EQ(codes.of(OpId::gemm_a4w4_blockscale).family().op, "gemm_a4w4_blockscale");
  EXPECT_EQ(codes.of(OpId::batched_gemm_bf16).family().op, "batched_gemm_bf16");
  EXPECT_EQ(codes.of(OpId::batched_gemm_a8w8).family().op, "batched_gemm_a8w8");
  EXPECT_EQ(codes.of(OpId::fmoe).family().op, "fmoe");
  EXPECT_EQ(static_cast<int>(OpId::conv), 9);
  EXPECT_EQ(codes.find(static_cast<OpId>(500)), nullptr);
  EXPECT_EQ(codes.find(static_cast<OpId>(0xffff)), nullptr);
  for (size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(codes.place(codes.of(codes.at(i).op())), i);
}

Key of_text(const KeyCodes& codes, std::string_view text) { return codes.key(Problem::parse(text)); }

TEST(KeyCodes, AKeyAndItsTextAreTheSame) {
  const KeyCodes codes(family("gemm_a16w16"));
  const auto fp32 = static_cast<int64_t>(DType::fp32), bf16 = static_cast<int64_t>(DType::bf16);
  EXPECT_EQ(codes.shorten(Key(OpId::gemm_a16w16, {5, 7, 9, 0, fp32})),
            of_text(codes, "gemm_a16w16 m=5 n=7 k=9 dtype=fp32"));
  EXPECT_EQ(codes.shorten(Key(OpId::gemm_a16w16, {5, 7, 9, 1, fp32, bf16, 0, 0, 1, 0})),
            of_text(codes, "gemm_a16w16 m=5 n=7 k=9 dtype=fp32 outdtype=bf16 bias=1 scale_ab=0 trans_a=1 trans_b=0"));
  const KeyCodes batched(family("batched_gemm_bf16"));
  EXPECT_EQ(Key(OpId::batched_gemm_bf16, {4, 1, 2, 3}), of_text(batched, "batched_gemm_bf16 batch=4 m=1 n=2 k=3"));
}

TEST(KeyCodes, ValuesThatAreLeftOutHaveTheirDefaults) {
  const KeyCodes codes(family("gemm_a16w16"));
  const Key sizes(OpId::gemm_a16w16, {5, 7, 9}), same = of_text(codes, "gemm_a16w16 m=5 n=7 k=9");
  EXPECT_FALSE(codes.is_short(sizes)) << "the result type depends on the inputs'";
  EXPECT_EQ(codes.shorten(sizes), same);
  const Key complete = *codes.complete(sizes);
  EXPECT_EQ(complete.size(), codes.size());
  EXPECT_EQ(codes.shorten(complete), same);
  for (size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(codes.value(same, i), complete[i]) << i;
  EXPECT_EQ(codes.shorten(Key(OpId::gemm_a16w16, {5, 7})), std::nullopt) << "K has no default";
  const std::array<int64_t, Key::kMaxValues + 8> many{};
  for (const size_t size : {codes.size() + 1, many.size()}) {
    const Key longer(OpId::gemm_a16w16, std::span(many).first(size));
    EXPECT_FALSE(codes.is_short(longer));
    EXPECT_EQ(codes.shorten(longer), std::nullopt);
    EXPECT_EQ(codes.complete(longer), std::nullopt);
  }
}

TEST(KeyCodes, EveryKeyHasOneShortFormAndItsOwnHash) {
  // All problems of one size, by flags and epilogues.
  const KeyCodes codes(family("gemm_a16w16"));
  const size_t first = 6, num_last = codes.size() - first;
  std::set<uint64_t> hashes;
  for (size_t bits = 0; bits < size_t{1} << num_last; ++bits) {
    Key complete = *codes.complete(Key(codes.op(), {5, 7, 9}));
    for (size_t i = 0; i < num_last; ++i) complete[first + i] = static_cast<int64_t>(bits >> i & 1);
    const Key key = *codes.shorten(complete);
    EXPECT_TRUE(codes.is_short(key));
    EXPECT_EQ(codes.is_short(complete), key == complete);
    EXPECT_EQ(codes.complete(key), complete);
    EXPECT_EQ(codes.shorten(key), key);
    hashes.insert(codes.hash(key).low);
  }
  EXPECT_EQ(hashes.size(), size_t{1} << num_last);
}

TEST(KeyCodes, AValueThatNobodyStatesIsThatOfTheColumnItFollows) {
  const FamilySpec family = {
      .op = "followers",
      .key = {{.name = "weight_type", .column = "W", .kind = ColumnKind::dtype, .default_value = "bf16"},
              {.name = "x", .column = "X", .kind = ColumnKind::dtype, .default_value = "fp16"},
              {.name = "result_type",
               .column = "R",
               .kind = ColumnKind::dtype,
               .default_value = "fp16",
               .follows = "weight_type"}}};
  const KeyCodes codes(family);
  const auto number = [](DType dtype) { return static_cast<int64_t>(dtype); };
  const Key whole = codes.key(Problem::parse("followers weight_type=fp32"));
  EXPECT_EQ(codes.complete(whole), Key(family.number, {number(DType::fp32), number(DType::fp16), number(DType::fp32)}));
  EXPECT_EQ(codes.complete(Key(family.number, {number(DType::fp32)})), codes.complete(whole));
}

TEST(KeyCodes, TypedKeysAreConvertedToShortOnes) {
  for (const FamilySpec& one : families()) {
    const KeyCodes codes(one);
    for (int i = 0; i < 32 * kNumDTypes; ++i) {
      Key key;
      const GemmKey typed{.op = one.number,
                          .m = 3,
                          .n = 5,
                          .k = 7,
                          .in = static_cast<DType>(i / 32),
                          .flags = static_cast<uint8_t>(i % 32)};
      if (!to_key(typed, key)) continue;
      EXPECT_TRUE(codes.is_short(key)) << one.op << " " << i;
    }
  }
}

/// The property of every family: a row's cells and a caller's values are one key, and no other value gives it.
TEST(KeyCodes, EveryValueMakesAnotherKey) {
  Random random(1);
  for (const FamilySpec& one : families()) {
    const KeyCodes codes(one);
    for (int round = 0; round < 200; ++round) {
      Key key;
      key.resize(one.number, codes.size());
      for (size_t i = 0; i < codes.size(); ++i) key[i] = static_cast<int64_t>(random.below(1 << 20));
      EXPECT_EQ(codes.hash(key), codes.hash(Key(key)));
      const size_t changed = random.below(codes.size());
      Key other = key;
      other[changed] ^= 1;
      EXPECT_FALSE(other == key);
      EXPECT_NE(codes.hash(other).low, codes.hash(key).low) << one.op << " " << one.key[changed].name;
      EXPECT_NE(codes.hash(other).high, codes.hash(key).high) << one.op << " " << one.key[changed].name;
      const bool is_m = one.key[changed].name == one.rows;
      EXPECT_EQ(RowsByM::print_of(codes.group_key(other)) == RowsByM::print_of(codes.group_key(key)), is_m) << one.op;
      const int64_t m = one.rows.empty() ? 0 : 7;
      EXPECT_EQ(codes.group_key(key).with_m(m), codes.hash(codes.with_m(key, m)));
      EXPECT_NE(codes.hash(key, KeyCodes::layout_code("host.k16.v1")), codes.hash(key));
    }
  }
  EXPECT_EQ(KeyCodes::layout_code("plain"), KeyCodes::layout_code(""));
}

TEST(KeyCodes, ExchangedValuesMakeAnotherKey) {
  const KeyCodes codes(family("gemm_a8w8_blockscale"));
  EXPECT_NE(codes.hash(Key(codes.op(), {1, 2, 3})).low, codes.hash(Key(codes.op(), {1, 3, 2})).low);
  EXPECT_NE(codes.hash(Key(codes.op(), {1, 2, 3})).low, codes.hash(Key(codes.op(), {2, 1, 3})).low);
  const KeyCodes other(family("gemm_a4w4_blockscale"));
  EXPECT_NE(codes.hash(Key(codes.op(), {1, 2, 3})).low, other.hash(Key(other.op(), {1, 2, 3})).low);
}

TEST(KeyCodes, AFactOfTheFamilySaysWhetherWeightsArePacked) {
  const KeyCodes flag(family("gemm_a16w16")), always(family("gemm_a8w8_bpreshuffle")), never(family("gemm_a8w8"));
  const Key plain = of_text(flag, "gemm_a16w16 m=1 n=2 k=3");
  EXPECT_FALSE(flag.is_packed(plain));
  EXPECT_TRUE(flag.is_packed(flag.with_packed(plain)));
  EXPECT_EQ(flag.with_packed(plain), of_text(flag, "gemm_a16w16 m=1 n=2 k=3 bpreshuffle=1"));
  EXPECT_TRUE(always.is_packed(of_text(always, "gemm_a8w8_bpreshuffle m=1 n=2 k=3")));
  EXPECT_FALSE(never.is_packed(never.with_packed(of_text(never, "gemm_a8w8 m=1 n=2 k=3"))));
}

TEST(KeyCodes, NearbyShapesDifferInEveryPartOfTheHash) {
  const KeyCodes codes(family("gemm_a16w16"));
  std::set<uint64_t> high, low;
  std::set<uint32_t> low_bits;
  for (int64_t m = 1; m <= 64; ++m) {
    for (int64_t n = 64; n <= 64 * 64; n += 64) {
      for (int64_t k = 64; k <= 8 * 64; k += 64) {
        const ProblemKey hash = codes.hash(*codes.shorten(Key(codes.op(), {m, n, k})));
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
        codes.key(Problem::parse("fmoe token=1 model_dim=2 inter_dim=3 expert=" + expert + " topk=2 act_type=" + act +
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
  EXPECT_THROW(codes.key(Problem::parse("gemm_a16w16 m=1 n=2 k=3 bias=7")), Error);
}

}  // namespace
}  // namespace attune
