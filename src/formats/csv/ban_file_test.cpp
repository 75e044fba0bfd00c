// SPDX-License-Identifier: MIT
#include "formats/csv/ban_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "attune/error.h"
#include "base/file.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BanFileTest : public testing::Test {
 protected:
  std::filesystem::path put(std::string_view content) {
    write_file_atomically(file_, content);
    return file_;
  }
  TestFolder folder_;
  const std::filesystem::path file_ = folder_.path() / kBanFileName;
};

}  // namespace

TEST_F(BanFileTest, KeepsWhatIsWritten) {
  const std::vector<Ban> bans = {{"fake.gemm@1:x=1", "fake/4", "", "wrong, \"sometimes\""},
                                 {"b.gemm", "", "gemm_a16w16 m=1 n=2 k=3", "no"}};
  change_ban_file(file_, [&](std::vector<Ban>& all) { all = bans; });
  const BanFile read = read_ban_file(file_);
  EXPECT_EQ(read.bans, bans);
  EXPECT_THAT(read.notices, IsEmpty());
  change_ban_file(file_, [&](std::vector<Ban>& all) { all.erase(all.begin()); });
  EXPECT_THAT(read_ban_file(file_).bans, ElementsAre(bans[1]));
}

TEST_F(BanFileTest, TakesThreeColumnsInAnyOrder) {
  put("reason,candidate,device\nno,a.gemm,\n");
  EXPECT_THAT(read_ban_file(file_).bans, ElementsAre(Ban{"a.gemm", "", "", "no"}));
}

TEST_F(BanFileTest, SkipsFaultyLinesAndNamesThem) {
  put("candidate,device,reason\na.gemm,,no\na b,,no\nb.gemm,,\nc.gemm,,no,more\nd.gemm");
  const BanFile read = read_ban_file(file_);
  EXPECT_THAT(read.bans, ElementsAre(Ban{"a.gemm", "", "", "no"}));
  EXPECT_THAT(read.notices,
              ElementsAre(HasSubstr("banned.csv:3: a line of banned kernels is skipped: it names neither"),
                          HasSubstr("banned.csv:4: a line of banned kernels is skipped: it states no reason"),
                          HasSubstr("banned.csv:5: a line of banned kernels is skipped: it has 4 cells, the header"),
                          HasSubstr("banned.csv:6: a line of banned kernels is skipped: it has 1 cell, the header")));
  EXPECT_THROW(change_ban_file(file_, [](std::vector<Ban>& bans) { bans.clear(); }), Error) << "lines would be lost";
}

TEST_F(BanFileTest, SkipsAFileThatIsNoneOrOfOthers) {
  EXPECT_THAT(read_ban_file(file_).notices, IsEmpty()) << "there is none";
  for (const std::string& content :
       {std::string("candidate,reason\na.gemm,no\n"), std::string("candidate,device,reason\na.gemm,,\xff\n"),
        std::string("\0\1\2", 3), std::string(kMaxBanFileBytes + 1, 'x')}) {
    const BanFile read = read_ban_file(put(content));
    EXPECT_THAT(read.bans, IsEmpty());
    EXPECT_THAT(read.notices, ElementsAre(HasSubstr("the list of banned kernels is skipped: ")))
        << content.substr(0, 40);
  }
  ASSERT_EQ(chmod(put("candidate,device,reason\na.gemm,,no\n").c_str(), 0666), 0);
  EXPECT_THAT(read_ban_file(file_).notices, ElementsAre(HasSubstr("other users may write it")));
}

}  // namespace attune
