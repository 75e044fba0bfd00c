// SPDX-License-Identifier: MIT
#include "process/reap.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "process/children.h"
#include "process/spawn.h"

namespace attune {
namespace {

/// A shell's process until it is reaped.
class Shell {
 public:
  explicit Shell(const std::string& script)
      : made_(spawn({.arguments = {"/bin/sh", "-c", script}, .environment = {{"PATH", "/usr/bin:/bin"}}})) {}
  ~Shell() {
    OwnedChildren::instance().remove(made_.pid);
    ::close(made_.descriptor);
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  pid_t pid() const { return made_.pid; }
  std::optional<WaitStatus> look() const { return reap(made_.descriptor); }
  std::optional<WaitStatus> status_without_reaping() const {
    pollfd entry{made_.descriptor, POLLIN, 0};
    ::poll(&entry, 1, 5000);
    return look();
  }

 private:
  SpawnResult made_;
};

TEST(Reap, TellsHowAChildEndedOnceAndOnlyThen) {
  const Shell shell("exec sleep 1000");
  EXPECT_EQ(shell.look(), std::nullopt);
  ::kill(shell.pid(), SIGTERM);
  const auto ended = shell.status_without_reaping();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->end, WaitStatus::End::signalled);
  EXPECT_EQ(ended->code, SIGTERM);
  EXPECT_EQ(shell.look()->end, WaitStatus::End::lost);
}

TEST(Reap, TellsTheExitStatusAndTheMemory) {
  const Shell shell("exit 7");
  const auto ended = shell.status_without_reaping();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->end, WaitStatus::End::exited);
  EXPECT_EQ(ended->code, 7);
  EXPECT_GT(ended->peak_bytes, 0u);
}

TEST(Reap, SomebodyElsesReapIsNoEndThatWeKnow) {
  const Shell shell("exit 7");
  int word = 0;
  ASSERT_EQ(::waitpid(shell.pid(), &word, 0), shell.pid());
  EXPECT_EQ(shell.look()->end, WaitStatus::End::lost);
}

}  // namespace
}  // namespace attune
