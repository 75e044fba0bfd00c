// SPDX-License-Identifier: MIT
#include "compile/shared_compilations.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace attune {
namespace {

using namespace std::chrono_literals;
using Begin = SharedCompilations::Begin;
using Member = SharedCompilations::Member;

const SharedCompilations::Ended kCompiled{{}, 2.5};

bool is_woken(const Member& member) {
  pollfd entry{member.descriptor(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

std::shared_ptr<SharedCompilations> shared(uint32_t jobs, Milliseconds patience = 1h) {
  return std::make_shared<SharedCompilations>(jobs, patience);
}

TEST(SharedCompilations, ARecipeIsOfOnePoolUntilItHasEnded) {
  const auto all = shared(8);
  Member a(all), b(all);
  EXPECT_EQ(a.begin("x"), Begin::ours);
  EXPECT_EQ(b.begin("x"), Begin::elsewhere);
  EXPECT_TRUE(b.is_elsewhere("x"));
  EXPECT_FALSE(a.is_elsewhere("x"));
  EXPECT_FALSE(is_woken(b));
  a.end("x", &kCompiled);
  EXPECT_TRUE(is_woken(b));
  EXPECT_FALSE(b.attend());
  EXPECT_FALSE(is_woken(b));
  EXPECT_EQ(b.begin("x"), Begin::ended);
  EXPECT_EQ(b.ended("x")->seconds, 2.5);
  EXPECT_EQ(b.begin("x", true), Begin::ours) << "the cache lost it";
}

TEST(SharedCompilations, WhatCameToNoEndMayBeTriedAgain) {
  const auto all = shared(8);
  Member a(all), b(all);
  a.begin("x");
  a.end("x", nullptr);
  EXPECT_FALSE(b.ended("x"));
  EXPECT_EQ(b.begin("x"), Begin::ours);
  a.end("x", &kCompiled);
  EXPECT_TRUE(a.is_elsewhere("x")) << "only its pool ends it";
}

TEST(SharedCompilations, AFreePlaceIsOfThePoolThatWaitsLongest) {
  const auto all = shared(2);
  Member a(all), b(all), c(all);
  a.begin("a1");
  a.begin("a2");
  EXPECT_EQ(b.begin("b"), Begin::no_place);
  EXPECT_EQ(c.begin("c"), Begin::no_place);
  a.end("a1", &kCompiled);
  EXPECT_TRUE(is_woken(b));
  EXPECT_EQ(a.begin("a3"), Begin::no_place) << "it is in line behind the others";
  EXPECT_EQ(c.begin("c"), Begin::no_place);
  EXPECT_EQ(b.begin("b"), Begin::ours);
  a.end("a2", &kCompiled);
  EXPECT_EQ(b.begin("b2"), Begin::no_place) << "it had its turn";
  c.attend();
  c.leave_line();
  EXPECT_TRUE(is_woken(a)) << "the place is its own now";
  EXPECT_EQ(b.begin("b2"), Begin::no_place);
  EXPECT_EQ(a.begin("a3"), Begin::ours);
}

TEST(SharedCompilations, APoolMayHaveAllPlacesThatNoOtherWaitsFor) {
  const auto all = shared(3);
  Member a(all), b(all);
  for (const char* recipe : {"1", "2", "3"}) EXPECT_EQ(a.begin(recipe), Begin::ours);
  EXPECT_EQ(b.begin("4"), Begin::no_place);
  a.end("1", &kCompiled);
  a.end("2", &kCompiled);
  EXPECT_EQ(a.begin("5"), Begin::ours) << "one is left for the pool in line";
  EXPECT_EQ(b.begin("4"), Begin::ours);
}

TEST(SharedCompilations, APoolThatReleasesOrLeavesHoldsNothing) {
  const auto all = shared(1);
  Member b(all);
  {
    Member a(all);
    a.begin("x");
    EXPECT_EQ(b.begin("x"), Begin::elsewhere);
    a.release();
    EXPECT_TRUE(is_woken(b));
    EXPECT_EQ(b.begin("x"), Begin::ours);
    b.end("x", nullptr);
    a.begin("x");
  }
  EXPECT_EQ(b.begin("x"), Begin::ours);
}

TEST(SharedCompilations, APoolThatIsNotCalledLosesWhatItHoldsToThoseThatWait) {
  const auto all = shared(1, 5ms);
  Member a(all), b(all);
  a.begin("x");
  EXPECT_FALSE(b.look_after_others()) << "it waits for nobody";
  EXPECT_EQ(b.begin("y"), Begin::no_place);
  while (!is_woken(a)) {
    ASSERT_TRUE(b.look_after_others());
    std::this_thread::sleep_until(*b.look_after_others());
  }
  EXPECT_EQ(b.begin("y"), Begin::no_place) << "it was asked and has time to answer";
  std::this_thread::sleep_for(6ms);
  EXPECT_FALSE(b.look_after_others()) << "nobody holds anything";
  EXPECT_TRUE(is_woken(b));
  EXPECT_EQ(b.begin("y"), Begin::ours);
  EXPECT_TRUE(a.attend());
  EXPECT_FALSE(a.attend());
}

TEST(SharedCompilations, APoolThatIsCalledKeepsWhatItHoldsHoweverLong) {
  const auto all = shared(1, 5ms);
  Member a(all), b(all);
  a.begin("x");
  b.begin("x");
  for (int i = 0; i < 5; ++i) {
    a.attend();
    ASSERT_TRUE(b.look_after_others());
    std::this_thread::sleep_for(6ms);
    ASSERT_TRUE(b.look_after_others());
    EXPECT_TRUE(is_woken(a)) << "it is asked";
  }
  EXPECT_FALSE(a.attend());
}

}  // namespace
}  // namespace attune
