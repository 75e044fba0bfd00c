// SPDX-License-Identifier: MIT
#include "pipeline/run/journal_extract.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "testing/journal_values.h"

namespace attune {
namespace {

class JournalExtract : public JournalValues, public testing::Test {};

TEST_F(JournalExtract, HasTheEntriesBehindOneAndSaysHowManyAreLeftOut) {
  const auto journal = open_memory_journal();
  journal->append(std::vector<Entry>{started("a=1"), record("a=1"), record("a=2"), decision("a=1")});
  const std::string two = journal_extract(*journal, 2, 10);
  const auto lines = split(two, '\n');
  ASSERT_EQ(lines.size(), 3u) << "two lines, each with its end";
  EXPECT_EQ(nlohmann::json::parse(lines[0])["id"], 3);
  EXPECT_EQ(nlohmann::json::parse(lines[1])["type"], "decision");
  EXPECT_EQ(journal_extract(*journal, 4, 10), "");
  const std::string cut = journal_extract(*journal, 0, 3);
  EXPECT_THAT(cut, testing::EndsWith("\n{\"left_out\":1}\n"));
  EXPECT_EQ(split(cut, '\n').size(), 5u);
  const std::string all = journal_extract(*journal, 0, 4);
  EXPECT_EQ(split(all, '\n').size(), 5u) << "none is left out";
}

}  // namespace
}  // namespace attune
