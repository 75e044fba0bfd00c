// SPDX-License-Identifier: MIT
#include "server/journal/journal_totals.h"

#include <gmock/gmock.h>

#include <sstream>
#include <string>

namespace attune {
namespace {

using testing::HasSubstr;

EntryHeading heading(EntryKind kind, const std::string& status) {
  EntryHeading one;
  one.kind = kind;
  one.status = status;
  return one;
}

TEST(JournalTotals, CountRunsByEndingProblemsAndCandidates) {
  JournalTotals totals;
  for (int i = 0; i < 3; ++i) totals.add(heading(EntryKind::run_begin, ""));
  totals.add(heading(EntryKind::run_end, "done"));
  totals.add(heading(EntryKind::decision, "faster"));
  EntryHeading record = heading(EntryKind::record, "crashed");
  record.stage = "verify";
  record.solver = "a\"b\\c\n.gemm";
  totals.add(record);
  record.solver = "\xff\xc3\xa9\xc3";
  totals.add(record);
  record.stage = "final";
  totals.add(record);
  const std::string text = metrics_text(std::vector<std::vector<Metric>>{totals.metrics(7)});
  EXPECT_THAT(text, HasSubstr("attune_runs{state=\"done\"} 1\nattune_runs{state=\"open\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("attune_problems_total{ending=\"faster\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("attune_candidates_total{status=\"crashed\",solver=\"a\\\"b\\\\c\\n.gemm\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("solver=\"\uFFFD\u00e9\uFFFD\"} 1\n")) << "what is not UTF-8 would end the whole scrape";
  EXPECT_THAT(text, HasSubstr("attune_worker_deaths_total 2\n"));
  EXPECT_THAT(text, HasSubstr("attune_journal_bytes 7\n"));
}

TEST(JournalTotals, CountersAloneEndInTotalAndEachMetricIsDescribed) {
  std::istringstream lines(metrics_text(std::vector<std::vector<Metric>>{JournalTotals().metrics(1)}));
  size_t num_metrics = 0;
  for (std::string line, help; std::getline(lines, line); help = line) {
    if (!line.starts_with("# TYPE ")) continue;
    ++num_metrics;
    const std::string name = line.substr(7, line.rfind(' ') - 7);
    EXPECT_EQ(line.ends_with(" counter"), name.ends_with("_total")) << line;
    EXPECT_THAT(help, HasSubstr("# HELP " + name + " "));
  }
  EXPECT_EQ(num_metrics, 7u);
}

}  // namespace
}  // namespace attune
