// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <set>

#include "solver/shared_library.h"
#include "solvers/jit_cpu/kernel_arguments.h"
#include "testing/opened_solver.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Skips its tests, with the reason, if the solver cannot be used.
class JitCpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!solver_.unavailable().empty()) GTEST_SKIP() << solver_.unavailable();
    if (!solver_.solver().supports(solver_.problem("gemm_a16w16 m=1 n=1 k=1 dtype=fp32"), solver_.device().info()).yes)
      GTEST_SKIP() << "this processor has no AVX2";
  }
  std::string start(const std::string& text) { return solver_.backend().default_config(solver_.problem(text)).key(); }

  /// The config with this number of threads.
  static std::string on(int64_t threads, const std::string& config) {
    const size_t at = config.find("threads=") + 8;
    return config.substr(0, at) + std::to_string(threads) + config.substr(config.find_first_of(";", at));
  }

  OpenedSolver solver_{"jit_cpu.gemm"};
};

constexpr const char* kShapes[] = {
    "gemm_a16w16 m=1 n=96 k=64 dtype=fp32",
    "gemm_a16w16 m=5 n=33 k=100 dtype=fp32",
    "gemm_a16w16 m=17 n=40 k=127 dtype=bf16",
    "gemm_a16w16 m=64 n=129 k=33 dtype=fp16",
    "gemm_a16w16 m=100 n=1 k=7 dtype=fp32",
    "gemm_a16w16 m=1 n=1 k=1 dtype=bf16 outdtype=fp32",
    "gemm_a16w16 m=9 n=64 k=100 dtype=bf16",
    "gemm_a16w16 m=13 n=29 k=50 dtype=fp32 trans_b=0",
    "gemm_a16w16 m=1 n=37 k=96 dtype=fp32 trans_b=0",
    "gemm_a16w16 m=1 n=1 k=1 dtype=fp32 bpreshuffle=1",
    "gemm_a16w16 m=1 n=200 k=300 dtype=fp32 bpreshuffle=1",
    "gemm_a16w16 m=7 n=33 k=127 dtype=bf16 bpreshuffle=1",
    "gemm_a16w16 m=50 n=129 k=700 dtype=fp16 bias=1 bpreshuffle=1",
    "gemm_a16w16 m=40 n=70 k=260 dtype=bf16 outdtype=fp32 bias=1 bpreshuffle=1",
};

TEST_F(JitCpu, EveryStartIsAConfigOfItsSpace) {
  for (const char* shape : kShapes) {
    const Problem problem = solver_.problem(shape);
    const Config config = solver_.backend().default_config(problem);
    EXPECT_EQ(why_outside(solver_.backend().space(problem), config, problem, solver_.device().info()), std::nullopt)
        << shape << " " << config.key();
  }
}

TEST_F(JitCpu, EveryStartIsRightOnOneThreadAndOnAll) {
  for (const char* shape : kShapes) {
    const std::string config = start(shape);
    EXPECT_THAT(solver_.wrong(shape, on(1, config)), IsEmpty());
    EXPECT_THAT(solver_.wrong(shape, on(solver_.device().info().num_units, config)), IsEmpty());
  }
}

TEST_F(JitCpu, ASmallProductStartsOnOneThread) {
  const int64_t all = solver_.device().info().num_units;
  const auto threads = [&](const std::string& sizes) {
    return Config::parse(start("gemm_a16w16 dtype=fp32 " + sizes)).integer("threads");
  };
  EXPECT_EQ(threads("m=1 n=64 k=64"), 1);
  EXPECT_EQ(threads("m=1 n=65 k=64"), all);
  EXPECT_EQ(threads("m=16 n=128 k=128"), 1);
  EXPECT_EQ(threads("m=16 n=129 k=128"), all);
  EXPECT_EQ(threads("m=16 n=128 k=128 bpreshuffle=1"), 1);
  EXPECT_EQ(threads("m=1 n=1 k=300000"), all);
}

TEST_F(JitCpu, ABiasIsAddedInEveryType) {
  for (const std::string type : {"fp32", "bf16", "fp16"}) {
    for (const std::string m : {"3", "40"}) {
      const std::string shape = "gemm_a16w16 m=" + m + " n=50 k=70 bias=1 dtype=" + type;
      EXPECT_THAT(solver_.wrong(shape, start(shape)), IsEmpty());
    }
  }
}

TEST_F(JitCpu, TransposedOperandsAreTaken) {
  for (const std::string transposed : {"trans_a=1", "trans_b=0"}) {
    const std::string shape = "gemm_a16w16 m=33 n=50 k=70 dtype=fp32 " + transposed;
    EXPECT_THAT(solver_.wrong(shape, start(shape)), IsEmpty());
  }
}

TEST_F(JitCpu, OnWeightsPackedAheadOffersTheirPanelsBesidePlainOnes) {
  std::set<std::string> layouts;
  for (const Config& config : solver_.configs("gemm_a16w16 m=1 n=512 k=256 dtype=fp32 bpreshuffle=1"))
    layouts.insert(config.has("b_layout") ? config.text("b_layout") : "plain");
  EXPECT_THAT(layouts, testing::ElementsAre("host.k16.v1", "plain"));
  for (const Config& config : solver_.configs("gemm_a16w16 m=1 n=512 k=256 dtype=fp32"))
    EXPECT_FALSE(config.has("b_layout")) << config.key();
}

TEST_F(JitCpu, PairsThatItPacksItselfAreThoseOfTheLayout) {
  if (!solver_.device().info().instruction_sets().has(InstructionSet::avx512))
    GTEST_SKIP() << "pairs are packed with AVX-512";
  const Problem problem = solver_.problem("gemm_a16w16 m=40 n=29 k=77 dtype=bf16");
  const auto tasks =
      solver_.solver().compile_tasks(problem, solver_.backend().default_config(problem), solver_.device().info());
  KernelCache cache({cache_location().path}, uint64_t{1} << 30);
  const auto built = CompilePool(cache).compile({tasks.back()});
  ASSERT_TRUE(built.front().binary.has_value()) << built.front().outcome.detail;
  const SharedLibrary library(built.front().binary->file);
  const auto pair_rows = library.function<jit_cpu::PairRows>("pair_rows");

  const TensorSpec weights{.role = "b", .dtype = DType::bf16, .shape = {29, 77}};
  std::vector<uint16_t> plain(29 * 77);
  for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<uint16_t>(i + 1);
  std::vector<uint16_t> want(packed_bytes({"host.vnni2x16.v1"}, weights) / 2), got(want.size(), 0xffff);
  pack({"host.vnni2x16.v1"}, weights, std::as_bytes(std::span(plain)), std::as_writable_bytes(std::span(want)));
  pair_rows(plain.data(), 77, 16, 77, got.data());
  pair_rows(plain.data() + 16 * 77, 77, 13, 77, got.data() + got.size() / 2);
  EXPECT_EQ(got, want);
}

/// Parameters that only some processors have, of a device that is described and not here.
TEST_F(JitCpu, TakesWhatTheNameOfTheProcessorStates) {
  const auto own = [&](const std::string& gfx, const std::string& dtype) {
    const DeviceInfo device{.id = "cpu:0", .kind = "host", .gfx = gfx, .num_units = 2};
    const SearchSpace space =
        solver_.solver().static_space()->space(solver_.problem("gemm_a16w16 m=4 n=256 k=512 dtype=" + dtype), device);
    std::set<std::string> names;
    for (const Parameter& parameter : space.parameters()) {
      if (parameter.name == "engine" || parameter.name == "pairs") names.insert(parameter.name);
    }
    return names;
  };
  for (const char* gfx : {"x86-64-v3", "x86-64-v3+bf16+amx", "x86-64-v4", "x86-64-v4+vnni"})
    EXPECT_THAT(own(gfx, "bf16"), IsEmpty()) << gfx;
  EXPECT_THAT(own("x86-64-v4+bf16", "bf16"), testing::ElementsAre("pairs"));
  EXPECT_THAT(own("x86-64-v4+amx", "bf16"), testing::ElementsAre("engine"));
  EXPECT_THAT(own("x86-64-v4+bf16+amx", "bf16"), testing::ElementsAre("engine", "pairs"));
  EXPECT_THAT(own("x86-64-v4+bf16+amx", "fp32"), IsEmpty());
}

TEST_F(JitCpu, BinariesKnowNoSizes) {
  std::set<std::string> recipes;
  for (const std::string size : {"m=40 n=50 k=70", "m=47 n=513 k=1000"}) {
    const Problem problem = solver_.problem("gemm_a16w16 dtype=fp32 " + size);
    for (const auto& task :
         solver_.solver().compile_tasks(problem, solver_.backend().default_config(problem), solver_.device().info()))
      recipes.insert(task.recipe());
  }
  EXPECT_EQ(recipes.size(), 2u);  // the kernel and its packing
}

TEST_F(JitCpu, NeighbouringSizesHaveNearlyTheSameSpace) {
  for (const auto& [one, other] : {std::pair{2047, 2048}, {2048, 2049}, {255, 256}}) {
    const auto count = [&](int k) {
      return static_cast<double>(solver_.configs(fmt::format("gemm_a16w16 m=64 n=512 k={} dtype=fp32", k)).size());
    };
    EXPECT_LT(std::abs(count(one) / count(other) - 1), 0.35) << one << " " << other;
  }
}

TEST_F(JitCpu, MoreRowsThanThereAreIsRefusedByARule) {
  const Problem problem = solver_.problem("gemm_a16w16 m=2 n=64 k=64 dtype=fp32");
  const auto why = why_outside(solver_.backend().space(problem),
                               Config::parse("kernel=dot;rows=4;width=1;unroll=1;prefetch=0;threads=1"), problem,
                               solver_.device().info());
  ASSERT_TRUE(why.has_value());
  EXPECT_THAT(*why, HasSubstr("more rows of x or of the weights than there are"));
}

TEST_F(JitCpu, ItsInvariantSpaceIsTheSameForEveryM) {
  for (const std::string rest :
       {"n=96 k=300 dtype=fp32", "n=200 k=700 dtype=bf16 bpreshuffle=1", "n=29 k=50 dtype=fp16 trans_b=0 bias=1"}) {
    const auto space = [&](int m) {
      return solver_.backend().invariant_space(solver_.problem(fmt::format("gemm_a16w16 m={} {}", m, rest)));
    };
    EXPECT_GT(space(1).size(), 0u) << rest;
    for (const int m : {2, 37, 4096}) EXPECT_EQ(space(m), space(1)) << rest << " m=" << m;
  }
}

}  // namespace
}  // namespace attune
