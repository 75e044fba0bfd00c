// SPDX-License-Identifier: MIT
// Checks the text of generated kernels by its recipe, as ../jit_cpu/golden_recipes_test.cpp does.
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
    "the text of a generated kernel has changed: raise the version of jit_cpu.gemm_a8w8 (rows and records of the old "
    "text are void then), and write the file anew with ATTUNE_WRITE_GOLDEN=1";

std::vector<std::string> quantised_recipes(const Solver& solver) {
  std::vector<std::string> lines = {fmt::format("version {}", solver.version())};
  for (const char* gfx : {"x86-64-v3", "x86-64-v3+vnni", "x86-64-v4", "x86-64-v4+vnni", "x86-64-v4+bf16"}) {
    const DeviceInfo device{.id = "cpu:0", .kind = "host", .gfx = gfx, .num_units = 2};
    for (const char* type : {"bf16", "fp16"}) {
      const Problem given = Problem::parse(fmt::format("gemm_a8w8 m=8 n=64 k=5000 outdtype={}", type));
      const Problem problem = op_of(given).normalise(given, device);
      for (const char* config : {"kernel=dot;rows=1;width=4;unroll=2;prefetch=row;k_block=0;threads=1",
                                 "kernel=dot;rows=4;width=2;unroll=1;prefetch=tile;k_block=0;threads=2",
                                 "kernel=tile;rows=6;width=2;k_block=0;threads=2"}) {
        std::string line = fmt::format("{} | {} | {} |", gfx, type, config);
        for (const CompileTask& task : solver.compile_tasks(problem, Config::parse(config), device))
          line += " " + task.recipe();
        lines.push_back(line);
      }
    }
  }
  return lines;
}

TEST(QuantisedGoldenRecipes, TextDoesNotChangeWithoutANewVersion) {
  const Solver* solver = registry().find("jit_cpu.gemm_a8w8");
  if (solver == nullptr) GTEST_SKIP() << "this build has no jit_cpu.gemm_a8w8";
  const std::string text = join(quantised_recipes(*solver), "\n") + "\n";
  if (std::getenv("ATTUNE_WRITE_GOLDEN") != nullptr) write_file_atomically(kQuantisedFile, text);
  EXPECT_EQ(read_file(kQuantisedFile), text) << kQuantisedAdvice;
}

}  // namespace
}  // namespace attune
