// SPDX-License-Identifier: MIT
// An op that this process registers: everything under it knows it by what its folder says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "attune/dispatcher.h"
#include "attune/error.h"
#include "device/devices.h"
#include "formats/csv/shape_list.h"
#include "scaled/scaled_op.h"
#include "scaled/scaled_solver.h"
#include "solver/modules/module_loader.h"
#include "solver/registry.h"
#include "tensor/convert.h"
#include "testing/environment.h"
#include "testing/test_files.h"

namespace attune::toys {
namespace {

using testing::HasSubstr;

/// Operands of one call, aligned as allocated: a is 1 everywhere, b is j+1 in row j, a_scale is i+1, b_scale 1/2.
struct Call {
  explicit Call(int64_t m, int64_t n, int64_t k)
      : a(static_cast<size_t>(m * k + 16), 1), b(static_cast<size_t>(n * k + 16)), c(static_cast<size_t>(m * n + 16)) {
    for (int64_t j = 0; j < n; ++j) std::fill_n(b.begin() + j * k, k, static_cast<int8_t>(j + 1));
    for (int64_t i = 0; i < m; ++i) a_scale.push_back(static_cast<float>(i + 1));
    b_scale.assign(static_cast<size_t>(n), 0.5f);
  }
  std::array<void*, 5> operands() { return {a.data(), b.data(), a_scale.data(), b_scale.data(), c.data()}; }
  std::vector<int8_t> a, b;
  std::vector<float> a_scale, b_scale;
  std::vector<uint16_t> c;
};

class ToyTest : public testing::Test {
 protected:
  /// Over a table with the rows m=4 and m=16 of n=8, k=64, and one of m=4 for another n.
  ToyTest() : dispatcher_({.tables = {{"toy_scaled", {table()}}}, .poll_interval = std::chrono::milliseconds(0)}) {}

  std::string refusal(const Key& key, std::span<void* const> operands) {
    try {
      dispatcher_.run(key, operands);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      return error.what();
    }
    return {};
  }
  std::filesystem::path table() const {
    const auto device = open_device("cpu:0");
    const auto row = [&](int m, int n, int block) {
      return fmt::format("{},{},{},{},64,1.5,toy_scaled.loops@1:block={}\n", device->info().gfx,
                         device->info().num_units, m, n, block);
    };
    return folder_.put("toy_scaled_tuned.csv",
                       "gfx,cu_num,M,N,K,us,kernelName\n" + row(4, 8, 4) + row(16, 8, 1) + row(4, 24, 1));
  }

  TestFolder folder_;
  Dispatcher dispatcher_;
};

TEST_F(ToyTest, HasANumberOfThisProcess) {
  const Key key = dispatcher_.key("toy_scaled m=2 n=3 k=4");
  EXPECT_EQ(key, Key(OpId::first_registered, {2, 3, 4}));
  std::vector<std::string> roles;
  for (const TensorSpec& tensor : dispatcher_.operands(key)) roles.push_back(tensor.role);
  EXPECT_THAT(roles, testing::ElementsAre("a", "b", "a_scale", "b_scale", "c"));
}

TEST_F(ToyTest, IsComputedByKeyWithItsFiveOperands) {
  Call call(2, 3, 4);
  dispatcher_.run(Key(OpId::first_registered, {2, 3, 4}), call.operands());
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < 3; ++j)
      EXPECT_EQ(from_bf16(call.c[i * 3 + j]), static_cast<float>((i + 1) * (j + 1) * 4) / 2) << i << " " << j;
  }
  EXPECT_EQ(call.c[6], 0) << "behind the result";
}

TEST_F(ToyTest, RowsServeItLikeAnyOther) {
  const auto key = [](int64_t m, int64_t n = 8) { return Key(OpId::first_registered, {m, n, 64}); };
  const Hit exact = dispatcher_.require(key(4));
  EXPECT_EQ(exact.match, Match::exact);
  EXPECT_NE(exact.plan, nullptr);
  EXPECT_FALSE(exact.is_stand_in);
  EXPECT_EQ(dispatcher_.require(key(10)).match, Match::padded_fine) << "the row of 16";
  EXPECT_EQ(dispatcher_.require(key(10)).row, dispatcher_.require(key(16)).row);
  EXPECT_EQ(dispatcher_.require(key(4, 24)).match, Match::exact);
  EXPECT_EQ(dispatcher_.require(key(4, 25)).match, Match::fallback);
  EXPECT_THAT(dispatcher_.explain(key(4)), HasSubstr("toy_scaled.loops@1:block=4"));
  Call call(4, 8, 64);
  dispatcher_.run(key(4), call.operands());
  EXPECT_EQ(from_bf16(call.c[4 * 8 - 1]), 4.0f * 8 * 64 / 2);
}

TEST_F(ToyTest, WeightsAndScalesArePackedAsOneSet) {
  Call call(2, 3, 4);
  for (size_t j = 0; j < 3; ++j) call.b_scale[j] = static_cast<float>(1 << j);
  const Key key = dispatcher_.key("toy_scaled m=2 n=3 k=4 packed=1");
  const std::array<const void*, 2> set = {call.b.data(), call.b_scale.data()};
  const Weights weights = dispatcher_.pack_weights(key, set);
  EXPECT_THAT(weights.layouts(), testing::ElementsAre("toy_scaled.reversed@1"));
  const std::array<void*, 3> others = {call.a.data(), call.a_scale.data(), call.c.data()};
  dispatcher_.run(key, weights, others);
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < 3; ++j)
      EXPECT_EQ(from_bf16(call.c[i * 3 + j]), static_cast<float>((i + 1) * (j + 1) * 4 << j)) << i << " " << j;
  }
  EXPECT_THROW(dispatcher_.pack_weights(key, std::span(set).first(1)), Error);
  EXPECT_THROW(dispatcher_.run(key, weights, call.operands()), Error) << "five operands";
  EXPECT_THROW(dispatcher_.run(key, call.operands()), Error) << "a key of packed operands without them";
  EXPECT_THROW(dispatcher_.run(dispatcher_.key("toy_scaled m=2 n=4 k=4 packed=1"), weights, others), Error);
}

TEST_F(ToyTest, ItsCallsAreCaptured) {
  const auto folder = folder_.path() / "captures";
  {
    Dispatcher capturing({.capture = folder, .poll_interval = std::chrono::milliseconds(0)});
    for (int i = 0; i < 3; ++i) capturing.choose(capturing.key("toy_scaled m=2 n=3 k=4"));
  }
  const auto list = read_shapes(folder / "toy_scaled_untuned.csv");
  ASSERT_EQ(list.shapes.size(), 1u);
  EXPECT_EQ(list.shapes[0].problem.key(), "toy_scaled m=2 n=3 k=4");
}

TEST_F(ToyTest, WrongOperandsAreRefusedByTheirRoles) {
  Call call(2, 3, 4);
  const Key key(OpId::first_registered, {2, 3, 4});
  auto all = call.operands();
  EXPECT_THAT(refusal(key, std::span(all).first(4)), HasSubstr("5 operands (a, b, a_scale, b_scale, c), got 4"));
  EXPECT_THAT(refusal(key, std::span(all).first(3)), HasSubstr("got 3"));
  std::array<void*, 6> more = {all[0], all[1], all[2], all[3], all[4], all[4]};
  EXPECT_THAT(refusal(key, more), HasSubstr("got 6"));
  all[3] = nullptr;
  EXPECT_THAT(refusal(key, all), HasSubstr("operand 3, b_scale"));
  all = call.operands();
  all[2] = static_cast<std::byte*>(all[2]) + 4;
  EXPECT_THAT(refusal(key, all), HasSubstr("aligned to 16 bytes, this one is not: 2, a_scale"));
  all = call.operands();
  all[4] = all[3];
  EXPECT_THAT(refusal(key, all), HasSubstr("output c overlaps the input b_scale"));
  EXPECT_THAT(refusal(Key(OpId::first_registered, {2, 3}), call.operands()), HasSubstr("toy_scaled"));
  EXPECT_THAT(refusal(Key(static_cast<OpId>(0x8001), {2, 3, 4}), call.operands()),
              HasSubstr("unknown op number: 32769"));
}

TEST_F(ToyTest, AGemmKeyCallsItUnlessItHoldsWhatTheOpLacks) {
  EXPECT_NE(dispatcher_.require(GemmKey{.op = OpId::first_registered, .m = 2, .n = 3, .k = 4}).plan, nullptr);
  EXPECT_THROW(dispatcher_.require(GemmKey{.op = OpId::first_registered, .m = 2, .n = 3, .k = 4, .batch = 2}), Error);
}

TEST(RegisteredOps, AreRefusedOnceOthersAreUsed) {
  static_cast<void>(ops());
  static const ScaledOp late;
  try {
    register_op(late);
    FAIL() << "it is registered";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("comes too late"));
  }
  static_cast<void>(registry(HostProcess::application));
  EXPECT_THROW(register_solver(std::make_unique<ScaledSolver>()), Error);
}

class SolverModules : public testing::Test {
 protected:
  SolverModules() {
    static_cast<void>(registry(HostProcess::application));  // Takes the solvers that this process registers.
    ::setenv("ATTUNE_MODULES", ATTUNE_PAIR_MODULE, 1);
  }
  const Registry& load(std::vector<std::string_view> ids, HostProcess host) {
    load_modules(std::vector<ModuleSpec>{{"pair", std::move(ids), "a pair", {}}}, host, registry_);
    return registry_;
  }
  static constexpr const char* kVariables[] = {"ATTUNE_MODULES"};
  TestEnvironment environment_{kVariables};
  Registry registry_;
};

TEST_F(SolverModules, HoldOneSolverForEachOpWithAVersionOfItsOwn) {
  const Registry& solvers = load({"pair.gemm", "pair.toy_scaled"}, HostProcess::application);
  EXPECT_EQ(solvers.entries()[0].solver, nullptr) << "no shape has needed it";
  ASSERT_NE(solvers.find("pair.toy_scaled"), nullptr);
  EXPECT_EQ(solvers.find("pair.toy_scaled")->version(), "7");
  ASSERT_NE(solvers.find("pair.gemm"), nullptr);
  EXPECT_EQ(solvers.find("pair.gemm")->version(), "1");
}

TEST_F(SolverModules, ASolverThatIsNamedAndNotRegisteredIsAloneUnavailable) {
  const Registry& solvers = load({"pair.gemm", "pair.toy_scaled", "pair.other"}, HostProcess::program);
  EXPECT_NE(solvers.find("pair.gemm"), nullptr);
  EXPECT_EQ(solvers.find("pair.other"), nullptr);
  EXPECT_THAT(solvers.entries()[2].unavailable, HasSubstr("does not register the solver that the build names"));
}

TEST_F(SolverModules, ASolverThatTheBuildDoesNotNameExcludesTheModule) {
  const Registry& solvers = load({"pair.gemm"}, HostProcess::program);
  EXPECT_EQ(solvers.find("pair.gemm"), nullptr);
  EXPECT_EQ(solvers.find("pair.toy_scaled"), nullptr);
  EXPECT_THAT(solvers.entries()[0].unavailable, HasSubstr("registers a solver that the build does not name"));
}

}  // namespace
}  // namespace attune::toys

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  static const attune::toys::ScaledOp op;
  attune::register_op(op);
  attune::register_solver(std::make_unique<attune::toys::ScaledSolver>());
  return RUN_ALL_TESTS();
}
