// SPDX-License-Identifier: MIT
#include "server/tables/table_reader.h"

#include <gmock/gmock.h>

#include <thread>

#include "base/error.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(TableReader, ReadsAgainWhenItsRowsAreOld) {
  int num_read = 0;
  const auto read = [&] {
    if (++num_read == 2) fail(ErrorCode::invalid_input, "t.csv is no table");
    return std::make_shared<const RowSummaries>(RowSummaries{.rows = {{}}, .notices = {}});
  };
  TableReader always(read, std::chrono::milliseconds(0), 1);
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

TEST(TableReader, ReadsInAShareOfTheTime) {
  int num_read = 0;
  const auto read = [&] {
    ++num_read;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return std::make_shared<const RowSummaries>();
  };
  TableReader reader(read, std::chrono::milliseconds(0), 0.001);  // The next one in 50 s.
  EXPECT_EQ(reader.rows(), reader.rows());
  EXPECT_EQ(num_read, 1);
}

TEST(TableReader, WithoutTablesHasNone) { EXPECT_THAT(TableReader(nullptr).rows()->rows, IsEmpty()); }

}  // namespace
}  // namespace attune
