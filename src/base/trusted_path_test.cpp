// SPDX-License-Identifier: MIT
#include "base/trusted_path.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace attune {
namespace {

namespace fs = std::filesystem;

class TrustedPath : public testing::Test {
 protected:
  TrustedPath() {
    std::string name = (fs::temp_directory_path() / "attune_trusted_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    file_ = folder_ / "file";
    std::ofstream(file_) << "x";
    ::chmod(file_.c_str(), 0644);
  }
  ~TrustedPath() override { fs::remove_all(folder_); }
  static std::string reason(const std::optional<std::string>& why) { return why.value_or(""); }

  fs::path folder_, file_;
};

TEST_F(TrustedPath, a_file_of_one_s_own_is_trusted) {
  EXPECT_EQ(reason(why_not_trusted(file_)), "");
  EXPECT_EQ(reason(why_not_trusted(folder_ / "none")), "") << "what is not there is nobody's";
}

TEST_F(TrustedPath, one_that_others_may_write_is_named) {
  for (const mode_t mode : {0664, 0646}) {
    ::chmod(file_.c_str(), mode);
    EXPECT_NE(reason(why_not_trusted(file_)).find("chmod go-w): '" + file_.string()), std::string::npos);
  }
}

TEST_F(TrustedPath, so_is_one_that_others_may_replace) {
  ::chmod(folder_.c_str(), 0777);
  EXPECT_NE(reason(why_not_trusted(file_)).find('\'' + folder_.string() + '\''), std::string::npos);
}

TEST_F(TrustedPath, links_are_followed_to_what_they_lead_to) {
  const fs::path open = folder_ / "open", link = folder_ / "link";
  fs::create_directory(open);
  std::ofstream(open / "file") << "x";
  fs::create_symlink(open / "file", link);
  EXPECT_EQ(reason(why_not_trusted(link)), "");
  ::chmod(open.c_str(), 0777);
  EXPECT_NE(reason(why_not_trusted(link)).find('\'' + open.string() + '\''), std::string::npos);
}

TEST_F(TrustedPath, what_belongs_to_a_file_is_as_open_as_that_at_most) {
  const fs::path library = folder_ / "library";
  std::ofstream(library) << "x";
  ::chmod(library.c_str(), 0664);
  ::chmod(file_.c_str(), 0664);
  EXPECT_EQ(reason(why_not_trusted(file_, library)), "");
  ::chmod(file_.c_str(), 0666);
  EXPECT_NE(reason(why_not_trusted(file_, library)), "");
}

TEST_F(TrustedPath, another_user_s_file_is_not_trusted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::chown(file_.c_str(), kNobody, kNobody), 0);
  EXPECT_NE(reason(why_not_trusted(file_)).find("another user owns it"), std::string::npos);
  const fs::path library = folder_ / "library";
  std::ofstream(library) << "x";
  ASSERT_EQ(::chown(library.c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(reason(why_not_trusted(file_, library)), "") << "who wrote the library";
}

/// A folder in which every user may write, with links of this user and of another one that lead to the file.
class PlantedLink : public TrustedPath {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
    fs::create_directory(shared_);
    open_to_all(01777);
    for (const char* name : {"ours", "theirs"}) fs::create_symlink(file_, shared_ / name);
    fs::create_symlink(folder_, shared_ / "folder_of_theirs");
    for (const char* name : {"theirs", "folder_of_theirs"}) give(shared_ / name);
  }
  void open_to_all(mode_t mode) const { ASSERT_EQ(::chmod(shared_.c_str(), mode), 0); }
  static void give(const fs::path& path) { ASSERT_EQ(::lchown(path.c_str(), kOther, kOther), 0); }

  static constexpr uid_t kOther = 65534;
  const fs::path shared_ = folder_ / "shared";
};

TEST_F(PlantedLink, of_another_user_is_refused_in_a_folder_that_every_user_may_write_in) {
  for (const mode_t mode : {01777, 0777, 0702}) {
    open_to_all(mode);
    for (const char* path : {"theirs", "folder_of_theirs/new", "../shared/theirs"})
      EXPECT_NE(reason(why_planted(shared_ / path)).find("another user made this link"), std::string::npos) << path;
    EXPECT_EQ(reason(why_planted(shared_ / "ours")), "");
    EXPECT_EQ(reason(why_planted(shared_ / "none" / "file")), "");
  }
  open_to_all(0755);
  EXPECT_EQ(reason(why_planted(shared_ / "theirs")), "") << "only its owner could have placed it there";
}

TEST_F(PlantedLink, of_the_folder_s_owner_is_followed) {
  give(shared_);
  EXPECT_EQ(reason(why_planted(shared_ / "theirs")), "");
}

TEST_F(PlantedLink, is_found_behind_a_link_of_our_own) {
  fs::create_symlink(shared_ / "theirs", folder_ / "link");
  EXPECT_NE(reason(why_planted(folder_ / "link")).find((shared_ / "theirs").string()), std::string::npos);
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_EQ(reason(why_planted(folder_ / "loop")), "") << "the kernel refuses it";
}

}  // namespace
}  // namespace attune
