// SPDX-License-Identifier: MIT
#include "process/child.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "process/run_command.h"
#include "process/temporary_folder.h"
#include "testing/becomes_true.h"
#include "testing/no_reaping.h"

namespace attune {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Milliseconds kLong{5000};

ChildCommand shell(const std::string& script) { return {.arguments = {"/bin/sh", "-c", script}, .environment = {}}; }
std::string output_of(ChildCommand command) { return run_command(std::move(command), kLong).output; }
WaitStatus status_of(const ChildCommand& command) { return Child(command).wait(kLong); }

/// Whether the process is gone, or a zombie that its parent has yet to reap.
bool is_gone(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return true;
  return line.find(") Z ") != std::string::npos || line.find(") X ") != std::string::npos;
}
char state_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const size_t end = line.rfind(") ");
  return end == std::string::npos ? '-' : line[end + 2];
}
/// A shell whose grandchild sleeps for ever.
struct Family {
  TemporaryFolder folder{"child-test"};
  Child child{ChildCommand{.arguments = {"/bin/sh", "-c", "sleep 1000 & echo $!; wait"},
                           .environment = {{"PATH", "/usr/bin:/bin"}},
                           .output = folder.path() / "pid"}};
  pid_t grandchild() {
    std::optional<int64_t> pid;
    becomes_true([&] {
      pid = parse_int(trim(read_file(folder.path() / "pid")));
      return pid.has_value();
    });
    return static_cast<pid_t>(pid.value_or(0));
  }
};

TEST(Child, TellsExitStatusAndSignalApart) {
  EXPECT_TRUE(status_of({.arguments = {"/bin/true"}, .environment = {}}).ok());
  const WaitStatus exited = status_of(shell("exit 7"));
  EXPECT_EQ(exited.end, WaitStatus::End::exited);
  EXPECT_EQ(exited.code, 7);
  const WaitStatus killed = status_of(shell("kill -SEGV $$"));
  EXPECT_EQ(killed.end, WaitStatus::End::signalled);
  EXPECT_EQ(killed.code, SIGSEGV);
  EXPECT_GT(killed.peak_bytes, 0u);
}

TEST(Child, HasNothingInItsEnvironmentButWhatItWasGiven) {
  ChildCommand command{.arguments = {"/usr/bin/env"}, .environment = {{"A", "1"}, {"B", "x = y"}}};
  EXPECT_EQ(output_of(command), "A=1\nB=x = y\n");
}

TEST(Child, ArgumentsReachItUntouchedByAShell) {
  EXPECT_EQ(output_of({.arguments = {"/bin/echo", "$HOME", "a  b", "*", ";"}, .environment = {}}), "$HOME a  b * ;\n");
}

TEST(Child, RunsInItsFolderAndWritesBothStreamsToTheFile) {
  const TemporaryFolder folder("child-test");
  ChildCommand command = shell("pwd; echo wrong >&2");
  command.folder = folder.path();
  command.output = folder.path() / "log";
  std::ofstream(command.output) << "what was there before, longer than what comes";
  EXPECT_TRUE(status_of(command).ok());
  EXPECT_EQ(read_file(command.output), folder.path().string() + "\nwrong\n");
}

TEST(Child, InheritsNoDescriptorAndReadsNothing) {
  const int leak = ::open("/dev/null", O_RDONLY);  // Not closed on exec.
  ASSERT_GE(leak, 3);
  // `ls` itself opens the folder it lists, as 3.
  EXPECT_EQ(output_of({.arguments = {"/bin/ls", "/proc/self/fd"}, .environment = {}}), "0\n1\n2\n3\n");
  EXPECT_EQ(output_of({.arguments = {"/bin/cat"}, .environment = {}}), "");
  ::close(leak);
}

/// A file in memory that holds `text`, under a chosen number; the destructor restores the number's old descriptor.
class FileAt {
 public:
  FileAt(int number, const std::string& text) : number_(number), before_(::fcntl(number, F_DUPFD_CLOEXEC, 100)) {
    const int file = ::memfd_create("test", MFD_CLOEXEC);
    EXPECT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    // The file is first moved away from the number, under which it may have been made.
    const int far = ::fcntl(file, F_DUPFD_CLOEXEC, 100);
    ::close(file);
    EXPECT_EQ(::dup3(far, number, O_CLOEXEC), number);
    ::close(far);
  }
  ~FileAt() {
    ::close(number_);
    if (before_ >= 0) ::dup3(before_, number_, O_CLOEXEC);
    if (before_ >= 0) ::close(before_);
  }
  FileAt(const FileAt&) = delete;
  FileAt& operator=(const FileAt&) = delete;

 private:
  int number_, before_;
};
/// Returns what a shell and its `cat` read from 3, 4 … of `inherited`.
std::string contents(std::vector<int> inherited) {
  ChildCommand command = shell("for d in \"$@\"; do cat /proc/self/fd/$d; done");
  command.environment["PATH"] = "/usr/bin:/bin";
  command.arguments.push_back("sh");
  for (size_t i = 0; i < inherited.size(); ++i) command.arguments.push_back(std::to_string(3 + i));
  command.inherited = std::move(inherited);
  return output_of(command);
}

TEST(Child, InheritsTheNamedDescriptorsInTheirOrder) {
  const FileAt three(3, "a"), four(4, "b"), five(5, "c"), sixty(60, "d");
  EXPECT_EQ(contents({5, 3, 4}), "cab");
  EXPECT_EQ(contents({4, 4, 60, 4}), "bbdb");
  EXPECT_EQ(::fcntl(4, F_GETFD), FD_CLOEXEC) << "ours changed";
  ChildCommand list{.arguments = {"/bin/ls", "/proc/self/fd"}, .environment = {}, .inherited = {60, 3}};
  EXPECT_EQ(output_of(list), "0\n1\n2\n3\n4\n5\n");  // `ls` itself opens the folder, as 5.
}

TEST(Child, InheritsUnderANumberThatIsFreeHere) {
  const FileAt sixty(60, "d"), three(3, "");
  ::close(3);
  ChildCommand command = shell("test \"$(cat /proc/self/fd/3)\" = d");
  command.environment["PATH"] = "/usr/bin:/bin";
  command.inherited = {60};
  EXPECT_TRUE(status_of(command).ok());
}

TEST(Child, InheritsWhatIsAStandardStreamHere) {
  const FileAt input(0, "input");
  EXPECT_EQ(contents({0, 0}), "inputinput");
}

TEST(Child, NoCopyOfAnInheritedPipeStaysHere) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ChildCommand command = shell("echo hello >&3; exec 3>&-; exec sleep 1000");
  command.environment["PATH"] = "/usr/bin:/bin";
  command.inherited = {ends[1]};
  const Child child(command);
  ::close(ends[1]);
  std::string read;
  // The loop ends when the last writer has closed, though the child lives.
  for (char byte = 0; ::read(ends[0], &byte, 1) == 1;) read += byte;
  ::close(ends[0]);
  EXPECT_EQ(read, "hello\n");
}

TEST(ChildDeathTest, InheritingWhatIsNotOpenIsABug) {
  EXPECT_DEATH(Child({.arguments = {"/bin/true"}, .environment = {}, .inherited = {1000}}), "descriptor 1000");
}

TEST(Child, StartsInTheCgroupItIsGiven) {
  const TemporaryFolder folder("child-test");
  const int file = ::open((folder.path() / "cgroup.procs").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ChildCommand command{.arguments = {"/bin/ls", "/proc/self/fd"}, .environment = {}, .cgroup = file};
  EXPECT_EQ(output_of(command), "0\n1\n2\n3\n");
  EXPECT_EQ(read_file(folder.path() / "cgroup.procs"), "0") << "the kernel takes this for whoever writes it";
  ::close(file);
  const int unwritable = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  command.cgroup = unwritable;
  EXPECT_THROW(Child{command}, Error);
  ::close(unwritable);
}

TEST(Child, HasDefaultSignalsWhateverThisProcessBlocksOrIgnores) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  const auto old = std::signal(SIGPIPE, SIG_IGN);
  const std::string status = output_of({.arguments = {"/bin/cat", "/proc/self/status"}, .environment = {}});
  std::signal(SIGPIPE, old);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_THAT(status, HasSubstr("SigBlk:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("SigIgn:\t0000000000000000"));
}

TEST(Child, LeavesTheHandlersOfThisProcessAsTheyWere) {
  const auto old = std::signal(SIGUSR1, SIG_IGN);
  EXPECT_TRUE(status_of({.arguments = {"/bin/true"}, .environment = {}}).ok());
  EXPECT_EQ(std::signal(SIGUSR1, old), SIG_IGN);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_FALSE(sigismember(&mask, SIGINT));
}

TEST(Child, LeadsAGroupOfItsOwn) {
  Child child({.arguments = {"/bin/sleep", "1000"}, .environment = {}});
  EXPECT_EQ(::getpgid(child.pid()), child.pid());
  EXPECT_NE(::getpgrp(), child.pid());
}

TEST(Child, KeepsItsLimits) {
  ChildCommand command = shell("ulimit -v; ulimit -f; ulimit -n; ulimit -c; ulimit -t; ulimit -d");
  command.limits = {.address_space_bytes = uint64_t{1} << 30,
                    .data_bytes = uint64_t{1} << 29,
                    .file_bytes = 1 << 20,
                    .open_files = 32,
                    .cpu = 7s};
  // run_command() sets the file size itself; the shell counts it in blocks of 512 bytes.
  const TemporaryFolder folder("child-test");
  command.output = folder.path() / "log";
  ASSERT_TRUE(status_of(command).ok());
  EXPECT_EQ(read_file(command.output), "1048576\n2048\n32\n0\n7\n524288\n");
}

TEST(Child, MayNotWriteMoreThanItsFileSize) {
  const TemporaryFolder folder("child-test");
  ChildCommand command{.arguments = {"/bin/cat", "/dev/zero"}, .environment = {}, .output = folder.path() / "log"};
  command.limits.file_bytes = 100'000;
  const WaitStatus status = status_of(command);
  EXPECT_EQ(status.code, SIGXFSZ);
  EXPECT_EQ(std::filesystem::file_size(command.output), 100'000u);
}

TEST(Child, MayNotAllocateMoreThanItsAddressSpace) {
  ChildCommand command{.arguments = {"/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=300M", "count=1"},
                       .environment = {}};
  command.limits.address_space_bytes = uint64_t{200} << 20;
  const CommandResult result = run_command(command, kLong);
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.output, HasSubstr("memory exhausted"));
}

TEST(Child, IsKilledAtItsDeadline) {
  const auto start = std::chrono::steady_clock::now();
  Child child({.arguments = {"/bin/sleep", "1000"}, .environment = {}});
  const WaitStatus status = child.wait(100ms);
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(status.end, WaitStatus::End::deadline);
  EXPECT_EQ(status.deadline, 100ms);
  EXPECT_GE(took, 100ms);
  EXPECT_LT(took, 1900ms);
  EXPECT_TRUE(is_gone(child.pid()));
}

TEST(Child, ThatBrokeTheProtocolIsKilledAndItsStatusSaysSo) {
  Child child({.arguments = {"/bin/sleep", "1000"}, .environment = {}});
  const WaitStatus status = child.reject();
  EXPECT_EQ(status.end, WaitStatus::End::protocol);
  EXPECT_EQ(status.code, 0);
  EXPECT_TRUE(is_gone(child.pid()));
  EXPECT_EQ(child.poll(), status);
  EXPECT_EQ(child.reject(), status);
}

TEST(Child, ABrokenProtocolSaysMoreThanAnExitAndLessThanASignal) {
  Child exited(shell("exit 3"));
  exited.wait(kLong);
  EXPECT_EQ(exited.reject().end, WaitStatus::End::protocol);
  Child crashed(shell("kill -SEGV $$"));
  crashed.wait(kLong);
  EXPECT_EQ(crashed.reject().code, SIGSEGV);
}

TEST(Child, TheDescriptorBecomesReadableAtTheEnd) {
  Child child(shell("exit 3"));
  pollfd entry{child.descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, static_cast<int>(kLong.count())), 1);
  const auto status = child.poll();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 3);
  EXPECT_EQ(child.poll(), status);
  EXPECT_EQ(child.kill(), *status);
}

TEST(Child, PollDoesNotWait) {
  Child child({.arguments = {"/bin/sleep", "1000"}, .environment = {}});
  EXPECT_EQ(child.poll(), std::nullopt);
}

TEST(Child, KillTakesTheWholeGroup) {
  Family family;
  const pid_t grandchild = family.grandchild();
  ASSERT_GT(grandchild, 0);
  EXPECT_FALSE(is_gone(grandchild));
  EXPECT_EQ(family.child.kill().code, SIGKILL);
  EXPECT_TRUE(is_gone(family.child.pid()));
  EXPECT_TRUE(becomes_true([&] { return is_gone(grandchild); }));
}

TEST(Child, ItsGroupDoesNotOutliveIt) {
  const TemporaryFolder folder("child-test");
  ChildCommand command = shell("sleep 1000 & echo $!; exit 5");
  command.environment["PATH"] = "/usr/bin:/bin";
  command.output = folder.path() / "pid";
  Child child(command);
  EXPECT_EQ(child.wait(kLong).code, 5);
  const auto grandchild = parse_int(trim(read_file(command.output)));
  ASSERT_TRUE(grandchild);
  EXPECT_TRUE(becomes_true([&] { return is_gone(static_cast<pid_t>(*grandchild)); }));
}

TEST(Child, StopsAndContinuesWithItsGroup) {
  Family family;
  const pid_t grandchild = family.grandchild();
  ASSERT_GT(grandchild, 0);
  family.child.stop();
  EXPECT_TRUE(becomes_true([&] { return state_of(family.child.pid()) == 'T' && state_of(grandchild) == 'T'; }));
  EXPECT_EQ(family.child.poll(), std::nullopt);
  family.child.resume();
  EXPECT_TRUE(becomes_true([&] { return state_of(family.child.pid()) == 'S' && state_of(grandchild) == 'S'; }));
  family.child.stop();
  EXPECT_EQ(family.child.kill().code, SIGKILL);
}

TEST(Child, DiesWithTheObject) {
  pid_t pid = 0;
  {
    Child child({.arguments = {"/bin/sleep", "1000"}, .environment = {}});
    Child moved(std::move(child));
    pid = moved.pid();
    EXPECT_FALSE(is_gone(pid));
  }
  EXPECT_TRUE(is_gone(pid));
}

TEST(Child, SignalsNobodyUnderANumberThatIsNoLongerIts) {
  const TemporaryFolder folder("child-test");
  ChildCommand command = shell("sleep 1000 & echo $!; exit 0");
  command.environment["PATH"] = "/usr/bin:/bin";
  command.output = folder.path() / "pid";
  std::optional<WaitStatus> status;
  {
    const NoReaping ignored;
    Child child(command);
    status = child.wait(kLong);
    child.stop();
  }
  EXPECT_EQ(status->end, WaitStatus::End::lost);
  EXPECT_FALSE(status->ok()) << "how it ended is not known, so it did not end well";
  // The process still has the number of the group.
  const auto other = parse_int(trim(read_file(command.output)));
  ASSERT_TRUE(other);
  EXPECT_FALSE(is_gone(static_cast<pid_t>(*other)));
  ::kill(static_cast<pid_t>(*other), SIGKILL);
}

TEST(Child, DiesWithTheThreadThatMadeIt) {
  std::optional<Child> child;
  std::thread([&] { child.emplace(ChildCommand{.arguments = {"/bin/sleep", "1000"}, .environment = {}}); }).join();
  const WaitStatus status = child->wait(kLong);
  EXPECT_EQ(status.end, WaitStatus::End::signalled);
  EXPECT_EQ(status.code, SIGKILL);
}

TEST(Child, WhatCannotBeRunIsNamed) {
  const auto message = [](const ChildCommand& command) -> std::string {
    try {
      Child child(command);
      return "nothing was thrown";
    } catch (const Error& error) {
      return fmt::format("{}: {}", name(error.code()), error.what());
    }
  };
  EXPECT_EQ(message({.arguments = {"/no/such/cc"}, .environment = {}}),
            "unavailable: cannot run the program (No such file or directory): '/no/such/cc'");
  EXPECT_THAT(message({.arguments = {"/etc/passwd"}, .environment = {}}), HasSubstr("Permission denied"));
  EXPECT_THAT(message({.arguments = {"/bin/true"}, .environment = {}, .folder = "/no/such/folder"}),
              HasSubstr("io: cannot run a program in the folder (No such file or directory)"));
  EXPECT_THAT(message({.arguments = {"/bin/true"}, .environment = {}, .output = "/no/such/log"}),
              HasSubstr("'/no/such/log'"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process that could not start was not reaped";
}

TEST(Child, SeveralThreadsSpawnAtOnce) {
  std::array<int, 4> wrong{};
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&count] {
      for (int i = 0; i < 5; ++i) count += status_of(shell(fmt::format("exit {}", 40 + i))).code != 40 + i;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

TEST(RunCommand, KeepsStreamsApart) {
  const CommandResult result =
      run_command(shell("echo one; echo two >&2; echo three"), kLong, 1 << 20, OutputStreams::apart);
  EXPECT_EQ(result.output, "one\nthree\n");
  EXPECT_EQ(result.errors, "two\n");
}

TEST(RunCommand, EndsWhatWritesTooMuch) {
  const CommandResult result = run_command({.arguments = {"/bin/cat", "/dev/zero"}, .environment = {}}, kLong, 1000);
  EXPECT_FALSE(result.status.ok());
  EXPECT_EQ(result.output.size(), 1000u);
}

TEST(Child, ThatJoinsTheGroupIsStoppedAndKilledAlone) {
  ChildCommand command{.arguments = {"/bin/sleep", "1000"}, .environment = {}};
  command.joins_group = true;
  Child child(command);
  EXPECT_EQ(::getpgid(child.pid()), ::getpgrp());
  child.stop();
  EXPECT_TRUE(becomes_true([&] { return state_of(child.pid()) == 'T'; }));
  const WaitStatus status = child.kill();
  EXPECT_EQ(status.end, WaitStatus::End::signalled);
  EXPECT_EQ(status.code, SIGKILL);
}

}  // namespace
}  // namespace attune
