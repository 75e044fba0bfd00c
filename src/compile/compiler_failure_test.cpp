// SPDX-License-Identifier: MIT
#include "compile/compiler_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace attune {
namespace {

using testing::HasSubstr;
using testing::Not;

WaitStatus exited(int code) { return WaitStatus::of(code << 8, {}); }
Outcome of_log(std::string_view log) { return compiler_failure(exited(1), log, "gcc-12.2.0"); }

TEST(CompilerFailure, ARefusedSourceIsToldByItsFirstErrorInOneLine) {
  const Outcome outcome = of_log(
      "kernel.c: In function 'f':\n"
      "kernel.c:3:5: error: expected ';' before 'return'\n"
      "    3 | int x\n"
      "      |      ^\n"
      "kernel.c:9:1: error: another\n");
  EXPECT_EQ(outcome.status, Status::compile_failed);
  EXPECT_EQ(outcome.detail,
            "gcc-12.2.0 rejected the source: kernel.c:3:5: error: expected ';' before 'return' / 3 | int x / |      ^");
}

TEST(CompilerFailure, ALongOrBinaryLogIsCutAndEscaped) {
  const Outcome outcome = of_log("error: \x1b[31m\xff" + std::string(100'000, 'x'));
  EXPECT_LT(outcome.detail.size(), 600u);
  EXPECT_THAT(outcome.detail, Not(HasSubstr("\x1b")));
  EXPECT_THAT(outcome.detail, Not(HasSubstr("\xff")));
}

TEST(CompilerFailure, ASilentOneIsToldByItsStatus) {
  EXPECT_EQ(of_log("").status, Status::compile_failed);
  EXPECT_EQ(of_log("\n").detail, "gcc-12.2.0 exited with status 1 and wrote nothing");
}

TEST(CompilerFailure, MemoryIsKnownByWhatCompilersSayOfIt) {
  for (const char* log : {"cc1: out of memory allocating 65536 bytes after a total of 1093632 bytes\n",
                          "virtual memory exhausted: Cannot allocate memory\n", "LLVM ERROR: out of memory\n",
                          "gcc: fatal error: Killed signal terminated program cc1\ncompilation terminated.\n"})
    EXPECT_EQ(of_log(log).status, Status::out_of_memory) << log;
}

TEST(CompilerFailure, ACompilerThatDiesInsideItsDriverCrashed) {
  for (const char* log : {"gcc: internal compiler error: Segmentation fault signal terminated program cc1\n",
                          "kernel.c:1:1: internal compiler error: in expand_insn, at optabs.cc:8264\n",
                          "clang: error: unable to execute command: Segmentation fault\nPLEASE submit a bug report to "
                          "https://example.org\n"})
    EXPECT_EQ(of_log(log).status, Status::crashed) << log;
}

TEST(CompilerFailure, AFullDiskIsNoFaultOfTheSource) {
  const Outcome outcome = of_log(
      "an error of before\n/usr/bin/ld: final link failed: No space left on device\n"
      "collect2: error: ld returned 1 exit status\n");
  EXPECT_EQ(outcome.status, Status::compile_failed);
  EXPECT_EQ(outcome.detail,
            "gcc-12.2.0 ran out of disk space, free some or set TMPDIR to another folder: /usr/bin/ld: final link "
            "failed: No space left on device / collect2: error: ld returned 1 exit status");
}

TEST(CompilerFailure, PhrasesInAQuotedSourceMeanNothing) {
  EXPECT_EQ(
      of_log("kernel.c:1:1: error: unknown type name 'x'\n  1 | x \"out of memory, internal compiler error\"\n").status,
      Status::compile_failed);
}

TEST(CompilerFailure, IsARejectionIfTheLogNamesAPlaceAndNothingOfTheMachine) {
  const std::string error = "kernel.c:3:5: error: expected ';'\n";
  EXPECT_TRUE(is_rejection(exited(1), error));
  EXPECT_FALSE(is_rejection(exited(0), error));
  EXPECT_FALSE(is_rejection(exited(1), "collect2: error: ld returned 1 exit status\n"));
  EXPECT_FALSE(is_rejection(exited(1), error + "cc1: out of memory allocating 65536 bytes\n"));
  EXPECT_FALSE(is_rejection(exited(1), error + "error writing to /tmp/x.s: No space left on device\n"));
  EXPECT_FALSE(is_rejection(WaitStatus::of(SIGKILL, {}), error));
  EXPECT_FALSE(is_rejection(WaitStatus::past(Milliseconds(5)), error));
}

TEST(CompilerFailure, SignalsAndDeadlinesSpeakForThemselves) {
  EXPECT_EQ(compiler_failure(WaitStatus::of(SIGSEGV, {}), "kernel.c: error: x", "cc").status, Status::crashed);
  EXPECT_EQ(compiler_failure(WaitStatus::past(Milliseconds(5)), "", "cc").status, Status::timed_out);
  EXPECT_TRUE(compiler_failure(exited(0), "warning: x", "cc").ok());
}

}  // namespace
}  // namespace attune
