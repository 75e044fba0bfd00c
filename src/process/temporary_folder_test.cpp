// SPDX-License-Identifier: MIT
#include "process/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>

#include "base/error.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

class TemporaryFolders : public testing::Test {
 protected:
  TemporaryFolder root_{"folder-test"};
};

TEST_F(TemporaryFolders, ArePrivateAndRemovedWithAllTheyHold) {
  fs::path path;
  {
    const TemporaryFolder folder("x", root_.path());
    path = folder.path();
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700u);
    fs::create_directories(path / "a/b");
    std::ofstream(path / "a/b/c") << "x";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TemporaryFolders, ThoseOfLivingProcessesStay) {
  const TemporaryFolder first("x", root_.path()), second("x", root_.path());
  EXPECT_NE(first.path(), second.path());
  EXPECT_TRUE(fs::exists(first.path()));
}

TEST_F(TemporaryFolders, WhatAKilledProcessLeftIsRemovedByTheNext) {
  const fs::path left = root_.path() / "attune-x-abcdef", other = root_.path() / "attune-y-abcdef";
  for (const fs::path& path : {left, other}) {
    fs::create_directories(path / "kernel");
    std::ofstream(path / ".lock");  // Nobody holds it.
  }
  const TemporaryFolder folder("x", root_.path());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(other)) << "it serves another purpose";
}

TEST_F(TemporaryFolders, AFolderThatIsJustBeingMadeStays) {
  const fs::path young = root_.path() / "attune-x-young1", old = root_.path() / "attune-x-old123";
  fs::create_directory(young);
  fs::create_directory(old);
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  const TemporaryFolder folder("x", root_.path());
  EXPECT_TRUE(fs::exists(young));
  EXPECT_FALSE(fs::exists(old));
}

TEST_F(TemporaryFolders, AnImpossiblePlaceIsNamed) {
  EXPECT_THROW(TemporaryFolder("x", root_.path() / "missing"), Error);
}

}  // namespace
}  // namespace attune
