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
  Reaped look() const { return reap(made_.descriptor); }
  Reaped look_when_ended() const {
    pollfd entry{made_.descriptor, POLLIN, 0};
    ::poll(&entry, 1, 5000);
    return look();
  }

 private:
  Spawned made_;
};

TEST(Reap, TellsHowAChildEndedOnceAndOnlyThen) {
  const Shell shell("exec sleep 1000");
  EXPECT_EQ(shell.look().what, Reaped::What::running);
  ::kill(shell.pid(), SIGTERM);
  const Reaped ended = shell.look_when_ended();
  EXPECT_EQ(ended.what, Reaped::What::ended);
  EXPECT_EQ(ended.status.end, WaitStatus::End::signalled);
  EXPECT_EQ(ended.status.code, SIGTERM);
  EXPECT_EQ(shell.look().what, Reaped::What::lost);
}

TEST(Reap, TellsTheExitStatusAndTheMemory) {
  const Shell shell("exit 7");
  const Reaped ended = shell.look_when_ended();
  EXPECT_EQ(ended.status.end, WaitStatus::End::exited);
  EXPECT_EQ(ended.status.code, 7);
  EXPECT_GT(ended.status.peak_bytes, 0u);
}

TEST(Reap, SomebodyElsesReapIsNoEndThatWeKnow) {
  const Shell shell("exit 7");
  int word = 0;
  ASSERT_EQ(::waitpid(shell.pid(), &word, 0), shell.pid());
  EXPECT_EQ(shell.look().what, Reaped::What::lost);
}

}  // namespace
}  // namespace attune
