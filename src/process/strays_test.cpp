// SPDX-License-Identifier: MIT
#include "process/strays.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "process/child.h"
#include "process/children.h"
#include "process/temporary_folder.h"
#include "testing/becomes_true.h"

namespace attune {
namespace {

using namespace std::chrono_literals;
using testing::UnorderedElementsAreArray;

bool is_alive(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  return std::getline(file, line) && line.find(") Z ") == std::string::npos && line.find(") X ") == std::string::npos;
}
/// Whether the process's parent has ended; until then it is the parent's child, and not a stray.
bool has_come_to_us(pid_t pid) {
  const std::vector<pid_t> children = scanned_children();
  return std::find(children.begin(), children.end(), pid) != children.end();
}
bool has_no_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}
bool is_subreaper() {
  int value = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &value, 0, 0, 0);
  return value != 0;
}

/// A worker whose script prints the numbers of the processes it starts, one per line.
struct StrayFamily {
  explicit StrayFamily(const std::string& script)
      : child({.arguments = {"/bin/sh", "-c", script},
               .environment = {{"PATH", "/usr/bin:/bin"}},
               .output = folder.path() / "pids"}) {}
  std::vector<pid_t> members(size_t count) {
    std::vector<pid_t> pids;
    becomes_true([&] {
      pids.clear();
      const std::string text = read_file(folder.path() / "pids");
      if (!text.ends_with('\n')) return false;
      for (const std::string_view line : split(trim(text), '\n'))
        pids.push_back(static_cast<pid_t>(parse_int(line).value_or(0)));
      return pids.size() == count;
    });
    EXPECT_EQ(pids.size(), count);
    pids.resize(count);
    return pids;
  }
  TemporaryFolder folder{"strays-test"};
  Child child;
};
constexpr const char* kEscape = "setsid sh -c 'echo $$; exec sleep 1000' & wait";

TEST(Strays, TakeWhatEscapedFromTheGroupOfADeadChild) {
  Strays strays;
  StrayFamily family(kEscape);
  const pid_t escaped = family.members(1)[0];
  family.child.kill();
  EXPECT_TRUE(is_alive(escaped));
  EXPECT_EQ(strays.kill(), 1u);
  EXPECT_FALSE(is_alive(escaped));
  EXPECT_TRUE(has_no_children());
  EXPECT_EQ(strays.kill(), 0u);
}

TEST(Strays, TakeADaemonWhileItsChildLives) {
  Strays strays;
  StrayFamily family("(setsid sh -c 'echo $$; exec sleep 1000' &); exec sleep 1000");
  const pid_t daemon = family.members(1)[0];
  EXPECT_TRUE(becomes_true([&] { return has_come_to_us(daemon); }));
  EXPECT_EQ(strays.kill(), 1u);
  EXPECT_FALSE(is_alive(daemon));
  EXPECT_TRUE(is_alive(family.child.pid()));
}

TEST(Strays, LeaveALiveChildAndItsDescendantsAlone) {
  Strays strays;
  StrayFamily family(kEscape);
  const pid_t descendant = family.members(1)[0];
  EXPECT_EQ(strays.kill(), 0u);
  EXPECT_TRUE(is_alive(descendant));
  EXPECT_EQ(family.child.poll(), std::nullopt);
  family.child.kill();
  EXPECT_EQ(strays.kill(), 1u);
}

TEST(Strays, LeaveAnEndedChildToItsOwner) {
  Strays strays;
  Child child({.arguments = {"/bin/sh", "-c", "exit 7"}, .environment = {}});
  EXPECT_TRUE(becomes_true([&] { return !is_alive(child.pid()); }));
  EXPECT_EQ(strays.kill(), 0u);
  EXPECT_EQ(child.wait(Milliseconds(5000)).code, 7);
}

TEST(Strays, LeaveWhoIsSparedAndNobodyElse) {
  Strays strays;
  std::string program = "/bin/sleep", time = "1000";
  char* const arguments[] = {program.data(), time.data(), nullptr};
  pid_t other = 0;
  ASSERT_EQ(::posix_spawn(&other, program.c_str(), nullptr, nullptr, arguments, nullptr), 0);
  EXPECT_EQ(strays.kill({&other, 1}), 0u);
  EXPECT_TRUE(is_alive(other));
  EXPECT_EQ(strays.kill(), 1u);
  EXPECT_FALSE(is_alive(other));
}

TEST(Strays, TakeAWholeTreeOfSessions) {
  Strays strays;
  StrayFamily family(
      "setsid sh -c 'setsid sh -c \"sleep 1000 & echo \\$!; echo \\$\\$; wait\" & echo $$; wait' & wait");
  const std::vector<pid_t> tree = family.members(3);
  family.child.kill();
  EXPECT_EQ(strays.kill(), 3u);
  for (const pid_t pid : tree) EXPECT_FALSE(is_alive(pid)) << pid;
  EXPECT_TRUE(has_no_children());
}

TEST(Strays, AreMoreThanOneRoundTakes) {
  Strays strays;
  StrayFamily family(
      "setsid sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do sleep 1000 & done; echo $$; wait' & "
      "wait");
  family.members(1);
  family.child.kill();
  // On a busy machine a call's time may not suffice; the rest is killed by the next one.
  size_t num_killed = 0;
  EXPECT_TRUE(becomes_true([&] {
    num_killed += strays.kill();
    return has_no_children();
  }));
  EXPECT_EQ(num_killed, 19u);
}

TEST(Strays, ThatKeepForkingAwayAreCaught) {
  Strays strays;
  const TemporaryFolder folder("strays-test");
  const std::string script = folder.path() / "run";
  std::ofstream(script) << "#!/bin/sh\n\"$0\" &\n";
  ::chmod(script.c_str(), 0700);
  {
    StrayFamily family(fmt::format("setsid {} & echo $!; wait", script));
    family.members(1);
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_TRUE(becomes_true([&] {
    strays.kill();
    return has_no_children();
  }));
}

TEST(Strays, ThatHadEndedAreReapedButNotCounted) {
  Strays strays;
  StrayFamily family("(setsid sh -c 'echo $$; exit 3' &); exec sleep 1000");
  const pid_t ended = family.members(1)[0];
  EXPECT_TRUE(becomes_true([&] { return !is_alive(ended) && has_come_to_us(ended); }));
  EXPECT_EQ(strays.kill(), 0u);
  EXPECT_FALSE(has_come_to_us(ended));
  family.child.kill();
  // The subshell that made it may have ended a moment ago, not yet reaped.
  EXPECT_EQ(strays.kill(), 0u);
  EXPECT_TRUE(has_no_children());
}

TEST(Strays, AreLookedForWhileOthersSpawn) {
  Strays strays;
  std::atomic<int> wrong = 0;
  std::atomic<bool> done = false;
  std::thread spawner([&] {
    for (int i = 0; i < 4; ++i)
      wrong += Child({.arguments = {"/bin/sh", "-c", "exit 9"}, .environment = {}}).wait(Milliseconds(5000)).code != 9;
    for (int i = 0; i < 2; ++i) {
      try {
        const Child child({.arguments = {"/no/such/program"}, .environment = {}});
      } catch (const std::exception&) {
      }
    }
    done = true;
  });
  size_t killed = 0;
  while (!done) killed += strays.kill();
  spawner.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(killed, 0u);
  EXPECT_TRUE(has_no_children());
}

TEST(Strays, ThatThereWasNoTimeForEndWithTheRole) {
  {
    Strays strays;
    StrayFamily family(kEscape);
    family.members(1);
    family.child.kill();
    strays.kill({}, 0ms);
    StrayFamily another(kEscape);
    another.members(1);
  }
  EXPECT_TRUE(has_no_children());
}

TEST(Strays, TheRoleIsGivenBack) {
  ASSERT_FALSE(is_subreaper());
  {
    const Strays strays;
    EXPECT_TRUE(is_subreaper());
  }
  EXPECT_FALSE(is_subreaper());
}

TEST(Children, AreTheSameWhereverTheKernelTellsThem) {
  const Child first({.arguments = {"/bin/sleep", "1000"}, .environment = {}});
  const Child second({.arguments = {"/bin/sh", "-c", "exit 1"}, .environment = {}});
  const auto scanned = scanned_children();
  EXPECT_THAT(scanned, UnorderedElementsAreArray({first.pid(), second.pid()}));
  const auto listed = listed_children();
  if (!listed) GTEST_SKIP() << "the kernel was built without lists of children";
  EXPECT_THAT(*listed, UnorderedElementsAreArray(scanned));
}

TEST(Children, AreOwnedUntilTheyAreReaped) {
  OwnedChildren& owned = OwnedChildren::instance();
  Child child({.arguments = {"/bin/sleep", "1000"}, .environment = {}});
  EXPECT_TRUE(owned.contains(child.pid()));
  child.kill();
  EXPECT_FALSE(owned.contains(child.pid()));
}

}  // namespace
}  // namespace attune
