// SPDX-License-Identifier: MIT
#include "solvers/fake/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "process/temporary_folder.h"
#include "solvers/fake/fault_actions.h"

namespace attune {
namespace {

const std::string kProblem = "gemm_a16w16 m=1 n=32 k=48 dtype=fp32 outdtype=fp32 bias=0";
const std::string kConfig = "split_k=1;tile_m=16;tile_n=32";

std::string line(const std::string& fault, const std::string& step = "run", const std::string& when = "always") {
  return kProblem + "\t" + kConfig + "\t" + fault + "\t" + step + "\t" + when + "\n";
}

std::vector<PlantedFault> of(const FaultList& list, const std::string& problem, const std::string& config,
                             FaultStep step = FaultStep::run) {
  return list.of(Problem::parse(problem), Config::parse(config), step);
}

TEST(FaultLists, FindTheFaultsOfACandidateAndAStepInOrder) {
  const auto list =
      FaultList::parse("# a comment\n\n" + line("segfault", "prepare") + line("nan") + line("loop", "run", "from:7") +
                           line("abort", "run", "once:/tmp/a file") + "*\t" + kConfig + "\tslow\trun\talways\r\n",
                       "faults.tsv");
  EXPECT_EQ(list.size(), 5u);
  const auto prepare = of(list, kProblem, kConfig, FaultStep::prepare);
  ASSERT_EQ(prepare.size(), 1u);
  EXPECT_EQ(prepare[0].fault, InjectedFault::segfault);
  const auto run = of(list, kProblem, kConfig);
  ASSERT_EQ(run.size(), 4u);
  EXPECT_EQ(run[0].fault, InjectedFault::nan);
  EXPECT_EQ(run[1].from_launch, 7u);
  EXPECT_EQ(run[2].once_path, "/tmp/a file");
  EXPECT_EQ(run[3].fault, InjectedFault::slow);
}

TEST(FaultLists, LeaveOtherProblemsAndConfigsAlone) {
  const auto list = FaultList::parse(line("nan") + "*\t" + kConfig + "\tslow\trun\talways", "faults.tsv");
  EXPECT_TRUE(of(list, kProblem, "split_k=2;tile_m=16;tile_n=32").empty());
  EXPECT_TRUE(of(list, kProblem, kConfig, FaultStep::prepare).empty());
  const auto other = of(list, "gemm_a16w16 m=2 n=32 k=48 dtype=fp32 outdtype=fp32 bias=0", kConfig);
  ASSERT_EQ(other.size(), 1u) << "the one of every problem";
  EXPECT_EQ(other[0].fault, InjectedFault::slow);
}

TEST(FaultLists, SayWhichLineIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"nan\n", "five columns"},
      {line("explode"), "unknown fault 'explode'"},
      {line("nan", "later"), "prepare, run or unload, got 'later'"},
      {line("nan", "prepare"), "nan is a fault of step run"},
      {line("nan", "unload"), "nan is a fault of step run"},
      {line("fast", "run"), "fast is a fault of step prepare"},
      {line("loop", "run", "sometimes"), "always, once:PATH or from:N"},
      {line("loop", "run", "once:"), "always, once:PATH or from:N"},
      {line("loop", "run", "from:0"), "always, once:PATH or from:N"},
      {line("loop", "prepare", "from:2"), "counted in step run only"},
      {"*\ttile_m\tnan\trun\talways\n", "name=value"},
  };
  for (const auto& [text, says] : wrong) {
    try {
      FaultList::parse("# first\n" + text, "faults.tsv");
      ADD_FAILURE() << "taken: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      EXPECT_THAT(error.what(), testing::StartsWith("faults.tsv:2: "));
      EXPECT_THAT(error.what(), testing::HasSubstr(says));
    }
  }
}

TEST(FaultLists, AreReadFromTheFileThatTheEnvironmentNames) {
  const TemporaryFolder folder("faults-test");
  const auto file = (folder.path() / "faults.tsv").string();
  write_file_atomically(file, line("nan"));
  EXPECT_EQ(FaultList::of_environment().size(), 0u);
  ::setenv("ATTUNE_FAKE_FAULTS", file.c_str(), 1);
  EXPECT_EQ(FaultList::of_environment().size(), 1u);
  ::setenv("ATTUNE_FAKE_FAULTS", (file + ".none").c_str(), 1);
  EXPECT_THROW(FaultList::of_environment(), Error);
  ::unsetenv("ATTUNE_FAKE_FAULTS");
}

TEST(FaultNames, AreReadBack) {
  for (int i = 0; i <= static_cast<int>(InjectedFault::unsupported); ++i) {
    const auto fault = static_cast<InjectedFault>(i);
    EXPECT_EQ(parse_fault(name(fault)), fault);
  }
  EXPECT_EQ(name(InjectedFault::scribble_after), "scribble_after");
  EXPECT_EQ(name(InjectedFault::huge_result_time), "huge_result_time");
  EXPECT_EQ(name(InjectedFault::stack), "stack");
}

TEST(AFaultOfTheMoment, HappensOnce) {
  const TemporaryFolder folder("faults-test");
  PlantedFault fault;
  fault.once_path = folder.path() / "happened";
  EXPECT_TRUE(is_due(fault, 1));
  EXPECT_FALSE(is_due(fault, 2));
  std::filesystem::remove(fault.once_path);
  EXPECT_TRUE(is_due(fault, 3));
  fault.once_path = folder.path() / "nowhere" / "happened";
  EXPECT_THROW(is_due(fault, 1), Error);
}

TEST(AFaultFromALaunchOn, HappensInEachFromThere) {
  PlantedFault fault;
  fault.from_launch = 3;
  EXPECT_FALSE(is_due(fault, 2));
  EXPECT_TRUE(is_due(fault, 3));
  EXPECT_TRUE(is_due(fault, 4));
}

// -- faults, each in a process of its own
// -----------------------------------------------------------------------------------

constexpr int kWentOn = 77, kThrew = 78;

/// Status word (wait()) of a process that commits the fault.
int performed(
    InjectedFault fault, const std::function<void()>& before = [] {}) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    try {
      before();
      perform(fault);
    } catch (...) {
      ::_exit(kThrew);
    }
    ::_exit(kWentOn);
  }
  int word = 0;
  ::waitpid(child, &word, WUNTRACED);
  if (WIFSTOPPED(word)) {
    ::kill(child, SIGKILL);
    int end = 0;
    ::waitpid(child, &end, 0);
  }
  return word;
}
int exit_status(int word) { return WIFEXITED(word) ? WEXITSTATUS(word) : -1; }

TEST(FaultActions, EndTheProcess) {
  for (const InjectedFault fault : {InjectedFault::segfault, InjectedFault::abort, InjectedFault::stack}) {
    const int word = performed(fault, [] { ::close(STDERR_FILENO); });
    // A sanitizer turns the signal into an exit status.
    EXPECT_TRUE(WIFSIGNALED(word) || (exit_status(word) != 0 && exit_status(word) < kWentOn)) << name(fault) << word;
  }
}

TEST(FaultActions, StopTheProcess) { EXPECT_TRUE(WIFSTOPPED(performed(InjectedFault::stop))); }

TEST(FaultActions, ThrowWhatIsNoError) {
  EXPECT_EQ(exit_status(performed(InjectedFault::throws)), kThrew);
  EXPECT_EQ(exit_status(performed(InjectedFault::unsupported)), kThrew);
}

TEST(FaultActions, GoOnWhereTheProcessIsUnharmed) {
  for (const InjectedFault fault : {InjectedFault::signal_mask, InjectedFault::chdir, InjectedFault::file_limit})
    EXPECT_EQ(exit_status(performed(fault)), kWentOn) << name(fault);
}

TEST(FaultActions, WriteMoreThanAFileMayHold) {
  const TemporaryFolder folder("faults-test");
  const int word = performed(InjectedFault::file_limit, [&] {
    ::setenv("TMPDIR", folder.path().c_str(), 1);
    const rlimit limit{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  });
  EXPECT_TRUE(WIFSIGNALED(word) && WTERMSIG(word) == SIGXFSZ) << word;
}

#ifndef ATTUNE_SANITIZED  // A sanitizer maps terabytes and cannot live with the limit.
TEST(FaultActions, TakeMemoryUntilTheLimit) {
  const int word = performed(InjectedFault::bomb, [] {
    const rlimit limit{uint64_t{1} << 27, uint64_t{1} << 27};
    ::setrlimit(RLIMIT_AS, &limit);
  });
  EXPECT_EQ(exit_status(word), kThrew);
}
#endif

TEST(FaultActions, WriteToAndCloseEveryDescriptorButTheStandardStreams) {
  for (const InjectedFault fault : {InjectedFault::garbage, InjectedFault::close}) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    // Closed, so that no garbage reaches other descriptors that the tests inherited: a build's pipes, a log.
    const int word = performed(fault, [&] {
      ::close_range(3, static_cast<unsigned>(pipe[1]) - 1, 0);
      ::close_range(static_cast<unsigned>(pipe[1]) + 1, ~0U, 0);
    });
    EXPECT_EQ(exit_status(word), kWentOn);
    ::close(pipe[1]);
    char byte = 0;
    EXPECT_EQ(::read(pipe[0], &byte, 1), fault == InjectedFault::garbage ? 1 : 0) << name(fault);
    ::close(pipe[0]);
  }
}

}  // namespace
}  // namespace attune
