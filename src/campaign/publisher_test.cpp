// SPDX-License-Identifier: MIT
#include "campaign/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/csv/csv_document.h"
#include "formats/csv/table.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "process/temporary_folder.h"
#include "testing/campaign_values.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class Publisher : public testing::Test {
 protected:
  Publisher() {
    inputs_.family = find_family("gemm_a16w16");
    inputs_.table = folder_.path() / "t.csv";
  }
  /// Makes a publisher for these shapes.
  void begin(const std::vector<Problem>& problems, bool have_rows = false) {
    inputs_.items.clear();
    for (const Problem& problem : problems) inputs_.items.push_back({problem, std::nullopt, have_rows});
    publisher_.emplace(options_, inputs_, device_);
  }
  /// Rows of the table: M and time, in the order of the file.
  std::vector<std::pair<int64_t, double>> rows() const {
    std::vector<std::pair<int64_t, double>> all;
    if (!std::filesystem::exists(inputs_.table)) return all;
    const Table table = Table::read(inputs_.table.string());
    for (const TableRow& row : table.rows()) all.emplace_back(row.problem.integer("m"), row.us.value_or(0));
    return all;
  }
  TemporaryFolder folder_{"publisher_test"};
  TuneOptions options_;
  TuneInputs inputs_;
  DeviceInfo device_ = test_device();
  std::optional<TunePublisher> publisher_;
  Problem one_ = test_problem(1), two_ = test_problem(2), three_ = test_problem(3);
};

TEST_F(Publisher, WritesARowWhenABatchIsFullAndTheRestAtTheEnd) {
  options_.batch = 2;
  begin({one_, two_, three_});
  publisher_->finished(decided(one_, 10));
  EXPECT_THAT(rows(), IsEmpty());
  publisher_->finished(decided(two_, 20));
  EXPECT_THAT(rows(), ElementsAre(Pair(1, 10), Pair(2, 20)));
  publisher_->finished(decided(three_, 30));
  EXPECT_THAT(rows(), SizeIs(2));
  publisher_->flush();
  EXPECT_THAT(rows(), ElementsAre(Pair(1, 10), Pair(2, 20), Pair(3, 30)));
}

TEST_F(Publisher, WritesABatchInInputOrder) {
  begin({three_, one_, two_});
  for (const Problem& problem : {one_, two_, three_}) publisher_->finished(decided(problem, 10));
  publisher_->flush();
  EXPECT_THAT(rows(), ElementsAre(Pair(3, 10), Pair(1, 10), Pair(2, 10)));
}

TEST_F(Publisher, SortsATableWhoseRowsAllStay) {
  begin({two_, one_});
  for (const Problem& problem : {one_, two_}) publisher_->finished(decided(problem, 10));
  publisher_->flush();
  options_.sort = true;
  begin({two_, one_}, true);
  publisher_->flush();
  EXPECT_THAT(rows(), ElementsAre(Pair(1, 10), Pair(2, 10)));
}

TEST_F(Publisher, WritesWinnerAndDevice) {
  begin({one_});
  publisher_->finished(decided(one_, 10));
  publisher_->flush();
  const Table table = Table::read(inputs_.table.string());
  ASSERT_THAT(table.rows(), SizeIs(1));
  const TableRow& row = table.rows().front();
  EXPECT_EQ(row.kernel_name, "fake.gemm@1:tile_m=16");
  EXPECT_EQ(row.libtype, "fake");
  EXPECT_EQ(row.gfx, "fake");
  EXPECT_EQ(row.num_units, 4);
  EXPECT_EQ(row.device, "Fake");
  EXPECT_EQ(row.layout, "plain");
}

TEST_F(Publisher, WritesTheWinnersNumberOrThatItHasNone) {
  begin({one_, two_});
  TuneResult numbered = decided(one_, 10);
  numbered.decision->finalists = {{.candidate = numbered.decision->winner, .number = 17}};
  publisher_->finished(numbered);
  publisher_->finished(decided(two_, 10));
  publisher_->flush();
  const CsvDocument file = CsvDocument::read(inputs_.table);
  const size_t column = file.find_column("solidx").value();
  ASSERT_EQ(file.num_rows(), 2u);
  EXPECT_EQ(file.cell(0, column), "17");
  EXPECT_EQ(file.cell(1, column), "-1");
}

TEST_F(Publisher, WritesNoRowWithoutADecision) {
  begin({one_, two_});
  publisher_->finished(undecided(one_, Ending::cut, "no time"));
  publisher_->finished(undecided(two_, Ending::unsupported, "no solver"));
  publisher_->flush();
  EXPECT_FALSE(std::filesystem::exists(inputs_.table));
}

TEST_F(Publisher, LeavesTheRowOfADecisionOfAnEarlierRun) {
  begin({one_});
  publisher_->finished(decided(one_, 10));
  publisher_->flush();
  begin({one_, two_}, true);
  publisher_->finished(decided(one_, 50, Ending::reused));
  publisher_->finished(decided(two_, 60));
  publisher_->flush();
  EXPECT_THAT(rows(), ElementsAre(Pair(1, 10), Pair(2, 60)));
  EXPECT_THAT(publisher_->notices(), IsEmpty());
}

TEST_F(Publisher, CountsRowsThatStayWithAnotherKernelThanTheirDecision) {
  begin({one_, two_});
  publisher_->finished(decided(one_, 10));
  publisher_->finished(decided(two_, 10));
  publisher_->flush();
  const TuneResult first = decided(one_, 50, Ending::reused), second = decided(two_, 10, Ending::reused);
  Candidate other = first.decision->winner;
  other.config = Config::parse("n=7");
  inputs_.items = {{one_, Incumbent{other, 10, ""}, true}, {two_, Incumbent{second.decision->winner, 10, ""}, true}};
  publisher_.emplace(options_, inputs_, device_);
  publisher_->finished(first);
  publisher_->finished(second);
  publisher_->flush();
  EXPECT_THAT(rows(), ElementsAre(Pair(1, 10), Pair(2, 10)));
  EXPECT_THAT(publisher_->notices(), ElementsAre(HasSubstr("1 row stays with another kernel")));
}

TEST_F(Publisher, WritesADecisionThatAKilledCallOfARunOverAllDidNotPublish) {
  options_.all = true;
  begin({one_}, true);
  publisher_->finished(decided(one_, 10, Ending::reused));
  publisher_->flush();
  EXPECT_THAT(rows(), ElementsAre(Pair(1, 10)));
}

TEST_F(Publisher, WritesADecisionOfAnEarlierRunThatHasNoRow) {
  begin({one_});
  publisher_->finished(decided(one_, 50, Ending::reused));
  publisher_->flush();
  EXPECT_THAT(rows(), ElementsAre(Pair(1, 50)));
}

TEST_F(Publisher, KeepsAnOldRowThatIsHardlySlower) {
  options_.update_improved = true;
  begin({one_, two_});
  publisher_->finished(decided(one_, 10));
  publisher_->finished(decided(two_, 10));
  publisher_->flush();
  begin({one_, two_}, true);
  publisher_->finished(decided(one_, 9.9));
  publisher_->finished(decided(two_, 9));
  publisher_->flush();
  EXPECT_THAT(rows(), ElementsAre(Pair(1, 10), Pair(2, 9)));
  EXPECT_THAT(publisher_->notices(), ElementsAre(AllOf(HasSubstr("kept the old row of 1×32×48 fp32: "),
                                                       HasSubstr("(10.0000 µs, now 9.9000 µs)"))));
}

TEST_F(Publisher, WritesTheRowsThatStayIntoTheYamlFile) {
  inputs_.yaml = folder_.path() / "r.yaml";
  begin({one_, two_, three_}, true);
  for (WorkItem& item : inputs_.items)
    item.incumbent = Incumbent{decided(item.problem, 10).decision->winner, 7, "its line"};
  publisher_.emplace(options_, inputs_, device_);
  publisher_->finished(decided(two_, 50));
  publisher_->finished(undecided(three_, Ending::kept, "a table has it"));
  publisher_->finished(decided(one_, 60, Ending::reused));
  publisher_->flush();
  std::vector<std::pair<int64_t, double>> entries;
  for (const TuneGemmEntry& entry : read_tune_gemm(inputs_.yaml).entries)
    entries.emplace_back(entry.problem.integer("m"), entry.us.value_or(0));
  EXPECT_THAT(entries, ElementsAre(Pair(2, 50), Pair(1, 7), Pair(3, 7)));
  EXPECT_THAT(rows(), ElementsAre(Pair(2, 50)));
}

TEST_F(Publisher, WritesTheYamlFileAfterEachShape) {
  inputs_.yaml = folder_.path() / "r.yaml";
  inputs_.table.clear();
  begin({one_, two_});
  publisher_->finished(decided(one_, 10));
  EXPECT_THAT(read_tune_gemm(inputs_.yaml).entries, SizeIs(1));
  publisher_->finished(decided(two_, 20));
  const auto entries = read_tune_gemm(inputs_.yaml).entries;
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[1].problem.integer("m"), 2);
  EXPECT_EQ(entries[1].us, 20);
  EXPECT_EQ(entries[1].candidate, "fake.gemm@1:tile_m=16");
  EXPECT_EQ(entries[1].device, "fake/4");
}

/// The older tuner reads its own keys of such a row.
TEST_F(Publisher, WritesTheScriptsParametersOfATritonKernelAndTheNextBest) {
  inputs_.yaml = folder_.path() / "r.yaml";
  inputs_.table.clear();
  begin({one_});
  TuneResult result = decided(one_, 10);
  Decision& decision = *result.decision;
  const Candidate next = decision.winner;
  decision.winner = {"triton.gemm", "1", Config::parse("BLOCK_SIZE_M=16;SPLIT_K=2;num_warps=4")};
  decision.baseline = {"cublas.gemm", "1", {}};
  decision.verdict = Verdict::faster;
  decision.comparison = {.us = 10, .ratio = 2, .interval = {1.9, 2.1}};
  decision.finalists = {{.candidate = decision.winner, .comparison = decision.comparison},
                        {.candidate = next, .comparison = {.us = 11}}};
  publisher_->finished(result);
  const auto entries = read_tune_gemm(inputs_.yaml).entries;
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_THAT(entries[0].parameters,
              ElementsAre(Pair("BLOCK_SIZE_M", "16"), Pair("SPLIT_K", "2"), Pair("num_warps", "4")));
  EXPECT_EQ(entries[0].runner_up, next.name());
  EXPECT_EQ(entries[0].noise, 5);
}

/// Rows with pre-packed weights: rows that differ only in M have one layout.
class PublisherOfPackedWeights : public Publisher {
 protected:
  struct LayoutTime {
    std::string layout;
    double us;
  };
  /// A decision among finalists, fastest first; the baseline has the layout `plain` and takes 100 µs.
  static TuneResult contest(const Problem& problem, const std::vector<LayoutTime>& finalists,
                            Ending ending = Ending::decided) {
    TuneResult result = decided(problem, finalists.front().us, ending);
    Decision& decision = *result.decision;
    for (const LayoutTime& one : finalists) {
      const double ratio = 100 / one.us;
      decision.finalists.push_back(
          {candidate(one.layout), {one.us, ratio, {0.99 * ratio, 1.01 * ratio}, 30}, {}, {}, ratio > 1.02});
    }
    decision.winner = decision.finalists.front().candidate;
    decision.baseline = candidate("plain");
    decision.baseline_us = 100;
    decision.comparison.ratio = decision.finalists.front().comparison.ratio;
    return result;
  }
  static Candidate candidate(const std::string& layout) {
    return {"fake.gemm", "1", Config::parse("b_layout=" + layout)};
  }
  /// Layouts of the table's rows.
  std::vector<std::string> layouts() const {
    std::vector<std::string> all;
    if (!std::filesystem::exists(inputs_.table)) return all;
    const Table table = Table::read(inputs_.table.string());
    for (const TableRow& row : table.rows()) all.push_back(row.layout);
    return all;
  }
  Problem few_ = test_problem(1, "bpreshuffle=1"), many_ = test_problem(512, "bpreshuffle=1");
  TuneResult few_like_a_ = contest(few_, {{"a", 40}, {"b", 50}, {"plain", 100}});
  TuneResult many_like_b_ = contest(many_, {{"b", 50}, {"a", 80}, {"plain", 100}});
};

TEST_F(PublisherOfPackedWeights, OneGroupHasOneLayout) {
  options_.batch = 1;
  begin({few_, many_});
  publisher_->finished(few_like_a_);
  publisher_->finished(many_like_b_);
  EXPECT_THAT(rows(), IsEmpty()) << "a later shape may change the layout";
  publisher_->flush();
  EXPECT_THAT(layouts(), ElementsAre("b", "b"));
  EXPECT_THAT(rows(), ElementsAre(Pair(1, 50), Pair(512, 50)));
  ASSERT_THAT(publisher_->replaced(), SizeIs(1));
  const Decision& published = publisher_->replaced().front();
  EXPECT_EQ(published.problem, few_);
  EXPECT_EQ(published.winner, candidate("b"));
  EXPECT_EQ(published.comparison.us, 50);
  EXPECT_EQ(published.comparison.ratio, 2) << "the published candidate is shown, not the shape's own winner";
}

TEST_F(PublisherOfPackedWeights, OtherWeightsHaveALayoutOfTheirOwn) {
  const Problem other = few_.with("n", "64");
  begin({other, many_});
  publisher_->finished(contest(other, {{"a", 40}, {"b", 50}, {"plain", 100}}));
  publisher_->finished(many_like_b_);
  publisher_->flush();
  EXPECT_THAT(layouts(), ElementsAre("a", "b"));
  EXPECT_THAT(publisher_->replaced(), IsEmpty());
}

TEST_F(PublisherOfPackedWeights, ANewRowChangesTheRowsOfItsGroup) {
  begin({few_});
  publisher_->finished(few_like_a_);
  publisher_->flush();
  EXPECT_THAT(layouts(), ElementsAre("a"));
  begin({few_, many_}, true);
  few_like_a_.ending = Ending::reused;
  publisher_->finished(few_like_a_);
  publisher_->finished(many_like_b_);
  publisher_->flush();
  EXPECT_THAT(layouts(), ElementsAre("b", "b"));
}

TEST_F(PublisherOfPackedWeights, AGroupWithoutANewRowStaysAsItIs) {
  begin({few_}, true);
  few_like_a_.ending = Ending::reused;
  publisher_->finished(few_like_a_);
  publisher_->flush();
  EXPECT_FALSE(std::filesystem::exists(inputs_.table));
}

TEST_F(PublisherOfPackedWeights, WithoutACommonLayoutEachRowHasItsOwn) {
  begin({few_, many_});
  for (auto [problem, layout] : {std::pair(few_, "a"), std::pair(many_, "b")}) {
    TuneResult result = contest(problem, {{layout, 50}});
    result.decision->baseline = candidate(std::string("usual_") + layout);
    publisher_->finished(result);
  }
  publisher_->flush();
  EXPECT_THAT(layouts(), ElementsAre("a", "b"));
  EXPECT_THAT(publisher_->notices(), ElementsAre(HasSubstr("no layout of the weights serves all of 2 rows")));
}

}  // namespace
}  // namespace attune
