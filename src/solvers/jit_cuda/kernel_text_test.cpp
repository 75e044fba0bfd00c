// SPDX-License-Identifier: MIT
// The generated texts compile, here without a GPU. ATTUNE_KERNEL_SAMPLES=300 compiles 300 of each kind.
#include "solvers/jit_cuda/kernel_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "compile/compiler.h"
#include "compile/elf_file.h"
#include "solver/registry.h"
#include "solvers/jit_cuda/gemm_space.h"

namespace attune::jit_cuda {
namespace {

const DeviceInfo kGpuForText = {
    .id = "cuda:0", .kind = "cuda", .gfx = "sm_90", .num_units = 132, .facts = {{"shared_bytes", 232448}}};

const GemmConfig kTilesForText = {
    .block_m = 64, .block_n = 64, .block_k = 64, .stages = 2, .m_warps = 2, .n_warps = 2, .group_m = 8};

class JitCudaText : public testing::Test {
 protected:
  void SetUp() override {
    nvrtc_ = find_compiler("nvrtc");
    ASSERT_NE(nvrtc_, nullptr);
    try {
      nvrtc_->toolchain();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  /// Configs of a space, some of each kernel, and of tiles whose steps are shared.
  std::vector<GemmConfig> some_of(const GemmShape& shape, size_t count) {
    std::map<std::pair<Kernel, bool>, std::vector<GemmConfig>> found;
    const SearchSpace space = gemm_space(shape, kGpuForText);
    for (int i = 0; i < 20000; ++i) {
      const GemmConfig one = GemmConfig::of(space.at(random_.below(space.size())));
      auto& of_kind = found[{one.kernel, one.blocks > 0}];
      if (of_kind.size() < count) of_kind.push_back(one);
    }
    std::vector<GemmConfig> all;
    for (const auto& [kind, configs] : found) all.insert(all.end(), configs.begin(), configs.end());
    return all;
  }
  const Compiler* nvrtc_ = nullptr;
  Random random_{18};
};

TEST_F(JitCudaText, CompilesForEveryTypeWithItsEntriesAndHardlyASpill) {
  const char* const samples = std::getenv("ATTUNE_KERNEL_SAMPLES");
  const size_t count = samples != nullptr ? std::strtoul(samples, nullptr, 10) : 1;
  size_t num_compiled = 0, num_spilling = 0;
  for (const GemmShape& shape :
       {GemmShape{.m = 16, .n = 2304, .k = 16384, .in = DType::bf16, .out = DType::bf16},
        GemmShape{.m = 300, .n = 4099, .k = 2057, .in = DType::fp16, .out = DType::fp32, .bias = true},
        GemmShape{.m = 700, .n = 3000, .k = 4096, .in = DType::bf16, .out = DType::bf16},
        GemmShape{.m = 7, .n = 500, .k = 4096, .in = DType::fp32, .out = DType::fp32},
        GemmShape{.m = 15, .n = 511, .k = 4001, .in = DType::bf16, .out = DType::bf16, .packed = true},
        GemmShape{.m = 5, .n = 511, .k = 4001, .in = DType::fp32, .out = DType::fp32, .packed = true}}) {
    for (const GemmConfig& config : some_of(shape, count)) {
      const CompileTask task = gemm_task(shape, config, num_compiled % 4 == 3 ? "sm_80" : "sm_90");
      const LibraryOutput output = nvrtc_->library()->compile(task);
      ASSERT_TRUE(output.is_compiled) << config.text().key() << "\n" << output.log;
      EXPECT_EQ(nvrtc_->flaw_of(output.binary), "");
      for (const std::string& entry : task.entries)
        EXPECT_TRUE(exported_symbols(output.binary)->contains(entry)) << config.text().key() << " lacks " << entry;
      const auto report = nvrtc_->report({output.log, output.binary, {}});
      const int registers = std::stoi(report.at("registers")), spills = std::stoi(report.at("spills"));
      EXPECT_LE(registers * config.num_threads(), 64 << 10) << config.text().key();
      // The assembler keeps a word or two in memory even where registers are left.
      EXPECT_LE(spills, 64) << config.text().key();
      num_spilling += spills > 0;
      ++num_compiled;
    }
  }
  std::printf("%zu kernels compiled, %zu with spills\n", num_compiled, num_spilling);
}

TEST_F(JitCudaText, TheSecondLaunchCompilesForEveryType) {
  for (const DType in : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const DType out : {DType::fp32, DType::bf16, DType::fp16}) {
      const CompileTask task = sum_task({.m = 1, .n = 1, .k = 1, .in = in, .out = out}, "sm_80");
      const LibraryOutput output = nvrtc_->library()->compile(task);
      ASSERT_TRUE(output.is_compiled) << output.log;
      EXPECT_TRUE(exported_symbols(output.binary)->contains(kSumEntry));
    }
  }
}

TEST_F(JitCudaText, CompilesForTheFirstArchitectureAndForHoppersOwn) {
  for (const char* config :
       {"kernel=dot;rows=2;columns=2;warps=1;depth_warps=4;unroll=4;split_k=1;b_layout=cuda.k64.v1",
        "kernel=stream;rows=8;columns=32;warps=1;depth_warps=8;unroll=1;split_k=2;reduce=block;b_layout=cuda.k64.v1",
        "kernel=tile;block_m=64;block_n=64;block_k=64;stages=3;m_warps=2;n_warps=2;group_m=8;blocks=132",
        "kernel=tile;block_m=64;block_n=64;block_k=64;stages=2;m_warps=2;n_warps=2;group_m=8;blocks=132;b_layout=cuda."
        "k64.v1"}) {
    for (const char* arch : {"sm_80", "sm_90a"}) {
      const GemmShape shape = {.m = 100, .n = 500, .k = 1001, .packed = true};
      const LibraryOutput output =
          nvrtc_->library()->compile(gemm_task(shape, GemmConfig::of(Config::parse(config)), arch));
      EXPECT_TRUE(output.is_compiled) << arch << " " << config << "\n" << output.log;
    }
  }
}

TEST(JitCudaTasks, DependOnTypesAndParametersAndNotOnSizes) {
  std::set<std::string> recipes;
  const auto add = [&](int64_t m, int64_t n, int64_t k, int64_t parts) {
    GemmConfig config = kTilesForText;
    config.split_k = parts;
    recipes.insert(gemm_task({.m = m, .n = n, .k = k}, config, "sm_90").recipe());
  };
  add(64, 512, 1024, 1);
  add(65, 77, 2000, 1);
  EXPECT_EQ(recipes.size(), 1u);
  add(64, 512, 1024, 4);
  add(64, 512, 1024, 8);
  EXPECT_EQ(recipes.size(), 2u) << "with parts of k";
  add(64, 512, 1025, 1);
  add(64, 512, 1031, 1);
  EXPECT_EQ(recipes.size(), 3u) << "with rows that are no multiples of 16 bytes";
  for (const int64_t n : {64, 65}) {
    const GemmConfig config = {
        .kernel = Kernel::stream, .rows = 8, .columns = 16, .warps = 1, .depth_warps = 1, .unroll = 1};
    for (const bool packed : {false, true}) {
      GemmConfig one = config;
      one.packed = packed;
      recipes.insert(gemm_task({.m = 1, .n = n, .k = 1024, .packed = true}, one, "sm_90").recipe());
    }
  }
  EXPECT_EQ(recipes.size(), 5u) << "with packed weights";
  for (const int64_t blocks : {132, 264}) {
    GemmConfig shares = kTilesForText;
    shares.blocks = blocks;
    recipes.insert(gemm_task({.m = blocks, .n = 512, .k = 1024}, shares, "sm_90").recipe());
  }
  EXPECT_EQ(recipes.size(), 6u) << "with shares of all tiles";
}

/// Rows name a version and a config, so a changed text would be a kernel that was never verified. golden_recipes.txt
/// has the recipes of one version.
TEST(JitCudaTasks, DoNotChangeWithoutANewVersion) {
  const char* const file = ATTUNE_SOURCE_DIR "/src/solvers/jit_cuda/golden_recipes.txt";
  const Solver* solver = registry().find("jit_cuda.gemm");
  ASSERT_NE(solver, nullptr);
  std::vector<std::string> lines = {fmt::format("version {}", solver->version())};
  for (const char* config :
       {"kernel=dot;rows=2;columns=2;warps=1;depth_warps=4;unroll=4;split_k=1",
        "kernel=stream;rows=16;columns=32;warps=1;depth_warps=8;unroll=1;split_k=4;reduce=launch",
        "kernel=tile;block_m=32;block_n=64;block_k=64;stages=6;m_warps=1;n_warps=4;group_m=8;split_k=1",
        "kernel=tile;block_m=128;block_n=128;block_k=64;stages=3;m_warps=2;n_warps=4;group_m=8;blocks=132",
        "kernel=stream;rows=8;columns=32;warps=1;depth_warps=8;unroll=1;split_k=1;b_layout=cuda.k64.v1"}) {
    for (const int64_t k : {4096, 4097}) {
      for (const auto& [in, out] : {std::pair{DType::bf16, DType::bf16}, {DType::fp16, DType::fp32}}) {
        const GemmShape shape = {.m = 16, .n = 512, .k = k, .in = in, .out = out};
        const CompileTask task = gemm_task(shape, GemmConfig::of(Config::parse(config)), "sm_90");
        lines.push_back(fmt::format("{} {} {} k={} {}", task.recipe(), name(in), name(out), k, config));
      }
    }
  }
  for (const auto& [in, out] :
       {std::pair{DType::bf16, DType::bf16}, {DType::fp16, DType::fp32}, {DType::fp32, DType::bf16}})
    lines.push_back(
        fmt::format("{} {} {} second launch", sum_task({.in = in, .out = out}, "sm_90").recipe(), name(in), name(out)));
  if (std::getenv("ATTUNE_WRITE_GOLDEN") != nullptr) write_file_atomically(file, join(lines, "\n") + "\n");
  EXPECT_EQ(read_file(file), join(lines, "\n") + "\n")
      << "the text of a generated kernel has changed: raise the version of jit_cuda.gemm, and write the file anew with "
         "ATTUNE_WRITE_GOLDEN=1";
}

/// A bound is of 16-bit rows that begin at vectors; others need other registers, and would spill.
TEST(JitCudaTasks, TellTheAssemblerTheBlocksOfTheConfigsThatNeedIt) {
  const auto bounds = [](int64_t k, DType type, const char* config) {
    const std::string source =
        gemm_task({.m = 2, .n = 512, .k = k, .in = type}, GemmConfig::of(Config::parse(config)), "sm_90").source;
    const size_t at = source.find("#define ATTUNE_BOUNDS ");
    return source.substr(at, source.find('\n', at) - at);
  };
  const char* const bound = "kernel=dot;rows=2;columns=2;warps=1;depth_warps=4;unroll=4;split_k=1";
  EXPECT_EQ(bounds(4096, DType::bf16, bound), "#define ATTUNE_BOUNDS kThreads, 4");
  EXPECT_EQ(bounds(4096, DType::fp32, bound), "#define ATTUNE_BOUNDS kThreads");
  EXPECT_EQ(bounds(4096, DType::bf16, (std::string(bound) + ";b_layout=cuda.k64.v1").c_str()),
            "#define ATTUNE_BOUNDS kThreads");
  EXPECT_EQ(bounds(4097, DType::bf16, bound), "#define ATTUNE_BOUNDS kThreads");
  EXPECT_EQ(bounds(4096, DType::bf16, "kernel=dot;rows=2;columns=2;warps=1;depth_warps=4;unroll=2;split_k=1"),
            "#define ATTUNE_BOUNDS kThreads");
}

/// What NVRTC reads and does not need takes a search's time.
TEST(JitCudaTasks, HaveNoTextThatTheirConfigDoesNotNeed) {
  const auto source = [](const char* config) {
    return gemm_task({.m = 100, .n = 512, .k = 4096}, GemmConfig::of(Config::parse(config)), "sm_90").source;
  };
  using testing::HasSubstr;
  using testing::Not;
  const std::string whole = source("kernel=dot;rows=1;columns=1;warps=1;depth_warps=1;unroll=1;split_k=1");
  const std::string parts =
      source("kernel=stream;rows=8;columns=16;warps=1;depth_warps=1;unroll=1;split_k=2;reduce=block");
  const std::string shares =
      source("kernel=tile;block_m=64;block_n=64;block_k=64;stages=2;m_warps=2;n_warps=2;group_m=1;blocks=132");
  EXPECT_THAT(whole, Not(HasSubstr("sum_of_parts")));
  EXPECT_THAT(whole, Not(HasSubstr("is_last")));
  EXPECT_THAT(whole, Not(HasSubstr("mma.sync")));
  EXPECT_THAT(parts, HasSubstr("sum_of_parts"));
  EXPECT_THAT(parts, Not(HasSubstr("cp.async")));
  EXPECT_THAT(shares, HasSubstr("is_last"));
  EXPECT_THAT(shares, Not(HasSubstr("sum_of_parts")));
  for (const std::string& one : {whole, parts, shares}) EXPECT_THAT(one, Not(HasSubstr(kSumEntry)));
}

TEST(JitCudaTasks, HaveNoRemarkAndNoHeader) {
  const std::string source =
      gemm_task({.m = 1, .n = 8, .k = 8},
                {.block_m = 16, .block_n = 32, .block_k = 32, .stages = 2, .m_warps = 1, .n_warps = 2}, "sm_90")
          .source;
  EXPECT_THAT(source, testing::Not(testing::HasSubstr("//")));
  EXPECT_THAT(source, testing::Not(testing::HasSubstr("#include")));
  EXPECT_THAT(source, testing::HasSubstr("constexpr int kBlockN = 32;"));
}

}  // namespace
}  // namespace attune::jit_cuda
