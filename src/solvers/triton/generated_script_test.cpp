// SPDX-License-Identifier: MIT
#include "solvers/triton/generated_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "process/run_command.h"
#include "process/temporary_folder.h"
#include "solvers/triton/gemm_space.h"

namespace attune::triton {
namespace {

using testing::HasSubstr;

TEST(GeneratedScript, NamesAFunctionAfterEachConfigAndIsPython) {
  const std::vector<TimedConfig> configs = {{GemmConfig{64, 128, 32, 8, 4, 4, 3}.text(), 6.634, "0a1b"},
                                            {GemmConfig{16, 16, 256, 1, 1, 1, 5}.text(), 12, ""}};
  const KeptScript script = generated_script(
      Problem::parse("gemm_a16w16 m=333 n=1000 k=1024 dtype=fp16 outdtype=fp16 bias=1 trans_b=0"), configs);
  EXPECT_EQ(script.name, "generated_kernel33310001024.py");
  EXPECT_THAT(script.text, HasSubstr("M, N, K = 333, 1000, 1024\nA_IS_KM, B_IS_KN, HAS_BIAS = False, True, True\n"));
  EXPECT_THAT(script.text, HasSubstr("# 6.63 us, its files are in kernels/0a1b\n"
                                     "def matmul_kernel_BM64_BN128_BK32_GM8_SK4_nW4_nS3(a, b, bias, c):\n"
                                     "    return launched(a, b, bias, c, 64, 128, 32, 8, 4, 4, 3)\n"));
  EXPECT_THAT(script.text, HasSubstr("        matmul_kernel_BM16_BN16_BK256_GM1_SK1_nW1_nS5,\n    ])\n"));
  TemporaryFolder folder("script");
  write_file_atomically(folder.path() / script.name, script.text);
  const auto checked =
      run_command({.arguments = {"/usr/bin/python3", "-B", "-c",
                                 "import sys; compile(open(sys.argv[1]).read(), 'script', 'exec')", script.name},
                   .environment = {},
                   .folder = folder.path()},
                  Milliseconds(20'000));
  EXPECT_EQ(checked.status.code, 0) << checked.output;
}

}  // namespace
}  // namespace attune::triton
