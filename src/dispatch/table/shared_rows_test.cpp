// SPDX-License-Identifier: MIT
#include "dispatch/table/shared_rows.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>

namespace attune {
namespace {

using Rows = std::shared_ptr<const RowIndex>;

/// Stands for an index that nobody reads: only its owner counts.
Rows some_rows() {
  const auto owner = std::make_shared<int>();
  return {owner, reinterpret_cast<const RowIndex*>(owner.get())};
}

TEST(SharedRows, OfOneKeyAreMadeOnceWhileSomebodyHasThem) {
  int num_made = 0;
  const auto make = [&] {
    ++num_made;
    return some_rows();
  };
  Rows first = shared_rows("once", make);
  EXPECT_EQ(shared_rows("once", make), first);
  EXPECT_EQ(num_made, 1);
  first.reset();
  first = shared_rows("once", make);
  EXPECT_EQ(num_made, 2);
}

TEST(SharedRows, WaitForThoseOfNoOtherKey) {
  std::promise<void> other_is_made;
  auto waiting = std::async(std::launch::async, [&] {
    return shared_rows("waits", [&] {
      const auto state = other_is_made.get_future().wait_for(std::chrono::seconds(5));
      EXPECT_EQ(state, std::future_status::ready) << "tables of another key are read meanwhile";
      return some_rows();
    });
  });
  const Rows other = shared_rows("other", some_rows);
  other_is_made.set_value();
  EXPECT_NE(waiting.get(), other);
}

TEST(SharedRows, ThatCannotBeMadeAreMadeByTheNext) {
  EXPECT_THROW(shared_rows("fails", []() -> Rows { throw std::runtime_error("no memory"); }), std::runtime_error);
  EXPECT_NE(shared_rows("fails", some_rows), nullptr);
}

}  // namespace
}  // namespace attune
