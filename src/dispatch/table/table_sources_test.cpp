// SPDX-License-Identifier: MIT
#include "dispatch/table/table_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "dispatch/table/row_index.h"
#include "testing/environment.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kNamed = "ATTUNE_CONFIG_GEMM_BF16";
constexpr const char* kStrict = "ATTUNE_CONFIG_STRICT";

class TableSourcesTest : public testing::Test {
 protected:
  void SetUp() override {
    set("ATTUNE_CONFIG_DIR", folder_.path());
    set("ATTUNE_HOME", folder_.path());
    folder_.put("bf16_tuned_gemm.csv", "gfx,cu_num,M,N,K,us,kernelName\n");
    folder_.put("mine.csv", "gfx,cu_num,M,N,K,us,kernelName\n");
  }
  static void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  static TableSources sources() { return table_sources(family()); }
  static const FamilySpec& family() { return *find_family("gemm_a16w16"); }

  static constexpr const char* kVariables[] = {
      kNamed, kStrict, "AITER_CONFIG_GEMM_BF16", "ATTUNE_CONFIG_DIR", "ATTUNE_HOME", "ATTUNE_CONFIG_GEMM_A8W8"};
  TestEnvironment environment_{kVariables};
  TestFolder folder_;
};

TEST_F(TableSourcesTest, NamedTablesReplaceTheOthersOnlyWhenStrict) {
  set(kNamed, path("mine.csv"));
  EXPECT_EQ(sources().files.size(), 2u);
  set(kStrict, "0");
  EXPECT_EQ(sources().files.size(), 2u);
  set(kStrict, "1");
  EXPECT_EQ(sources().files.size(), 1u);
  EXPECT_TRUE(sources().strict);
  EXPECT_THAT(sources().notices, IsEmpty());
}

TEST_F(TableSourcesTest, AWrongValueOfStrictIsSaidWhereItCouldMatter) {
  set(kStrict, "x");
  EXPECT_THAT(sources().notices, IsEmpty());
  set(kNamed, path("mine.csv"));
  EXPECT_FALSE(sources().strict);
  EXPECT_EQ(sources().files.size(), 2u);
  EXPECT_THAT(sources().notices, ElementsAre(AllOf(HasSubstr("ATTUNE_CONFIG_STRICT expects 0 or 1"), HasSubstr(kNamed),
                                                   HasSubstr("'x'"))));
  ::unsetenv(kNamed);
  set("AITER_CONFIG_GEMM_BF16", path("mine.csv"));
  EXPECT_TRUE(sources().strict) << "the older name replaces all others";
  EXPECT_THAT(sources().notices, IsEmpty());
}

TEST_F(TableSourcesTest, AMissingTableIsSaidOnceWithTheVariableThatNamesIt) {
  folder_.put("wrong.csv", "name\nmine\n");
  set(kNamed, path("gone.csv") + ":" + path("wrong.csv"));
  const TableSources found = sources();
  EXPECT_THAT(found.notices, IsEmpty());
  const KeyCodes codes(family());
  const RowIndex index(codes, found.files, {});
  EXPECT_THAT(index.notices(), ElementsAre(AllOf(HasSubstr(kNamed), HasSubstr("names a table that does not exist"),
                                                 HasSubstr("gone.csv")),
                                           AllOf(HasSubstr("a table is skipped"), HasSubstr("wrong.csv"))));
}

TEST_F(TableSourcesTest, ATableThatNoVariableNamedIsSaidByItsReader) {
  const KeyCodes codes(family());
  const RowIndex index(codes, {{folder_.path() / "gone.csv", Origin::variable}}, {});
  EXPECT_THAT(index.notices(), ElementsAre(HasSubstr("gone.csv")));
}

TEST_F(TableSourcesTest, AnOverlayThatOthersCouldHaveWrittenIsSkippedAndReported) {
  const auto overlay = folder_.path() / "overlay";
  std::filesystem::create_directory(overlay);
  folder_.put("overlay/bf16_tuned_gemm.csv", "gfx,cu_num,M,N,K,us,kernelName\n");
  const auto file = overlay / "bf16_tuned_gemm.csv";
  ASSERT_EQ(::chmod(overlay.c_str(), 0700) + ::chmod(file.c_str(), 0644), 0);
  EXPECT_EQ(sources().files.front().origin, Origin::overlay);
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  EXPECT_EQ(sources().files.front().origin, Origin::standard);
  EXPECT_THAT(sources().notices, ElementsAre(AllOf(HasSubstr("overlay is skipped"), HasSubstr(file.string()))));
  ASSERT_EQ(::chmod(file.c_str(), 0644) + ::chmod(overlay.c_str(), 0777), 0);
  EXPECT_EQ(sources().files.front().origin, Origin::standard);
  EXPECT_THAT(sources().notices, ElementsAre(HasSubstr("chmod go-w")));
}

}  // namespace
}  // namespace attune
