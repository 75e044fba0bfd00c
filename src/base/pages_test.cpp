// SPDX-License-Identifier: MIT
#include "base/pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace attune {
namespace {

TEST(Pages, OfAContainerCanBeProtectedAndFreed) {
  std::vector<double, PageAllocator<double>> values(1000, 1.5);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(values.data()) % page_bytes(), 0u);
  const std::span whole(reinterpret_cast<const std::byte*>(values.data()),
                        in_whole_pages(values.size() * sizeof(double)));
  set_writable(whole, false);
  EXPECT_EQ(values[999], 1.5);
  EXPECT_DEATH(values[999] = 2, "");
  set_writable(whole, true);
  values[999] = 2;
  EXPECT_EQ(values[999], 2);
}

TEST(Pages, WholeOnesAreCounted) {
  EXPECT_EQ(in_whole_pages(0), 0u);
  EXPECT_EQ(in_whole_pages(1), page_bytes());
  EXPECT_EQ(in_whole_pages(page_bytes()), page_bytes());
  EXPECT_EQ(in_whole_pages(page_bytes() + 1), 2 * page_bytes());
  EXPECT_TRUE(set_writable({}, false));
}

}  // namespace
}  // namespace attune
