// SPDX-License-Identifier: MIT
#include "pipeline/run/journal_extract.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "testing/journal_values.h"

namespace attune {
namespace {

class JournalExtract : public JournalValues, public testing::Test {};

TEST_F(JournalExtract, HasTheEntriesOfItsRunsBehindOneAndSaysHowManyAreLeftOut) {
  const auto journal = open_memory_journal();
  RunBegin own = run_begin(), other = own, same_number = own;
  own.host = other.host = "here";
  own.pid = 1;
  other.pid = 2;
  same_number.host = "there";
  same_number.pid = 1;
  const std::vector<JournalWriter> writers = {{"here", 1}};
  const auto append = [&](const RunBegin& run) {
    const int64_t number = journal->begin_run(run);
    journal->append(std::vector<Entry>{record("a=1"), decision("a=1")});
    return number;
  };
  const int64_t before = append(own) + 2;
  append(other);
  append(own);
  append(same_number);
  const std::string extract = journal_extract(*journal, before, writers, 10);
  const auto lines = split(extract, '\n');
  ASSERT_EQ(lines.size(), 4u) << "three lines, each with its end: " << extract;
  EXPECT_EQ(nlohmann::json::parse(lines[0])["id"], before + 4);
  EXPECT_EQ(nlohmann::json::parse(lines[2])["type"], "decision");
  EXPECT_EQ(journal_extract(*journal, before, {}, 10), "");
  const std::string both = journal_extract(*journal, 0, writers, 10);
  EXPECT_EQ(split(both, '\n').size(), 7u) << "two runs of three entries";
  for (const size_t max : {2u, 4u}) {
    const std::string cut = journal_extract(*journal, 0, writers, max);
    EXPECT_THAT(cut, testing::EndsWith(fmt::format("\n{{\"left_out\":{}}}\n", 6 - max)));
    EXPECT_EQ(split(cut, '\n').size(), max + 2);
  }
}

}  // namespace
}  // namespace attune
