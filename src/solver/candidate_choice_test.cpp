// SPDX-License-Identifier: MIT
#include "solver/candidate_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace attune {
namespace {

using testing::ElementsAre;

const Problem kChosenFor = Problem::parse("gemm_a16w16 m=16 n=16 k=16 dtype=fp32");

std::vector<Contender> three_contenders() {
  return {{.solver = "one.gemm", .version = "1", .default_config = Config::parse("a=1")},
          {.solver = "no.gemm", .version = "2", .support = Support::no("does no fp32")},
          {.solver = "two.gemm",
           .version = "3",
           .space = SearchSpace::listed({Config::parse("b=2"), Config::parse("b=4")}),
           .default_config = Config::parse("b=2")}};
}

std::vector<std::string> chosen(const CandidateChoice& choice) {
  std::vector<std::string> names;
  for (const Candidate& one : chosen_candidates(choice, kChosenFor, three_contenders(), {}))
    names.push_back(one.name());
  return names;
}

std::pair<ErrorCode, std::string> refusal_of(const CandidateChoice& choice, const std::vector<Contender>& contenders) {
  try {
    chosen_candidates(choice, kChosenFor, contenders, {});
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

TEST(CandidateChoice, WithoutOneTheDefaultConfigOfEverySolverThatSupportsTheProblem) {
  EXPECT_THAT(chosen({}), ElementsAre("one.gemm@1:a=1", "two.gemm@3:b=2"));
}

TEST(CandidateChoice, NamesComeFirstAndASolverHasItsVersionHere) {
  EXPECT_THAT(chosen({.names = {"any.gemm@9:x=1"}}), ElementsAre("any.gemm@9:x=1")) << "it may be of another machine";
  EXPECT_THAT(chosen({.names = {"any.gemm@9:x=1"}, .solver = "two.gemm"}),
              ElementsAre("any.gemm@9:x=1", "two.gemm@3:b=2"));
  EXPECT_THAT(chosen({.solver = "two.gemm", .config = "b=4"}), ElementsAre("two.gemm@3:b=4"));
}

TEST(CandidateChoice, ANumberIsOfASolverThatIsHere) {
  EXPECT_THAT(chosen({.names = {"two#1", "two.gemm#0"}}), ElementsAre("two.gemm@3:b=4", "two.gemm@3:b=2"));
  EXPECT_EQ(refusal_of({.names = {"gone#0"}}, three_contenders()),
            std::pair(ErrorCode::not_found,
                      std::string("no solver of this name is available, see `attune list solvers`: 'gone#0'")));
  EXPECT_EQ(refusal_of({.names = {"two#2"}}, three_contenders()),
            std::pair(ErrorCode::invalid_input,
                      std::string("the numbers of two.gemm for this problem are below 2, got 'two#2'")));
}

TEST(CandidateChoice, AConfigThatItsSolverDoesNotOfferIsWrongInput) {
  const auto here = three_contenders();
  const std::pair refused(ErrorCode::invalid_input,
                          std::string("the solver does not offer this config on this device, see `attune list "
                                      "candidates`: 'b=3'"));
  EXPECT_EQ(refusal_of({.solver = "two.gemm", .config = "b=3"}, here), refused);
  EXPECT_EQ(refusal_of({.names = {"two.gemm@3:b=4", "two.gemm@3:b=3"}}, here), refused);
  EXPECT_THAT(chosen({.names = {"two.gemm@2:b=3"}}), ElementsAre("two.gemm@2:b=3")) << "of another version";
}

TEST(CandidateChoice, SaysWhatCannotBeChosen) {
  const auto here = three_contenders();
  EXPECT_EQ(refusal_of({.config = "a=1"}, here),
            std::pair(ErrorCode::invalid_input, std::string("--config needs --solver")));
  EXPECT_EQ(refusal_of({.solver = "nope.gemm"}, here),
            std::pair(ErrorCode::not_found,
                      std::string("no solver of this name is available, see `attune list solvers`: 'nope.gemm'")));
  EXPECT_EQ(refusal_of({.solver = "no.gemm"}, here),
            std::pair(ErrorCode::invalid_input,
                      std::string("the solver cannot run the problem, `attune list candidates` shows which ones can: "
                                  "no.gemm does no fp32")));
  EXPECT_EQ(refusal_of({}, {here[1]}),
            std::pair(ErrorCode::unavailable,
                      "no available solver supports the problem; `attune list candidates` shows "
                      "why: '" +
                          kChosenFor.key() + "'"));
}

}  // namespace
}  // namespace attune
