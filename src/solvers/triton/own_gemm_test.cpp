// SPDX-License-Identifier: MIT
#include "solvers/triton/own_gemm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "compile/compile_pool.h"
#include "compile/compiler.h"
#include "compile/elf_file.h"
#include "device/devices.h"
#include "ops/op.h"
#include "search/prune.h"
#include "solver/contender.h"
#include "solver/registry.h"
#include "solver/static/static_contenders.h"
#include "testing/built_helper.h"
#include "testing/compile/own_gemm_texts.h"
#include "testing/environment.h"
#include "testing/opened_solver.h"
#include "testing/test_files.h"

namespace attune::triton {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const DeviceInfo kOwnGpu = {
    .id = "cuda:0", .kind = "cuda", .gfx = "sm_90", .num_units = 132, .facts = {{"shared_bytes", 232448}}};

Problem own_problem(const std::string& text) {
  const Problem problem = Problem::parse("gemm_a16w16 " + text);
  return op_of(problem).normalise(problem, kOwnGpu);
}
GemmShape own_shape(const std::string& text) { return GemmShape::of(own_problem(text)); }

UserKernel::Parameter argument(const char* name) { return {.name = name}; }
UserKernel::Parameter constexpr_of(const char* name, std::optional<int64_t> value = {}) {
  return {.name = name, .is_constexpr = true, .has_default = value.has_value(), .default_number = value};
}

/// The kernel of a description, as describe_user_kernel() has it.
UserKernel own_kernel(const std::string& function = "mine") {
  UserKernel kernel{.function = function, .source = "# " + function};
  for (const char* name : {"a_ptr", "b_ptr", "c_ptr", "bias_ptr", "M", "N", "K", "stride_am", "stride_ak", "stride_bk",
                           "stride_bn", "stride_cm", "stride_cn"})
    kernel.parameters.push_back(argument(name));
  for (const char* name : {"BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M"})
    kernel.parameters.push_back(constexpr_of(name));
  return kernel;
}
UserKernel own_autotuned(const std::string& function = "tuned") {
  UserKernel kernel = own_kernel(function);
  kernel.is_autotuned = true;
  for (const char* config : {"BLOCK_SIZE_K=32;BLOCK_SIZE_M=64;BLOCK_SIZE_N=64;GROUP_SIZE_M=8;num_stages=3;num_warps=4",
                             "BLOCK_SIZE_K=64;BLOCK_SIZE_M=16;BLOCK_SIZE_N=32;GROUP_SIZE_M=1;num_stages=4;num_warps=2"})
    kernel.configs.push_back(Config::parse(config));
  return kernel;
}

StoredKernel stored(UserKernel kernel) {
  return {.name = kernel.name(), .kernel = std::make_shared<const UserKernel>(kernel), .why = {}};
}

Config of_kernel(const UserKernel& kernel, const std::string& constants) {
  return Config::parse("kernel=" + kernel.name() + ";" + constants);
}
const std::string kOwnTile = "BLOCK_SIZE_K=32;BLOCK_SIZE_M=64;BLOCK_SIZE_N=64;GROUP_SIZE_M=8;num_stages=3;num_warps=4";

std::vector<std::string> own_options(const std::string& text) {
  const UserKernel kernel = own_kernel();
  return own_gemm_task(kernel, own_shape(text), of_kernel(kernel, kOwnTile), "sm_90").options;
}

TEST(OwnGemm, ASearchTriesTheChosenKernelsAndRowsMayNameOthers) {
  const std::vector<StoredKernel> all = {stored(own_autotuned("one")), stored(own_autotuned("other"))};
  const std::vector<std::string> chosen = {all[1].name};
  const Problem problem = own_problem("m=64 n=64 k=64 dtype=bf16");
  const SearchSpace space = own_gemm_space(all, chosen, GemmShape::of(problem), kOwnGpu);
  EXPECT_EQ(space.size(), 4u);
  for (const uint64_t index : prune(space, problem, kOwnGpu, 0).allowed)
    EXPECT_EQ(to_text(space.at(index).at(kOwnKernel)), all[1].name);
  EXPECT_EQ(prune(space, problem, kOwnGpu, 0).allowed.size(), 2u);
  EXPECT_EQ(why_outside(space, of_kernel(*all[0].kernel, kOwnTile), problem, kOwnGpu), std::nullopt);
  EXPECT_EQ(prune(own_gemm_space(all, {}, GemmShape::of(problem), kOwnGpu), problem, kOwnGpu, 0).allowed.size(), 0u);
  EXPECT_EQ(SearchSpace::from_json(space.to_json()), space);
}

TEST(OwnGemm, AKernelWithoutConfigsGetsAttunesValues) {
  const StoredKernel mine = stored(own_kernel());
  const auto allowed = [&](const char* text, const DeviceInfo& gpu) {
    const Problem problem = own_problem(text);
    const SearchSpace space =
        own_gemm_space(std::span(&mine, 1), std::span(&mine.name, 1), GemmShape::of(problem), gpu);
    std::vector<Config> configs;
    for (const uint64_t index : prune(space, problem, gpu, 0).allowed) configs.push_back(space.at(index));
    return configs;
  };
  const auto large = allowed("m=1024 n=1024 k=1024 dtype=fp16", kOwnGpu);
  EXPECT_GT(large.size(), 300u);
  EXPECT_LT(large.size(), 1000u);
  EXPECT_THAT(large, Contains(of_kernel(*mine.kernel,
                                        "BLOCK_SIZE_K=64;BLOCK_SIZE_M=128;BLOCK_SIZE_N=256;GROUP_SIZE_M=8;"
                                        "num_stages=3;num_warps=8")));
  for (const Config& config : allowed("m=1 n=64 k=4096 dtype=fp16", kOwnGpu))
    EXPECT_EQ(config.integer("BLOCK_SIZE_M"), 16);
  DeviceInfo small = kOwnGpu;
  small.facts["shared_bytes"] = 99 << 10;
  EXPECT_LT(allowed("m=1024 n=1024 k=1024 dtype=fp16", small).size(), large.size());
}

TEST(OwnGemm, BindsParametersByName) {
  const auto options = own_options("m=100 n=64 k=96 dtype=bf16 outdtype=fp32");
  for (const char* option :
       {"--argument=a_ptr:*bf16:16", "--argument=c_ptr:*fp32:16", "--constant=bias_ptr:None", "--argument=M:i32",
        "--argument=N:i32:16", "--argument=K:i32:16", "--argument=stride_am:i32:16", "--constant=stride_ak:1",
        "--constant=stride_bk:1", "--argument=stride_bn:i32:16", "--argument=stride_cm:i32:16",
        "--constant=stride_cn:1", "--constant=BLOCK_SIZE_M:64", "--num-warps=4", "--num-stages=3"})
    EXPECT_THAT(options, Contains(option));
  const auto turned = own_options("m=100 n=63 k=24 dtype=fp16 bias=1 trans_a=1 trans_b=0");
  for (const char* option : {"--argument=bias_ptr:*fp16:16", "--constant=stride_am:1", "--argument=stride_ak:i32:4",
                             "--argument=stride_bk:i32", "--constant=stride_bn:1", "--argument=K:i32:8"})
    EXPECT_THAT(turned, Contains(option));
  EXPECT_THAT(own_options("m=65536 n=64 k=32768 dtype=bf16"), Contains("--argument=stride_am:i64:16"));
}

TEST(OwnGemm, OneBinaryServesEveryNumberOfRows) {
  const UserKernel kernel = own_kernel();
  const auto recipe = [&](const char* text) {
    return own_gemm_task(kernel, own_shape(text), of_kernel(kernel, kOwnTile), "sm_90").recipe();
  };
  EXPECT_EQ(recipe("m=1 n=64 k=96 dtype=bf16"), recipe("m=512 n=128 k=32 dtype=bf16"));
  EXPECT_NE(recipe("m=1 n=64 k=96 dtype=bf16"), recipe("m=1 n=64 k=97 dtype=bf16"));
}

TEST(OwnGemm, LaunchesATileAProgramAndZeroesWhatIsReset) {
  UserKernel kernel = own_kernel();
  kernel.parameters.push_back(constexpr_of("SPLIT_K", 1));
  const OwnLaunch plain = own_gemm_launch(kernel, own_shape("m=100 n=65 k=96 dtype=bf16"), of_kernel(kernel, kOwnTile));
  EXPECT_EQ(plain.num_programs, 2 * 2);
  EXPECT_EQ(plain.num_programs_y, 1);
  EXPECT_FALSE(plain.zeroes_c);
  ASSERT_EQ(plain.arguments.size(), 9u);  // Neither a bias nor strides of 1.
  EXPECT_EQ(plain.arguments[3].number, 100);
  kernel.reset_to_zero = {"c_ptr"};
  const OwnLaunch parts =
      own_gemm_launch(kernel, own_shape("m=100 n=65 k=96 dtype=bf16"), of_kernel(kernel, kOwnTile + ";SPLIT_K=4"));
  EXPECT_EQ(parts.num_programs_y, 4);
  EXPECT_TRUE(parts.zeroes_c);
}

/// Kernels in a state folder of the test.
class StoredOwnKernels : public testing::Test {
 protected:
  static Contender contender(const std::string& text) {
    return static_contender(*registry().find("triton.own_gemm"), own_problem(text), kOwnGpu);
  }
  TestFolder folder_;
  TestEnvironment home_{"ATTUNE_HOME", (folder_.path() / "home").string()};
  TestEnvironment none_{kUserKernelsVariable, ""};
};

TEST_F(StoredOwnKernels, ARowIsServedWhereItsKernelIsAndElseNamesTheFolder) {
  const UserKernel kernel = own_autotuned();
  const std::string text = "m=64 n=64 k=64 dtype=bf16";
  const Candidate row{"triton.own_gemm", "1", of_kernel(kernel, kOwnTile)};
  const auto why = [&] {
    const Contender one = contender(text);
    return why_unusable(row, own_problem(text), &one, kOwnGpu).value_or("");
  };
  EXPECT_THAT(why(), HasSubstr(user_kernel_folder().string()));
  store_user_kernel(own_autotuned("another"));
  EXPECT_THAT(why(), HasSubstr(user_kernel_folder().string()));
  store_user_kernel(kernel);
  EXPECT_EQ(why(), "");
  const Contender here = contender(text);
  EXPECT_TRUE(lacks_default(here));
  EXPECT_EQ(default_candidate(own_problem(text), std::span(&here, 1)), std::nullopt);
  EXPECT_EQ(registry().find("triton.own_gemm")->compile_tasks(own_problem(text), row.config, kOwnGpu).size(), 1u);
}

TEST_F(StoredOwnKernels, AKernelWithoutABiasSupportsNoProblemWithOne) {
  UserKernel kernel = own_autotuned();
  std::erase_if(kernel.parameters, [](const auto& one) { return one.name == "bias_ptr"; });
  const TestEnvironment chosen(kUserKernelsVariable, store_user_kernel(kernel));
  EXPECT_EQ(contender("m=64 n=64 k=64 dtype=bf16").space.size(), 2u);
  EXPECT_THAT(contender("m=64 n=64 k=64 dtype=bf16 bias=1").support.reason, HasSubstr("no parameter 'bias'"));
  EXPECT_THAT(contender("m=64 n=64 k=64 dtype=bf16 act=relu").support.reason, HasSubstr("activation"));
  const TestEnvironment missing(kUserKernelsVariable, "gone-0123456789abcdef");
  EXPECT_THAT(contender("m=64 n=64 k=64 dtype=bf16").support.reason, HasSubstr("gone-0123456789abcdef"));
}

/// With the package of this machine.
class RealTriton : public StoredOwnKernels {
 protected:
  void SetUp() override {
    try {
      find_compiler("triton")->toolchain();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  UserKernel described(const std::string& text, const std::string& function) {
    return describe_user_kernel(folder_.put("mine.py", text).string() + ":" + function);
  }
  CompileResult compiled(const UserKernel& kernel, const std::string& text, const Config& config) {
    return pool_.compile({own_gemm_task(kernel, own_shape(text), config, "sm_90")})[0];
  }
  KernelCache cache_{{folder_.path() / "cache"}, uint64_t{1} << 30};
  CompilePool pool_{cache_, with_built_helpers()};
};

TEST_F(RealTriton, CompilesAnAutotunedKernelForEachLayout) {
  const UserKernel kernel = described(kOwnConfigs + kOwnGemm, "matmul_kernel");
  EXPECT_EQ(kernel.configs.size(), 3u);
  for (const char* text : {"m=100 n=64 k=96 dtype=bf16", "m=7 n=33 k=65 dtype=fp16 bias=1 trans_a=1",
                           "m=65 n=64 k=64 dtype=fp32 trans_b=0", "m=65536 n=64 k=32768 dtype=bf16"}) {
    const CompileResult made = compiled(kernel, text, kernel.configs[0]);
    ASSERT_TRUE(made.binary) << text << ": " << made.outcome.detail;
    EXPECT_EQ(cubin_architecture(read_file(made.binary->file)), 90);
    EXPECT_EQ(made.binary->metadata.at("scratch_bytes"), "0");
  }
}

TEST_F(RealTriton, CompilesAKernelWithAttunesValuesAndOneThatAddsParts) {
  const UserKernel plain = described(kOwnImports + kOwnGemm, "matmul_kernel");
  EXPECT_FALSE(plain.is_autotuned);
  EXPECT_TRUE(compiled(plain, "m=100 n=64 k=96 dtype=bf16", Config::parse(kOwnTile)).binary);
  const UserKernel split = described(kOwnSplitGemm, "split_kernel");
  EXPECT_EQ(split.reset_to_zero, std::vector<std::string>{"c"});
  for (const Config& config : split.configs)
    EXPECT_TRUE(compiled(split, "m=100 n=64 k=96 dtype=bf16 outdtype=fp32", config).binary);
}

TEST_F(RealTriton, ATileThatIsNoPowerOfTwoFailsByItself) {
  const UserKernel kernel =
      described(replaced(kOwnConfigs, "(16, 32, 64)", "(48, 32, 64)") + kOwnGemm, "matmul_kernel");
  const CompileResult failed = compiled(kernel, "m=100 n=64 k=96 dtype=bf16", kernel.configs[2]);
  EXPECT_THAT(failed.outcome.detail, HasSubstr("power of 2"));
  EXPECT_TRUE(compiled(kernel, "m=100 n=64 k=96 dtype=bf16", kernel.configs[0]).binary);
}

TEST_F(RealTriton, RegistersAreLimitedWhereAConfigSaysSo) {
  const UserKernel kernel = described(kOwnImports + kOwnGemm, "matmul_kernel");
  const CompileResult few = compiled(kernel, "m=100 n=64 k=96 dtype=bf16", Config::parse(kOwnTile + ";maxnreg=64"));
  ASSERT_TRUE(few.binary) << few.outcome.detail;
  EXPECT_LE(std::stoi(few.binary->metadata.at("registers")), 64);
}

/// On the GPU of this machine.
class TritonGpuOwnKernels : public RealTriton {
 protected:
  void SetUp() override {
    if (list_devices("cuda:0").empty()) GTEST_SKIP() << "no NVIDIA GPU is here";
    RealTriton::SetUp();
    if (IsSkipped()) return;
    opened_.emplace("triton.own_gemm", "cuda:0");
  }
  /// The first wrong element of each config's result, by config.
  std::vector<std::string> wrong(const std::string& text, const std::string& function, const std::string& problem) {
    const UserKernel kernel = described(text, function);
    const std::string name = store_user_kernel(kernel);
    std::vector<std::string> all;
    for (const Config& config : kernel.configs) {
      auto values = config.values();
      values.emplace_back(kOwnKernel, name);
      all.push_back(opened_->wrong("gemm_a16w16 " + problem, Config(std::move(values)).key()));
    }
    return all;
  }
  std::optional<OpenedSolver> opened_;
};

TEST_F(TritonGpuOwnKernels, ComputeEveryTypeAndLayout) {
  for (const char* problem :
       {"m=1 n=64 k=128 dtype=fp32", "m=70 n=33 k=65 dtype=fp32 bias=1", "m=16 n=2304 k=4096 dtype=bf16 outdtype=fp32",
        "m=333 n=1000 k=1024 dtype=fp16 bias=1", "m=1 n=1 k=1 dtype=bf16", "m=100 n=136 k=520 dtype=bf16 trans_b=0",
        "m=128 n=130 k=257 dtype=fp16 trans_a=1", "m=136 n=264 k=512 dtype=bf16 trans_a=1 trans_b=0"})
    EXPECT_THAT(wrong(kOwnConfigs + kOwnGemm, "matmul_kernel", problem), testing::Each(IsEmpty())) << problem;
}

TEST_F(TritonGpuOwnKernels, AreGivenAZeroedResultWhereTheyAskForIt) {
  EXPECT_THAT(wrong(kOwnSplitGemm, "split_kernel", "m=100 n=64 k=520 dtype=bf16 outdtype=fp32"),
              testing::Each(IsEmpty()));
  EXPECT_THAT(wrong(replaced(kOwnSplitGemm, ", reset_to_zero=[\"c\"]", ""), "split_kernel",
                    "m=100 n=64 k=520 dtype=bf16 outdtype=fp32"),
              testing::Each(Not(IsEmpty())));
}

TEST_F(TritonGpuOwnKernels, AreFoundWrongWithoutAMaskAtTheEdge) {
  const std::string unmasked = replaced(replaced(kOwnConfigs + kOwnGemm, ", mask=rk[None, :] < left, other=0.0", ""),
                                        ", mask=rk[:, None] < left, other=0.0", "");
  EXPECT_THAT(wrong(unmasked, "matmul_kernel", "m=100 n=64 k=70 dtype=bf16"), testing::Each(Not(IsEmpty())));
  EXPECT_THAT(wrong(unmasked, "matmul_kernel", "m=100 n=64 k=128 dtype=bf16"), testing::Each(IsEmpty()));
}

}  // namespace
}  // namespace attune::triton
