// SPDX-License-Identifier: MIT
#include "compile/nvrtc/nvrtc_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "compile/elf_file.h"

namespace attune {
namespace {

using testing::HasSubstr;

CompileTask nvrtc_task(std::string source, std::string arch = "sm_90") {
  return {
      .compiler = "nvrtc", .source = std::move(source), .arch = std::move(arch), .options = {}, .entries = {"twice"}};
}
constexpr const char* kTwice =
    "#include <cuda_bf16.h>\n"
    "extern \"C\" __global__ void twice(__nv_bfloat16* x, int n) {\n"
    "  __shared__ float scratch[64];\n"
    "  scratch[threadIdx.x % 64] = x[0];\n"
    "  __syncthreads();\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] = __hadd(x[i], __float2bfloat16(scratch[(threadIdx.x + 1) % 64]));\n"
    "}\n";

class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    try {
      nvrtc_.toolchain();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  NvrtcCompiler nvrtc_;
};

TEST_F(Nvrtc, CompilesWithoutAGpuForTheArchitecturesThatItTargets) {
  EXPECT_THAT(nvrtc_.toolchain(), testing::MatchesRegex("nvrtc-1[23]\\.[0-9]+-[0-9a-f]{8}"));
  for (const char* arch : {"sm_80", "sm_90a"}) {
    ASSERT_TRUE(nvrtc_.targets(arch));
    const LibraryOutput output = nvrtc_.compile(nvrtc_task(kTwice, arch));
    ASSERT_TRUE(output.is_compiled) << output.log;
    EXPECT_EQ(nvrtc_.flaw_of(output.binary), "");
    EXPECT_TRUE(exported_symbols(output.binary)->contains("twice"));
    const auto report = nvrtc_.report({output.log, output.binary, {}});
    EXPECT_GT(std::stoi(report.at("registers")), 4) << output.log;
    EXPECT_EQ(report.at("spills"), "0");
    EXPECT_EQ(report.at("shared_bytes"), "256");
    EXPECT_GT(std::stoi(report.at("code_bytes")), 64);
  }
}

TEST_F(Nvrtc, SaysWhatIsWrongWithASource) {
  const LibraryOutput output = nvrtc_.compile(nvrtc_task("extern \"C\" __global__ void twice() { no_such_name(); }"));
  EXPECT_FALSE(output.is_compiled);
  EXPECT_THAT(output.log, HasSubstr("no_such_name"));
  CompileTask other = nvrtc_task(kTwice);
  other.options = {"--no-such-option"};
  EXPECT_FALSE(nvrtc_.compile(other).is_compiled);
  EXPECT_THAT(nvrtc_.compile(other).log, HasSubstr("no-such-option"));
}

TEST(NvrtcCompiler, RefusesTextsThatNvrtcWouldCut) {
  const NvrtcCompiler nvrtc;
  const std::string cut("__device__ int a;\0not C", 23);
  CompileTask of_options = nvrtc_task(kTwice);
  of_options.options = {std::string("-DA\0B", 5)};
  for (const CompileTask& one : {nvrtc_task(cut), of_options}) {
    try {
      nvrtc.compile(one);
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("has a zero byte"));
    }
  }
}

TEST(NvrtcCompiler, LeavesOutWhatOlderLibrariesRefuse) {
  EXPECT_FALSE(nvrtc_takes("--minimal", {12, 3}));
  EXPECT_TRUE(nvrtc_takes("--minimal", {12, 4}));
  EXPECT_TRUE(nvrtc_takes("--minimal", {13, 0}));
  EXPECT_TRUE(nvrtc_takes("--use_fast_math", {12, 0}));
}

TEST(NvrtcCompiler, TargetsArchitecturesOfNvidia) {
  const NvrtcCompiler nvrtc;
  for (const char* arch : {"sm_80", "sm_90", "sm_90a", "sm_100f", "sm_120"}) EXPECT_TRUE(nvrtc.targets(arch)) << arch;
  for (const char* arch : {"sm_", "sm_9", "sm_90b", "sm_90 ", "gfx942", "x86-64-v4", ""})
    EXPECT_FALSE(nvrtc.targets(arch)) << arch;
}

TEST(NvrtcCompiler, RefusesWhatIsNoCubin) {
  const NvrtcCompiler nvrtc;
  EXPECT_EQ(nvrtc.flaw_of(""), "not a cubin");
  EXPECT_EQ(nvrtc.flaw_of(std::string(64, '\x7f')), "not a cubin");
  EXPECT_EQ(nvrtc.flaw_of(std::string("\x7f"
                                      "ELF\x02") +
                          std::string(59, '\0')),
            "not a cubin");
}

}  // namespace
}  // namespace attune
