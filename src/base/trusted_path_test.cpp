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

}  // namespace
}  // namespace attune
