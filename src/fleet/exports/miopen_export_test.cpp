// SPDX-License-Identifier: MIT
#include "fleet/exports/miopen_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/find_db/find_db_key.h"
#include "ops/op.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

Problem conv(const std::string& attributes) {
  const auto problem = Problem::parse("conv n=2 c=8 h=9 w=8 k=8 y=3 x=3 pad_h=1 pad_w=1 " + attributes);
  return op_of(problem).normalise(problem, {});
}

ShortListRow row(const std::string& candidate, double us, uint64_t workspace = 0) {
  const Candidate parsed = Candidate::parse(candidate);
  return {parsed.solver, parsed, us, workspace};
}

TEST(MiopenExport, TimesHaveSixDigitsAndNoExponent) {
  EXPECT_EQ(find_db_time(51.639), "0.0516390");
  EXPECT_EQ(find_db_time(1234.5678), "1.23457");
  EXPECT_EQ(find_db_time(0.05), "0.0000500000");
  EXPECT_EQ(find_db_time(123456789), "123456.8");
}

TEST(MiopenExport, KeepsTheBestFourSolversOfAKeyByTimeAndName) {
  MiopenExport made;
  made.add(conv("direction=fwd"), {row("b.conv@1:x=1", 20), row("e.conv@1:x=1", 10), row("d.conv@1:x=1", 30),
                                   row("a.conv@1:x=1", 10, 4096), row("c.conv@1:x=1", 25)});
  const FindDb read = FindDb::parse(made.find_db_text(), "made");
  ASSERT_THAT(read.records(), SizeIs(1));
  std::vector<std::string> solvers;
  for (const FindDbEntry& entry : read.records().front().entries) solvers.emplace_back(entry.solver);
  EXPECT_THAT(solvers, ElementsAre("a.conv", "e.conv", "b.conv", "c.conv"));
  EXPECT_EQ(read.records().front().entries.front().workspace_bytes, "4096");
  EXPECT_EQ(read.records().front().entries.front().algorithm, "miopenConvolutionFwdAlgoDirect");
  EXPECT_EQ(read.defects().size(), 0u);
  EXPECT_EQ(read.records().front().key, find_db_key_of(conv("direction=fwd")));
}

TEST(MiopenExport, KeysAreInByteOrderAndNamedByDirection) {
  MiopenExport made;
  for (const char* direction : {"fwd", "bwd_weights", "bwd_data"})
    made.add(conv(std::string("direction=") + direction), {row("conv.im2col@1:gemm=portable.gemm@1:[x=1]", 20)});
  const FindDb read = FindDb::parse(made.find_db_text(), "made");
  std::vector<std::string> algorithms;
  for (const FindDbRecord& record : read.records()) algorithms.emplace_back(record.entries.front().algorithm);
  EXPECT_THAT(algorithms, ElementsAre("miopenConvolutionBwdDataAlgoGEMM", "miopenConvolutionFwdAlgoGEMM",
                                      "miopenConvolutionBwdWeightsAlgoGEMM"));
}

TEST(MiopenExport, ParametersAreOneTextWithoutSeparators) {
  const auto candidate = Candidate::parse("conv.im2col@1:gemm=a.gemm@1+2:[threads=2;tile=4]");
  EXPECT_EQ(perf_db_params(candidate.config), "gemm=a.gemm@1+2:[threads=2,tile=4]");
  MiopenExport made;
  made.add(conv("direction=fwd"), {row(candidate.name(), 20), row("b.conv@1:", 30)});
  const PerfDb read = parse_perf_db_text(perf_db_text(made.perf_db()), "made");
  ASSERT_THAT(read.configs, SizeIs(1));
  ASSERT_THAT(read.rows, SizeIs(1)) << "a solver without parameters has no row";
  EXPECT_EQ(read.rows.front().params, perf_db_params(candidate.config));
}

TEST(MiopenExport, GradientsThatThePerfDbCannotTellApartShareAConfig) {
  MiopenExport made;
  for (const char* height : {"9", "10"}) {
    const auto problem =
        Problem::parse(std::string("conv direction=bwd_data n=2 c=8 w=9 k=8 y=3 x=3 pad_h=1 pad_w=1 stride_h=2 "
                                   "stride_w=2 h=") +
                       height);
    made.add(op_of(problem).normalise(problem, {}), {row("b.conv@1:x=1", 20)});
  }
  EXPECT_EQ(made.num_keys(), 2u);
  EXPECT_EQ(made.num_rows(), 1u);
  EXPECT_EQ(made.num_shared_rows(), 1u);
}

TEST(MiopenExport, AProblemWithoutAKeyIsRefusedAndNothingIsAdded) {
  MiopenExport made;
  EXPECT_THROW(made.add(conv("direction=fwd transposed=1"), {row("b.conv@1:x=1", 20)}), Error);
  made.add(conv("direction=fwd"), {row("b.conv@1:x=1", 20)});
  EXPECT_THROW(made.add(conv("direction=fwd"), {row("b.conv@1:x=1", 20)}), Error) << "the same key again";
  EXPECT_EQ(made.num_keys(), 1u);
}

TEST(MiopenExport, PlatformsAreThoseOfTheDevice) {
  EXPECT_EQ(miopen_platform("hip"), "HIP");
  EXPECT_EQ(miopen_platform("cuda"), "CUDA");
  EXPECT_EQ(miopen_platform("host"), "HOST");
}

}  // namespace
}  // namespace attune
