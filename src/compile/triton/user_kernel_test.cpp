// SPDX-License-Identifier: MIT
#include "compile/triton/user_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "compile/triton/triton_package.h"
#include "compile/triton/user_kernel_folder.h"
#include "testing/becomes_true.h"
#include "testing/compile/fake_triton.h"
#include "testing/environment.h"
#include "testing/test_files.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kHead = "import os, time, triton\n";
constexpr const char* kTensors =
    "a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn";
constexpr const char* kTiles =
    "BLOCK_SIZE_M: 'tl.constexpr', BLOCK_SIZE_N: 'tl.constexpr', BLOCK_SIZE_K: 'tl.constexpr'";

std::string jit(const std::string& parameters, const std::string& name = "matmul") {
  return "@triton.jit\ndef " + name + "(" + parameters + "):\n    pass\n";
}

std::string tuned(const std::string& arguments, const std::string& parameters) {
  return "@triton.autotune(" + arguments + ", key=['M'])\n" + jit(parameters);
}

class UserKernelTest : public testing::Test {
 protected:
  void SetUp() override {
    if (fake_.python().empty()) GTEST_SKIP() << "no python3 is here";
    python_.emplace("ATTUNE_PYTHON", fake_.python());
  }
  UserKernel described(const std::string& text, const std::string& function = "matmul",
                       Milliseconds deadline = kDescribeDeadline) {
    return describe_user_kernel(folder_.put("mine.py", kHead + text).string() + ":" + function, deadline);
  }
  std::string refusal(const std::string& text, const std::string& function = "matmul",
                      Milliseconds deadline = kDescribeDeadline) {
    return failure([&] { described(text, function, deadline); });
  }
  static std::string failure(const auto& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input) << error.what();
      return error.what();
    }
    return {};
  }

  FakeTriton fake_;
  TestFolder folder_;
  TestEnvironment home_{"ATTUNE_HOME", folder_.path() / "home"};
  std::optional<TestEnvironment> python_;
};

const std::string kPlain = std::string(kTensors) + ", " + kTiles;

TEST_F(UserKernelTest, DescribesAnAutotunedKernel) {
  const std::string text = tuned(
      "configs=[triton.Config({'BLOCK_SIZE_M': 64, 'BLOCK_SIZE_N': 32, 'BLOCK_SIZE_K': 16, 'FAST': True, 'ACT': "
      "'relu'}, "
      "num_warps=8, num_stages=2, maxnreg=96), triton.Config({'BLOCK_SIZE_M': 16, 'BLOCK_SIZE_N': 16, 'BLOCK_SIZE_K': "
      "16, "
      "'FAST': False, 'ACT': None})], reset_to_zero=['c_ptr']",
      kPlain +
          ", FAST: 'tl.constexpr', ACT: 'tl.constexpr', GROUP_SIZE_M: 'tl.constexpr' = 8, SCALE: 'tl.constexpr' = 0.5");
  const UserKernel kernel = described("print('loud ' * 100000)\n" + text);
  EXPECT_EQ(kernel.function, "matmul");
  EXPECT_EQ(kernel.parameters.size(), 19u);
  EXPECT_EQ(kernel.find("GROUP_SIZE_M")->default_number, 8);
  EXPECT_TRUE(kernel.find("SCALE")->has_default);
  EXPECT_FALSE(kernel.find("M")->is_constexpr);
  EXPECT_THAT(kernel.configs,
              ElementsAre(Config::parse("ACT=relu;BLOCK_SIZE_K=16;BLOCK_SIZE_M=64;BLOCK_SIZE_N=32;FAST=True;maxnreg=96;"
                                        "num_stages=2;num_warps=8"),
                          Config::parse("ACT=None;BLOCK_SIZE_K=16;BLOCK_SIZE_M=16;BLOCK_SIZE_N=16;FAST=False;"
                                        "num_stages=3;num_warps=4")));
  EXPECT_THAT(kernel.reset_to_zero, ElementsAre("c_ptr"));
  EXPECT_THAT(kernel.source, HasSubstr("loud"));
}

TEST_F(UserKernelTest, AStoredKernelIsReadBackAndPrivate) {
  const UserKernel kernel = described(jit(kPlain));
  const std::string name = store_user_kernel(kernel);
  EXPECT_THAT(name, testing::MatchesRegex("matmul-[0-9a-f]{16}"));
  EXPECT_EQ(store_user_kernel(kernel), name);
  const fs::path file = user_kernel_folder() / (name + ".json");
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(stored_user_kernels().size(), 1u);
  EXPECT_EQ(*stored_user_kernel(name).kernel, kernel);
  EXPECT_NE(described("# another text\n" + jit(kPlain)).name(), name);
}

TEST_F(UserKernelTest, AMissingOrChangedFileIsNamed) {
  EXPECT_THAT(stored_user_kernel("matmul-0").why,
              AllOf(HasSubstr("matmul-0"), HasSubstr("--kernel"), HasSubstr(user_kernel_folder().string())));
  const std::string name = store_user_kernel(described(jit(kPlain)));
  const fs::path file = user_kernel_folder() / (name + ".json");
  std::string text = read_file(file);
  text.replace(text.find("pass"), 4, "evil");
  write_file_atomically(file, text);
  EXPECT_THAT(stored_user_kernel(name).why, HasSubstr("was changed"));
  ::chmod(file.c_str(), 0666);
  EXPECT_THAT(stored_user_kernel(name).why, HasSubstr("other users"));
  write_file_atomically(user_kernel_folder() / "none-1.json", "{");
  EXPECT_THAT(stored_user_kernel("none-1").why, HasSubstr("expected the file of a kernel"));
}

TEST_F(UserKernelTest, NamesOfParametersTellTheirMeaning) {
  for (const char* name : {"a", "A", "a_ptr", "A_ptr"}) EXPECT_EQ(gemm_role(name), GemmRole::a) << name;
  for (const char* name : {"stride_am", "stride_a_m", "STRIDE_AM"}) EXPECT_EQ(gemm_role(name), GemmRole::stride_am);
  for (const char* name : {"BLOCK_SIZE_M", "BLOCK_M", "BM"}) EXPECT_EQ(gemm_role(name), GemmRole::block_m);
  for (const char* name : {"m_ptr", "stride_cb", "stride_a_mm", "x", "ptr", "_ptr"})
    EXPECT_EQ(gemm_role(name), GemmRole::constant) << name;
}

TEST_F(UserKernelTest, AWrongPlaceIsRefused) {
  const std::string file = folder_.put("mine.py", kHead + jit(kPlain)).string();
  EXPECT_THAT(failure([&] { describe_user_kernel(file); }), HasSubstr("FILE:FUNCTION"));
  EXPECT_THAT(failure([&] { describe_user_kernel(file + ":"); }), HasSubstr("FILE:FUNCTION"));
  EXPECT_THAT(failure([&] { describe_user_kernel(file + ":a b"); }), HasSubstr("FILE:FUNCTION"));
  EXPECT_THAT(failure([&] { describe_user_kernel("/no/such.py:f"); }), HasSubstr("/no/such.py"));
  EXPECT_THAT(failure([&] { describe_user_kernel(file + ":other"); }),
              AllOf(HasSubstr(file), HasSubstr("there is no function 'other'")));
  EXPECT_THAT(failure([&] { describe_user_kernel(file + ":triton"); }), HasSubstr("no @triton.jit function"));
  const std::string bytes = folder_.put("bytes.py", "# \n# \xff\n").string();
  EXPECT_THAT(failure([&] { describe_user_kernel(bytes + ":f"); }), AllOf(HasSubstr(bytes + ":2"), HasSubstr("UTF-8")));
}

TEST_F(UserKernelTest, AFileThatMisbehavesIsRefusedInASentence) {
  EXPECT_THAT(refusal("\n\nraise ValueError('no\\nluck')"), AllOf(HasSubstr("mine.py:4: "), HasSubstr("luck")));
  EXPECT_THAT(refusal("def f(:\n"), AllOf(HasSubstr("mine.py:2: SyntaxError")));
  EXPECT_THAT(refusal("\n" + jit(kPlain + ", lda")), HasSubstr("mine.py:3: the kernel 'matmul' cannot be used"));
  EXPECT_THAT(refusal("import my_own_module"), HasSubstr("No module named 'my_own_module'"));
  EXPECT_THAT(refusal("raise SystemExit(3)"), HasSubstr("SystemExit: 3"));
  EXPECT_THAT(refusal("os._exit(3)"), AllOf(HasSubstr("did not come to its end"), HasSubstr("status 3")));
  EXPECT_THAT(refusal("os.kill(os.getpid(), 11)"), HasSubstr("SIGSEGV"));
  EXPECT_THAT(refusal("time.sleep(1000)", "matmul", Milliseconds(2000)), HasSubstr("deadline"));
  EXPECT_FALSE(fs::exists(user_kernel_folder()));
}

TEST_F(UserKernelTest, AFileThatForksLeavesNoProcess) {
  const std::string file = (folder_.path() / "pid").string();
  const UserKernel kernel = described("if os.fork() == 0:\n    open('" + file +
                                      "', 'w').write(str(os.getpid()))\n    time.sleep(1000)\n"
                                      "while not os.path.exists('" +
                                      file + "') or not open('" + file + "').read(): time.sleep(0.01)\n" + jit(kPlain));
  EXPECT_EQ(kernel.function, "matmul");
  const pid_t forked = std::stoi(read_file(file));
  EXPECT_TRUE(becomes_true([&] { return ::kill(forked, 0) == -1; }));
  EXPECT_EQ(described("os.fork()\n" + jit(kPlain)).function, "matmul");
}

struct RefusedKernel {
  const char* name;
  std::string text, why;
};
const std::string kOneConfig = "configs=[triton.Config({'BLOCK_SIZE_M': 16, 'BLOCK_SIZE_N': 16, 'BLOCK_SIZE_K': 16})]";
std::string with_config(const std::string& constants, const std::string& more = "") {
  return "configs=[triton.Config({'BLOCK_SIZE_M': 16, 'BLOCK_SIZE_N': 16, 'BLOCK_SIZE_K': 16" + constants + "}" + more +
         ")]";
}
const RefusedKernel kRefusedKernels[] = {
    {"UnknownParameter", jit(kPlain + ", lda"), "does not know its parameter 'lda'; known are a, b, c, bias, m"},
    {"UnknownConstant", jit(kPlain + ", ACT: 'tl.constexpr'"), "constexpr parameter 'ACT'"},
    {"UnknownConstantOfConfigs", tuned(kOneConfig, kPlain + ", ACT: 'tl.constexpr'"), "constexpr parameter 'ACT'"},
    {"TwoOfOneMeaning", jit(kPlain + ", stride_a_m"), "the same meaning, rename one: 'stride_a_m'"},
    {"WithoutC", jit("a, b, M, N, K, " + std::string(kTiles)), "it has no parameter c"},
    {"WithoutTile", jit(std::string(kTensors) + ", BLOCK_SIZE_M: 'tl.constexpr'"), "no parameter BLOCK_SIZE_N"},
    {"TileNoConstant", jit(std::string(kTensors) + ", BLOCK_SIZE_M, BLOCK_SIZE_N: 'tl.constexpr'"), "'BLOCK_SIZE_M'"},
    {"ConstantTensor", jit("a: 'tl.constexpr', b, c, " + std::string(kTiles)), "must not be constexpr"},
    {"ResetOfA", tuned(kOneConfig + ", reset_to_zero=['a_ptr']", kPlain), "reset_to_zero names 'a_ptr'"},
    {"RestoreOfB", tuned(kOneConfig + ", restore_value=['b_ptr']", kPlain), "restore_value names 'b_ptr'"},
    {"PreHook", tuned(kOneConfig + ", pre_hook=lambda args: 0", kPlain), "has a pre_hook"},
    {"PreHookOfConfig", tuned(with_config("", ", pre_hook=lambda args: 0"), kPlain), "a config has a pre_hook"},
    {"Clusters", tuned(with_config("", ", num_ctas=2"), kPlain), "num_ctas=2"},
    {"NoWarps", tuned(with_config("", ", num_warps=0"), kPlain), "num_warps=0"},
    {"ConfigOfOtherName", tuned(with_config(", 'waves_per_eu': 2"), kPlain), "'waves_per_eu'"},
    {"ConfigOfAFloat", tuned(with_config(", 'SCALE': 0.5"), kPlain + ", SCALE: 'tl.constexpr'"), "SCALE"},
    {"TileOfText",
     tuned("configs=[triton.Config({'BLOCK_SIZE_M': 'x', 'BLOCK_SIZE_N': 16, 'BLOCK_SIZE_K': 16})]", kPlain),
     "'BLOCK_SIZE_M' must be an integer"},
    {"Heuristics", "@triton.heuristics({})\n" + jit(kPlain), "@triton.heuristics"},
    {"Renamed", jit(kPlain, "another") + "matmul = another\n", "another name of the function 'another'"},
    {"ReservedName", jit(kPlain + ", kernel: 'tl.constexpr' = 1"), "must have another name: 'kernel'"}};

class RefusedKernels : public UserKernelTest, public testing::WithParamInterface<RefusedKernel> {};
TEST_P(RefusedKernels, NameTheReason) {
  const std::string why = refusal(GetParam().text);
  EXPECT_THAT(why, HasSubstr(GetParam().why));
  EXPECT_EQ(why.find('\n'), why.npos);
}
INSTANTIATE_TEST_SUITE_P(Each, RefusedKernels, testing::ValuesIn(kRefusedKernels),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_F(UserKernelTest, APythonWithoutTritonIsUnavailable) {
  fs::remove_all(fake_.packages());
  const std::string file = folder_.put("mine.py", kHead + jit(kPlain)).string();
  EXPECT_THROW(
      try { describe_user_kernel(file + ":matmul"); } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unavailable);
        EXPECT_THAT(error.what(), HasSubstr("no package triton"));
        throw;
      },
      Error);
}

}  // namespace
}  // namespace attune
