// SPDX-License-Identifier: MIT
#include "fleet/exports/result_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::ElementsAre;

constexpr const char* kKeyA = "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F";
constexpr const char* kKeyB = "8-9-8-3x3-8-9-8-4-1x1-1x1-1x1-0-NCHW-FP32-F";
constexpr const char* kKeyC = "8-9-8-3x3-8-9-8-8-1x1-1x1-1x1-0-NCHW-FP32-F";

FindDb find_db_of(const std::string& text) { return FindDb::parse(text, "a.fdb.txt"); }

std::vector<std::string> lines_of(const ResultChanges& changes) {
  std::vector<std::string> lines;
  for (const ResultChange& one : changes.changes) lines.push_back(std::string(name(one.kind)) + ": " + one.what);
  return lines;
}

TEST(ResultChanges, TimesOfAFindDbAreComparedBeyondTheirNoise) {
  const std::string a = kKeyA, b = kKeyB, c = kKeyC;
  const auto why = [](const std::string& key) { return key == kKeyC ? "its contest was not completed" : "?"; };
  const ResultChanges found =
      changes_of(find_db_of(a + "=x.conv:1,0,A\n" + b + "=x.conv:1,0,A\n" + c + "=x.conv:1,0,A\n"),
                 find_db_of(a + "=x.conv:1.04,0,A;y.conv:9,0,A\n" + b + "=y.conv:0.5,0,A\n"), why);
  EXPECT_THAT(lines_of(found),
              ElementsAre("missing: its contest was not completed", "faster: x.conv 1 ms → y.conv 0.5 ms"));
  EXPECT_EQ(found.num_same, 1u) << "4 % are noise";
  EXPECT_EQ(found.summary(), "1 missing, 1 faster, 1 the same");
  EXPECT_DOUBLE_EQ(found.changes[1].ratio.value_or(0), 2);
}

TEST(ResultChanges, TheWorstComesFirst) {
  ResultChanges found;
  found.compare("k1", "a", 1, "b", 1, "ms");
  found.compare("k2", "a", 2, "a", 1, "ms");
  found.compare("k3", "a", 1, "a", 2, "ms");
  found.compare("k4", "a", 0, "a", 2, "ms");
  found.sort();
  EXPECT_THAT(lines_of(found),
              ElementsAre("slower: a 1 ms → a 2 ms", "changed: a 1 ms → b 1 ms", "faster: a 2 ms → a 1 ms"));
  EXPECT_EQ(found.num_same, 1u) << "without a time only the winner counts";
}

TEST(ResultChanges, ParametersOfAPerfDbAreComparedAsText) {
  const std::string key = "2x8x9x8x1x3x3x1x8x2x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF";
  const ResultChanges found =
      changes_of(parse_perf_db_text(key + "=a.conv:x=1;b.conv:x=1;c.conv:x=1\n", "a"),
                 parse_perf_db_text(key + "=a.conv:x=1;b.conv:x=2;d.conv:x=1\n", "b"),
                 [&](const std::string& missing) { return missing == key ? "no such row" : "?"; });
  EXPECT_THAT(lines_of(found), ElementsAre("missing: no such row", "changed: x=1 → x=2", "added: x=1"));
  EXPECT_EQ(found.num_same, 1u);
}

TEST(ResultChanges, KernelsAreComparedByTheirHash) {
  KernelDb before{.schema = {}, .kernels = {kernel_db_row(1, "a.o", "", "one"), kernel_db_row(2, "b.o", "", "two")}};
  KernelDb after{.schema = {}, .kernels = {kernel_db_row(1, "a.o", "", "other")}};
  EXPECT_EQ(changes_of(before, after).summary(), "1 missing, 1 changed, 0 the same");
}

}  // namespace
}  // namespace attune
