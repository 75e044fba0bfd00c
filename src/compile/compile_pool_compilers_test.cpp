// SPDX-License-Identifier: MIT
// A pool whose compiler is not of this build: with limits and reports of its own, and together with other work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/text.h"
#include "compile/compile_pool.h"
#include "process/temporary_folder.h"
#include "testing/becomes_true.h"
#include "testing/script_compiler.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

class CompilePoolOf : public testing::Test {
 protected:
  std::string marked(const std::string& name) const { return (folder_.path() / name).string(); }

  TemporaryFolder folder_{"pool-test"};
  KernelCache cache_{{folder_.path() / "cache"}, 1 << 30};
};

CompileTask script(const std::string& source) { return {"script", source, "fake", {}, {}}; }

TEST_F(CompilePoolOf, ACompilerThatReportsWritesItIntoTheDescription) {
  const ScriptCompiler compiler({.memory_bytes = 0, .deadline = 10s});
  CompilePool pool(cache_, {.compilers = {&compiler}});
  const auto compiled =
      pool.compile({script("echo registers=40; echo spills=2; echo compiler=mine; : >more; printf 123 >out")})[0];
  ASSERT_TRUE(compiled.outcome.ok()) << compiled.outcome.detail;
  const auto found = KernelCache({folder_.path() / "cache"}, 1 << 30).find("fake", compiled.recipe, "sh-1");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->metadata, (std::map<std::string, std::string>{{"registers", "40"},
                                                                 {"spills", "2"},
                                                                 {"bytes", "3"},
                                                                 {"left", "more"},
                                                                 {"compiler", "script"},
                                                                 {"command", "1"},
                                                                 {"options", ""},
                                                                 {"entries", ""}}));
}

TEST_F(CompilePoolOf, ACompilerWithLimitsHasThem) {
  const ScriptCompiler small({.memory_bytes = uint64_t{64} << 20, .deadline = 10s});
  const auto compiled =
      CompilePool(cache_, {.compilers = {&small}}).compile({script("echo kib=$(ulimit -v); : >out")})[0];
  ASSERT_TRUE(compiled.binary) << compiled.outcome.detail;
  EXPECT_EQ(compiled.binary->metadata.at("kib"), "65536");
  const ScriptCompiler hasty({.memory_bytes = 0, .deadline = 20ms});
  const auto late = CompilePool(cache_, {.compilers = {&hasty}}).compile({script("exec sleep 1000")})[0];
  EXPECT_EQ(late.outcome.status, Status::timed_out);
}

TEST_F(CompilePoolOf, ACompilerWithALaterDeadlineKeepsThePools) {
  const ScriptCompiler compiler({.memory_bytes = 0, .deadline = 10s});
  CompilePool pool(cache_, {.deadline = 20ms, .compilers = {&compiler}});
  EXPECT_EQ(pool.compile({script("exec sleep 1000")})[0].outcome.status, Status::timed_out);
}

/// Waits for a pool and a pipe at once; returns which is readable.
std::string polled_first(const CompilePool& pool, int pipe, int timeout_ms = 5000) {
  std::vector<pollfd> entries = {{pipe, POLLIN, 0}, {pool.descriptor(), POLLIN, 0}};
  EXPECT_GE(::poll(entries.data(), entries.size(), timeout_ms), 0);
  return (entries[0].revents & POLLIN) != 0 ? "pipe" : (entries[1].revents & POLLIN) != 0 ? "pool" : "nobody";
}

TEST_F(CompilePoolOf, ACompilerIsWaitedForInOnePollWithOtherThings) {
  const ScriptCompiler compiler({.memory_bytes = 0, .deadline = 10s});
  CompilePool pool(cache_, {.compilers = {&compiler}});
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(polled_first(pool, ends[0], 0), "nobody");
  pool.submit(script("while [ ! -e " + marked("go") + " ]; do sleep 0.001; done; : >out"));
  EXPECT_EQ(polled_first(pool, ends[0], 0), "nobody") << "the compiler waits";
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  EXPECT_EQ(polled_first(pool, ends[0]), "pipe") << "while a compiler runs";
  EXPECT_THAT(pool.wait(0ms), IsEmpty());
  char read = 0;
  ASSERT_EQ(::read(ends[0], &read, 1), 1);
  std::ofstream(marked("go")) << "";
  EXPECT_EQ(polled_first(pool, ends[0]), "pool") << "the compiler has ended";
  EXPECT_THAT(pool.wait(0ms), SizeIs(1));
  EXPECT_EQ(polled_first(pool, ends[0], 0), "nobody") << "the answer was taken";
  pool.submit(script("while [ ! -e " + marked("go") + " ]; do sleep 0.001; done; : >out"));
  EXPECT_EQ(polled_first(pool, ends[0]), "pool") << "an answer from the cache";
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(CompilePoolOf, ATaskThatDiedWithItsThreadBeginsAgain) {
  const ScriptCompiler compiler({.memory_bytes = 0, .deadline = 10s});
  CompilePool pool(cache_, {.compilers = {&compiler}});
  const CompileTask task = script("mkdir " + marked("first") + " && exec sleep 1000; : >out");
  std::thread([&] {
    pool.submit(task);
    EXPECT_TRUE(becomes_true([&] { return fs::exists(marked("first")); }));
  }).join();
  const auto answers = pool.wait(10s);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_TRUE(answers[0].outcome.ok()) << answers[0].outcome.detail;
}

TEST_F(CompilePoolOf, ACompilerEndsAPollAtItsDeadline) {
  const ScriptCompiler compiler({.memory_bytes = 0, .deadline = 20ms});
  CompilePool pool(cache_, {.compilers = {&compiler}});
  pool.submit(script("exec sleep 1000"));
  std::vector<CompileResult> answers;
  for (int i = 0; i < 5 && answers.empty(); ++i) {
    polled_first(pool, -1);
    answers = pool.wait(0ms);
  }
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].outcome.status, Status::timed_out);
}

}  // namespace
}  // namespace attune
