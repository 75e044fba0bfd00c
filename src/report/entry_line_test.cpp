// SPDX-License-Identifier: MIT
#include "report/entry_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "store/entry_json.h"
#include "testing/journal_values.h"

namespace attune {
namespace {

class EntryLine : public testing::Test, protected JournalValues {
 protected:
  const std::vector<Entry> entries_ = {started("a=1"),  record("a=1"),
                                       decision("a=1"), Pardon{"g/2", candidate("a=1")},
                                       run_begin(),     RunEnd{"done", 0, {}}};
};

TEST_F(EntryLine, IsAnObjectWithStampAndMembers) {
  for (const Entry& entry : entries_) {
    const auto line = nlohmann::json::parse(entry_line_json(entry, {.id = 7, .at_ms = 1795400917123, .run = 5}));
    EXPECT_EQ(line["id"], 7);
    EXPECT_EQ(line["at"], "2026-11-23T02:28:37.123Z");
    EXPECT_EQ(line["run"], 5);
    EXPECT_EQ(entry_from_json(line.dump()), entry);
  }
  EXPECT_TRUE(nlohmann::json::parse(entry_line_json(entries_[0], {.id = 7}))["at"].is_null());
}

TEST_F(EntryLine, ForPeopleBeginsWithItsTimeAndRun) {
  for (const Entry& entry : entries_) {
    const std::string line = entry_line(entry, {.id = 7, .at_ms = 1795400917123, .run = 5});
    EXPECT_THAT(line, testing::StartsWith("2026-11-23 02:28        5  "));
    EXPECT_THAT(line, testing::Not(testing::HasSubstr("\n")));
  }
  EXPECT_EQ(stamp_header().size(), short_stamp({.at_ms = 1795400917123, .run = 5}).size());
  EXPECT_THAT(entry_line(entries_[0], {.at_ms = 1795400917123}), testing::StartsWith("2026-11-23 02:28        -  "));
  EXPECT_THAT(entry_line(entries_[4], {}), testing::HasSubstr("begin     attune tune -m 4 on node 7, process 4711"));
}

}  // namespace
}  // namespace attune
