// SPDX-License-Identifier: MIT
#include "tables/captured_sources.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/table_values.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

TEST(CapturedSources, NamedOnesMustExist) {
  const std::vector<std::string> named = {fs::temp_directory_path().string(), "nowhere"};
  EXPECT_EQ(capture_sources(std::span(named).first(1)).size(), 1u);
  EXPECT_THROW(capture_sources(named), Error);
}

TEST(CapturedSources, AreListedInQuotes) {
  const fs::path sources[] = {"a", "b c"};
  EXPECT_EQ(list_of(sources), "'a', 'b c'");
}

TEST(CapturedSources, AProblemIsLookedUpAsTablesSpellIt) {
  const DeviceInfo device = table_device();
  EXPECT_EQ(as_looked_up(Problem::parse("gemm_a16w16 k=64 n=64 m=1 dtype=fp32"), device), table_problem(1));
  const Problem unknown = Problem::parse("fmoe token=16");
  EXPECT_EQ(as_looked_up(unknown, device), unknown);
}

}  // namespace
}  // namespace attune
