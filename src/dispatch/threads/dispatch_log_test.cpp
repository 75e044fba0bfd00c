// SPDX-License-Identifier: MIT
#include "dispatch/threads/dispatch_log.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

std::string printed(const std::string& sentence) {
  DispatchLog log;
  testing::internal::CaptureStderr();
  log.say(sentence);
  return testing::internal::GetCapturedStderr();
}

TEST(DispatchLog, WhatATableHoldsStaysOneLineAndHarmsNoTerminal) {
  EXPECT_EQ(printed("t.csv:2: kernel µs"), "attune: t.csv:2: kernel µs\n");
  EXPECT_EQ(printed("a\nb\x1b[31m\xc2\x9b\xff"), "attune: a\\nb\\x1b[31m\\xc2\\x9b\\xff\n");
}

TEST(DispatchLog, ASentenceIsSaidOnceAndTakesOneOfTheLines) {
  DispatchLog log;
  testing::internal::CaptureStderr();
  for (uint64_t i = 0; i < 2 * DispatchLog::kMaxLines; ++i) log.say("again");
  log.say("another");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "attune: again\nattune: another\n");
}

/// Returns the last lines after 3 of 4 lookups, of 2 shapes, found no row.
std::string last_lines(const std::optional<std::string>& capture_error, uint64_t missed_shapes = 2,
                       bool has_left = false, bool may_be_captured = false) {
  DispatchLog log;
  DispatchCounts counts;
  counts.calls = 4;
  counts.misses = missed_shapes > 0 || has_left ? 3 : 0;
  counts.missed_shapes = missed_shapes;
  testing::internal::CaptureStderr();
  log.finish(counts, has_left, capture_error, may_be_captured);
  return testing::internal::GetCapturedStderr();
}

TEST(DispatchLog, TheLastLineSaysWhetherMissedShapesAreCapturedAndWhatToDo) {
  const std::string missed = "attune: 3 of 4 lookups found no row in the tables, of 2 shapes; ";
  EXPECT_EQ(last_lines(std::nullopt),
            missed +
                "they are not captured, which takes ATTUNE_TUNE_GEMM=1 and a folder: ATTUNE_CAPTURE_DIR, else "
                "one in ATTUNE_HOME\n");
  EXPECT_EQ(last_lines(""), missed + "they are captured: attune coverage shows how to tune them\n");
  EXPECT_EQ(last_lines(std::nullopt, 2, false, true),
            "attune: 3 of 4 lookups found no row in the tables, of 2 shapes\n")
      << "an application that captures by itself is not told that it does not";
  EXPECT_EQ(last_lines("cannot create the folder (No space left): '/x'"),
            missed +
                "they are not all captured, set ATTUNE_CAPTURE_DIR to a folder that can be written: cannot create "
                "the folder (No space left): '/x'\n");
}

TEST(DispatchLog, AFailedCaptureIsSaidWithoutMissesToo) {
  EXPECT_EQ(last_lines("cannot write", 0),
            "attune: the shapes that were called are not all captured, set ATTUNE_CAPTURE_DIR to a folder that can be "
            "written: cannot write\n");
  EXPECT_EQ(last_lines("", 0), "");
}

TEST(DispatchLog, CallsThatWereLeftToTheirCallerAreMissesOfUnknownShapes) {
  const std::string missed = "attune: 3 of 4 lookups found no row in the tables; they are captured: attune coverage";
  for (const uint64_t others : {0, 2}) EXPECT_EQ(last_lines("", others, true).substr(0, missed.size()), missed);
}

TEST(DispatchLog, ALongLineIsCut) { EXPECT_LT(printed(std::string(100000, 'x')).size(), 2100u); }

}  // namespace
}  // namespace attune
