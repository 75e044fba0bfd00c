// SPDX-License-Identifier: MIT
#include "tuner/history/candidate_history.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

const Problem kProblem = Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0");
const Versions kVersions = {{"s.gemm", "1"}, {"compiler.hostcc", "gcc-12"}, {"kernel.s.gemm", "aaaa"}};
const Candidate kCandidate = {"s.gemm", "1", Config::parse("a=1")};
const std::vector<BinaryIdentity> kBinaries = {{"recipe", "gcc-12", "sha"}};
constexpr Deadlines kDeadlines = {60'000, 2'000};

Record record(Stage stage, Status status = Status::ok) {
  Record one{.problem = kProblem, .device = "g/2", .candidate = kCandidate, .versions = kVersions, .stage = stage};
  one.outcome.status = status;
  one.fingerprint = "here";
  one.binaries = kBinaries;
  if (status == Status::timed_out) one.deadlines = kDeadlines;
  return one;
}

CandidateHistory::Source place() {
  return {.problem = kProblem, .device = "g/2", .fingerprint = "here", .deadlines = kDeadlines};
}

/// The history that a run recalls from a journal with these entries.
CandidateHistory recalled(std::vector<Entry> entries, const CandidateHistory::Source& where = place(),
                          const Versions& versions = kVersions) {
  const auto journal = open_memory_journal();
  journal->append(entries);
  CandidateHistory history;
  history.recall(*journal, where, [&](const std::string&) { return &versions; });
  return history;
}

TEST(CandidateHistory, HoldsWhatWasVerifiedWithTheVeryBinary) {
  const auto history = recalled({record(Stage::verify)});
  ASSERT_NE(history.find(kCandidate, kBinaries), nullptr);
  EXPECT_TRUE(history.find(kCandidate, kBinaries)->verified.ok());
  EXPECT_EQ(history.find(kCandidate, {{"recipe", "gcc-12", "another"}}), nullptr) << "another file";
  EXPECT_EQ(history.find(kCandidate, {{"recipe", "gcc-13", "sha"}}), nullptr);
  EXPECT_EQ(history.find(kCandidate, {{"other", "gcc-12", "sha"}}), nullptr);
  EXPECT_EQ(history.find(kCandidate, {}), nullptr);
}

TEST(CandidateHistory, KeepsTheBinariesOfTwoCompilersApart) {
  auto other = record(Stage::verify, Status::wrong_result);
  other.binaries = {{"recipe", "gcc-12", "another"}};
  const auto history = recalled({record(Stage::verify), other});
  EXPECT_TRUE(history.find(kCandidate, kBinaries)->verified.ok());
  EXPECT_FALSE(history.find(kCandidate, other.binaries)->verified.ok());
}

TEST(CandidateHistory, TakesNothingThatIsStaleDriftedOrOfAnotherPlace) {
  for (const char* component : {"s.gemm", "compiler.hostcc", "kernel.s.gemm"}) {
    Versions changed = kVersions;
    changed[component] = "other";
    EXPECT_FALSE(recalled({record(Stage::verify)}, place(), changed).has(kCandidate)) << component;
  }
  auto elsewhere = place();
  elsewhere.fingerprint = "there";
  EXPECT_FALSE(recalled({record(Stage::verify)}, elsewhere).has(kCandidate));
  auto warm = place();
  warm.protocol.cache = CachePolicy::warm;
  EXPECT_FALSE(recalled({record(Stage::verify)}, warm).has(kCandidate));
}

TEST(CandidateHistory, ALargerSearchVerifiesNothingAgain) {
  auto larger = place();
  larger.protocol.procedure = "race/1 auto/1000";
  EXPECT_TRUE(recalled({record(Stage::verify)}, larger).has(kCandidate));
}

TEST(CandidateHistory, ATimeOutHoldsUnderDeadlinesThatAreNotLonger) {
  const auto timed_out = record(Stage::verify, Status::timed_out);
  EXPECT_TRUE(recalled({timed_out}).has(kCandidate));
  auto patient = place();
  patient.deadlines.run_ms = 10'000;
  EXPECT_FALSE(recalled({timed_out}, patient).has(kCandidate));
}

TEST(CandidateHistory, AScreeningAloneVerifiesNothing) {
  EXPECT_FALSE(recalled({record(Stage::screen)}).has(kCandidate));
  EXPECT_FALSE(recalled({record(Stage::final)}).has(kCandidate));
}

TEST(CandidateHistory, AnExhaustiveSearchForgetsWhoWasDropped) {
  auto dropped = record(Stage::screen);
  dropped.dropped = true;
  EXPECT_TRUE(recalled({record(Stage::verify), dropped}).find(kCandidate, kBinaries)->dropped);
  auto exhaustive = place();
  exhaustive.with_screening = false;
  EXPECT_FALSE(recalled({record(Stage::verify), dropped}, exhaustive).find(kCandidate, kBinaries)->dropped);
}

TEST(CandidateHistory, IsATrialOfEachCandidateForAStrategy) {
  auto timed = record(Stage::screen);
  timed.outcome.measurement = Measurement{.samples = {{}, {}}, .median_us = 50, .spread_us = 2};
  auto crashed = record(Stage::verify, Status::crashed);
  crashed.candidate.config = Config::parse("a=2");
  const auto trials = recalled({record(Stage::verify), timed, crashed}).trials();
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0].first, kCandidate);
  EXPECT_EQ(trials[0].second.status, Status::ok);
  EXPECT_EQ(trials[0].second.median_us, 50);
  EXPECT_DOUBLE_EQ(trials[0].second.spread, 0.04);
  EXPECT_EQ(trials[0].second.num_samples, 2u);
  EXPECT_EQ(trials[1].first, crashed.candidate);
  EXPECT_EQ(trials[1].second.status, Status::crashed);
  EXPECT_EQ(trials[1].second.median_us, 0);
}

TEST(CandidateHistory, APardonLetsAFailedCandidateTryAgain) {
  const auto crashed = record(Stage::verify, Status::crashed);
  EXPECT_TRUE(recalled({crashed}).has(kCandidate));
  EXPECT_FALSE(recalled({crashed, Pardon{"g/2", kCandidate}}).has(kCandidate));
  EXPECT_TRUE(recalled({record(Stage::verify), Pardon{"g/2", kCandidate}}).has(kCandidate));
}

TEST(CandidateHistory, WhatTheMachineLackedIsTriedAgain) {
  for (const Status status : {Status::out_of_memory, Status::compile_failed, Status::launch_failed})
    EXPECT_FALSE(recalled({record(Stage::verify, status)}).has(kCandidate));
}

}  // namespace
}  // namespace attune
