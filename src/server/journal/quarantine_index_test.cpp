// SPDX-License-Identifier: MIT
#include "server/journal/quarantine_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

EntryHeading death(int64_t id, std::string candidate, std::string status = "crashed", std::string problem = "p") {
  return {.stamp = {id, 0, 0},
          .kind = EntryKind::record,
          .problem = std::move(problem),
          .device = "d/4",
          .candidate = std::move(candidate),
          .stage = "verify",
          .status = std::move(status)};
}
EntryHeading pardon(int64_t id, std::string candidate) {
  return {.stamp = {id, 0, 0}, .kind = EntryKind::pardon, .device = "d/4", .candidate = std::move(candidate)};
}
/// Entries by ascending id, of which an index reads those from `middle` on backwards to the first, as a server does
/// that is started meanwhile, and then the others.
void read(QuarantineIndex& index, const std::vector<EntryHeading>& entries, size_t middle) {
  for (size_t i = middle; i > 0; --i) index.add_oldest(entries[i - 1]);
  index.end_oldest();
  for (size_t i = middle; i < entries.size(); ++i) index.add_newest(entries[i]);
}
std::vector<int64_t> ids(const QuarantineIndex& index, int64_t before = 0, size_t limit = 10) {
  std::vector<int64_t> found;
  for (const QuarantineVerdict& one : index.newest(before, limit)) found.push_back(one.stamp.id);
  return found;
}

TEST(QuarantineIndex, HasTheNewestDeathOfEachCandidateWhereverItBegins) {
  const std::vector<EntryHeading> entries = {death(1, "a"), death(2, "b", "timed_out"), death(3, "c", "wrong_result"),
                                             death(4, "a"), death(5, "a", "crashed", "q")};
  for (size_t middle = 0; middle <= entries.size(); ++middle) {
    QuarantineIndex index;
    read(index, entries, middle);
    EXPECT_THAT(ids(index), ElementsAre(5, 4, 2)) << middle;
    EXPECT_THAT(ids(index, 5), ElementsAre(4, 2));
    EXPECT_THAT(ids(index, 0, 1), ElementsAre(5));
  }
}

TEST(QuarantineIndex, WhoIsVerifiedAgainIsWell) {
  const std::vector<EntryHeading> entries = {
      death(1, "a"), death(2, "b"), death(3, "a", "crashed", "q"), death(4, "a", "ok"), death(5, "b", "wrong_result"),
      death(6, "b")};
  for (size_t middle = 0; middle <= entries.size(); ++middle) {
    QuarantineIndex index;
    read(index, entries, middle);
    EXPECT_THAT(ids(index), ElementsAre(6, 3)) << middle;
  }
}

TEST(QuarantineIndex, APardonTakesOutWhatWasBefore) {
  const std::vector<EntryHeading> entries = {
      death(1, "a"), death(2, "a", "crashed", "q"), death(3, "b"), pardon(4, "a"), death(5, "ab"), pardon(6, "b"),
      death(7, "b")};
  for (size_t middle = 0; middle <= entries.size(); ++middle) {
    QuarantineIndex index;
    read(index, entries, middle);
    EXPECT_THAT(ids(index), ElementsAre(7, 5)) << middle;
  }
}

TEST(QuarantineIndex, NewEntriesMayComeBeforeTheOldestIsRead) {
  QuarantineIndex index;
  index.add_oldest(death(3, "c"));
  index.add_newest(death(4, "a", "ok"));
  index.add_newest(pardon(5, "b"));
  index.add_oldest(death(2, "b"));
  index.add_oldest(death(1, "a"));
  EXPECT_THAT(ids(index), ElementsAre(3));
}

TEST(QuarantineIndex, KeepsTheNewestDeaths) {
  std::vector<EntryHeading> entries;
  for (int64_t id = 1; id <= 9; ++id) entries.push_back(death(id, std::to_string(id)));
  for (size_t middle = 0; middle <= entries.size(); ++middle) {
    QuarantineIndex index(3, 100);
    read(index, entries, middle);
    EXPECT_THAT(ids(index), ElementsAre(9, 8, 7)) << middle;
  }
}

TEST(QuarantineIndex, WhatIsOlderThanAllThatItRemembersIsLeftOut) {
  QuarantineIndex index(10, 3);
  read(index, {death(1, "d"), death(2, "b"), death(3, "c"), death(4, "a", "ok")}, 4);
  EXPECT_THAT(ids(index), ElementsAre(3, 2)) << "of d it is not known any more whether it is well";
}

TEST(QuarantineIndex, KnowsWhoMadeABanLast) {
  const Ban ban{"a", "", "", "no"};
  QuarantineIndex index;
  index.add({ban, "second@here", false}, {7, 0, 0});
  index.add({ban, "first@here", false}, {3, 0, 0});
  index.add({ban, "third@here", true}, {9, 0, 0});
  ASSERT_TRUE(index.made(ban));
  EXPECT_EQ(index.made(ban)->first.by, "second@here");
  EXPECT_FALSE(index.made({"a", "d/4", "", "no"}));
  EXPECT_THAT(ids(index), IsEmpty());
}

}  // namespace
}  // namespace attune
