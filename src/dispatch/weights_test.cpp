// SPDX-License-Identifier: MIT
#include "attune/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <thread>
#include <vector>

#include "attune/dispatcher.h"
#include "base/error.h"
#include "base/file.h"
#include "device/fake/fake_device.h"
#include "device/own_buffer.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kN = 20, kK = 16;  // The packed layout pads N.
constexpr const char* kPanels = "host.k16.v1";
constexpr uint64_t kPlainBytes = kN * kK * sizeof(float), kPackedBytes = 32 * kK * sizeof(float);

GemmKey packed_key(int64_t m, uint8_t flags = 0) {
  return {.m = m, .n = kN, .k = kK, .in = DType::fp32, .out = DType::fp32, .flags = flags};
}

std::string kernel(const std::string& layout, int tile = 32) {
  return fmt::format("fake.gemm@1:b_layout={};split_k=1;tile_m={};tile_n=32", layout, tile);
}

/// x[i,k] = i + 1, w[j,k] = j + k: the sum is an integer, and differs for weights in another order.
float wanted(int64_t i, int64_t j) { return static_cast<float>((i + 1) * (kK * j + kK * (kK - 1) / 2)); }

class WeightsTest : public testing::Test {
 protected:
  WeightsTest() {
    for (int64_t j = 0; j < kN; ++j) {
      for (int64_t k = 0; k < kK; ++k) plain_[static_cast<size_t>(j * kK + k)] = static_cast<float>(j + k);
    }
  }
  static std::string row(int64_t m, const std::string& layout, const std::string& name, double us = 1) {
    return fmt::format("fake,4,{},{},{},torch.float32,torch.float32,True,{},{},{}\n", m, kN, kK, us, name, layout);
  }
  static std::string row(int64_t m, const std::string& layout, double us = 1) {
    return row(m, layout, kernel(layout), us);
  }
  void write(const std::string& rows) {
    write_file_atomically(table_, "gfx,cu_num,M,N,K,dtype,outdtype,bpreshuffle,us,kernelName,layout\n" + rows);
  }
  std::unique_ptr<Dispatcher> open() {
    DispatcherOptions options = options_;
    options.device = "fake:0";
    options.tables["gemm_a16w16"] = {table_};
    return std::make_unique<Dispatcher>(options);
  }
  Dispatcher& dispatcher() {
    if (!dispatcher_) dispatcher_ = open();
    return *dispatcher_;
  }
  Weights pack(PackOptions options = {}) { return dispatcher().pack_weights(packed_key(0), plain_.data(), options); }
  /// Runs the problem, checks the result, and returns the hit.
  Hit run(const Weights& weights, int64_t m, bool has_bias = false) {
    std::vector<float> x(static_cast<size_t>(m * kK)), y(static_cast<size_t>(m * kN), -1), bias(kN, 0.5F);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i / kK + 1);
    std::vector<void*> operands = {x.data(), y.data()};
    if (has_bias) operands.insert(operands.begin() + 1, bias.data());
    const GemmKey called = packed_key(m, has_bias ? GemmKey::bias : 0);
    dispatcher().run(called, weights, operands);
    for (size_t i = 0; i < y.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      EXPECT_EQ(y[i], wanted(at / kN, at % kN) + (has_bias ? 0.5F : 0)) << "m=" << m << " element " << i;
    }
    return dispatcher().choose(called, &weights);
  }
  std::string refused(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return fmt::format("{}: {}", name(error.code()), error.what());
    }
    return "not refused";
  }

  TestFolder folder_;
  std::filesystem::path table_ = folder_.path() / "t.csv";
  DispatcherOptions options_{.poll_interval = std::chrono::milliseconds(0)};
  std::unique_ptr<Dispatcher> dispatcher_;
  alignas(64) std::array<float, kN * kK> plain_{};
};

TEST_F(WeightsTest, RowsOfTheirLayoutServeAtEveryStep) {
  write(row(5, kPanels) + row(16, kPanels) + row(40, kPanels, 1) + row(60, kPanels, 1.1));
  const Weights weights = pack();
  EXPECT_THAT(weights.layouts(), ElementsAre(kPanels));
  EXPECT_EQ(weights.bytes(), kPackedBytes);
  plain_.fill(0);  // No longer needed.
  EXPECT_EQ(run(weights, 5).match, Match::exact);
  EXPECT_EQ(run(weights, 6).match, Match::padded_fine);
  EXPECT_EQ(run(weights, 50).match, Match::predicted);
  const Hit fallback = run(weights, 500);
  EXPECT_EQ(fallback.match, Match::fallback);
  EXPECT_EQ(fallback.row, 0u);
  EXPECT_EQ(dispatcher().counts().missed_shapes, 1u);
}

TEST_F(WeightsTest, ArePackedFromMemoryThatTheHostCannotRead) {
  FakeDevice device;
  const OwnBuffer plain(device.memory(), kPlainBytes, 64);
  device.memory().upload(plain.data(), std::as_bytes(std::span(plain_)));
  ASSERT_EQ(device.memory().host_address(plain.data()), nullptr);
  plain_.fill(0);  // The only weights left are the device's.
  for (const char* layout : {kPanels, "plain"}) {
    write(row(5, layout));
    dispatcher().reload();
    const Weights weights = dispatcher().pack_weights(packed_key(0), plain.data());
    EXPECT_THAT(weights.layouts(), ElementsAre(layout));
    EXPECT_EQ(run(weights, 5).match, Match::exact);
  }
}

TEST_F(WeightsTest, ExplainsTheRowsOfEveryLayout) {
  write(row(5, kPanels) + row(5, "plain") + row(40, kPanels, 1) + row(60, kPanels, 1.1));
  const std::string text = dispatcher().explain(packed_key(5, GemmKey::bpreshuffle));
  EXPECT_THAT(text,
              AllOf(HasSubstr("exact          m=5 host.k16.v1: "), HasSubstr("exact          m=5 plain: "),
                    HasSubstr("padded_coarse  m=8: no row"), HasSubstr("the rows of the layouts that they hold")));
  EXPECT_THAT(dispatcher().explain(packed_key(50, GemmKey::bpreshuffle)),
              HasSubstr("predicted      m=60 host.k16.v1: "));
}

TEST_F(WeightsTest, WithoutRowsTheyAreAsALibraryTakesThem) {
  write("");
  const Weights weights = pack();
  EXPECT_THAT(weights.layouts(), ElementsAre("plain"));
  EXPECT_EQ(weights.bytes(), kPlainBytes);
  EXPECT_EQ(run(weights, 3).match, Match::fallback);
}

TEST_F(WeightsTest, OneLayoutIsThatOfMostRowsThenOfTheLeastTime) {
  write(row(1, "plain", 1) + row(2, kPanels, 9) + row(4, kPanels, 9));
  EXPECT_THAT(pack().layouts(), ElementsAre(kPanels));
  write(row(1, "plain", 1) + row(2, kPanels, 9));
  dispatcher().reload();
  EXPECT_THAT(pack().layouts(), ElementsAre("plain"));
  // Rows that cannot serve here do not count.
  write(row(1, "plain") + row(2, kPanels, "gone.gemm@1:b_layout=host.k16.v1") + row(4, kPanels, kernel("plain")));
  dispatcher().reload();
  EXPECT_THAT(pack().layouts(), ElementsAre("plain"));
}

TEST_F(WeightsTest, PerShapeEachRowHasItsLayoutAndTheFasterOfTwoWins) {
  write(row(1, "plain", 1) + row(2, kPanels, 2) + row(4, kPanels, 2) + row(8, kPanels, 2) + row(8, "plain", 1));
  const Weights weights = pack({.packing = Packing::per_shape});
  EXPECT_THAT(weights.layouts(), ElementsAre(kPanels, "plain"));
  EXPECT_EQ(weights.bytes(), kPackedBytes + kPlainBytes);
  for (const auto& [m, layout] : {std::pair(1, 1), std::pair(2, 0), std::pair(4, 0), std::pair(8, 1)}) {
    const Hit hit = run(weights, m);
    EXPECT_EQ(hit.match, Match::exact);
    EXPECT_EQ(hit.layout, layout) << m;
  }
  EXPECT_EQ(run(weights, 1000).match, Match::fallback);
}

TEST_F(WeightsTest, CopiesBeyondTheLimitAreSkipped) {
  write(row(1, "plain") + row(2, kPanels) + row(4, kPanels));
  EXPECT_THAT(pack({Packing::per_shape, kPackedBytes + kPlainBytes}).layouts(), ElementsAre(kPanels, "plain"));
  EXPECT_THAT(pack({Packing::per_shape, kPackedBytes + kPlainBytes - 1}).layouts(), ElementsAre(kPanels));
  EXPECT_THAT(pack({Packing::per_shape, kPlainBytes}).layouts(), ElementsAre("plain"));
  EXPECT_THAT(refused([&] {
                pack({Packing::one_layout, kPackedBytes - 1});
              }),
              AllOf(HasSubstr("unavailable"), HasSubstr("max_bytes")));
  EXPECT_THAT(refused([&] { pack({Packing::per_shape, 1}); }), HasSubstr("unavailable"));
}

TEST_F(WeightsTest, ARowWhoseKernelReadsAnotherLayoutIsNotRun) {
  // The row's layout column differs from its kernel's layout. The first row makes a plan of the same kernel for plain
  // weights.
  write(row(4, "plain", kernel("plain"), 2) + row(2, kPanels, kernel("plain"), 1) + row(8, kPanels) + row(16, kPanels));
  const Weights weights = pack({.packing = Packing::per_shape});
  ASSERT_THAT(weights.layouts(), ElementsAre(kPanels, "plain"));
  EXPECT_EQ(run(weights, 4).layout, 1);
  testing::internal::CaptureStderr();
  EXPECT_NE(run(weights, 2).match, Match::exact);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("its kernel reads weights in the layout 'plain', not in 'host.k16.v1'"));
}

TEST_F(WeightsTest, RowsOfALayoutThatIsNotHeldAreNotLookedAt) {
  write(row(4, kPanels) + row(5, kPanels) + row(8, "plain", 0.1));
  const Weights weights = pack();
  ASSERT_THAT(weights.layouts(), ElementsAre(kPanels));
  EXPECT_NE(run(weights, 8).match, Match::exact);
  write(row(4, "plain", 0.1));
  EXPECT_TRUE(dispatcher().reload());
  for (const int64_t m : {4, 8}) EXPECT_EQ(run(weights, m).match, Match::fallback);
  write(row(4, kPanels));
  EXPECT_TRUE(dispatcher().reload());
  EXPECT_EQ(run(weights, 4).match, Match::exact);
}

TEST_F(WeightsTest, PlainAndPackedCallsOfOneShapeHaveAnswersOfTheirOwn) {
  write(row(4, kPanels) + row(5, "plain"));
  const Weights one = pack({.packing = Packing::one_layout});
  const Weights both = pack({.packing = Packing::per_shape});
  const Hit first = run(one, 4), second = run(both, 4), plain = dispatcher().require(packed_key(4));
  EXPECT_EQ(plain.match, Match::fallback);
  EXPECT_NE(plain.plan, first.plan);
  EXPECT_EQ(first.match, second.match);
  std::array<float, 4 * kK> x{};
  std::array<float, 4 * kN> y{};
  x.fill(1);
  dispatcher().run(packed_key(4), std::array<void*, 3>{x.data(), plain_.data(), y.data()});
  EXPECT_EQ(y[0], wanted(0, 0));
  EXPECT_EQ(y[kN + 3], wanted(0, 3));
}

TEST_F(WeightsTest, BiasAndTheOtherWeightsOfAShape) {
  write(row(4, kPanels));
  const Weights weights = dispatcher().pack_weights(packed_key(0, GemmKey::bias), plain_.data());
  run(weights, 4, true);
  run(weights, 400, true);
  EXPECT_THAT(refused([&] { run(weights, 4); }), HasSubstr("packed for another problem"));
}

TEST_F(WeightsTest, WhatIsNoPackedProblemIsRefused) {
  write(row(4, kPanels));
  Weights weights = pack();
  const auto invalid = [](const char* says) { return AllOf(testing::StartsWith("invalid_input"), HasSubstr(says)); };
  std::array<float, 4 * kN> memory{};
  const std::array<void*, 3> operands = {memory.data(), memory.data(), memory.data()};
  EXPECT_THAT(refused([&] { dispatcher().run(packed_key(4), weights, operands); }), invalid("2 operands besides"));
  for (const auto change : {&GemmKey::n, &GemmKey::k}) {
    GemmKey other = packed_key(4);
    ++(other.*change);
    EXPECT_THAT(refused([&] { dispatcher().require(other, &weights); }), invalid("packed for another problem"));
    EXPECT_EQ(dispatcher().choose(other, &weights).plan, nullptr);
  }
  EXPECT_THAT(refused([&] { dispatcher().require(packed_key(4, GemmKey::bpreshuffle)); }),
              invalid("pack them and pass them with the key"));
  EXPECT_EQ(dispatcher().choose(packed_key(4, GemmKey::bpreshuffle)).plan, nullptr);
  EXPECT_THAT(refused([&] { dispatcher().pack_weights(packed_key(0), nullptr); }), invalid("null pointer"));
  const Key key = dispatcher().key(fmt::format("gemm_a16w16 m=1 n={} k={} dtype=fp32", kN, kK));
  EXPECT_THAT(refused([&] { dispatcher().pack_weights(key, std::span<const void* const>()); }),
              invalid("packing weights of gemm_a16w16 takes 1 operand, got 0"));
  EXPECT_THAT(refused([&] { dispatcher().pack_weights(packed_key(0, GemmKey::b_is_kn), plain_.data()); }),
              invalid("N×K"));
  GemmKey other = packed_key(0);
  other.in = DType::int8;
  EXPECT_THAT(refused([&] { dispatcher().pack_weights(other, plain_.data()); }), invalid("int8"));
  other.op = OpId::gemm_a8w8_blockscale_bpreshuffle;
  EXPECT_THAT(refused([&] { dispatcher().pack_weights(other, plain_.data()); }), HasSubstr("unavailable"));
  const Weights moved = std::move(weights);
  EXPECT_EQ(run(moved, 4).match, Match::exact);
  EXPECT_TRUE(weights.layouts().empty());
  EXPECT_EQ(weights.bytes(), 0u);
  EXPECT_THAT(refused([&] { dispatcher().require(packed_key(4), &weights); }), invalid("packed for another problem"));
}

TEST_F(WeightsTest, TwoDispatchersDoNotTakeEachOthers) {
  write(row(4, kPanels));
  const Weights mine = pack();
  const auto other = open();
  const Weights theirs = other->pack_weights(packed_key(0), plain_.data());
  EXPECT_EQ(run(mine, 4).match, Match::exact);
  EXPECT_NE(other->require(packed_key(4), &theirs).plan, nullptr);
  EXPECT_THAT(refused([&] { run(theirs, 4); }), HasSubstr("by another dispatcher"));
  EXPECT_EQ(other->choose(packed_key(4), &mine).plan, nullptr);
}

TEST_F(WeightsTest, ALookupTellsTheDispatchersThread) {
  write(row(4, kPanels));
  const Weights weights = pack();
  Hit hit = dispatcher().choose(packed_key(4), &weights);
  EXPECT_EQ(hit.match, Match::exact);
  EXPECT_TRUE(hit.is_stand_in);
  for (int i = 0; i < 2000 && hit.plan == nullptr; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    hit = dispatcher().choose(packed_key(4), &weights);
  }
  EXPECT_NE(hit.plan, nullptr);
  EXPECT_FALSE(hit.is_stand_in);
}

TEST_F(WeightsTest, RunWhenNoPlanIsKept) {
  write(row(4, kPanels));
  options_.max_plan_bytes = 0;
  const Weights weights = pack();
  for (const int64_t m : {4, 5, 6, 5, 4}) run(weights, m);
  EXPECT_EQ(dispatcher().counts().plans, 0u);
}

TEST_F(WeightsTest, ManyThreadsWhileTablesChange) {
  write(row(4, kPanels));
  const Weights weights = pack({.packing = Packing::per_shape});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 60; ++i) run(weights, 1 + i % 6);
    });
  }
  for (int i = 0; i < 6; ++i) {
    write(row(4 + i % 2, i % 3 ? kPanels : "plain"));
    dispatcher().reload();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace attune
