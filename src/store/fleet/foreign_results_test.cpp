// SPDX-License-Identifier: MIT
#include "store/fleet/foreign_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/fleet/fleet_store.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names_of(const std::vector<ForeignResult>& results) {
  std::vector<std::string> names;
  for (const ForeignResult& one : results) names.push_back(one.source + " " + one.solver + " " + one.time_ms);
  return names;
}

TEST(ForeignResults, ASourceReplacesItsResultsAndLeavesOthers) {
  const TestFolder folder;
  const std::string store = "sqlite:" + (folder.path() / "fleet.db").string();
  open_fleet_store(store);
  const auto foreign = open_foreign_results(store);
  foreign->replace("a.fdb.txt", {{"c1", "Slow", "A", "2.50", "0", ""},
                                 {"c1", "Fast", "A", "0.5000", "72", ""},
                                 {"c2", "Only", "A", "1e-05", "0", ""}});
  foreign->replace("it's; DROP TABLE job", {{"c1", "Other", "", "", "", "1,2"}});
  EXPECT_THAT(names_of(foreign->of("c1")),
              ElementsAre("a.fdb.txt Fast 0.5000", "a.fdb.txt Slow 2.50", "it's; DROP TABLE job Other "));
  EXPECT_EQ(foreign->of("c1").back().params, "1,2");
  foreign->replace("a.fdb.txt", {{"c1", "New", "A", "1", "0", ""}});
  EXPECT_THAT(names_of(open_foreign_results(store)->of("c1")),
              ElementsAre("a.fdb.txt New 1", "it's; DROP TABLE job Other "));
  EXPECT_THAT(foreign->of("c2"), IsEmpty());
}

}  // namespace
}  // namespace attune
