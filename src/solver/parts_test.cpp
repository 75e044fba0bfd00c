// SPDX-License-Identifier: MIT
#include "solver/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace attune {
namespace {

using testing::HasSubstr;

const Candidate kPart{"a.gemm", "1", Config::parse("x=1;y=2")};

Contender composite() {
  return {.solver = "c.gemm",
          .version = "1",
          .space = SearchSpace::product({{.name = "first", .values = {Value(kPart.nested_name())}, .part = 0},
                                         {.name = "order", .values = {Value(int64_t{0}), Value(int64_t{1})}}},
                                        {}),
          .parts = {Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=fp32")}};
}

TEST(Parts, ANestedNameReadsBackAndFitsIntoAConfig) {
  EXPECT_EQ(kPart.nested_name(), "a.gemm@1:[x=1;y=2]");
  EXPECT_EQ(Candidate::parse_nested(kPart.nested_name()), kPart);
  const Candidate whole{"c.gemm", "1", Config({{"first", kPart.nested_name()}, {"order", int64_t{1}}})};
  EXPECT_EQ(Candidate::parse(whole.name()), whole);
  const Candidate twice{"d.gemm", "1", Config({{"part", whole.nested_name()}})};
  EXPECT_EQ(Candidate::parse_nested(Candidate::parse(twice.name()).config.text("part")), whole);
  for (const std::string text : {"a.gemm@1:x=1", "a.gemm@1:[x=1", "[x=1]", ""})
    EXPECT_THROW(Candidate::parse_nested(text), Error) << text;
}

TEST(Parts, AConfigNamesACandidateForEachPart) {
  const auto choices = part_choices(composite(), Config({{"first", kPart.nested_name()}, {"order", int64_t{1}}}));
  ASSERT_EQ(choices.size(), 1u);
  EXPECT_EQ(choices[0].candidate, kPart);
  EXPECT_EQ(choices[0].problem.integer("k"), 3);
  EXPECT_THROW(part_choices(composite(), Config::parse("first=x;order=1")), Error);
}

TEST(Parts, ShortListsAreTheValues) {
  const Candidate other{"b.gemm", "2", {}};
  const std::vector<std::vector<Candidate>> lists = {{kPart, other}};
  const SearchSpace space = with_short_lists(composite().space, lists);
  EXPECT_EQ(space.size(), 4u);
  EXPECT_TRUE(space.index_of(Config({{"first", other.nested_name()}, {"order", int64_t{1}}})));
}

TEST(Parts, WhetherAPartsCandidateIsOfferedIsForItsSolverToSay) {
  const Problem problem = Problem::parse("gemm_a16w16 m=2 n=2 k=3 dtype=fp32");
  const Contender contender = composite();
  const auto why = [&](const Config& config) {
    return why_unusable({"c.gemm", "1", config}, problem, &contender, {}).value_or("");
  };
  EXPECT_EQ(why(Config({{"first", std::string("b.gemm@2:[z=9]")}, {"order", int64_t{1}}})), "");
  EXPECT_THAT(why(Config({{"first", kPart.nested_name()}, {"order", int64_t{7}}})), HasSubstr("does not offer"));
}

}  // namespace
}  // namespace attune
