// SPDX-License-Identifier: MIT
#include "base/locations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "testing/environment.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Locations : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("attune_locations_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    ::chmod(folder_.c_str(), 0755);
    std::ofstream(folder_ / "file") << "x";
  }
  void TearDown() override { fs::remove_all(folder_); }
  void set(const char* name, const fs::path& value) { ::setenv(name, value.c_str(), 1); }
  static std::string error_text() {
    try {
      check_home_location();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      return error.what();
    }
    return "";
  }
  static constexpr const char* kVariables[] = {"HOME",           "ATTUNE_HOME",  "XDG_STATE_HOME",
                                               "XDG_CACHE_HOME", "ATTUNE_CACHE", "ATTUNE_CAPTURE_DIR"};
  TestEnvironment environment_{kVariables};
  fs::path folder_;
};

TEST_F(Locations, XdgFoldersThatAreNotAbsoluteAreIgnored) {
  set("HOME", "/home/me");
  set("XDG_STATE_HOME", "state");
  set("XDG_CACHE_HOME", "./cache");
  EXPECT_EQ(home_location().path, "/home/me/.local/state/attune");
  EXPECT_EQ(cache_location().path, "/home/me/.cache/attune");
  set("XDG_STATE_HOME", "/state");
  EXPECT_EQ(home_location().path, "/state/attune");
}

TEST_F(Locations, MergedTablesLieInTheFolderOfKernels) {
  set("HOME", folder_);
  set("ATTUNE_CACHE", "/cache");
  EXPECT_EQ(merged_location().path, "/cache/merged");
  EXPECT_EQ(merged_location().set_by, "ATTUNE_CACHE");
  EXPECT_THAT(all_locations(), testing::Contains(testing::Field(&Location::name, "merged")));
  EXPECT_THAT(all_locations(), testing::Contains(testing::Field(&Location::name, "prebuilt")));
}

TEST_F(Locations, AStateFolderThatIsAFileIsRefusedByItsVariable) {
  set("HOME", folder_);
  set("ATTUNE_HOME", folder_ / "file");
  EXPECT_THAT(error_text(), HasSubstr("ATTUNE_HOME must name a folder"));
  set("ATTUNE_HOME", folder_ / "file" / "below");
  EXPECT_THAT(error_text(), HasSubstr("ATTUNE_HOME"));
  ::unsetenv("ATTUNE_HOME");
  set("XDG_STATE_HOME", folder_ / "file");
  EXPECT_THAT(error_text(), HasSubstr("XDG_STATE_HOME must name a folder"));
}

TEST_F(Locations, WithoutAHomeFolderOneVariableSufficesForEachPlace) {
  ::unsetenv("HOME");
  EXPECT_EQ(
      error_text(),
      "there is no home folder, set HOME, or ATTUNE_HOME to a folder for state and ATTUNE_CACHE to one for kernels");
  set("ATTUNE_CACHE", folder_ / "kernels");
  EXPECT_EQ(error_text(), "there is no home folder, set HOME, or ATTUNE_HOME to a folder for state");
  set("ATTUNE_HOME", folder_ / "state");
  EXPECT_EQ(error_text(), "");
  EXPECT_NO_THROW(check_captures_location());
}

/// Becomes another user for its life, if this one is root.
class OtherUser {
 public:
  OtherUser() : is_root_(::geteuid() == 0) { become(65534); }
  ~OtherUser() { become(0); }

 private:
  void become(uid_t user) const { EXPECT_TRUE(!is_root_ || ::seteuid(user) == 0); }
  const bool is_root_;
};

TEST_F(Locations, AFolderThatThisUserMayNotUseIsRefusedByItsVariable) {
  const fs::path closed = folder_ / "closed";
  fs::create_directory(closed);
  ::chmod(closed.c_str(), 0);
  set("HOME", closed);
  for (const char* name : {"ATTUNE_HOME", "ATTUNE_CACHE", "XDG_STATE_HOME", "XDG_CACHE_HOME"}) ::unsetenv(name);
  {
    const OtherUser user;
    EXPECT_EQ(error_text(),
              "this user may not use the folder that HOME leads to, set ATTUNE_HOME to a folder for state and "
              "ATTUNE_CACHE to one for kernels: '" +
                  (closed / ".local/state/attune").string() + "'");
    set("ATTUNE_HOME", closed);
    EXPECT_EQ(error_text(),
              "this user may not use the folder that ATTUNE_HOME leads to, set ATTUNE_HOME to a folder for state: '" +
                  closed.string() + "'");
    EXPECT_THROW(check_access(captures_location()), Error);
    set("ATTUNE_CAPTURE_DIR", folder_ / "new");
    EXPECT_NO_THROW(check_access(captures_location()));
  }
  ::chmod(closed.c_str(), 0700);
}

TEST_F(Locations, AHomeFolderThatIsNotThereIsNotMade) {
  set("HOME", folder_ / "nobody");
  ::unsetenv("ATTUNE_CACHE");
  EXPECT_EQ(error_text(),
            "the folder that HOME names does not exist, create it or set ATTUNE_HOME to a folder for state and "
            "ATTUNE_CACHE to one for kernels: '" +
                (folder_ / "nobody").string() + "'");
  EXPECT_THROW(check_captures_location(), Error);
  set("ATTUNE_CACHE", folder_ / "kernels");
  EXPECT_THAT(error_text(), HasSubstr("set ATTUNE_HOME to a folder for state: '"));
  set("ATTUNE_CAPTURE_DIR", folder_ / "captures");
  EXPECT_NO_THROW(check_captures_location());
  ::unsetenv("ATTUNE_CAPTURE_DIR");
  set("ATTUNE_HOME", folder_ / "new" / "state");
  EXPECT_EQ(error_text(), "");
  ::unsetenv("ATTUNE_HOME");
  set("HOME", folder_);
  EXPECT_EQ(error_text(), "");
}

}  // namespace
}  // namespace attune
