// SPDX-License-Identifier: MIT
// Checks the text of generated kernels by its recipe: if it changed without a new solver version, rows could name a
// kernel that was never verified. golden_recipes.txt has the recipes of one version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "ops/op.h"
#include "solver/registry.h"

namespace attune {
namespace {

constexpr const char* kFile = ATTUNE_SOURCE_DIR "/src/solvers/jit_cpu/golden_recipes.txt";
constexpr const char* kAdvice =
    "the text of a generated kernel has changed: raise the version of jit_cpu.gemm (rows and records of the old text "
    "are "
    "void then), and write the file anew with ATTUNE_WRITE_GOLDEN=1";

/// Inputs of the recipes: architecture, problem, config. Identical on every machine.
struct Case {
  std::string gfx, problem, config;
};

std::vector<Case> cases() {
  const std::vector<std::string>
      dots = {"kernel=dot;rows=1;threads=1;unroll=1;width=1;prefetch=0",
              "kernel=dot;rows=4;threads=2;unroll=2;width=2;prefetch=128"},
      tiles = {"copy=1;k_block=0;kernel=tile_n;order=rows;panel_block=0;prefetch=0;rows=4;split_k=1;threads=1;width=4",
               "copy=1;k_block=256;kernel=tile_m;order=panels;panel_block=0;prefetch=128;"
               "rows=24;split_k=1;threads=2;width=1"};
  std::vector<Case> all;
  for (const char* gfx : {"x86-64-v3", "x86-64-v4", "x86-64-v4+bf16", "x86-64-v4+bf16+amx"}) {
    for (const char* dtype : {"fp32", "bf16", "fp16"}) {
      const std::string types = fmt::format(" dtype={} outdtype={}", dtype, dtype);
      for (const auto& config : dots) all.push_back({gfx, fmt::format("gemm_a16w16 m=4 n=256 k=512{}", types), config});
      for (const auto& config : tiles)
        all.push_back({gfx, fmt::format("gemm_a16w16 m=64 n=256 k=512{} bias=1", types), config});
    }
  }
  for (const char* engine : {"amx", "fma"}) {
    all.push_back(
        {"x86-64-v4+bf16+amx", "gemm_a16w16 m=64 n=256 k=512 dtype=bf16 outdtype=bf16",
         fmt::format(
             "copy=1;engine={};{}", engine,
             "k_block=0;kernel=tile_m;order=rows;panel_block=0;prefetch=0;rows=1;split_k=1;threads=1;width=2")});
  }
  for (const char* act : {"relu", "gelu", "gelu_tanh", "silu"}) {
    const std::string end = fmt::format("dtype=bf16 outdtype=bf16 bias=1 act={}", act);
    all.push_back({"x86-64-v3", fmt::format("gemm_a16w16 m=4 n=256 k=512 {}", end), dots.front()});
    for (const auto& config : tiles)
      all.push_back({"x86-64-v4", fmt::format("gemm_a16w16 m=64 n=256 k=512 {}", end), config});
    all.push_back({"x86-64-v4+bf16+amx", fmt::format("gemm_a16w16 m=64 n=256 k=512 {}", end),
                   "copy=0;engine=amx;k_block=0;kernel=tile_m;order=rows;panel_block=0;prefetch=0;rows=1;split_k=1;"
                   "threads=1;width=2"});
  }
  return all;
}

std::vector<std::string> recipes_of(const Solver& solver) {
  std::vector<std::string> lines = {fmt::format("version {}", solver.version())};
  for (const Case& one : cases()) {
    const DeviceInfo device{.id = "cpu:0", .kind = "host", .gfx = one.gfx, .num_units = 2};
    const Problem problem = op_of(Problem::parse(one.problem)).normalise(Problem::parse(one.problem), device);
    std::string line = fmt::format("{} | {} | {} |", one.gfx, one.problem, one.config);
    try {
      for (const CompileTask& task : solver.compile_tasks(problem, Config::parse(one.config), device))
        line += fmt::format(" {}", task.recipe());
    } catch (const Error& error) {
      line += fmt::format(" refused: {}", error.what());  // This architecture or type does not have the config.
    }
    lines.push_back(line);
  }
  return lines;
}

TEST(GoldenRecipes, TextDoesNotChangeWithoutANewVersion) {
  const Solver* solver = registry().find("jit_cpu.gemm");
  if (solver == nullptr) GTEST_SKIP() << "this build has no jit_cpu.gemm";
  const auto lines = recipes_of(*solver);
  if (std::getenv("ATTUNE_WRITE_GOLDEN") != nullptr) write_file_atomically(kFile, join(lines, "\n") + "\n");
  const std::string text = read_file(kFile);
  std::vector<std::string> golden;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) golden.emplace_back(line);
  }
  ASSERT_EQ(golden.size(), lines.size()) << kAdvice;
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i], golden[i]) << kAdvice;
  size_t num_refused = 0;
  for (const std::string& line : lines) num_refused += line.find("| refused") != std::string::npos;
  EXPECT_LT(num_refused, lines.size() / 3) << "too few texts are looked at";
}

}  // namespace
}  // namespace attune
