// SPDX-License-Identifier: MIT
#include "core/device/instruction_sets.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/device_info.h"

namespace attune {
namespace {

using enum InstructionSet;

constexpr InstructionSet kAll[] = {avx2,        avx512,   avx_vnni, avx512_vnni, avx512_bf16,
                                   avx512_fp16, amx_bf16, amx_int8, amx_fp16};

std::vector<InstructionSet> sets_of(std::string_view gfx) {
  const auto sets = InstructionSets::of(gfx);
  std::vector<InstructionSet> found;
  for (const InstructionSet set : kAll) {
    if (sets.has(set)) found.push_back(set);
  }
  return found;
}

using Sets = std::vector<InstructionSet>;

TEST(InstructionSets, OfANameAreThoseOfItsLevelAndWhatItsSuffixesStateAndImply) {
  EXPECT_EQ(sets_of("x86-64"), Sets());
  EXPECT_EQ(sets_of("x86-64-v2"), Sets());
  EXPECT_EQ(sets_of("x86-64-v3"), Sets({avx2}));
  EXPECT_EQ(sets_of("x86-64-v3+vnni"), Sets({avx2, avx_vnni}));
  EXPECT_EQ(sets_of("x86-64-v4"), Sets({avx2, avx512}));
  EXPECT_EQ(sets_of("x86-64-v4+vnni"), Sets({avx2, avx512, avx512_vnni}));
  EXPECT_EQ(sets_of("x86-64-v4+bf16"), Sets({avx2, avx512, avx512_vnni, avx512_bf16}));
  EXPECT_EQ(sets_of("x86-64-v4+bf16+amx"),
            Sets({avx2, avx512, avx512_vnni, avx512_bf16, avx512_fp16, amx_bf16, amx_int8}));
}

TEST(InstructionSets, LevelsAreThoseOfThePsAbi) {
  EXPECT_EQ(InstructionSets::of("x86-64").level(), 1);
  EXPECT_EQ(InstructionSets::of("x86-64-v2+vnni").level(), 2);
  EXPECT_EQ(InstructionSets::of("x86-64-v3").level(), 3);
  EXPECT_EQ(InstructionSets::of("x86-64-v4+amx").level(), 4);
}

TEST(InstructionSets, OtherArchitecturesHaveNone) {
  for (const char* gfx : {"", "+amx", "sm_90", "gfx942", "fake", "aarch64", "x86-64-v5+bf16", "x86-64-v40", "x86-64-v"})
    EXPECT_EQ(InstructionSets::of(gfx), InstructionSets()) << gfx;
}

TEST(InstructionSets, UnknownSuffixesAreIgnoredAndNoneIsFoundInsideAnother) {
  EXPECT_EQ(InstructionSets::of("x86-64-v4+new+bf16+"), InstructionSets::of("x86-64-v4+bf16"));
  EXPECT_EQ(InstructionSets::of("x86-64-v4+amx2+bf16x"), InstructionSets::of("x86-64-v4"));
  EXPECT_EQ(InstructionSets::of("x86-64-v4+bf16++amx"), InstructionSets::of("x86-64-v4+bf16+amx"));
}

TEST(InstructionSets, ANameIsWrittenAsItWasRead) {
  for (const std::string level : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    for (const std::string suffixes : {"", "+bf16", "+vnni", "+amx", "+bf16+amx", "+vnni+amx"})
      EXPECT_EQ(InstructionSets::of(level + suffixes).gfx(), level + suffixes);
  }
}

TEST(InstructionSets, WhatANameDoesNotStateIsNotWritten) {
  EXPECT_EQ(InstructionSets(4, {avx512_fp16, amx_int8, amx_fp16}).gfx(), "x86-64-v4");
  EXPECT_EQ(InstructionSets(4, {avx_vnni, avx512_vnni}).gfx(), "x86-64-v4+vnni");
  EXPECT_EQ(InstructionSets(4, {avx_vnni, avx512_vnni, avx512_bf16}).gfx(), "x86-64-v4+bf16");
}

TEST(InstructionSets, OfADeviceAreThoseOfItsName) {
  EXPECT_TRUE(DeviceInfo{.gfx = "x86-64-v4+bf16+amx"}.instruction_sets().has(amx_bf16));
  EXPECT_FALSE(DeviceInfo{.gfx = "sm_90"}.instruction_sets().has(avx2));
}

}  // namespace
}  // namespace attune
