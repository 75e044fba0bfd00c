// SPDX-License-Identifier: MIT
// Checks the text of generated kernels by its recipe, as ../jit_cpu/golden_recipes_test.cpp does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/text.h"
#include "ops/op.h"
#include "solver/registry.h"

namespace attune {
namespace {

constexpr const char* kQuantisedFile = ATTUNE_SOURCE_DIR "/src/solvers/jit_cpu_quantised/golden_recipes.txt";
constexpr const char* kQuantisedAdvice =
    "the text of a generated kernel has changed: raise the version of the solver (rows and records of the old "
    "text are void then), and write the file anew with ATTUNE_WRITE_GOLDEN=1";

/// The text of each family, of each way to compute.
struct Texts {
  const char* problem;
  std::vector<const char*> configs;
};

std::vector<std::string> quantised_recipes() {
  const Texts all[] = {{"gemm_a8w8 m=8 n=64 k=5000 q_dtype_w=int8",
                        {"kernel=dot;rows=1;width=4;unroll=2;prefetch=row;k_block=0;threads=1",
                         "kernel=dot;rows=4;width=2;unroll=1;prefetch=tile;k_block=0;threads=2",
                         "kernel=tile;rows=6;width=2;k_block=0;threads=2"}},
                       {"gemm_a8w8 m=8 n=64 k=5000 q_dtype_w=e4m3fn",
                        {"engine=bf16;rows=4;width=2;prefetch=512;k_block=0;threads=1",
                         "engine=bf16;kernel=dot;rows=2;width=3;unroll=2;prefetch=512;k_block=0;threads=1",
                         "engine=fp32;rows=4;width=2;prefetch=512;k_block=0;threads=1"}},
                       {"gemm_a8w8_blockscale m=8 n=64 k=5000 q_dtype_w=e4m3fnuz",
                        {"engine=bf16;rows=4;width=2;prefetch=512;k_block=0;threads=1",
                         "engine=fp32;rows=4;width=2;prefetch=512;k_block=0;threads=1"}},
                       {"gemm_a4w4_blockscale m=8 n=64 k=5000",
                        {"kernel=tile;rows=4;width=2;prefetch=512;k_block=0;threads=1",
                         "kernel=dot;rows=1;width=1;unroll=2;prefetch=1024;k_block=0;threads=1"}},
                       {"gemm_a4w4_blockscale m=8 n=64 k=5000 bpreshuffle=1",
                        {"kernel=stream;b_layout=host.vnni8x16.v1;rows=8;width=1;prefetch=512;k_block=0;threads=1",
                         "kernel=tile;b_layout=host.vnni8x16.v1;rows=4;width=2;prefetch=512;k_block=0;threads=1"}}};
  std::vector<std::string> lines;
  for (const Texts& texts : all) {
    const Problem given = Problem::parse(texts.problem);
    const Solver* solver = registry().find(fmt::format("jit_cpu.{}", given.op()));
    lines.push_back(fmt::format("{} version {}", solver->id(), solver->version()));
    for (const char* gfx : {"x86-64-v3", "x86-64-v3+vnni", "x86-64-v4", "x86-64-v4+vnni", "x86-64-v4+bf16"}) {
      const DeviceInfo device{.id = "cpu:0", .kind = "host", .gfx = gfx, .num_units = 2};
      for (const char* type : {"bf16", "fp16"}) {
        const Problem typed = Problem::parse(fmt::format("{} outdtype={}", texts.problem, type));
        const Problem problem = op_of(typed).normalise(typed, device);
        for (const char* config : texts.configs) {
          if (!solver->supports(problem, device).yes) continue;
          if (std::string_view(config).starts_with("engine=bf16") && !std::string_view(gfx).ends_with("bf16")) continue;
          std::string line = fmt::format("{} | {} | {} |", gfx, type, config);
          for (const CompileTask& task : solver->compile_tasks(problem, Config::parse(config), device))
            line += " " + task.recipe();
          lines.push_back(line);
        }
      }
    }
  }
  return lines;
}

TEST(QuantisedGoldenRecipes, TextDoesNotChangeWithoutANewVersion) {
  if (registry().find("jit_cpu.gemm_a8w8") == nullptr) GTEST_SKIP() << "this build has no jit_cpu.gemm_a8w8";
  const std::string text = join(quantised_recipes(), "\n") + "\n";
  if (std::getenv("ATTUNE_WRITE_GOLDEN") != nullptr) write_file_atomically(kQuantisedFile, text);
  EXPECT_EQ(read_file(kQuantisedFile), text) << kQuantisedAdvice;
}

}  // namespace
}  // namespace attune
