// SPDX-License-Identifier: MIT
// Sources that a compiler rejected are remembered in the kernel cache; other failures are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "compile/compile_pool.h"
#include "compile/kernel_cache.h"
#include "process/temporary_folder.h"
#include "testing/script_compiler.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

constexpr uint64_t kAmple = 1 << 30;
constexpr const char* kRejected = "echo \"kernel.c:3:5: error: expected ';'\"; exit 1";

class RejectedKernels : public testing::Test {
 protected:
  Binary described(const std::string& recipe, const std::string& toolchain = "gcc-1") const {
    return {.arch = "sm_90", .recipe = recipe, .toolchain = toolchain, .sha256 = "", .file = {}, .metadata = {}};
  }
  Binary compiled(const std::string& recipe) const {
    Binary binary = described(recipe);
    binary.file = folder_.path() / "out";
    std::ofstream(binary.file) << "a kernel";
    return binary;
  }
  fs::path entry(const std::string& recipe) const { return root_ / "sm_90" / recipe / "gcc-1"; }
  std::optional<std::string> rejection(const std::string& recipe) const {
    return KernelCache({root_}, kAmple).rejection("sm_90", recipe, "gcc-1");
  }

  TemporaryFolder folder_{"rejected-kernels"};
  fs::path root_ = folder_.path() / "cache";
  KernelCache cache_{{root_}, kAmple};
};

TEST_F(RejectedKernels, AreThoseOfTheirRecipeAndToolchain) {
  cache_.reject(described("r1"), "kernel.c:3:5: error: \"x\"");
  EXPECT_THAT(rejection("r1"), Optional(std::string("kernel.c:3:5: error: \"x\"")));
  EXPECT_EQ(cache_.rejection("sm_90", "r1", "gcc-2"), std::nullopt);
  EXPECT_EQ(rejection("r2"), std::nullopt);
}

TEST_F(RejectedKernels, AreNoKernels) {
  cache_.reject(described("r1"), "no");
  EXPECT_EQ(cache_.find("sm_90", "r1", "gcc-1"), std::nullopt);
  EXPECT_EQ(cache_.find("sm_90", "r1", "gcc-2"), std::nullopt);
  EXPECT_THAT(cache_.list(), IsEmpty());
  EXPECT_TRUE(rejection("r1")) << "a search for a kernel must not remove it";
}

TEST_F(RejectedKernels, GiveWayToAKernelAndReplaceNone) {
  cache_.reject(described("r1"), "no");
  const Binary added = cache_.add(compiled("r1"));
  EXPECT_EQ(cache_.find("sm_90", "r1", "gcc-1"), added);
  cache_.reject(described("r1"), "no");
  EXPECT_EQ(cache_.find("sm_90", "r1", "gcc-1"), added);
  EXPECT_EQ(rejection("r1"), std::nullopt);
}

TEST_F(RejectedKernels, AreIgnoredByARebuildAndRemovedByClear) {
  cache_.reject(described("r1"), "no");
  KernelCache rebuilds({root_}, kAmple, KernelCache::Lease::none, CacheReuse::of_this_process);
  EXPECT_EQ(rebuilds.rejection("sm_90", "r1", "gcc-1"), std::nullopt);
  cache_.add(compiled("r2"));
  EXPECT_EQ(cache_.clear(), 1u) << "kernels are counted";
  EXPECT_EQ(rejection("r1"), std::nullopt);
  EXPECT_FALSE(fs::exists(root_ / "sm_90"));
}

TEST_F(RejectedKernels, AreReadFromAnInstallationToo) {
  cache_.reject(described("r1"), "no");
  const KernelCache other({folder_.path() / "own", root_}, kAmple);
  EXPECT_TRUE(other.rejection("sm_90", "r1", "gcc-1"));
}

TEST_F(RejectedKernels, OfOthersOrDamagedAreNotUsed) {
  for (const char* recipe : {"writable", "link", "damaged", "moved"}) cache_.reject(described(recipe), "no");
  ::chmod((entry("writable") / "entry.json").c_str(), 0666);
  fs::rename(entry("link"), folder_.path() / "away");
  fs::create_directory_symlink(folder_.path() / "away", entry("link"));
  std::ofstream(entry("damaged") / "entry.json") << "{\"format\": 2";
  fs::create_directories(root_ / "sm_90" / "elsewhere");
  fs::rename(entry("moved"), entry("elsewhere"));
  for (const char* recipe : {"writable", "link", "damaged", "elsewhere"})
    EXPECT_EQ(rejection(recipe), std::nullopt) << recipe;
  EXPECT_TRUE(cache_.add(compiled("damaged")).sha256.size() == 64) << "a kernel takes its place";
  if (::geteuid() != 0) return;
  cache_.reject(described("given"), "no");
  ASSERT_EQ(::chown((entry("given") / "entry.json").c_str(), 12345, 12345), 0);
  EXPECT_EQ(rejection("given"), std::nullopt);
}

TEST_F(RejectedKernels, AreEvictedLikeKernels) {
  KernelCache small({root_}, 256 << 10);
  for (int i = 0; i < 100; ++i) small.reject(described("r" + std::to_string(i)), "no");
  size_t stored = 0;
  for (int i = 0; i < 100; ++i) stored += rejection("r" + std::to_string(i)).has_value();
  EXPECT_LT(stored, 90u);
  EXPECT_TRUE(rejection("r99"));
}

TEST_F(RejectedKernels, AreStoredByManyProcessesAtOnce) {
  constexpr int kProcesses = 6;
  for (int process = 0; process < kProcesses; ++process) {
    if (::fork() != 0) continue;
    KernelCache cache({root_}, kAmple);
    for (int i = 0; i < 40; ++i) {
      cache.reject(described("r" + std::to_string(i % 5)), "no");
      if (process == 0 && i % 10 == 9) cache.clear();
    }
    ::_exit(cache.rejection("sm_90", "r0", "gcc-1").value_or("no") == "no" ? 0 : 1);
  }
  for (int process = 0; process < kProcesses; ++process) {
    int status = -1;
    ::wait(&status);
    EXPECT_EQ(status, 0);
  }
  for (const auto& left : fs::directory_iterator(root_)) EXPECT_EQ(left.path().filename(), "sm_90");
}

TEST_F(RejectedKernels, ThatCannotBeStoredCostNothing) {
  std::ofstream(folder_.path() / "file") << "x";
  KernelCache({folder_.path() / "file"}, kAmple).reject(described("r1"), "no");
  cache_.reject(described("../outside"), "no");
  EXPECT_FALSE(fs::exists(folder_.path() / "cache"));
}

/// Whether and how often a source is compiled in pools of their own, as in runs one after the other.
class RejectedSources : public RejectedKernels {
 protected:
  CompileTask task(const std::string& script) const {
    const std::string runs = (folder_.path() / "runs").string();
    return {.compiler = "script",
            .source = "echo x >>" + runs + "\n" + script,
            .arch = "fake",
            .options = {},
            .entries = {}};
  }
  CompileResult compile(const std::string& script, Milliseconds deadline = Milliseconds(10'000)) {
    return CompilePool(cache_, {.jobs = 1, .deadline = deadline, .compilers = {&compiler_}}).compile({task(script)})[0];
  }
  size_t num_runs() const { return fs::file_size(folder_.path() / "runs") / 2; }

  const ScriptCompiler compiler_;
};

TEST_F(RejectedSources, AreCompiledOnceByAllRuns) {
  const CompileResult first = compile(kRejected), second = compile(kRejected);
  EXPECT_EQ(first.outcome.status, Status::compile_failed);
  EXPECT_THAT(first.outcome.detail, HasSubstr("rejected the source: kernel.c:3:5: error: expected ';'"));
  EXPECT_EQ(second.outcome, first.outcome);
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(num_runs(), 1u);
}

TEST_F(RejectedSources, AreKnownWithoutACompiler) {
  compile(kRejected);
  CompilePool pool(cache_, {.compilers = {&compiler_}});
  const auto known = pool.known(task(kRejected));
  ASSERT_TRUE(known);
  EXPECT_EQ(known->outcome.status, Status::compile_failed);
  pool.prefetch(task(kRejected));
  EXPECT_TRUE(pool.ready(task(kRejected).recipe()));
  EXPECT_EQ(num_runs(), 1u);
}

TEST_F(RejectedSources, AreNotThoseThatFailForWantOfTheMachine) {
  const std::string error = "echo 'kernel.c:3:5: error: no'; ";
  for (const std::string& script :
       {std::string("exit 1"), std::string("echo error: no; exit 1"), std::string("kill -9 $$"), error + "kill -11 $$",
        error + "echo 'No space left on device'; exit 1",
        error + "echo 'cc1: out of memory allocating 65536 bytes'; exit 1",
        error + "echo 'virtual memory exhausted: Cannot allocate memory'; exit 1",
        error + "echo 'fork: Resource temporarily unavailable'; exit 1",
        error + "echo 'gcc: internal compiler error: Killed'; exit 4", std::string("true")}) {
    const size_t before = fs::exists(folder_.path() / "runs") ? num_runs() : 0;
    EXPECT_FALSE(compile(script).outcome.ok()) << script;
    const CompileResult again = compile(script);
    EXPECT_FALSE(again.from_cache) << script;
    EXPECT_EQ(num_runs(), before + 2) << script;
  }
}

TEST_F(RejectedSources, AreNotThoseThatTakeTooLong) {
  const std::string script = "echo 'kernel.c:3:5: error: no'; sleep 5";
  for (int run = 0; run < 2; ++run) EXPECT_EQ(compile(script, Milliseconds(20)).outcome.status, Status::timed_out);
}

}  // namespace
}  // namespace attune
