// SPDX-License-Identifier: MIT
#include "compile/kernel_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kArch = "x86-64-v4+bf16";
constexpr uint64_t kLarge = 1 << 30;

class KernelCacheTest : public testing::Test {
 protected:
  /// A binary as a compiler leaves it.
  Binary compiled(const std::string& recipe, const std::string& content, const std::string& toolchain = "gcc-12.2.0") {
    const fs::path file = folder_.path() / ("out" + std::to_string(num_files_++));
    std::ofstream(file, std::ios::binary) << content;
    return {
        .arch = kArch, .recipe = recipe, .toolchain = toolchain, .sha256 = "", .file = file, .metadata = {{"n", "1"}}};
  }
  static void overwrite(const fs::path& file, const std::string& content) {
    std::ofstream(file, std::ios::binary) << content;
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }
  static void used_ago(const Binary& binary, std::chrono::minutes ago) {
    fs::last_write_time(binary.file.parent_path() / "entry.json", fs::file_time_type::clock::now() - ago);
  }
  size_t num_named(const std::string& start) const {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(root_))
      count += entry.path().filename().string().starts_with(start);
    return count;
  }
  /// Number of names in the cache's root that are not architectures.
  size_t num_temporary() const { return num_named("."); }

  TemporaryFolder folder_{"cache-test"};
  fs::path root_ = folder_.path() / "cache";
  KernelCache cache_{{root_}, kLarge};
  int num_files_ = 0;
};

TEST_F(KernelCacheTest, WhatWasAddedIsFoundWithItsMetadata) {
  const Binary made = compiled("r1", "content");
  const Binary added = cache_.add(made);
  EXPECT_EQ(added.file, root_ / kArch / "r1" / "gcc-12.2.0" / "kernel");
  EXPECT_EQ(added.sha256, sha256("content"));
  EXPECT_FALSE(fs::exists(made.file)) << "it was to be moved";
  EXPECT_EQ(cache_.find(kArch, "r1", "gcc-12.2.0"), added);
  EXPECT_EQ(KernelCache({root_}, kLarge).find(kArch, "r1", "gcc-12.2.0"), added);
  EXPECT_EQ(read_file(added.file), "content");
  EXPECT_EQ(num_temporary(), 0u);
}

TEST_F(KernelCacheTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(cache_.find(kArch, "r1", "gcc-12.2.0"), std::nullopt);
  cache_.add(compiled("r1", "x"));
  EXPECT_EQ(cache_.find(kArch, "r2", "gcc-12.2.0"), std::nullopt);
  EXPECT_EQ(cache_.find("x86-64", "r1", "gcc-12.2.0"), std::nullopt);
  for (const char* wrong : {"", ".", "..", "../r1", "r1/gcc-12.2.0"})
    EXPECT_EQ(cache_.find(kArch, wrong, "x"), std::nullopt);
}

TEST_F(KernelCacheTest, ARebuildIgnoresEachStoredKernelUntilThisProcessHasCompiledIt) {
  cache_.add(compiled("again", "old"));
  cache_.add(compiled("again", "other", "clang-14.0.6"));
  KernelCache rebuilds({root_}, kLarge, KernelCache::Lease::none, CacheReuse::of_this_process);
  EXPECT_EQ(rebuilds.find(kArch, "again", "gcc-12.2.0"), std::nullopt);
  EXPECT_EQ(read_file(cache_.find(kArch, "again", "gcc-12.2.0")->file), "old") << "other programs go on using it";
  const Binary added = rebuilds.add(compiled("again", "new"));
  EXPECT_EQ(read_file(added.file), "new");
  EXPECT_EQ(rebuilds.find(kArch, "again", "gcc-12.2.0"), added);
  EXPECT_EQ(read_file(rebuilds.add(compiled("again", "third")).file), "new") << "once is enough";
  // Another object of the process, as on another thread of it.
  KernelCache second({root_}, kLarge, KernelCache::Lease::none, CacheReuse::of_this_process);
  EXPECT_EQ(second.find(kArch, "again", "gcc-12.2.0"), added);
}

TEST_F(KernelCacheTest, ARebuildUsesAKernelThatNothingCanCompileHere) {
  const Binary stored = cache_.add(compiled("alone", "x"));
  KernelCache rebuilds({root_}, kLarge, KernelCache::Lease::none, CacheReuse::of_this_process);
  rebuilds.settle(kArch, "alone");
  EXPECT_EQ(rebuilds.find(kArch, "alone", "gcc-12.2.0"), stored);
}

TEST_F(KernelCacheTest, LooksAreCheapAndMakeNoFolder) {
  EXPECT_THAT(cache_.list(), IsEmpty());
  EXPECT_EQ(cache_.clear(), 0u);
  EXPECT_FALSE(fs::exists(root_));
}

TEST_F(KernelCacheTest, IsPrivate) {
  const mode_t before = ::umask(0);
  const Binary added = cache_.add(compiled("r1", "x"));
  ::umask(before);
  EXPECT_EQ(mode_of(root_), 0700u);
  EXPECT_EQ(mode_of(root_ / kArch), 0700u);
  EXPECT_EQ(mode_of(added.file.parent_path()), 0700u);
  EXPECT_EQ(mode_of(added.file), 0600u);
  EXPECT_EQ(mode_of(added.file.parent_path() / "entry.json"), 0600u);
}

TEST_F(KernelCacheTest, ThePreferredToolchainComesBeforeAnother) {
  const Binary gcc = cache_.add(compiled("r1", "by gcc"));
  const Binary clang = cache_.add(compiled("r1", "by clang", "clang-14.0.6"));
  EXPECT_EQ(cache_.find(kArch, "r1", "gcc-12.2.0"), gcc);
  EXPECT_EQ(cache_.find(kArch, "r1", "clang-14.0.6"), clang);
  EXPECT_EQ(cache_.find(kArch, "r1", "gcc-13.1.0"), clang);
  EXPECT_EQ(cache_.find(kArch, "r1", ""), clang);
}

TEST_F(KernelCacheTest, ADamagedBinaryIsRemovedAndNotThere) {
  const Binary added = cache_.add(compiled("r1", "content"));
  overwrite(added.file, "c0ntent");
  EXPECT_EQ(cache_.find(kArch, "r1", "gcc-12.2.0"), std::nullopt);
  EXPECT_FALSE(fs::exists(added.file.parent_path()));
  EXPECT_FALSE(fs::exists(root_ / kArch)) << "an empty folder";
  EXPECT_EQ(cache_.add(compiled("r1", "content")), added);
}

TEST_F(KernelCacheTest, ADamagedBinaryOfTheToolchainGivesWayToAnother) {
  const Binary gcc = cache_.add(compiled("r1", "by gcc"));
  const Binary clang = cache_.add(compiled("r1", "by clang", "clang-14.0.6"));
  overwrite(gcc.file, "");
  EXPECT_EQ(cache_.find(kArch, "r1", "gcc-12.2.0"), clang);
}

TEST_F(KernelCacheTest, ADescriptionThatCannotBeReadIsReplaced) {
  for (const char* text : {"", "{", "[]", "{\"format\":2}", "{\"format\":1,\"sha256\":\"\",\"metadata\":{}}",
                           "{\"format\":2,\"sha256\":5,\"metadata\":{}}"}) {
    const Binary added = cache_.add(compiled("r1", "content"));
    overwrite(added.file.parent_path() / "entry.json", text);
    EXPECT_EQ(cache_.find(kArch, "r1", "gcc-12.2.0"), std::nullopt) << text;
    EXPECT_THAT(cache_.list(), IsEmpty());
  }
  EXPECT_EQ(read_file(cache_.add(compiled("r1", "new")).file), "new");
}

TEST_F(KernelCacheTest, TheFirstBinaryOfARecipeStays) {
  const Binary first = cache_.add(compiled("r1", "first"));
  const Binary second = cache_.add(compiled("r1", "second"));
  EXPECT_EQ(second, first);
  EXPECT_EQ(read_file(second.file), "first");
  EXPECT_EQ(num_temporary(), 0u);
}

TEST_F(KernelCacheTest, SeveralProcessesAddAtOnceAndEachFindsAWholeBinary) {
  const std::string content(20'000, 'k');
  std::vector<pid_t> children;
  for (int process = 0; process < 4; ++process) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      int wrong = 0;
      for (int i = 0; i < 12; ++i) {
        num_files_ = 1000 * (process + 1) + i;
        KernelCache cache({root_}, kLarge);
        const Binary added = cache.add(compiled("r" + std::to_string(i % 6), content));
        wrong += added.sha256 != sha256(content) || !cache.find(kArch, added.recipe, "gcc-12.2.0");
      }
      ::_exit(wrong);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(cache_.list().size(), 6u);
  EXPECT_EQ(num_temporary(), 0u);
}

TEST_F(KernelCacheTest, RemovesWhatWasUsedLongestAgoWhenItIsFull) {
  const std::string content(10'000, 'k');
  KernelCache cache({root_}, 35'000);
  std::vector<Binary> binaries;
  for (const char* recipe : {"r0", "r1", "r2"}) binaries.push_back(cache.add(compiled(recipe, content)));
  used_ago(binaries[0], std::chrono::minutes(30));
  used_ago(binaries[1], std::chrono::minutes(20));
  used_ago(binaries[2], std::chrono::minutes(10));
  EXPECT_TRUE(cache.find(kArch, "r0", "gcc-12.2.0")) << "which is a use";
  cache.add(compiled("r3", content));
  std::vector<std::string> left;
  for (const Binary& binary : cache.list()) left.push_back(binary.recipe);
  EXPECT_THAT(left, ElementsAre("r0", "r2", "r3"));
}

TEST_F(KernelCacheTest, WhatWasJustAddedStaysHoweverLargeItIs) {
  KernelCache cache({root_}, 100);
  cache.add(compiled("r1", std::string(1000, 'x')));
  const Binary added = cache.add(compiled("r2", std::string(1000, 'x')));
  EXPECT_THAT(cache.list(), ElementsAre(added));
}

/// Fills a cache whose limit is three entries with five; returns the remaining recipes.
std::vector<std::string> left_of_five(const fs::path& root, const std::function<Binary(const std::string&)>& make) {
  KernelCache cache({root}, 35'000);
  for (const char* recipe : {"r1", "r2", "r3", "r4", "r5"}) cache.add(make(recipe));
  std::vector<std::string> left;
  for (const Binary& binary : cache.list()) left.push_back(binary.recipe);
  return left;
}

TEST_F(KernelCacheTest, WhatALivingProcessLeasesIsNotEvicted) {
  const auto make = [&](const std::string& recipe) { return compiled(recipe, std::string(10'000, 'k')); };
  cache_.add(make("found"));
  {
    KernelCache held({root_}, kLarge, KernelCache::Lease::held);
    used_ago(held.add(make("added")), std::chrono::minutes(50));
    ASSERT_TRUE(held.find(kArch, "found", "gcc-12.2.0"));
    used_ago(*cache_.find(kArch, "found", "gcc-12.2.0"), std::chrono::minutes(40));
    EXPECT_THAT(left_of_five(root_, make), ElementsAre("added", "found", "r5"));
  }
  cache_.clear();
  used_ago(cache_.add(make("added")), std::chrono::minutes(50));
  EXPECT_THAT(left_of_five(root_, make), ElementsAre("r3", "r4", "r5")) << "the lease has ended";
}

TEST_F(KernelCacheTest, ALeaseEndsWithItsProcessHoweverThatDies) {
  const auto make = [&](const std::string& recipe) { return compiled(recipe, std::string(10'000, 'k')); };
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    num_files_ = 1000;
    KernelCache held({root_}, kLarge, KernelCache::Lease::held);
    held.add(make("leased"));
    [[maybe_unused]] const ssize_t told = ::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  used_ago(*cache_.find(kArch, "leased", "gcc-12.2.0"), std::chrono::minutes(50));
  EXPECT_THAT(left_of_five(root_, make), ElementsAre("leased", "r4", "r5"));
  ::kill(pid, SIGKILL);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_EQ(num_named(".lease-"), 1u) << "it could not remove its file";
  used_ago(*cache_.find(kArch, "leased", "gcc-12.2.0"), std::chrono::minutes(50));
  cache_.add(make("r0"));
  EXPECT_THAT(left_of_five(root_, make), testing::Not(testing::Contains("leased")));
  EXPECT_EQ(num_named(".lease-"), 0u);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(KernelCacheTest, ALeaseOutlivesAForkedChildAndTheRemovalOfTheFolder) {
  KernelCache held({root_}, kLarge, KernelCache::Lease::held);
  const auto make = [&](const std::string& recipe) { return compiled(recipe, std::string(10'000, 'k')); };
  held.add(make("first"));
  fs::remove_all(root_);
  held.add(make("second"));
  const pid_t pid = ::fork();
  if (pid == 0) {
    held.~KernelCache();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_EQ(num_named(".lease-"), 1u);
  used_ago(*cache_.find(kArch, "second", "gcc-12.2.0"), std::chrono::minutes(50));
  EXPECT_THAT(left_of_five(root_, make), testing::Contains("second"));
}

TEST_F(KernelCacheTest, LeavesNoLeaseBehind) {
  KernelCache({root_}, kLarge, KernelCache::Lease::held).add(compiled("r1", "x"));
  EXPECT_EQ(num_named(".lease-"), 0u);
}

TEST_F(KernelCacheTest, OtherFoldersAreReadAndNeverWritten) {
  const fs::path shared = folder_.path() / "shared";
  const Binary given = KernelCache({shared}, kLarge).add(compiled("r1", "shared"));
  const Binary broken = KernelCache({shared}, kLarge).add(compiled("r2", "shared"));
  overwrite(broken.file, "x");
  KernelCache cache({root_, shared}, kLarge);
  EXPECT_EQ(cache.find(kArch, "r1", "gcc-12.2.0"), given);
  EXPECT_EQ(cache.find(kArch, "r2", "gcc-12.2.0"), std::nullopt);
  EXPECT_TRUE(fs::exists(broken.file));
  const Binary own = cache.add(compiled("r1", "own"));
  EXPECT_EQ(cache.find(kArch, "r1", "gcc-12.2.0"), own);
  EXPECT_EQ(cache.list().size(), 2u) << "r1 is listed once";
  EXPECT_EQ(cache.clear(), 1u);
  EXPECT_TRUE(fs::exists(given.file));
}

TEST_F(KernelCacheTest, RefusesWhatOthersCouldHaveWritten) {
  const Binary added = cache_.add(compiled("r1", "content"));
  for (const fs::path& path : {root_, root_ / kArch, added.file.parent_path().parent_path(), added.file.parent_path(),
                               added.file, added.file.parent_path() / "entry.json"}) {
    for (const mode_t bit : {S_IWGRP, S_IWOTH}) {
      const mode_t mode = mode_of(path);
      ASSERT_EQ(::chmod(path.c_str(), mode | bit), 0);
      EXPECT_EQ(cache_.find(kArch, "r1", "gcc-12.2.0"), std::nullopt) << path;
      if (path == root_)
        EXPECT_THROW(cache_.list(), Error);
      else
        EXPECT_THAT(cache_.list(), IsEmpty()) << path;
      ASSERT_EQ(::chmod(path.c_str(), mode), 0);
      EXPECT_TRUE(cache_.find(kArch, "r1", "gcc-12.2.0")) << path;
    }
  }
}

TEST_F(KernelCacheTest, RefusesAFileOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const Binary added = cache_.add(compiled("r1", "content"));
  constexpr uid_t kNobody = 65534;
  for (const fs::path& path : {root_, root_ / kArch, added.file.parent_path(), added.file}) {
    ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0);
    EXPECT_EQ(cache_.find(kArch, "r1", "gcc-12.2.0"), std::nullopt) << path;
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  }
  EXPECT_TRUE(cache_.find(kArch, "r1", "gcc-12.2.0"));
}

TEST_F(KernelCacheTest, FollowsNoLinksBelowItsRoot) {
  const Binary added = cache_.add(compiled("r1", "content"));
  const fs::path elsewhere = folder_.path() / "elsewhere";
  fs::rename(added.file, elsewhere);
  fs::create_symlink(elsewhere, added.file);
  EXPECT_EQ(cache_.find(kArch, "r1", "gcc-12.2.0"), std::nullopt);
  // The root itself may be a link: a cache on another disk.
  const fs::path link = folder_.path() / "link";
  fs::create_directory_symlink(root_, link);
  KernelCache cache({link}, kLarge);
  cache.add(compiled("r2", "content"));
  EXPECT_TRUE(cache.find(kArch, "r2", "gcc-12.2.0"));
}

TEST_F(KernelCacheTest, DoesNotWriteWhereOthersCan) {
  fs::create_directory(root_);
  ASSERT_EQ(::chmod(root_.c_str(), 0777), 0);
  try {
    cache_.add(compiled("r1", "x"));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(), HasSubstr("can be written by other users"));
  }
}

TEST_F(KernelCacheTest, SomethingElseInItsPlaceIsAnError) {
  overwrite(root_, "a file");
  EXPECT_THROW(cache_.add(compiled("r1", "x")), Error);
  fs::remove(root_);
  fs::create_directories(root_ / kArch / "r1");
  ASSERT_EQ(::chmod(root_.c_str(), 0700), 0);
  overwrite(root_ / kArch / "r1" / "gcc-12.2.0", "a file");
  EXPECT_THROW(cache_.add(compiled("r1", "x")), Error);
  EXPECT_EQ(num_temporary(), 0u);
}

TEST_F(KernelCacheTest, ABinaryOfAnotherRecipeInItsPlaceIsRemovedAndNotThere) {
  const Binary first = cache_.add(compiled("r1", "first")), second = cache_.add(compiled("r2", "second"));
  fs::rename(root_ / kArch / "r1", root_ / kArch / "r0");
  fs::rename(root_ / kArch / "r2", root_ / kArch / "r1");
  fs::rename(root_ / kArch / "r0", root_ / kArch / "r2");
  EXPECT_THAT(cache_.list(), IsEmpty());
  for (const char* recipe : {"r1", "r2"}) EXPECT_EQ(cache_.find(kArch, recipe, "gcc-12.2.0"), std::nullopt);
  EXPECT_FALSE(fs::exists(root_ / kArch));
  const Binary again = cache_.add(compiled("r1", "first"));
  fs::rename(root_ / kArch, root_ / "sm_90");
  EXPECT_EQ(cache_.find("sm_90", "r1", "gcc-12.2.0"), std::nullopt);
}

TEST_F(KernelCacheTest, ABinaryOfAnotherCommandOfItsCompilerIsNotThere) {
  Binary old = compiled("r1", "old");
  old.metadata = {{"compiler", "hostcc"}, {"command", "0"}};
  EXPECT_THROW(cache_.add(old), Error) << "add() returns what can be found";
  Binary foreign = compiled("r2", "foreign");
  foreign.metadata = {{"compiler", "a compiler of another build"}, {"command", "0"}};
  EXPECT_EQ(cache_.find(kArch, "r1", "gcc-12.2.0"), std::nullopt);
  const Binary added = cache_.add(foreign);
  EXPECT_EQ(cache_.find(kArch, "r2", "gcc-12.2.0"), added);
}

TEST_F(KernelCacheTest, AddsNothingBelowFoldersOfOthers) {
  cache_.add(compiled("r1", "x"));
  for (const fs::path& folder : {root_ / kArch, root_ / kArch / "r1"}) {
    ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
    EXPECT_THROW(cache_.add(compiled("r1", "x", "clang-14.0.6")), Error) << folder;
    ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  }
  const fs::path elsewhere = folder_.path() / "elsewhere";
  fs::rename(root_ / kArch, elsewhere);
  fs::create_directory_symlink(elsewhere, root_ / kArch);
  try {
    cache_.add(compiled("r2", "x"));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(), HasSubstr("is a link or can be written by other users"));
  }
}

TEST_F(KernelCacheTest, ARootThatCannotBeUsedIsNoEmptyCache) {
  overwrite(root_, "a file");
  EXPECT_THROW(cache_.list(), Error);
  EXPECT_THROW(cache_.clear(), Error);
  fs::remove(root_);
  cache_.add(compiled("r1", "x"));
  ASSERT_EQ(::chmod(root_.c_str(), 0777), 0);
  EXPECT_THROW(cache_.list(), Error);
  EXPECT_THROW(cache_.clear(), Error);
  ASSERT_EQ(::chmod(root_.c_str(), 0700), 0);
  EXPECT_EQ(cache_.clear(), 1u);
}

TEST_F(KernelCacheTest, ARootThatThisUserMayNotReadIsNoEmptyCache) {
  cache_.add(compiled("r1", "x"));
  ASSERT_EQ(::chmod(root_.c_str(), 0300), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {  // Root may read everywhere, so the child runs as another user.
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && (::chown(folder_.path().c_str(), kNobody, kNobody) != 0 ||
                             ::chown(root_.c_str(), kNobody, kNobody) != 0 || ::setuid(kNobody) != 0))
      ::_exit(3);
    try {
      ::_exit(cache_.list().empty() ? 1 : 2);
    } catch (const Error& error) {
      ::_exit(error.code() == ErrorCode::invalid_input ? 0 : 4);
    }
  }
  int status = -1;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_EQ(::chmod(root_.c_str(), 0700), 0);
  EXPECT_EQ(status, 0);
}

TEST_F(KernelCacheTest, ClearSaysWhatItCouldNotRemove) {
  const Binary added = cache_.add(compiled("r1", "x"));
  const pid_t pid = ::fork();
  if (pid == 0) {  // Root may write everywhere, so the child runs as another user.
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0) {
      bool given =
          ::chown(folder_.path().c_str(), kNobody, kNobody) == 0 && ::chown(root_.c_str(), kNobody, kNobody) == 0;
      for (const auto& entry : fs::recursive_directory_iterator(root_))
        given = given && ::chown(entry.path().c_str(), kNobody, kNobody) == 0;
      if (!given || ::setuid(kNobody) != 0) ::_exit(3);
    }
    ::chmod((root_ / kArch / "r1").c_str(), 0500);
    try {
      cache_.clear();
      ::_exit(1);
    } catch (const Error& error) {
      ::_exit(error.code() == ErrorCode::io ? 0 : 2);
    }
  }
  int status = -1;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ::chmod((root_ / kArch / "r1").c_str(), 0700);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::exists(added.file));
}

TEST_F(KernelCacheTest, ListIsInOrder) {
  cache_.add(compiled("r2", "x"));
  cache_.add(compiled("r1", "x"));
  cache_.add(compiled("r1", "x", "clang-14.0.6"));
  std::vector<std::string> keys;
  for (const Binary& binary : cache_.list()) keys.push_back(binary.recipe + " " + binary.toolchain);
  EXPECT_THAT(keys, ElementsAre("r1 clang-14.0.6", "r1 gcc-12.2.0", "r2 gcc-12.2.0"));
}

TEST_F(KernelCacheTest, ClearRemovesItsOwnAndNothingElse) {
  cache_.add(compiled("r1", "x"));
  cache_.add(compiled("r2", "x"));
  fs::create_directories(root_ / "documents" / "letters" / "mother");
  overwrite(root_ / "documents" / "letters" / "mother" / "kernel", "not ours");
  overwrite(root_ / kArch / "note", "not ours");
  EXPECT_EQ(cache_.clear(), 2u);
  EXPECT_THAT(cache_.list(), IsEmpty());
  EXPECT_TRUE(fs::exists(root_ / "documents/letters/mother/kernel"));
  EXPECT_TRUE(fs::exists(root_ / kArch / "note"));
  EXPECT_EQ(num_temporary(), 0u);
}

TEST_F(KernelCacheTest, WhatAProcessLeftBehindWhenItDiedIsRemovedAfterAnHour) {
  cache_.add(compiled("r1", "x"));
  const fs::path old = root_ / ".new-old123", young = root_ / ".new-young1";
  fs::create_directory(old);
  fs::create_directory(young);
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  KernelCache({root_}, kLarge).add(compiled("r2", "x"));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}

}  // namespace
}  // namespace attune
