// SPDX-License-Identifier: MIT
#include "server/tables/table_reader.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(TableReader, ReadsAgainWhenItsRowsAreOld) {
  int num_read = 0;
  const auto read = [&]() -> RowSummaries {
    if (++num_read == 2) fail(ErrorCode::invalid_input, "t.csv is no table");
    return {.rows = {{}}, .notices = {}};
  };
  TableReader always(read, std::chrono::milliseconds(0));
  EXPECT_THAT(always.rows()->rows, SizeIs(1));
  const auto failed = always.rows();
  EXPECT_THAT(failed->rows, IsEmpty());
  EXPECT_THAT(failed->notices, ElementsAre("t.csv is no table"));
  EXPECT_THAT(always.rows()->rows, SizeIs(1));
  EXPECT_EQ(num_read, 3);
  TableReader seldom(read, std::chrono::hours(1));
  EXPECT_EQ(seldom.rows(), seldom.rows());
  EXPECT_EQ(num_read, 4);
}

TEST(TableReader, WithoutTablesHasNone) { EXPECT_THAT(TableReader(nullptr).rows()->rows, IsEmpty()); }

}  // namespace
}  // namespace attune
