// SPDX-License-Identifier: MIT
#include "report/journal_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "attune/error.h"
#include "testing/journal_values.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class JournalListing : public testing::Test, protected JournalValues {
 protected:
  void append(const Entry& entry) { journal_->append({&entry, 1}); }
  std::unique_ptr<Journal> journal_ = open_memory_journal();
};

TEST_F(JournalListing, ShowsTheNewestDecisionsTheNewestLast) {
  append(started("a=1"));
  for (const char* winner : {"a=1", "a=2", "a=3"}) append(decision(winner));
  append(record("a=4"));
  const NewestDecisions newest = newest_decisions(*journal_, {}, 2);
  ASSERT_THAT(newest.decisions, SizeIs(2));
  EXPECT_EQ(newest.decisions[0].first.winner, candidate("a=2"));
  EXPECT_EQ(newest.decisions[1].first.winner, candidate("a=3"));
  EXPECT_LT(newest.decisions[0].second.id, newest.decisions[1].second.id);
  EXPECT_EQ(count_decisions(*journal_, {}), 3u);
  EXPECT_EQ(newest.num_damaged, 0u);
}

TEST_F(JournalListing, CountsACandidateOnceWhetherItWasAnnouncedOrMeasured) {
  EntryTally tally;
  for (const Entry& entry : std::vector<Entry>{started("a=1"), record("a=1"), record("a=2"), started("a=3"),
                                               started("a=3", kOther), decision("a=1"), run_begin()})
    tally.add(entry);
  EXPECT_EQ(tally.num_candidates(), 4u);
  EXPECT_EQ(tally.num_records(), 2u);
  EXPECT_EQ(tally.num_decisions(), 1u);
}

TEST_F(JournalListing, ARunThatTheJournalDoesNotHaveIsRefused) {
  const int64_t run = journal_->begin_run(run_begin());
  EXPECT_NO_THROW(check_run(*journal_, run));
  EXPECT_NO_THROW(check_run(*journal_, 0));
  try {
    check_run(*journal_, run + 1);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_THAT(error.what(), HasSubstr("the journal has no such run"));
  }
}

TEST_F(JournalListing, StatusesAreOutcomesVerdictsAndEndings) {
  for (const char* text : {"ok", "crashed", "faster", "tie", "done", "failed", "interrupted"})
    EXPECT_TRUE(is_entry_status(text)) << text;
  for (const char* text : {"", "Done", "running", "wrong"}) EXPECT_FALSE(is_entry_status(text)) << text;
}

}  // namespace
}  // namespace attune
