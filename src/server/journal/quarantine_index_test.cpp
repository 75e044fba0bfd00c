// SPDX-License-Identifier: MIT
#include "server/journal/quarantine_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
std::vector<int64_t> ids(const QuarantineIndex& index, int64_t before = 0, size_t limit = 10) {
  std::vector<int64_t> found;
  for (const EntryHeading& one : index.newest(before, limit)) found.push_back(one.stamp.id);
  return found;
}

TEST(QuarantineIndex, HasTheNewestDeathOfEachCandidateWhateverTheOrder) {
  for (const bool is_backwards : {false, true}) {
    std::vector<EntryHeading> entries = {death(1, "a"), death(2, "b", "timed_out"), death(3, "c", "wrong_result"),
                                         death(4, "a"), death(5, "a", "crashed", "q")};
    if (is_backwards) std::reverse(entries.begin(), entries.end());
    QuarantineIndex index;
    for (const EntryHeading& one : entries) index.add(one);
    EXPECT_THAT(ids(index), ElementsAre(5, 4, 2));
    EXPECT_THAT(ids(index, 5), ElementsAre(4, 2));
    EXPECT_THAT(ids(index, 0, 1), ElementsAre(5));
  }
}

TEST(QuarantineIndex, APardonTakesOutWhatWasBefore) {
  for (const bool is_backwards : {false, true}) {
    std::vector<EntryHeading> entries = {death(1, "a"), death(2, "b"), pardon(3, "a"), pardon(4, "b"), death(5, "b")};
    if (is_backwards) std::reverse(entries.begin(), entries.end());
    QuarantineIndex index;
    for (const EntryHeading& one : entries) index.add(one);
    EXPECT_THAT(ids(index), ElementsAre(5));
  }
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
