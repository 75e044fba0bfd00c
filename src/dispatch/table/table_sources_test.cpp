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
}

TEST_F(TableSourcesTest, TheOtherTablesStayInUseWhereNoNamedOneIsATable) {
  folder_.put("bf16_untuned_gemm.csv", "M,N,K\n1,2,3\n");
  set("AITER_CONFIG_GEMM_BF16", path("mine.csv"));
  EXPECT_EQ(sources().files.size(), 1u) << "a header alone is a table";
  EXPECT_THAT(sources().why_none_serves, IsEmpty());
  set("AITER_CONFIG_GEMM_BF16", path("bf16_untuned_gemm.csv"));
  const TableSources found = sources();
  ASSERT_EQ(found.files.size(), 2u);
  EXPECT_THAT(found.files[0].why_skipped,
              AllOf(HasSubstr("AITER_CONFIG_GEMM_BF16 names a list of shapes"), HasSubstr("stay in use")));
  EXPECT_EQ(found.files[1].origin, Origin::standard);
  EXPECT_THAT(found.notices, IsEmpty()) << "one line says it";
  set("AITER_CONFIG_GEMM_BF16", path("bf16_untuned_gemm.csv") + ":" + path("mine.csv"));
  EXPECT_EQ(sources().files.size(), 2u) << "one of the named serves";
  EXPECT_EQ(sources().files.back().origin, Origin::variable);
}

TEST_F(TableSourcesTest, ANamedTableOfOtherDevicesReplacesNone) {
  folder_.put("other.csv", "gfx,cu_num,M,N,K,us,kernelName\ngfx942,80,1,2,3,1,a.b@1:x=1\n");
  set("AITER_CONFIG_GEMM_BF16", path("other.csv"));
  const DeviceInfo here = {.id = "fake:0", .kind = "fake", .gfx = "fake", .num_units = 4};
  const TableSources found = table_sources(family(), &here);
  EXPECT_EQ(found.files.size(), 2u);
  EXPECT_THAT(found.notices,
              ElementsAre(AllOf(HasSubstr("no table with a row that can serve"), HasSubstr("stay in use"))));
  DeviceInfo theirs = here;
  theirs.gfx = "gfx942";
  theirs.num_units = 80;
  EXPECT_EQ(table_sources(family(), &theirs).files.size(), 1u);
  set(kStrict, "1");
  EXPECT_THAT(table_sources(family(), &here).error, HasSubstr("no table with a row that can serve"));
  EXPECT_THAT(table_sources(family(), &theirs).error, IsEmpty());
}

TEST_F(TableSourcesTest, StrictMakesAnErrorOfANamedFileThatIsNoTable) {
  set(kNamed, path("mine.csv") + ":" + path("gone.csv"));
  EXPECT_THAT(sources().error, IsEmpty());
  set(kStrict, "1");
  EXPECT_THAT(sources().error, AllOf(HasSubstr(kNamed), HasSubstr("does not exist"), HasSubstr("gone.csv")));
}

TEST_F(TableSourcesTest, VariablesThatAreNotReadAreSaid) {
  EXPECT_THAT(table_variable_notices(), IsEmpty());
  set("ATTUNE_CONFIG_DIR", "~/configs");
  const TestEnvironment misspelt("AITER_CONFIG_GEMM_BF61", "x.csv"), lower("attune_config_gemm_bf16", "x.csv");
  set(kNamed, path("mine.csv"));
  set("AITER_CONFIG_GEMM_BF16", path("other.csv"));
  EXPECT_THAT(
      table_variable_notices(),
      ElementsAre(AllOf(HasSubstr("ATTUNE_CONFIG_DIR"), HasSubstr("'~/configs'"), HasSubstr("a shell replaces")),
                  HasSubstr("name different tables, the first is used"),
                  HasSubstr("AITER_CONFIG_GEMM_BF61 is not read"), HasSubstr("attune_config_gemm_bf16 is not read")));
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
                                           AllOf(HasSubstr(kNamed), HasSubstr("wrong.csv"))));
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
