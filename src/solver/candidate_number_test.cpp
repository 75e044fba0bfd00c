// SPDX-License-Identifier: MIT
#include "solver/candidate_number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace attune {
namespace {

SearchSpace list_of(const char* one, const char* other) {
  return SearchSpace::listed({Config::parse(one), Config::parse(other)});
}

std::vector<Contender> some_contenders() {
  Contender composite{.solver = "whole.gemm", .version = "1", .space = list_of("a=1", "a=2")};
  composite.parts = {Problem::parse("gemm_a16w16 m=1 n=1 k=1 dtype=fp32")};
  return {{.solver = "one.gemm", .version = "4", .space = list_of("a=3", "a=1")},
          {.solver = "no.gemm", .version = "2", .support = Support::no("does no fp32")},
          {.solver = "two.gemm", .version = "1", .space = list_of("b=1", "b=2")},
          {.solver = "two.other", .version = "1", .space = list_of("c=1", "c=2")},
          {.solver = "three.no", .version = "1", .support = Support::no("does no fp32")},
          {.solver = "three.gemm", .version = "1", .space = list_of("d=1", "d=2")},
          composite};
}

std::string named(const char* text) {
  return numbered_candidate(*CandidateNumber::parse(text), some_contenders()).name();
}

std::string refusal(const char* text) {
  try {
    return named(text);
  } catch (const Error& error) {
    return fmt::format("{}: {}", name(error.code()), error.what());
  }
}

TEST(CandidateNumber, IsATextWithAMarkAndNoVersion) {
  const auto parsed = CandidateNumber::parse("cublaslt#17");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->solver, "cublaslt");
  EXPECT_EQ(parsed->number, 17u);
  EXPECT_EQ(parsed->text(), "cublaslt#17");
  EXPECT_EQ(CandidateNumber::parse("one.gemm@1:a=x#1"), std::nullopt) << "a value may have the mark";
  EXPECT_EQ(CandidateNumber::parse("_ZN5aiter4gemmE"), std::nullopt);
  for (const char* text : {"cublaslt#", "cublaslt#x", "cublaslt#-1", "cublaslt#1.5", "#1", "cublaslt#1#2"})
    EXPECT_THROW(CandidateNumber::parse(text), Error) << text;
}

TEST(CandidateNumber, IsThePlaceInTheSpaceOfItsSolver) {
  EXPECT_EQ(named("one.gemm#0"), "one.gemm@4:a=3");
  EXPECT_EQ(named("one#1"), "one.gemm@4:a=1") << "the first part of the id, as tables have it";
  EXPECT_EQ(named("two.gemm#1"), "two.gemm@1:b=2");
  EXPECT_EQ(named("three#1"), "three.gemm@1:d=2") << "the other one of that name cannot run the problem";
}

TEST(CandidateNumber, WhatItMeansNothingForIsSaid) {
  EXPECT_EQ(refusal("one#2"), "invalid_input: the numbers of one.gemm for this problem are below 2, got 'one#2'");
  EXPECT_EQ(refusal("gone#0"), "unavailable: no solver of that name is available on this machine: 'gone'");
  EXPECT_EQ(refusal("on#0"), "unavailable: no solver of that name is available on this machine: 'on'");
  EXPECT_EQ(refusal("no#0"), "unavailable: no.gemm does no fp32");
  EXPECT_EQ(refusal("two#0"),
            "invalid_input: several solvers of that name support the problem, give the id of one (two.gemm, "
            "two.other): 'two#0'");
  EXPECT_EQ(refusal("whole#0"),
            "invalid_input: whole.gemm is made of other solvers' candidates and has no numbers, name one in full");
}

TEST(CandidateNumber, OfANameIsWhereItsSolverListsIt) {
  const auto all = some_contenders();
  const auto number = [&](const char* name) { return number_of(Candidate::parse(name), all); };
  EXPECT_EQ(number("one.gemm@4:a=1"), 1u);
  EXPECT_EQ(number("one.gemm@4:a=9"), std::nullopt);
  EXPECT_EQ(number("one.gemm@3:a=1"), std::nullopt) << "another version may list them otherwise";
  EXPECT_EQ(number("gone.gemm@1:a=1"), std::nullopt);
  EXPECT_EQ(number("whole.gemm@1:a=1"), std::nullopt) << "its values are the choices of this run";
}

}  // namespace
}  // namespace attune
