// SPDX-License-Identifier: MIT
#include "compile/compile_helper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "compile/compile_messages.h"
#include "compile/compile_pool.h"
#include "process/channel/channel.h"
#include "process/temporary_folder.h"
#include "testing/becomes_true.h"
#include "testing/faulty_library.h"
#include "testing/pipe.h"

namespace attune {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

/// Whether a child of this process has ended.
bool child_has_ended() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

/// The test program as a helper.
TEST(CompileWorker, DISABLED_IsThisProcess) { ::_exit(run_compile_worker(FaultyLibrary())); }

CompileTask source(const std::string& text) {
  return {.compiler = "library", .source = text, .arch = "fake", .options = {"-O"}, .entries = {}, .candidate = "c"};
}

/// All variables of this process.
std::map<std::string, std::string> environment_of_test() {
  std::map<std::string, std::string> variables;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    variables.emplace(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  }
  return variables;
}

class CompileHelperTest : public testing::Test {
 protected:
  CompilePool& pool() {
    if (!pool_) pool_.emplace(cache_, options_);
    return *pool_;
  }
  CompileResult compile(const std::string& text) { return pool().compile({source(text)})[0]; }
  std::string content(const CompileResult& compiled) {
    EXPECT_TRUE(compiled.binary) << compiled.outcome.detail;
    return compiled.binary ? read_file(compiled.binary->file) : "";
  }
  /// Number of the process that compiles next; each call is another task.
  pid_t helper() { return static_cast<pid_t>(std::stoi(content(compile("pid " + std::to_string(++num_asked_))))); }

  TemporaryFolder folder_{"helper-test"};
  KernelCache cache_{{folder_.path() / "cache"}, 1 << 30};
  FaultyLibrary library_;
  PoolOptions options_{.jobs = 1,
                       .compilers = {&library_},
                       .helper = {.arguments = {"/proc/self/exe", "--gtest_also_run_disabled_tests",
                                                "--gtest_filter=CompileWorker.DISABLED_IsThisProcess"},
                                  .environment = environment_of_test()}};
  std::optional<CompilePool> pool_;
  int num_asked_ = 0;
};

TEST(CompileMessages, CarryAnyBytesAndNothingElse) {
  CompileTask task = source("\xff\n\"");
  task.entries = {"f", ""};
  EXPECT_EQ(compile_task_from(to_payload(task)), task);
  LibraryOutput output{.is_compiled = true, .binary = std::string("\0\xfe", 2), .log = "l", .toolchain = "t-1"};
  EXPECT_EQ(library_output_from(to_payload(output)), output);
  output.is_rejected = true;
  EXPECT_EQ(library_output_from(to_payload(output)), output);
  for (const std::string& payload : {std::string("garbage"), to_payload(task), std::string()})
    EXPECT_THROW(library_output_from(payload), Error);
}

TEST_F(CompileHelperTest, CompilesOneTaskAfterAnotherWithOneProcess) {
  const CompileResult first = compile("a kernel");
  EXPECT_EQ(content(first), "a kernel");
  EXPECT_EQ(first.binary->toolchain, "library-1");
  EXPECT_EQ(first.binary->metadata.at("said"), "registers 40");
  EXPECT_EQ(first.binary->metadata.at("candidate"), "c");
  EXPECT_EQ(helper(), helper());
}

TEST_F(CompileHelperTest, OneThatAnsweredBeforeAPauseServesTheNextTask) {
  const pid_t before = helper();
  pool().submit(source("a kernel"));
  pollfd answered{pool().descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&answered, 1, 10'000), 1);
  pool().pause();
  EXPECT_THAT(pool().wait(0ms), SizeIs(1));
  pool().resume();
  EXPECT_EQ(helper(), before);
}

TEST_F(CompileHelperTest, TakesATaskThatNoSocketHoldsAtOnce) {
  const std::string large = "large " + std::string(1 << 19, 'x');
  EXPECT_EQ(content(compile(large)), large);
}

TEST_F(CompileHelperTest, ARefusedSourceIsNoFaultOfTheHelper) {
  const pid_t before = helper();
  for (const std::string text : {"refuse", "throw"}) {
    const CompileResult refused = compile(text);
    EXPECT_EQ(refused.outcome.status, Status::compile_failed);
    EXPECT_THAT(refused.outcome.detail, HasSubstr(text == "refuse" ? "a refused source" : "out of order"));
    EXPECT_EQ(refused.is_rejected, text == "refuse");
  }
  EXPECT_EQ(helper(), before);
}

/// A library under a name that its helper does not know.
class RenamedLibrary final : public FaultyLibrary {
 public:
  std::string_view name() const override { return is_renamed ? "another" : FaultyLibrary::name(); }
  bool is_renamed = false;
};

TEST_F(CompileHelperTest, ATaskOfAnotherCompilerIsRefusedAndTheHelperGoesOn) {
  RenamedLibrary library;
  options_.compilers = {&library};
  const pid_t before = helper();
  library.is_renamed = true;
  CompileTask foreign = source("a kernel");
  foreign.compiler = "another";
  const CompileResult refused = pool().compile({foreign})[0];
  EXPECT_EQ(refused.outcome.status, Status::compile_failed);
  EXPECT_THAT(refused.outcome.detail, HasSubstr("runs the compiler library"));
  library.is_renamed = false;
  EXPECT_EQ(helper(), before);
}

/// A library whose version in this process differs from its helper's.
class NewerLibrary final : public FaultyLibrary {
 public:
  std::string toolchain() const override { return "library-2"; }
};

TEST_F(CompileHelperTest, AKernelOfAnotherToolchainIsRefused) {
  NewerLibrary library;
  options_.compilers = {&library};
  const CompileResult refused = compile("a kernel");
  EXPECT_FALSE(refused.binary);
  EXPECT_EQ(refused.outcome.status, Status::unsupported);
  EXPECT_THAT(refused.outcome.detail, HasSubstr("library-2, the helper has library-1"));
  EXPECT_EQ(compile("refuse").outcome.status, Status::compile_failed);
}

/// Each fault costs the task during which it happens, and a fresh helper does the next.
class FaultsOfHelpers : public CompileHelperTest, public testing::WithParamInterface<std::string_view> {};

TEST_P(FaultsOfHelpers, CostOneTask) {
  if (GetParam() == "hang") options_.deadline = 300ms;
  const pid_t before = helper();
  pool().submit(source(std::string(GetParam())));
  pool().submit(source("the next"));
  std::map<std::string, Outcome> outcomes;
  while (outcomes.size() < 2) {
    for (const CompileResult& one : pool().wait(10s)) outcomes[one.recipe] = one.outcome;
  }
  const Outcome& failed = outcomes.at(source(std::string(GetParam())).recipe());
  EXPECT_EQ(failed.status, Status::compile_failed) << failed.detail;
  EXPECT_THAT(failed.detail, HasSubstr("the helper of library-1"));
  EXPECT_THAT(failed.detail, HasSubstr(GetParam() == "exit" ? "the library is lost" : ""));
  EXPECT_TRUE(outcomes.at(source("the next").recipe()).ok());
  const pid_t after = helper();
  EXPECT_NE(after, before);
  EXPECT_EQ(::kill(before, 0), -1) << "nothing is left of it";
}
INSTANTIATE_TEST_SUITE_P(Each, FaultsOfHelpers, testing::ValuesIn(kHelperFaults),
                         [](const auto& one) { return std::string(one.param); });

TEST_F(CompileHelperTest, OneThatDiedWhileItWaitedCostsNothing) {
  const pid_t before = helper();
  ::kill(before, SIGKILL);
  EXPECT_TRUE(becomes_true(child_has_ended));
  EXPECT_NE(helper(), before);
}

TEST_F(CompileHelperTest, OneThatSaidSomethingUnaskedCostsNothing) {
  const pid_t before = helper();
  EXPECT_TRUE(compile("late").outcome.ok());
  std::this_thread::sleep_for(15ms);
  EXPECT_NE(helper(), before);
}

/// A helper that is a shell script, and that ends or writes before its first task.
class FreshHelper : public testing::Test {
 protected:
  /// Waits for the file `said` or the end of the helper, then makes it begin a task.
  std::optional<CompileHelper::Event> refused(const std::string& script) {
    const HelperProgram program{.arguments = {"/bin/sh", "-c", script}, .environment = {{"PATH", "/usr/bin:/bin"}}};
    PollSet poll_set;
    CompileHelper helper(library_, program, library_.limits(), poll_set);
    EXPECT_TRUE(becomes_true([&] { return child_has_ended() || std::filesystem::exists(file("said")); }));
    EXPECT_FALSE(helper.begin(source("a kernel")));
    EXPECT_TRUE(is_readable(poll_set.descriptor())) << "nobody waits for the deadline";
    return helper.take();
  }
  std::string file(const char* name) const { return (folder_.path() / name).string(); }
  std::string say() const { return "cat " + file("words") + " >&3; : >" + file("said") + "; exec sleep 10"; }

  TemporaryFolder folder_{"fresh-helper-test"};
  FaultyLibrary library_;
};

TEST_F(FreshHelper, ThatIsDeadEndsItsTaskAtOnce) {
  const auto event = refused("exit 3");
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<WaitStatus>(*event).code, 3);
}

TEST_F(FreshHelper, WhatItSaysUnaskedIsNoAnswer) {
  const std::string answer =
      encode_frame({0, to_payload(LibraryOutput{.is_compiled = true, .binary = "b", .log = ""})});
  for (const std::string& words : {answer, answer.substr(0, 5)}) {
    std::ofstream(file("words"), std::ios::binary) << words;
    std::filesystem::remove(file("said"));
    const auto event = refused(say());
    ASSERT_TRUE(event);
    EXPECT_EQ(std::get<WaitStatus>(*event).end, WaitStatus::End::protocol);
  }
}

TEST_F(CompileHelperTest, IsReplacedAfterItsNumberOfTasks) {
  options_.helper.max_tasks = 2;
  const pid_t first = helper(), second = helper(), third = helper();
  EXPECT_EQ(first, second);
  EXPECT_NE(second, third);
}

TEST_F(CompileHelperTest, IsReplacedWhenItHasGrown) {
  const FaultyLibrary small({.memory_bytes = uint64_t{120} << 20, .deadline = 10s});
#ifdef ATTUNE_SANITIZED
  GTEST_SKIP() << "a sanitizer's shadow is resident";
#endif
  options_.compilers = {&small};
  const pid_t before = helper();
  EXPECT_EQ(helper(), before);
  EXPECT_TRUE(compile("leak").outcome.ok());
  EXPECT_NE(helper(), before);
}

TEST_F(CompileHelperTest, WhatItCompiledIsExaminedLikeTheOutputOfACommand) {
  const auto empty = pool().compile({source(" ")});
  EXPECT_TRUE(empty[0].outcome.ok());
  const auto nothing = pool().compile({source("")})[0];
  EXPECT_EQ(nothing.outcome.status, Status::compile_failed);
  EXPECT_THAT(nothing.outcome.detail, HasSubstr("is empty"));
}

TEST_F(CompileHelperTest, WaitsWithThePoolAndItsDeadlineToo) {
  options_.deadline = 400ms;
  const pid_t before = helper();
  pool().submit(source("hang"));
  EXPECT_THAT(pool().wait(10ms), SizeIs(0));
  pool().pause();
  std::this_thread::sleep_for(450ms);
  EXPECT_THAT(pool().wait(10ms), SizeIs(0)) << "its clock stands";
  EXPECT_EQ(::kill(before, 0), 0);
  pool().resume();
  ASSERT_TRUE(becomes_true([&] { return !pool().wait(100ms).empty(); }));
}

TEST_F(CompileHelperTest, KeepsTheFilesOfATask) {
  options_.keep = folder_.path() / "keep";
  const std::string recipe = compile("kept").recipe;
  for (const char* file : {"source", "binary"}) EXPECT_EQ(read_file(options_.keep / recipe / file), "kept");
  EXPECT_EQ(read_file(options_.keep / recipe / "log"), "registers 40");
}

TEST_F(CompileHelperTest, AProcessWithoutThemSupportsNoLibrary) {
  options_.helper = {};
  const CompileResult compiled = compile("x");
  EXPECT_EQ(compiled.outcome.status, Status::unsupported);
  EXPECT_THAT(compiled.outcome.detail, HasSubstr("set ATTUNE_PROGRAM: library"));
}

TEST_F(CompileHelperTest, EndsWithItsPool) {
  const pid_t before = helper();
  pool_.reset();
  EXPECT_EQ(::kill(before, 0), -1);
}

}  // namespace
}  // namespace attune
