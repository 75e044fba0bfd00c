// SPDX-License-Identifier: MIT
#include "compile/triton/triton_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "compile/compile_pool.h"
#include "compile/compile_worker.h"
#include "compile/elf_file.h"
#include "compile/triton/triton_package.h"
#include "process/temporary_folder.h"
#include "testing/becomes_true.h"
#include "testing/compile/fake_triton.h"
#include "testing/environment.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// The test program as a helper.
TEST(TritonWorker, DISABLED_IsThisProcess) { ::_exit(run_compile_worker(TritonCompiler())); }

std::map<std::string, std::string> variables_of_test() {
  std::map<std::string, std::string> variables;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    variables.emplace(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  }
  return variables;
}

/// A pool whose helpers are this program.
class TritonPool {
 public:
  explicit TritonPool(PoolOptions options = {}) {
    options.jobs = 1;
    options.compilers = {&compiler_};
    options.helper.arguments = {"/proc/self/exe", "--gtest_also_run_disabled_tests",
                                "--gtest_filter=TritonWorker.DISABLED_IsThisProcess"};
    options.helper.environment = variables_of_test();
    pool_.emplace(cache_, std::move(options));
  }
  CompilePool& operator*() { return *pool_; }
  CompileResult compile(const CompileTask& task) { return pool_->compile({task})[0]; }
  const TritonCompiler& compiler() const { return compiler_; }

 private:
  TritonCompiler compiler_;
  TemporaryFolder folder_{"triton-test"};
  KernelCache cache_{{folder_.path() / "cache"}, 1 << 30};
  std::optional<CompilePool> pool_;
};

constexpr const char* kGemm = R"(
import triton
import triton.language as tl


@triton.jit
def gemm_kernel(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, MASKED: tl.constexpr):
    rm = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    rn = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    rk = tl.arange(0, BLOCK_K)
    pa = a + (rm % M)[:, None] * K + rk[None, :]
    pb = b + rk[:, None].to(tl.int64) * N + (rn % N)[None, :]
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        if MASKED:
            x = tl.load(pa, mask=rk[None, :] < K - k * BLOCK_K, other=0.0)
            y = tl.load(pb, mask=rk[:, None] < K - k * BLOCK_K, other=0.0)
        else:
            x = tl.load(pa)
            y = tl.load(pb)
        sums = tl.dot(x, y, sums)
        pa += BLOCK_K
        pb += BLOCK_K * N
    tl.store(c + rm[:, None] * N + rn[None, :], sums.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))
)";

CompileTask gemm(int block = 64, std::string arch = "sm_90") {
  const std::string size = std::to_string(block);
  return {.compiler = "triton",
          .source = kGemm,
          .arch = std::move(arch),
          .options = {"--argument=a:*bf16:16", "--argument=b:*bf16:16", "--argument=c:*bf16:16", "--argument=M:i32",
                      "--argument=N:i32:16", "--argument=K:i32:16", "--constant=BLOCK_M:" + size,
                      "--constant=BLOCK_N:" + size, "--constant=BLOCK_K:64", "--constant=MASKED:False", "--num-warps=4",
                      "--num-stages=3"},
          .entries = {"gemm_kernel"}};
}

std::string failure_of(const auto& function) {
  try {
    function();
  } catch (const Error& error) {
    return std::string(name(error.code())) + ": " + error.what();
  }
  return "";
}

/// With the package of this machine.
class RealTriton : public testing::Test {
 protected:
  void SetUp() override {
    const std::string failure = failure_of([] { TritonCompiler().toolchain(); });
    if (!failure.empty()) GTEST_SKIP() << failure;
  }
};

TEST_F(RealTriton, CompilesAKernelForAnArchitectureThatIsNotHere) {
  TritonPool pool;
  EXPECT_THAT(pool.compiler().toolchain(), testing::MatchesRegex("triton-3\\.[0-9.]+-[0-9a-f]{8}"));
  for (const char* arch : {"sm_80", "sm_90"}) {
    const CompileResult compiled = pool.compile(gemm(64, arch));
    ASSERT_TRUE(compiled.binary) << compiled.outcome.detail;
    const std::string cubin = read_file(compiled.binary->file);
    EXPECT_EQ(cubin_architecture(cubin), std::stoi(arch + 3));
    const BinaryMetadata& facts = compiled.binary->metadata;
    EXPECT_GT(std::stoi(facts.at("registers")), 32);
    EXPECT_EQ(facts.at("spills"), "0");
    EXPECT_GE(std::stoi(facts.at("shared_bytes")), 2 * 2 * 64 * 64 * 2);
    EXPECT_EQ(facts.at("num_warps"), "4");
    EXPECT_EQ(facts.at("scratch_bytes"), "0");
    EXPECT_GT(std::stoi(facts.at("code_bytes")), 1000);
  }
}

TEST_F(RealTriton, ACompiledKernelHasTheSameBytesEachTime) {
  const auto bytes = [](TritonPool& pool) { return pool.compile(gemm()).binary.value().sha256; };
  TritonPool first, second;
  EXPECT_FALSE(first.compile(gemm(48)).outcome.ok());
  first.compile(gemm(32));
  EXPECT_EQ(bytes(first), bytes(second));
}

TEST_F(RealTriton, SaysWhatIsWrongWithAKernelAndGoesOn) {
  TritonPool pool;
  CompileTask unknown = gemm(), unfinished = gemm(), odd = gemm(48);
  unknown.source.replace(unknown.source.find("tl.dot"), 6, "tl.dott");
  unfinished.source = "x = (";
  const std::pair<CompileTask, const char*> cases[] = {
      {unknown, "no attribute 'dott'"}, {unfinished, "was never closed"}, {odd, "must be a power of 2"}};
  for (const auto& [task, why] : cases) {
    const CompileResult failed = pool.compile(task);
    EXPECT_EQ(failed.outcome.status, Status::compile_failed);
    EXPECT_TRUE(failed.is_rejected) << failed.outcome.detail;
    EXPECT_THAT(failed.outcome.detail, AllOf(HasSubstr(why), HasSubstr("rejected the source"), Not(HasSubstr("/tmp"))));
  }
  EXPECT_TRUE(pool.compile(gemm()).outcome.ok());
}

TEST_F(RealTriton, NoFileOrVariableOfTheUserChangesAKernel) {
  const std::string plain = TritonPool().compile(gemm()).binary.value().sha256;
  const TemporaryFolder folder("hostile");
  const std::string touched = (folder.path() / "touched").string();
  for (const char* name : {"types.py", "sitecustomize.py", "usercustomize.py", "triton.py"})
    std::ofstream(folder.path() / name) << "open('" << touched << "', 'w')\nraise SystemExit(3)\n";
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  {
    const TestEnvironment path("PYTHONPATH", folder.path()), home("HOME", folder.path()),
        cache("TRITON_CACHE_DIR", folder.path() / "cache"), ptxas("TRITON_PTXAS_PATH", "/bin/false"),
        fusion("TRITON_DEFAULT_FP_FUSION", "0"), dump("TRITON_KERNEL_DUMP", "1"), optimised("DISABLE_PTXAS_OPT", "1");
    EXPECT_EQ(TritonPool().compile(gemm()).binary.value().sha256, plain);
  }
  fs::current_path(before);
  EXPECT_FALSE(fs::exists(touched));
  EXPECT_FALSE(fs::exists(folder.path() / "cache"));
  EXPECT_FALSE(fs::exists(folder.path() / ".triton"));
}

/// With a package that compiles nothing. The texts of its kernels misbehave.
class FakeTritonTest : public testing::Test {
 protected:
  void SetUp() override {
    if (fake_.python().empty()) GTEST_SKIP() << "no python3 is here";
    python_.emplace("ATTUNE_PYTHON", fake_.python());
  }
  static CompileTask kernel(const std::string& text = "") {
    return {.compiler = "triton",
            .source = "import json, os, sys, threading, time, triton\n@triton.jit\ndef kernel(a, N): pass\n" + text,
            .arch = "sm_90",
            .options = {"--argument=a:*fp16:16", "--constant=N:4", "--num-warps=4", "--num-stages=3"},
            .entries = {"kernel"}};
  }
  TritonPool& pool() {
    if (!pool_) pool_.emplace();
    return *pool_;
  }
  /// Number of the Python that compiles next.
  pid_t python() {
    const std::string file = (fake_.folder() / "pid").string();
    const CompileResult asked =
        pool().compile(kernel("open('" + file + "', 'w').write(str(os.getpid()))  # " + std::to_string(++num_asked_)));
    EXPECT_TRUE(asked.outcome.ok()) << asked.outcome.detail;
    return static_cast<pid_t>(std::stoi(read_file(file)));
  }

  FakeTriton fake_;
  std::optional<TestEnvironment> python_;
  std::optional<TritonPool> pool_;
  int num_asked_ = 0;
};

TEST_F(FakeTritonTest, CompilesOneKernelAfterAnotherWithOnePython) {
  const pid_t before = python();
  const CompileResult compiled = pool().compile(kernel());
  ASSERT_TRUE(compiled.binary) << compiled.outcome.detail;
  EXPECT_EQ(compiled.binary->metadata.at("registers"), "40");
  EXPECT_EQ(compiled.binary->metadata.at("spills"), "0");
  EXPECT_EQ(compiled.binary->metadata.at("shared_bytes"), "1024");
  EXPECT_EQ(python(), before);
}

TEST_F(FakeTritonTest, WhatAKernelPrintsIsNoAnswer) {
  const pid_t before = python();
  EXPECT_TRUE(pool().compile(kernel("print('{}')\nos.write(1, b'x' * 100000)\nos.write(2, b'y')")).outcome.ok());
  EXPECT_EQ(python(), before);
  const CompileResult failed = pool().compile(kernel("os.write(2, b'said by a library')\nraise ValueError('wrong')"));
  EXPECT_THAT(failed.outcome.detail, AllOf(HasSubstr("ValueError: wrong"), HasSubstr("said by a library")));
  EXPECT_EQ(python(), before);
}

TEST_F(FakeTritonTest, AnErrorOfTheKernelIsARejectionAndOneOfTheMachineIsNot) {
  const std::string error = "class CompilationError(Exception): pass\nclass PTXASError(Exception): pass\n";
  const std::string ptxas = "raise PTXASError('PTXAS error: Internal Triton PTX codegen error\\n";
  const std::pair<std::string, bool> cases[] = {
      {"raise CompilationError('at 3:5')", true},
      {"try: 1 / 0\nexcept Exception as e: raise CompilationError('at 3:5') from e", true},
      {"try: raise MemoryError\nexcept Exception as e: raise CompilationError('at 3:5') from e", false},
      {"try: open('/no/such/file')\nexcept Exception as e: raise CompilationError('at 3:5') from e", false},
      {ptxas + "ptxas error   : Entry function uses too much shared data')", true},
      {ptxas + "ptxas fatal   : Memory allocation failure')", false},
      {"raise PTXASError('PTXAS error: `ptxas` failed with error code -9\\nptxas error')", false},
      {"raise ValueError('wrong')", false},
      {"raise OSError(28, 'No space left on device')", false}};
  for (const auto& [text, is_rejected] : cases) {
    const CompileResult failed = pool().compile(kernel(error + text));
    EXPECT_EQ(failed.is_rejected, is_rejected) << text << failed.outcome.detail;
    EXPECT_FALSE(failed.outcome.ok());
  }
}

TEST_F(FakeTritonTest, RefusesOptionsThatDoNotFitTheKernel) {
  const pid_t before = python();
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--argument=a:*fp16"}, "no option gives these parameters of the kernel: N"},
      {{"--argument=a:*fp16", "--constant=N:4", "--constant=N:5"}, "no other parameter of this name: '--constant=N:5'"},
      {{"--argument=b:*fp16"}, "no other parameter of this name: '--argument=b:*fp16'"},
      {{"--argument=a:*fp16:3"}, "no such option: '--argument=a:*fp16:3'"},
      {{"--constant=N:four"}, "expects an integer: '--constant=N:four'"},
      {{"-O3"}, "no such option: '-O3'"}};
  for (const auto& [options, why] : cases) {
    CompileTask task = kernel();
    task.options = options;
    EXPECT_THAT(pool().compile(task).outcome.detail, HasSubstr(why));
  }
  CompileTask two = kernel(), other = kernel();
  two.entries = {"kernel", "another"};
  other.entries = {"another"};
  EXPECT_THAT(pool().compile(two).outcome.detail, HasSubstr("has one entry"));
  EXPECT_THAT(pool().compile(other).outcome.detail, HasSubstr("no @triton.jit function of this name: 'another'"));
  CompileTask bytes = kernel("# \xff");
  EXPECT_THAT(pool().compile(bytes).outcome.detail, HasSubstr("not UTF-8"));
  EXPECT_EQ(python(), before);
}

struct PythonFault {
  const char* name;
  const char* text;
  const char* detail;
};
constexpr PythonFault kPythonFaults[] = {
    {"Exits", "os.write(2, b'a last word')\nos._exit(3)", "it exited with status 3; it printed: a last word"},
    {"IsKilled", "os.kill(os.getpid(), 9)", "SIGKILL"},
    {"DiesOfASegmentationFault", "os.kill(os.getpid(), 11)", "SIGSEGV"},
    {"DiesAndLeavesAFork", "os.fork() == 0 and time.sleep(1000)\nos._exit(3)", "it exited with status 3"},
    {"Hangs", "time.sleep(1000)", "ran past its deadline"},
    {"IgnoresSignalsAndHangs", "import signal\nsignal.signal(15, signal.SIG_IGN)\nwhile True: pass", "deadline"},
    {"ClosesItsChannel", "os.close(4)\ntime.sleep(1000)", "closed its channel"},
    {"SendsGarbage", "os.write(4, b'garbage\\n')\ntime.sleep(1000)", "sent an invalid answer"},
    {"SendsAnotherObject", "os.write(4, b'[1]\\n')\ntime.sleep(1000)", "sent an invalid answer"},
    {"SendsTooMuch", "os.write(4, b'x' * 300000)\ntime.sleep(1000)", "too long an answer"},
    {"AnswersAnotherRequest",
     "os.write(4, b'{\"number\": 99, \"ok\": true, \"log\": \"\", \"facts\": {}}\\n')\ntime.sleep(1000)",
     "answered another request"},
    {"AnswersTwice",
     "os.write(4, b'{\"number\": 1, \"ok\": true}\\n{\"number\": 1, \"ok\": true}\\n')\ntime.sleep(1000)",
     "answered twice"},
    {"CompilesForAnotherArchitecture", "kernel.made = triton.cubin('kernel', 80)", "sm_80 instead of sm_90"},
};

class FaultsOfPython : public FakeTritonTest, public testing::WithParamInterface<PythonFault> {};

TEST_P(FaultsOfPython, CostOneTaskAndLeaveNoProcess) {
  PoolOptions options;
  if (std::string_view(GetParam().detail).find("deadline") != std::string_view::npos) options.deadline = 4000ms;
  pool_.emplace(std::move(options));
  const pid_t before = python();
  const CompileResult failed = pool().compile(kernel(GetParam().text));
  EXPECT_EQ(failed.outcome.status, Status::compile_failed) << failed.outcome.detail;
  EXPECT_THAT(failed.outcome.detail, AllOf(HasSubstr(GetParam().detail), HasSubstr("the helper of triton-3.9.0")));
  EXPECT_TRUE(becomes_true([&] { return ::kill(before, 0) == -1; }));
  EXPECT_NE(python(), before);
}
INSTANTIATE_TEST_SUITE_P(Each, FaultsOfPython, testing::ValuesIn(kPythonFaults),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_F(FakeTritonTest, AFileThatIsNoCubinIsRefused) {
  const CompileResult refused = pool().compile(kernel("kernel.made = b'text'"));
  EXPECT_EQ(refused.outcome.status, Status::compile_failed);
  EXPECT_THAT(refused.outcome.detail, HasSubstr("not a cubin"));
  const CompileResult renamed = pool().compile(kernel("kernel.made = triton.cubin('another', 90)"));
  EXPECT_THAT(renamed.outcome.detail, HasSubstr("lacks entries"));
}

TEST_F(FakeTritonTest, APythonThatSaidSomethingUnaskedCostsNothing) {
  const pid_t before = python();
  EXPECT_TRUE(pool().compile(kernel("threading.Timer(0.5, lambda: os.write(4, b'late\\n')).start()")).outcome.ok());
  std::this_thread::sleep_for(800ms);
  EXPECT_NE(python(), before);
}

TEST_F(FakeTritonTest, APythonThatHasGrownIsReplaced) {
  const pid_t before = python();
  EXPECT_TRUE(pool().compile(kernel("os.kept = b'x' * (1100 << 20)")).outcome.ok());
  EXPECT_NE(python(), before);
}

TEST_F(FakeTritonTest, AKernelThatNeedsTooMuchMemoryFails) {
#ifdef ATTUNE_SANITIZED
  GTEST_SKIP() << "a sanitizer maps more than the limit";
#endif
  const pid_t before = python();
  EXPECT_THAT(pool().compile(kernel("bytearray(1 << 40)")).outcome.detail, HasSubstr("MemoryError"));
  EXPECT_EQ(python(), before);
}

TEST_F(FakeTritonTest, WhatAKernelForkedEndsWithThePool) {
  const std::string file = (fake_.folder() / "forked").string();
  EXPECT_TRUE(pool()
                  .compile(kernel("child = os.fork()\nif child == 0: time.sleep(1000)\nopen('" + file +
                                  "', 'w').write(str(child))"))
                  .outcome.ok());
  const pid_t child = std::stoi(read_file(file)), interpreter = python();
  EXPECT_EQ(::kill(child, 0), 0);
  pool_.reset();
  EXPECT_TRUE(becomes_true([&] { return ::kill(child, 0) == -1 && ::kill(interpreter, 0) == -1; }));
}

TEST_F(FakeTritonTest, StopsWithThePool) {
  const std::string file = (fake_.folder() / "ticks").string();
  (*pool()).submit(kernel("for i in range(10000):\n  open('" + file + "', 'a').write('x')\n  time.sleep(0.001)"));
  ASSERT_TRUE(becomes_true([&] { return fs::exists(file); }));
  (*pool()).pause();
  const auto size = [&] { return read_file(file).size(); };
  EXPECT_TRUE(becomes_true([&] {
    const size_t before = size();
    std::this_thread::sleep_for(20ms);
    return size() == before;
  }));
}

TEST_F(FakeTritonTest, LeavesNothingInTheTemporaryFolder) {
  const TemporaryFolder temporary("triton-temporary");
  const TestEnvironment variable("TMPDIR", temporary.path());
  {
    TritonPool pool;
    EXPECT_TRUE(pool.compile(kernel()).outcome.ok());
    EXPECT_FALSE(pool.compile(kernel("os._exit(1)")).outcome.ok());
  }
  for (const auto& left : fs::directory_iterator(temporary.path())) EXPECT_EQ(left.path().filename(), ".lock");
}

TEST_F(FakeTritonTest, ToolchainNamesThePackagesFiles) {
  const std::string name = TritonCompiler().toolchain();
  EXPECT_THAT(name, testing::MatchesRegex("triton-3\\.9\\.0-[0-9a-f]{8}"));
  const FakeTriton same, other("3.6.1");
  {
    const TestEnvironment variable("ATTUNE_PYTHON", same.python());
    EXPECT_EQ(TritonCompiler().toolchain(), name) << "wherever it is installed";
  }
  const TestEnvironment variable("ATTUNE_PYTHON", other.python());
  EXPECT_THAT(TritonCompiler().toolchain(), HasSubstr("triton-3.6.1-"));
}

TEST_F(FakeTritonTest, AnIncompletePackageIsUnavailable) {
  std::ofstream(fake_.packages() / "triton/compiler.py") << "cut";
  EXPECT_THAT(failure_of([] { TritonCompiler().toolchain(); }),
              AllOf(HasSubstr("unavailable: the package triton is incomplete"), HasSubstr("triton/compiler.py")));
  const FakeTriton unlisted;
  fs::remove(unlisted.packages() / "triton-3.9.0.dist-info/RECORD");
  const TestEnvironment variable("ATTUNE_PYTHON", unlisted.python());
  EXPECT_THAT(failure_of([] { TritonCompiler().toolchain(); }), HasSubstr("without a list of its files"));
}

TEST_F(FakeTritonTest, APackageWithOtherFunctionsFailsItsTasks) {
  std::ofstream(fake_.packages() / "triton/compiler.py") << "class ASTSource: pass\n\n\n\n\n\n\n\n\n\n\n\n";
  std::ofstream(fake_.packages() / "triton-3.9.0.dist-info/RECORD") << "triton/__init__.py,sha256=0,\n";
  EXPECT_THAT(pool().compile(kernel()).outcome.detail, HasSubstr("TypeError: ASTSource"));
}

TEST_F(FakeTritonTest, ThePackageIsNotImportedToFindIt) {
  std::ofstream(fake_.packages() / "triton/__init__.py") << "raise SystemExit(3)";
  std::ofstream(fake_.packages() / "triton-3.9.0.dist-info/RECORD") << "triton/__init__.py,sha256=0,\n";
  EXPECT_EQ(failure_of([] { TritonCompiler().toolchain(); }), "");
  EXPECT_EQ(pool().compile(kernel()).outcome.status, Status::compile_failed);
}

TEST_F(FakeTritonTest, APythonWithoutThePackageIsUnavailable) {
  fs::remove_all(fake_.packages());
  EXPECT_THAT(
      failure_of([] { TritonCompiler().toolchain(); }),
      AllOf(HasSubstr("unavailable: "), HasSubstr("tools/setup --with-triton"), HasSubstr("pip install triton")));
  const CompileResult failed = pool().compile(kernel());
  EXPECT_EQ(failed.outcome.status, Status::unsupported);
  EXPECT_THAT(failed.outcome.detail, HasSubstr("no package triton"));
}

TEST_F(FakeTritonTest, WithoutPythonTheCacheAnswers) {
  const CompileResult made = pool().compile(kernel());
  ASSERT_TRUE(made.binary) << made.outcome.detail;
  const TestEnvironment none("ATTUNE_PYTHON", "/no/such/python");
  KernelCache cache({made.binary->file.parent_path().parent_path().parent_path().parent_path()}, 1 << 30);
  const std::pair<Toolchains, bool> cases[] = {{{}, true},
                                               {{{"triton", ""}}, true},
                                               {{{"triton", made.binary->toolchain}}, true},
                                               {{{"triton", "triton-3.6.0-00000000"}}, false}};
  for (const auto& [stored, is_there] : cases) {
    CompilePool without(cache, {.stored_toolchains = stored, .compilers = {&pool().compiler()}});
    const CompileResult found = without.compile({kernel()})[0];
    EXPECT_EQ(found.binary.has_value(), is_there) << found.outcome.detail;
    if (is_there) {
      EXPECT_EQ(found.binary.value().sha256, made.binary->sha256);
    }
    EXPECT_EQ(found.is_unbuilt, !is_there);
    const CompileResult missing = without.compile({kernel("# another")})[0];
    EXPECT_TRUE(missing.is_unbuilt);
    EXPECT_THAT(missing.outcome.detail, HasSubstr("ATTUNE_PYTHON expects a Python program"));
  }
}

TEST(TritonCompiler, IsUnavailableWithoutPython) {
  for (const std::string named : {"/no/such/python", "no-such-python", "relative/python", "/tmp"}) {
    const TestEnvironment variable("ATTUNE_PYTHON", named);
    EXPECT_THAT(failure_of([] { TritonCompiler().toolchain(); }),
                AllOf(HasSubstr("unavailable: ATTUNE_PYTHON expects a Python program"), HasSubstr(named)));
  }
  for (const std::string named : {"/bin/true", "/bin/false", "/bin/echo"}) {
    const TestEnvironment variable("ATTUNE_PYTHON", named);
    EXPECT_THAT(failure_of([] { TritonCompiler().toolchain(); }), HasSubstr("does not tell which Triton it has"));
  }
}

TEST(TritonCompiler, TargetsTheArchitecturesOfNvidiaThatTritonKnows) {
  const TritonCompiler triton;
  for (const char* arch : {"sm_80", "sm_90", "sm_100", "sm_120"}) EXPECT_TRUE(triton.targets(arch)) << arch;
  for (const char* arch : {"sm_70", "sm_90a", "sm_", "sm_9x", "sm_9000", "gfx942", "x86-64-v4", ""})
    EXPECT_FALSE(triton.targets(arch)) << arch;
}

TEST(TritonCompiler, KnowsTheVersionsItWasTestedWith) {
  for (const char* version : {"3.6.0", "3.9.1"}) EXPECT_TRUE(is_tested_triton(version)) << version;
  for (const char* version : {"3.5.0", "3.90.0", "4.0.0", "3.9", ""})
    EXPECT_FALSE(is_tested_triton(version)) << version;
}

}  // namespace
}  // namespace attune
