// SPDX-License-Identifier: MIT
#include "process/memory_cgroup.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"
#include "process/run_command.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void write(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }

/// Plain files under the names of a cgroup's: decisions and writes are tested everywhere, the kernel's reaction only in
/// the last test.
struct Groups {
  Groups() {
    fs::create_directories(ours);
    for (const fs::path& group : {above, ours}) {
      write(group / "cgroup.procs", "");
      write(group / "cgroup.subtree_control", "");
    }
  }
  static fs::path leaf_in(const fs::path& group) {
    for (const auto& entry : fs::directory_iterator(group))
      if (entry.path().filename().string().starts_with("attune-cage-")) return entry.path();
    return {};
  }
  TemporaryFolder folder{"memory-cgroup-test"};
  fs::path above = folder.path() / "above", ours = above / "ours";
};

TEST(MemoryCgroup, IsMadeBelowOurGroupWithItsLimits) {
  const Groups groups;
  write(groups.ours / "cgroup.subtree_control", "cpu memory pids\n");
  const MemoryCgroup cgroup(123'456'789, groups.ours);
  ASSERT_TRUE(cgroup.available()) << cgroup.reason();
  const fs::path leaf = Groups::leaf_in(groups.ours);
  EXPECT_EQ(read_file(leaf / "memory.max"), "123456789");
  EXPECT_EQ(read_file(leaf / "memory.swap.max"), "0");
  EXPECT_EQ(read_file(leaf / "memory.oom.group"), "1");
  EXPECT_GE(cgroup.descriptor(), 0);
  EXPECT_EQ(cgroup.reason(), "");
}

TEST(MemoryCgroup, IsMadeBesideOurGroupWhereNoneCanBeBelow) {
  const Groups groups;
  write(groups.above / "cgroup.subtree_control", "memory");
  write(groups.ours / "memory.max", "max\n");
  write(groups.ours / "cpu.max", "max 100000\n");
  write(groups.ours / "cpuset.cpus", "\n");
  const MemoryCgroup cgroup(1 << 20, groups.ours);
  EXPECT_TRUE(cgroup.available()) << cgroup.reason();
  EXPECT_FALSE(Groups::leaf_in(groups.above).empty());
  EXPECT_TRUE(Groups::leaf_in(groups.ours).empty());
}

TEST(MemoryCgroup, DoesNotLiftALimitOfOurGroup) {
  for (const char* name : {"memory.high", "cpuset.cpus"}) {
    const Groups groups;
    write(groups.above / "cgroup.subtree_control", "memory");
    write(groups.ours / name, "4\n");
    const MemoryCgroup cgroup(1 << 20, groups.ours);
    EXPECT_FALSE(cgroup.available());
    EXPECT_THAT(cgroup.reason(), HasSubstr("limits that one beside it would escape"));
    EXPECT_TRUE(Groups::leaf_in(groups.above).empty());
  }
}

TEST(MemoryCgroup, SaysWhyThereIsNone) {
  const Groups groups;
  EXPECT_THAT(MemoryCgroup(1, groups.ours).reason(), HasSubstr("the memory controller is not enabled"));
  EXPECT_EQ(MemoryCgroup(1, std::nullopt).reason(), "no cgroup (version 2) is mounted");
  write(groups.ours / "cgroup.subtree_control", "memory");
  fs::remove(groups.ours / "cgroup.procs");
  const MemoryCgroup cgroup(1, groups.ours);
  EXPECT_FALSE(cgroup.available());
  EXPECT_EQ(cgroup.descriptor(), -1);
  EXPECT_THAT(cgroup.reason(), HasSubstr("cannot move a process"));
  EXPECT_FALSE(cgroup.killed());
}

TEST(MemoryCgroup, KnowsWhetherTheKernelKilledForMemory) {
  const Groups groups;
  write(groups.ours / "cgroup.subtree_control", "memory");
  const MemoryCgroup cgroup(1 << 20, groups.ours);
  EXPECT_FALSE(cgroup.killed());
  const fs::path events = Groups::leaf_in(groups.ours) / "memory.events";
  write(events, "low 0\nhigh 0\nmax 12\noom 3\noom_kill 0\noom_group_kill 0\n");
  EXPECT_FALSE(cgroup.killed());
  write(events, "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n");
  EXPECT_TRUE(cgroup.killed());
}

TEST(MemoryCgroup, RemovesWhatDeadProcessesLeftBehindAndNothingInUse) {
  const Groups groups;
  write(groups.ours / "cgroup.subtree_control", "memory");
  const fs::path left = groups.ours / "attune-cage-old", used = groups.ours / "attune-cage-used";
  fs::create_directory(left);
  fs::create_directory(used);
  const int lock = ::open(used.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  const MemoryCgroup cgroup(1 << 20, groups.ours);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(used));
  ::close(lock);
}

TEST(MemoryCgroup, EndsAFamilyThatTakesTooMuch) {
  fs::path leaf;
  {
    const MemoryCgroup cgroup(64 << 20);
    if (!cgroup.available()) GTEST_SKIP() << cgroup.reason();
    ChildCommand command{.arguments = {"/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"},
                         .environment = {},
                         .cgroup = cgroup.descriptor()};
    const WaitStatus status = run_command(command, Milliseconds(10'000)).status;
    EXPECT_EQ(status.end, WaitStatus::End::signalled);
    EXPECT_TRUE(cgroup.killed());
    const fs::path ours = *MemoryCgroup::own_cgroup();
    leaf = Groups::leaf_in(ours).empty() ? Groups::leaf_in(ours.parent_path()) : Groups::leaf_in(ours);
    EXPECT_TRUE(fs::exists(leaf));
  }
  EXPECT_FALSE(fs::exists(leaf));
}

}  // namespace
}  // namespace attune
