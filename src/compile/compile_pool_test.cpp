// SPDX-License-Identifier: MIT
#include "compile/compile_pool.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "process/temporary_folder.h"
#include "testing/becomes_true.h"
#include "testing/environment.h"
#include "testing/no_reaping.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

#if defined(__x86_64__)
constexpr const char* kAnyArch = "x86-64";
#else
constexpr const char* kAnyArch = "aarch64";
#endif

CompileTask task(const std::string& source, std::vector<std::string> entries = {}) {
  return {.compiler = "hostcc", .source = source, .arch = kAnyArch, .options = {}, .entries = std::move(entries)};
}

/// Whether the process is gone, or a zombie that its parent has yet to reap.
bool is_gone(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  return !std::getline(file, line) || line.find(") Z ") != std::string::npos || line.find(") X ") != std::string::npos;
}
/// Cache, temporary folders and compiler of each test. Most tests run a shell script as the compiler: the task's source
/// is the script, so that each task defines its own compilation. A real compiler takes as long as a whole test may.
class CompilePoolTest : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path compiler = folder_.path() / "cc";
    std::ofstream(compiler) << "#!/bin/sh\n"
                               "[ \"$1\" = --version ] && echo fake 1.0 && exit 0\n"
                               "echo x >>"
                            << (folder_.path() / "runs").string() << "\ngood() { " << shared_object(0)
                            << "; }\n. ./kernel.c\n";
    fs::permissions(compiler, fs::perms::owner_all);
    fs::create_directory(temporary_);
  }
  /// Script that writes the header of a shared object; `filler` is the value of its unspecified bytes.
  static std::string shared_object(int filler) {
    std::string script = "printf '\\177ELF\\2\\1\\1";
    for (int at = 7; at < 64; ++at) script += fmt::format("\\{:03o}", at == 16 ? 3 : at == 17 ? 0 : filler);
    return script + "' >kernel.so";
  }
  size_t num_runs() const {
    return fs::exists(folder_.path() / "runs") ? fs::file_size(folder_.path() / "runs") / 2 : 0;
  }
  std::vector<fs::path> temporary_folders() const {
    return {fs::directory_iterator(temporary_), fs::directory_iterator()};
  }
  /// Adds a binary of another machine.
  void add_other(const std::string& source, const std::string& toolchain) {
    const fs::path file = folder_.path() / "other";
    std::ofstream(file) << "x";
    cache_.add({.arch = kAnyArch,
                .recipe = task(source).recipe(),
                .toolchain = toolchain,
                .sha256 = "",
                .file = file,
                .metadata = {}});
  }
  std::string marked(const std::string& name) const { return (folder_.path() / name).string(); }
  /// Number of a process, which wrote it to the marker.
  pid_t pid_in(const std::string& name) const {
    std::optional<int64_t> pid;
    becomes_true([&] {
      if (fs::exists(marked(name))) pid = parse_int(trim(read_file(marked(name))));
      return pid.has_value();
    });
    return static_cast<pid_t>(pid.value_or(0));
  }

  TemporaryFolder folder_{"pool-test"};
  fs::path temporary_ = folder_.path() / "tmp";
  TestEnvironment cc_{"ATTUNE_CC", (folder_.path() / "cc").string()};
  TestEnvironment tmp_{"TMPDIR", temporary_.string()};
  KernelCache cache_{{folder_.path() / "cache"}, 1 << 30};
};

const std::string kGood = "good";  ///< A function of the fake compiler.

TEST_F(CompilePoolTest, CompilesKernelsThatCanBeCalled) {
  const TestEnvironment real("ATTUNE_CC", "");
  CompilePool pool(cache_);
  const auto compiled = pool.compile({task("int f(void) { return 42; }", {"f"})});
  ASSERT_THAT(compiled, SizeIs(1));
  ASSERT_TRUE(compiled[0].outcome.ok()) << compiled[0].outcome.detail;
  EXPECT_FALSE(compiled[0].from_cache);
  EXPECT_GT(compiled[0].seconds, 0);
  ASSERT_TRUE(compiled[0].binary);
  void* library = ::dlopen(compiled[0].binary->file.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  EXPECT_EQ(reinterpret_cast<int (*)()>(::dlsym(library, "f"))(), 42);
  ::dlclose(library);
}

TEST_F(CompilePoolTest, ARefusedSourceAndAMissingEntryAreToldApart) {
  const TestEnvironment real("ATTUNE_CC", "");
  CompilePool pool(cache_);
  const auto compiled =
      pool.compile({task("int f(void) { return }"), task("static int f(void) { return 1; }\nint g;", {"f", "g", "h"})});
  EXPECT_EQ(compiled[0].outcome.status, Status::compile_failed);
  EXPECT_THAT(compiled[0].outcome.detail, HasSubstr("error:"));
  EXPECT_EQ(compiled[1].outcome.status, Status::compile_failed);
  EXPECT_THAT(compiled[1].outcome.detail, HasSubstr("lacks entries"));
  EXPECT_THAT(compiled[1].outcome.detail, HasSubstr(": f, h"));
  EXPECT_EQ(compiled[1].binary, std::nullopt);
  EXPECT_THAT(cache_.list(), IsEmpty());
}

TEST_F(CompilePoolTest, AnswersInTheOrderOfTheTasks) {
  CompilePool pool(cache_, {.jobs = 2});
  std::vector<CompileTask> tasks;
  for (const char* seconds : {"0.02", "0", "0.01"}) tasks.push_back(task(fmt::format("sleep {}; {}", seconds, kGood)));
  const auto compiled = pool.compile(tasks);
  ASSERT_THAT(compiled, SizeIs(3));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(compiled[i].recipe, tasks[i].recipe());
    EXPECT_TRUE(compiled[i].outcome.ok()) << compiled[i].outcome.detail;
  }
}

TEST_F(CompilePoolTest, ARecipeIsCompiledOnceAndAnsweredForEachCall) {
  CompilePool pool(cache_);
  for (int i = 0; i < 3; ++i) pool.submit(task(kGood));
  EXPECT_EQ(pool.unanswered(), 3u);
  EXPECT_THAT(pool.wait(5s), SizeIs(3));
  EXPECT_EQ(pool.unanswered(), 0u);
  EXPECT_TRUE(pool.compile({task(kGood)})[0].from_cache);
  EXPECT_EQ(num_runs(), 1u);
}

TEST_F(CompilePoolTest, AnotherPoolFindsItInTheCache) {
  CompilePool(cache_).compile({task(kGood)});
  CompilePool pool(cache_);
  const auto compiled = pool.compile({task(kGood)});
  EXPECT_TRUE(compiled[0].from_cache);
  ASSERT_TRUE(compiled[0].binary);
  EXPECT_EQ(compiled[0].binary->toolchain, "cc-1.0");
  EXPECT_EQ(compiled[0].binary->metadata.at("compiler"), "hostcc");
  EXPECT_EQ(num_runs(), 1u);
}

TEST_F(CompilePoolTest, AFailureIsRememberedByThePoolAlone) {
  CompilePool pool(cache_);
  const auto first = pool.compile({task("exit 1")}), second = pool.compile({task("exit 1")});
  EXPECT_EQ(first[0].outcome.status, Status::compile_failed);
  EXPECT_EQ(second[0].outcome, first[0].outcome);
  EXPECT_EQ(num_runs(), 1u);
  CompilePool(cache_).compile({task("exit 1")});
  EXPECT_EQ(num_runs(), 2u);
}

TEST_F(CompilePoolTest, ABinaryOfAnotherToolchainIsCompiledAnew) {
  const fs::path file = folder_.path() / "other";
  std::ofstream(file) << "x";
  cache_.add({.arch = kAnyArch,
              .recipe = task(kGood).recipe(),
              .toolchain = "cc-0.9",
              .sha256 = "",
              .file = file,
              .metadata = {}});
  CompilePool pool(cache_);
  EXPECT_EQ(pool.compile({task(kGood)})[0].binary->toolchain, "cc-1.0");
  EXPECT_EQ(num_runs(), 1u);
}

TEST_F(CompilePoolTest, WithoutACompilerOnlyTheCacheAnswers) {
  const TestEnvironment none("ATTUNE_CC", "/no/such/cc");
  add_other("a", "cc-0.9");
  CompilePool pool(cache_);
  const auto compiled = pool.compile({task("a"), task("b")});
  EXPECT_TRUE(compiled[0].outcome.ok());
  EXPECT_EQ(compiled[0].binary->toolchain, "cc-0.9");
  EXPECT_EQ(compiled[1].outcome.status, Status::unsupported);
  EXPECT_THAT(compiled[1].outcome.detail, HasSubstr("set it to a C compiler"));
}

TEST_F(CompilePoolTest, WithoutACompilerAPinnedToolchainsBinaryIsTheOnlyAnswer) {
  const TestEnvironment none("ATTUNE_CC", "/no/such/cc");
  add_other("a", "cc-0.9");
  CompilePool pool(cache_, {.stored_toolchains = {{"hostcc", "cc-1.0"}}});
  const auto before = pool.compile({task("a")})[0];
  EXPECT_EQ(before.outcome.status, Status::unsupported);
  EXPECT_TRUE(before.is_unbuilt);
  EXPECT_THAT(before.outcome.detail, HasSubstr("its kernel is not built: "));
  EXPECT_TRUE(CompilePool(cache_, {.stored_toolchains = {{"hostcc", ""}}}).compile({task("a")})[0].outcome.ok())
      << "any toolchain is pinned";
  EXPECT_TRUE(pool.ready(task("a").recipe())) << "waiting would not help";
  add_other("a", "cc-1.0");
  const auto after = pool.compile({task("a")})[0];
  ASSERT_TRUE(after.binary) << after.outcome.detail;
  EXPECT_EQ(after.binary->toolchain, "cc-1.0");
}

TEST_F(CompilePoolTest, AnUnknownCompilerOrArchitectureIsUnsupported) {
  CompilePool pool(cache_);
  CompileTask unknown = task("x"), foreign = task("x");
  unknown.compiler = "nothing";
  foreign.arch = "sm_90";
  const auto compiled = pool.compile({unknown, foreign});
  EXPECT_EQ(compiled[0].outcome.status, Status::unsupported);
  EXPECT_THAT(compiled[0].outcome.detail, HasSubstr("'nothing'"));
  EXPECT_EQ(compiled[1].outcome.status, Status::unsupported);
  EXPECT_THAT(compiled[1].outcome.detail, HasSubstr("'sm_90'"));
}

TEST_F(CompilePoolTest, ACompilerThatHangsIsTimedOutWithAllItStarted) {
  CompilePool pool(cache_, {.deadline = 20ms});
  const auto compiled = pool.compile({task("sleep 1000 & echo $! >" + marked("pid") + "; wait")});
  EXPECT_EQ(compiled[0].outcome.status, Status::timed_out);
  EXPECT_THAT(compiled[0].outcome.detail, HasSubstr("cc-1.0 ran past its deadline of 0.02 s"));
  EXPECT_TRUE(becomes_true([&] { return is_gone(pid_in("pid")); }));
}

TEST_F(CompilePoolTest, CrashesMemoryAndSilenceHaveTheirOwnStatus) {
  CompilePool pool(cache_);
  const auto compiled = pool.compile(
      {task("kill -SEGV $$"), task("echo 'cc1: out of memory allocating 65536 bytes'; exit 1"),
       task("echo 'gcc: internal compiler error: Segmentation fault signal terminated program cc1'; exit 4"),
       task("exit 0"), task("echo binary >real; ln -s real kernel.so")});
  EXPECT_EQ(compiled[0].outcome.status, Status::crashed);
  EXPECT_THAT(compiled[0].outcome.detail, HasSubstr("SIGSEGV"));
  EXPECT_EQ(compiled[1].outcome.status, Status::out_of_memory);
  EXPECT_EQ(compiled[2].outcome.status, Status::crashed);
  EXPECT_EQ(compiled[3].outcome.status, Status::compile_failed);
  EXPECT_THAT(compiled[3].outcome.detail, HasSubstr("produced no binary"));
  EXPECT_EQ(compiled[4].outcome.status, Status::compile_failed);
}

TEST_F(CompilePoolTest, ADamagedBinaryIsNoBinary) {
  CompilePool pool(cache_);
  const auto compiled = pool.compile({task(shared_object('0'), {"f"})});
  EXPECT_EQ(compiled[0].outcome.status, Status::compile_failed);
  EXPECT_THAT(compiled[0].outcome.detail, HasSubstr("damaged"));
}

TEST_F(CompilePoolTest, WhatIsNoSharedObjectIsNoBinary) {
  CompilePool pool(cache_);
  const auto compiled = pool.compile({task("echo garbage >kernel.so"), task(": >kernel.so")});
  for (const CompileResult& answer : compiled) {
    EXPECT_EQ(answer.outcome.status, Status::compile_failed);
    EXPECT_THAT(answer.outcome.detail, HasSubstr("not a 64-bit shared object"));
  }
  EXPECT_THAT(cache_.list(), IsEmpty());
}

TEST_F(CompilePoolTest, ACompilerThatRemovesItsLogOrFolderFailed) {
  CompilePool pool(cache_, {.keep = folder_.path() / "kept"});
  const auto compiled = pool.compile({task("rm -f ./*"), task("rm -rf \"$PWD\"; exit 1")});
  EXPECT_EQ(compiled[0].outcome.status, Status::compile_failed);
  EXPECT_EQ(compiled[1].outcome.status, Status::compile_failed);
}

TEST_F(CompilePoolTest, ATaskIsStartedWhenItIsSubmitted) {
  CompilePool pool(cache_, {.jobs = 1});
  pool.submit(task("echo $$ >" + marked("pid") + "; " + kGood));
  EXPECT_GT(pid_in("pid"), 0);
  EXPECT_EQ(pool.unanswered(), 1u);
  EXPECT_THAT(pool.wait(5s), SizeIs(1));
}

TEST_F(CompilePoolTest, WhatIsPrefetchedIsCompiledBehindAllThatWasSubmittedAndNotAnswered) {
  CompilePool pool(cache_, {.jobs = 1});
  const auto named = [&](const std::string& name) {
    return task("echo " + name + " >>" + marked("order") + "; " + kGood);
  };
  pool.submit(named("a"));
  pool.prefetch(named("x"));
  pool.prefetch(named("y"));
  pool.submit(named("b"));
  pool.submit(named("y"));
  EXPECT_EQ(pool.unanswered(), 3u);
  std::vector<std::string> answered;
  while (pool.unanswered() > 0) {
    for (const CompileResult& one : pool.wait(5s)) answered.push_back(one.recipe);
  }
  EXPECT_THAT(answered, testing::ElementsAre(named("a").recipe(), named("b").recipe(), named("y").recipe()));
  EXPECT_FALSE(pool.ready(named("x").recipe()));
  EXPECT_TRUE(becomes_true([&] {
    EXPECT_THAT(pool.wait(0ms), IsEmpty());
    return pool.ready(named("x").recipe());
  }));
  EXPECT_EQ(read_file(marked("order")), "a\nb\ny\nx\n");
  EXPECT_TRUE(pool.compile({named("x")})[0].from_cache);
}

TEST_F(CompilePoolTest, WhatIsPrefetchedIsNotCompiledTwice) {
  CompilePool pool(cache_);
  const CompileTask waits = task("while [ ! -e " + marked("go") + " ]; do sleep 0.001; done; " + kGood);
  pool.prefetch(waits);
  pool.prefetch(waits);
  pool.submit(waits);
  std::ofstream(marked("go")) << "";
  EXPECT_THAT(pool.wait(5s), SizeIs(1));
  pool.prefetch(waits);
  pool.prefetch(task("exit 1"));
  EXPECT_TRUE(becomes_true([&] {
    pool.wait(0ms);
    return pool.ready(task("exit 1").recipe());
  }));
  EXPECT_EQ(pool.compile({task("exit 1")})[0].outcome.status, Status::compile_failed);
  EXPECT_EQ(num_runs(), 2u);
}

TEST_F(CompilePoolTest, NoMoreThanItsJobsRunAtOnce) {
  CompilePool pool(cache_, {.jobs = 2});
  // Each process leaves a mark while it runs and counts the marks.
  const std::string mark = "mkdir " + marked("mark") + ".$$; ls -d " + marked("mark") + ".* | wc -l >>" +
                           marked("counts") + "; sleep 0.005; rmdir " + marked("mark") + ".$$; " + kGood;
  std::vector<CompileTask> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(task(mark + fmt::format(" # {}", i)));
  pool.compile(tasks);
  const std::string counts = read_file(marked("counts"));
  EXPECT_EQ(num_runs(), 5u);
  EXPECT_THAT(counts, HasSubstr("2"));
  EXPECT_EQ(counts.find_first_of("345"), std::string::npos) << counts;
}

TEST_F(CompilePoolTest, WaitReturnsWithoutAnswersWhenTimeIsUpOrNothingIsAsked) {
  CompilePool pool(cache_);
  EXPECT_THAT(pool.wait(10s), IsEmpty());
  pool.submit(task("sleep 1000"));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(pool.wait(5ms), IsEmpty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
  EXPECT_EQ(pool.unanswered(), 1u);
}

TEST_F(CompilePoolTest, CompileLeavesTheAnswersOfOthersToWait) {
  CompilePool pool(cache_, {.jobs = 1});
  pool.submit(task(kGood + " # first"));
  pool.submit(task(kGood));
  EXPECT_THAT(pool.compile({task(kGood)}), SizeIs(1));
  const auto left = pool.wait(5s);
  EXPECT_EQ(left.size() + pool.wait(5s).size(), 2u);
  EXPECT_EQ(left.front().recipe, task(kGood + " # first").recipe());
}

TEST_F(CompilePoolTest, WhilePausedNothingRunsAndTheClocksOfItsDeadlinesStand) {
  CompilePool pool(cache_, {.jobs = 1});
  const auto start = std::chrono::steady_clock::now();
  pool.submit(
      task("echo $$ >" + marked("pid") + "; while [ ! -e " + marked("go") + " ]; do sleep 0.001; done; " + kGood));
  pool.submit(task(kGood));
  EXPECT_THAT(pool.wait(1ms), IsEmpty());
  const pid_t pid = pid_in("pid");
  ASSERT_GT(pid, 0);
  pool.pause();
  std::ofstream(marked("go")) << "";
  std::this_thread::sleep_for(25ms);
  EXPECT_THAT(pool.wait(10s), IsEmpty()) << "and it does not block";
  EXPECT_FALSE(is_gone(pid));
  EXPECT_EQ(num_runs(), 1u) << "a paused pool starts nothing";
  pollfd entry{pool.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 0), 0) << "there is nothing to do";
  pool.resume();
  std::vector<CompileResult> answers;
  while (answers.size() < 2) {
    for (CompileResult& compiled : pool.wait(5s)) answers.push_back(std::move(compiled));
  }
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  for (const CompileResult& compiled : answers) {
    EXPECT_TRUE(compiled.outcome.ok()) << compiled.outcome.detail;
    EXPECT_LE(compiled.seconds, all.count() - 0.025) << "the pause was counted";
  }
}

TEST_F(CompilePoolTest, APausedPoolAnswersFromTheCache) {
  CompilePool pool(cache_);
  pool.compile({task(kGood)});
  pool.pause();
  pool.submit(task(kGood));
  EXPECT_THAT(pool.wait(0ms), SizeIs(1));
}

TEST_F(CompilePoolTest, LeavesNoProcessAndNoFolderBehind) {
  pid_t pid = 0, grandchild = 0;
  {
    CompilePool pool(cache_);
    pool.submit(task("echo $$ >" + marked("pid") + "; sleep 1000 & echo $! >" + marked("child") + "; wait"));
    EXPECT_THAT(pool.wait(1ms), IsEmpty());
    pid = pid_in("pid");
    grandchild = pid_in("child");
    EXPECT_THAT(temporary_folders(), SizeIs(1));
    pool.pause();  // Stopped processes are killed as well.
  }
  EXPECT_TRUE(is_gone(pid));
  EXPECT_TRUE(becomes_true([&] { return is_gone(grandchild); }));
  EXPECT_THAT(temporary_folders(), IsEmpty());
}

TEST_F(CompilePoolTest, FilesOfACompilationGoWithItAndAreKeptOnRequest) {
  CompilePool pool(cache_, {.keep = folder_.path() / "kept"});
  pool.compile({task("echo hello; " + kGood), task("echo wrong; exit 1")});
  for (const auto& entry : fs::recursive_directory_iterator(temporary_)) EXPECT_NE(entry.path().filename(), "kernel.c");
  const fs::path good = folder_.path() / "kept" / task("echo hello; " + kGood).recipe();
  EXPECT_EQ(read_file(good / "log"), "hello\n");
  EXPECT_EQ(read_file(good / "kernel.so").size(), 64u);
  EXPECT_EQ(read_file(folder_.path() / "kept" / task("echo wrong; exit 1").recipe() / "kernel.c"),
            "echo wrong; exit 1");
}

TEST_F(CompilePoolTest, AKernelOfAnEarlierRunIsKeptToo) {
  CompilePool(cache_).compile({task(kGood)});
  CompilePool pool(cache_, {.keep = folder_.path() / "kept"});
  const CompileResult found = pool.compile({task(kGood)})[0];
  ASSERT_TRUE(found.from_cache);
  const fs::path kept = folder_.path() / "kept" / found.recipe;
  EXPECT_EQ(read_file(kept / "source"), kGood);
  EXPECT_EQ(read_file(kept / "binary"), read_file(found.binary->file));
}

TEST_F(CompilePoolTest, ACacheThatCannotBeWrittenIsAnErrorAndThePoolGoesOn) {
  std::ofstream(folder_.path() / "cache") << "a file";
  CompilePool pool(cache_);
  pool.submit(task(kGood));
  EXPECT_THROW(while (pool.unanswered() > 0) pool.wait(5s), Error);
  EXPECT_EQ(pool.unanswered(), 0u);
  fs::remove(folder_.path() / "cache");
  EXPECT_TRUE(pool.compile({task(kGood)})[0].outcome.ok());
}

TEST_F(CompilePoolTest, ALargeLogIsReadOnlyInPart) {
  CompilePool pool(cache_);
  const auto compiled =
      pool.compile({task("echo 'kernel.c:1: error: first'; head -c 3000000 /dev/zero | tr '\\0' x; exit 1")});
  EXPECT_EQ(compiled[0].outcome.status, Status::compile_failed);
  EXPECT_THAT(compiled[0].outcome.detail, HasSubstr("first"));
  EXPECT_LT(compiled[0].outcome.detail.size(), 600u);
}

TEST_F(CompilePoolTest, WhereNobodyIsReapedWhatACompilerLeavesAndSaysTells) {
  const NoReaping ignored;
  CompilePool pool(cache_);
  const auto compiled = pool.compile({task("good"), task("good; echo 'kernel.c:1: error: x'; exit 1"), task("exit 0"),
                                      task("echo garbage >kernel.so")});
  EXPECT_TRUE(compiled[0].outcome.ok()) << compiled[0].outcome.detail;
  EXPECT_THAT(compiled[1].outcome.detail, HasSubstr("kernel.c:1: error: x"));
  for (size_t i = 1; i < compiled.size(); ++i) EXPECT_EQ(compiled[i].outcome.status, Status::compile_failed) << i;
}

TEST_F(CompilePoolTest, WhereNobodyIsReapedADeadlineIsOneAllTheSame) {
  const NoReaping ignored;
  CompilePool pool(cache_, {.deadline = 20ms});
  EXPECT_EQ(pool.compile({task("exec sleep 1000")})[0].outcome.status, Status::timed_out);
}

}  // namespace
}  // namespace attune
