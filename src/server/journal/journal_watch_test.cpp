// SPDX-License-Identifier: MIT
#include "server/journal/journal_watch.h"

#include <gtest/gtest.h>

#include "testing/becomes_true.h"
#include "testing/journal_values.h"
#include "testing/test_files.h"

namespace attune {
namespace {

class JournalWatchTest : public testing::Test, protected JournalValues {
 protected:
  const TestFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "journal.db";
};

TEST_F(JournalWatchTest, NewestResultsAreMadeOnceAfterEachChange) {
  const auto journal = open_sql_journal(file_);
  journal->append(std::vector<Entry>{decision("a=1")});
  const JournalWatch watch(file_);
  EXPECT_TRUE(becomes_true([&] { return watch.state().is_complete; }));
  const auto first = watch.newest_results();
  ASSERT_EQ(first->rows().size(), 1u);
  journal->append(std::vector<Entry>{record("a=1")});
  EXPECT_TRUE(becomes_true([&] { return watch.state().newest_id == 2; }));
  EXPECT_EQ(watch.newest_results(), first) << "no decision has come";
  journal->append(std::vector<Entry>{decision("a=2")});
  EXPECT_TRUE(becomes_true([&] { return watch.newest_results() != first; }));
  const auto second = watch.newest_results();
  ASSERT_EQ(second->rows().size(), 1u);
  EXPECT_EQ(second->rows()[0]->winner, candidate("a=2").name());
  EXPECT_EQ(first->rows()[0]->winner, candidate("a=1").name()) << "who has it keeps it";
}

}  // namespace
}  // namespace attune
