// SPDX-License-Identifier: MIT
#include "campaign/existing_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "device/fake/fake_device.h"
#include "formats/csv/publish.h"
#include "formats/csv/published_row.h"
#include "measure/contenders.h"
#include "measure/local_executor.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "testing/campaign_values.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RowsOfTables : public testing::Test {
 protected:
  ExistingRows read(const std::vector<Problem>& problems, const std::string& tables = "t.csv") {
    TuneShapes shapes;
    shapes.family = &family_;
    shapes.problems = problems;
    OutputTables files;
    if (!tables.empty()) files = {file("t.csv"), in_folder(tables)};
    return read_existing_rows(options_, shapes, files, executor_);
  }
  /// `a.csv:b.csv` with the folder before each name.
  std::string in_folder(const std::string& names) const {
    const auto colon = names.find(':');
    if (colon == std::string::npos) return file(names).string();
    return file(names.substr(0, colon)).string() + ":" + file(names.substr(colon + 1)).string();
  }
  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
  /// The default config of the fake solver.
  Candidate usable(const Problem& problem) {
    const auto all = contenders(executor_, problem, {});
    const Contender* fake = find_contender(all, "fake.gemm");
    return {fake->solver, fake->version, fake->default_config};
  }
  void put_row(const std::string& table, const Problem& problem, const Candidate& candidate, double us,
               const std::string& gfx = "fake") const {
    PublishedRow row = published_row(problem, candidate, us, 0);
    row.gfx = gfx;
    row.model = device_.info().model;
    row.num_units = device_.info().num_units;
    publish(file(table), family_, {&row, 1});
  }
  /// M of the shapes that have a row, and 0 for those without.
  static std::vector<int64_t> with_rows(const ExistingRows& rows) {
    std::vector<int64_t> all;
    for (const WorkItem& item : rows.items) all.push_back(item.has_row ? item.problem.integer("m") : 0);
    return all;
  }
  TemporaryFolder folder_{"rows_test"};
  FakeDevice device_;
  LocalExecutor executor_{device_, registry()};
  TuneOptions options_;
  const FamilySpec& family_ = *find_family("gemm_a16w16");
  Problem one_ = test_problem(1), two_ = test_problem(2);
};

TEST_F(RowsOfTables, WithoutATableNoShapeHasARow) {
  EXPECT_THAT(with_rows(read({one_, two_}, "")), ElementsAre(0, 0));
  EXPECT_THAT(with_rows(read({one_, two_})), ElementsAre(0, 0)) << "the output is new";
  write_file_atomically(file("t.csv"), "");
  EXPECT_THAT(with_rows(read({one_, two_})), ElementsAre(0, 0)) << "an empty output is new, too";
}

TEST_F(RowsOfTables, TheNextRowIsTheIncumbentWhereTheFastestCannotRun) {
  Candidate older = usable(two_);
  older.version = "0";
  put_row("t.csv", two_, usable(two_), 12.5);
  const std::string row = read_file(file("t.csv"));
  put_row("o.csv", two_, older, 1);
  const std::string fast = read_file(file("o.csv"));
  write_file_atomically(file("t.csv"), fast + row.substr(row.find('\n') + 1));
  const ExistingRows rows = read({two_});
  ASSERT_TRUE(rows.items.front().incumbent.has_value());
  EXPECT_EQ(rows.items.front().incumbent->candidate, usable(two_));
  EXPECT_TRUE(rows.items.front().has_row);
}

TEST_F(RowsOfTables, AnOldWinnerIsTheIncumbent) {
  put_row("t.csv", two_, usable(two_), 12.5);
  const ExistingRows rows = read({one_, two_});
  EXPECT_THAT(with_rows(rows), ElementsAre(0, 2));
  ASSERT_TRUE(rows.items[1].incumbent);
  EXPECT_EQ(rows.items[1].incumbent->candidate, usable(two_));
  EXPECT_EQ(rows.items[1].incumbent->us, 12.5);
  EXPECT_THAT(rows.items[1].incumbent->row, HasSubstr("fake.gemm@"));
  EXPECT_FALSE(rows.items[0].incumbent);
}

TEST_F(RowsOfTables, AKernelThatCannotRunHereIsTunedAgain) {
  put_row("t.csv", one_, {"nobody.gemm", "1", {}}, 10);
  Candidate old = usable(two_);
  old.version = "0";
  put_row("t.csv", two_, old, 10);
  const ExistingRows rows = read({one_, two_});
  EXPECT_THAT(with_rows(rows), ElementsAre(0, 0));
  EXPECT_FALSE(rows.items[1].incumbent);
}

TEST_F(RowsOfTables, FurtherTablesAreReadAsWell) {
  put_row("u.csv", two_, usable(two_), 10);
  EXPECT_THAT(with_rows(read({one_, two_}, "t.csv:u.csv")), ElementsAre(0, 2)) << "the output is new";
  put_row("t.csv", one_, usable(one_), 10);
  EXPECT_THAT(with_rows(read({one_, two_}, "t.csv:u.csv")), ElementsAre(1, 2));
  EXPECT_THAT(refusal([&] { read({one_}, "t.csv:missing.csv"); }), HasSubstr("missing.csv"));
}

TEST_F(RowsOfTables, AllOfOneFileMeansTheRowsOfThisDevice) {
  put_row("t.csv", one_, usable(one_), 10, "other");
  put_row("t.csv", two_, usable(two_), 10);
  options_.all = true;
  EXPECT_THAT(read({one_, two_}).items, SizeIs(2)) << "the shapes come from elsewhere";
  options_.input = file("t.csv").string();
  const ExistingRows rows = read({one_, two_});
  ASSERT_THAT(rows.items, SizeIs(1));
  EXPECT_EQ(rows.items[0].problem, two_);
}

TEST_F(RowsOfTables, NoticesOfTheTablesArePassedOn) {
  put_row("t.csv", one_, usable(one_), 10);
  EXPECT_THAT(read({one_}).notices, IsEmpty());
  std::string text = read_file(file("t.csv"));
  text.replace(text.find(",10.0000,"), 9, ",0.0000,");
  write_file_atomically(file("t.csv"), text);
  const ExistingRows rows = read({one_});
  EXPECT_THAT(rows.notices, ElementsAre(HasSubstr("t.csv: 1 row without a usable time")));
  EXPECT_THAT(with_rows(rows), ElementsAre(0)) << "a row without a usable time is no winner";
}

TEST_F(RowsOfTables, AFileThatIsNoTableOfTheFamilyIsRefused) {
  write_file_atomically(file("t.csv"), "M,N,K\n1,32,48\n");
  EXPECT_NE(refusal([&] { read({one_}); }), "accepted");
  write_file_atomically(file("t.csv"), "what,is,this\n1,2,3\n");
  EXPECT_NE(refusal([&] { read({one_}); }), "accepted");
}

}  // namespace
}  // namespace attune
