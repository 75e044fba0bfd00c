// SPDX-License-Identifier: MIT
#include "pipeline/run/shape_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

using testing::HasSubstr;

std::string choice_refusal(std::string_view only, std::string since = "") {
  try {
    static_cast<void>(parse_shape_choice(only, std::move(since)));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ShapeChoice, IsReadFromWords) {
  EXPECT_TRUE(parse_shape_choice("", "").is_of_all());
  const ShapeChoice both = parse_shape_choice(" stale ,changed", "HEAD");
  EXPECT_TRUE(both.changed && both.stale);
  EXPECT_EQ(both.since, "HEAD");
  EXPECT_FALSE(parse_shape_choice("stale", "").changed);
  EXPECT_THAT(choice_refusal("all"), HasSubstr("changed, stale or both"));
  EXPECT_THAT(choice_refusal("changed,"), HasSubstr("changed, stale or both"));
  EXPECT_THAT(choice_refusal("stale", "HEAD"), HasSubstr("--since needs --only changed"));
  EXPECT_THAT(choice_refusal("", "HEAD"), HasSubstr("--since needs --only changed"));
}

TEST(ShapeChoice, TheChosenRowsOfAListStandAsTheyWere) {
  const TemporaryFolder folder("shape_choice_test");
  const auto list = folder.path() / "bf16_untuned_gemm.csv";
  write_file_atomically(list, "N,M,K,note\r\n2, 1,3,a\r\n2,4,3,\"b,c\"\r\n2,5,3,d");
  const FamilySpec& family = *find_family("gemm_a16w16");
  const auto rows_at = [&](std::vector<bool> chosen) {
    return chosen_rows(family, list, nullptr, [&](const std::vector<Problem>& shapes) {
      EXPECT_EQ(shapes.size(), chosen.size());
      return chosen;
    });
  };
  EXPECT_EQ(rows_at({false, true, true}), "N,M,K,note\r\n2,4,3,\"b,c\"\r\n2,5,3,d\r\n");
  EXPECT_EQ(rows_at({false, false, false}), std::nullopt);
  EXPECT_EQ(chosen_rows(family, list, nullptr, {}), std::nullopt);
  write_file_atomically(list, "M,N,K\nx,1,1\n");
  EXPECT_THROW(static_cast<void>(rows_at({true})), Error);
}

}  // namespace
}  // namespace attune
