// SPDX-License-Identifier: MIT
#include "store/fleet/fleet_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "store/journal.h"
#include "testing/fleet/fleet_store_fixture.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

class FleetFileTest : public FleetStoreFixture {};
INSTANTIATE_TEST_SUITE_P(, FleetFileTest, ::testing::Values("sqlite"));

TEST_P(FleetFileTest, TheFileAndItsFolderArePrivate) {
  begin(*open(), 1);
  struct stat status {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(file().parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_P(FleetFileTest, FilesOfOthersAreRefusedAndUnchanged) {
  const auto other = folder_.path() / "other.db";
  soci::session(soci::sqlite3, "db=\"" + other.string() + "\"") << "CREATE TABLE mine (a)";
  const auto size = std::filesystem::file_size(other);
  EXPECT_THAT(refusal([&] { open_fleet_store("sqlite:" + other.string()); }), HasSubstr("another program's"));
  EXPECT_EQ(std::filesystem::file_size(other), size);
  EXPECT_FALSE(std::filesystem::exists(other.string() + "-wal"));
  const auto text = folder_.path() / "notes.txt";
  std::ofstream(text) << "no database, but a text of more than a hundred bytes, so that a header could be in it: "
                         "0123456789 0123456789 0123456789";
  EXPECT_THAT(refusal([&] { open_fleet_store("sqlite:" + text.string()); }), HasSubstr("another program's"));
  const auto link = folder_.path() / "link.db";
  std::filesystem::create_symlink(other, link);
  EXPECT_THAT(refusal([&] { open_fleet_store("sqlite:" + link.string()); }), HasSubstr("link"));
  std::filesystem::create_symlink(text, folder_.path() / "new.db-wal");
  EXPECT_THAT(refusal([&] { open_fleet_store("sqlite:" + (folder_.path() / "new.db").string()); }), HasSubstr("link"));
  EXPECT_THAT(refusal([&] { open_fleet_store("sqlite:" + folder_.path().string()); }), HasSubstr("regular file"));
  EXPECT_THAT(refusal([&] { open(FleetStoreUse::existing); }), HasSubstr("attune configs import"));
}

TEST_P(FleetFileTest, ALockedFileIsRefusedAfterTheWait) {
  open();
  soci::session holder(soci::sqlite3, "db=\"" + file().string() + "\"");
  holder << "BEGIN EXCLUSIVE";
  const auto store = open_fleet_store("sqlite:" + file().string(), FleetStoreUse::existing, 50);
  try {
    store->set_solvers({{"a.conv", "1", "conv", true, "A"}});
    FAIL() << "it was not locked";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("another process keeps the fleet's store locked"));
  }
}

TEST_P(FleetFileTest, AnInterruptedProcessStillWaitsForALockAndARenewalNotLong) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  const auto jobs = queue.claim(filter(session, {FleetStep::perf_compile}), 1);
  soci::session holder(soci::sqlite3, "db=\"" + file().string() + "\"");
  holder << "BEGIN IMMEDIATE";
  EXPECT_THROW(queue.renew(jobs), Error);  // After 2 s, not 10.
  set_journal_wait([](double, const std::filesystem::path&) { return false; });
  std::thread other([&] {
    ::usleep(300'000);
    holder << "COMMIT";
  });
  EXPECT_NO_THROW(queue.release(jobs));
  other.join();
  set_journal_wait(nullptr);
  EXPECT_EQ(number("SELECT count(*) FROM job WHERE state = 'leased'"), 0);
}

TEST_P(FleetFileTest, NetworkFileSystemsAreKnown) {
  EXPECT_EQ(network_file_system(0x6969), "NFS");
  EXPECT_EQ(network_file_system(static_cast<int>(0xff534d42)), "CIFS");
  EXPECT_EQ(network_file_system(0xef53), "");
  EXPECT_EQ(network_file_system(std::filesystem::path("/dev/shm/not/there")), "");
}

TEST_P(FleetFileTest, AReadOnlyFileIsRefused) {
  const auto store = folder_.put("read_only.db", "");
  ::chmod(store.c_str(), 0444);
  const bool is_root = ::geteuid() == 0;
  if (is_root) {  // Root may write every file.
    ::chmod(folder_.path().c_str(), 0755);
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string says = refusal([&] { open_fleet_store("sqlite:" + store.string()); });
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_THAT(says, HasSubstr("cannot be opened for writing (Permission denied)"));
}

}  // namespace
}  // namespace attune
