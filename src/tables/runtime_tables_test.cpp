// SPDX-License-Identifier: MIT
#include "tables/runtime_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "process/temporary_folder.h"
#include "testing/table_values.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class RuntimeTablesTest : public testing::Test {
 protected:
  /// Adds a file to the sources.
  void add(const std::string& name, const std::string& text) {
    write_file_atomically(folder_.path() / name, text);
    sources_.files.push_back({folder_.path() / name, Origin::variable});
  }
  RuntimeTables read() const { return read_runtime_tables(test_family(), sources_); }
  TemporaryFolder folder_{"runtime_tables_test"};
  TableSources sources_;
};

TEST_F(RuntimeTablesTest, AWrongFileAffectsNoOtherAndAWrongRowNoOther) {
  add("wrong.csv", "gfx,cu_num,M\n");
  add("a.csv", test_text({test_row(1, "2"), "fake,4,x", "fake,4,y", test_row(2, "2")}));
  sources_.files.push_back({folder_.path() / "gone.csv", Origin::variable, "VARIABLE names a table that is not there"});
  add("b.csv", test_text({test_row(3, "2")}));
  sources_.notices.emplace_back("the variable is odd");
  const RuntimeTables tables = read();
  ASSERT_TRUE(tables.table);
  EXPECT_EQ(tables.table->rows().size(), 3u);
  ASSERT_EQ(tables.wrong.size(), 4u);
  EXPECT_NE(tables.wrong[0], "");
  EXPECT_EQ(tables.wrong[1] + tables.wrong[3], "");
  EXPECT_THAT(tables.table->documents()[tables.documents[1]].name(), HasSubstr("a.csv"));
  EXPECT_THAT(tables.table->documents()[tables.documents[3]].name(), HasSubstr("b.csv"));
  EXPECT_THAT(skipped_notices(tables),
              ElementsAre("the variable is odd", AllOf(HasSubstr("a table is skipped: "), HasSubstr("wrong.csv:1")),
                          "VARIABLE names a table that is not there",
                          AllOf(HasSubstr("2 rows skipped, the first: "), HasSubstr("a.csv:3"))));
}

TEST_F(RuntimeTablesTest, WithoutAReadableFileThereIsNoTable) {
  add("wrong.csv", "name\nmine\n");
  EXPECT_FALSE(read().table);
  EXPECT_EQ(skipped_notices(read()).size(), 1u);
}

TEST(WantedFamilies, AreTheNamedOneOrAll) {
  EXPECT_THAT(wanted_families("gemm_a16w16"), ElementsAre(&test_family()));
  EXPECT_EQ(wanted_families("").size(), families().size());
  EXPECT_THROW(wanted_families("gemm_x"), Error);
}

}  // namespace
}  // namespace attune
