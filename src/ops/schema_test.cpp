// SPDX-License-Identifier: MIT
#include "ops/schema.h"

#include <gtest/gtest.h>

#include "attune/error.h"

namespace attune {
namespace {

const FamilySpec& eight_bits() {
  static const std::vector<std::string_view> types = {"int8", "e4m3fn", "e4m3fnuz"};
  static const FamilySpec family = {
      .op = "any_op",
      .key = {{.name = "m", .column = "M", .max = 8},
              {"q_dtype_w", "q_dtype_w", ColumnKind::dtype, "int8", {}, true, false, types},
              {"of_result", "of_result", ColumnKind::dtype, "int8", "q_dtype_w", true, false, types}}};
  return family;
}

std::string on(const std::string& gfx, const std::string& text) {
  return normalised(Problem::parse("any_op " + text), eight_bits(), {.gfx = gfx}).key();
}

TEST(Schema, TheDeviceDecidesWhichTypeFp8Is) {
  EXPECT_EQ(on("gfx942", "m=1 q_dtype_w=fp8"), "any_op m=1 q_dtype_w=e4m3fnuz of_result=e4m3fnuz");
  EXPECT_EQ(on("gfx950", "m=1 q_dtype_w=fp8"), "any_op m=1 q_dtype_w=e4m3fn of_result=e4m3fn");
  EXPECT_EQ(on("sm_90", "m=1 q_dtype_w=fp8 of_result=int8"), "any_op m=1 q_dtype_w=e4m3fn of_result=int8");
  EXPECT_EQ(on("gfx942", "m=1 q_dtype_w=e4m3fn"), "any_op m=1 q_dtype_w=e4m3fn of_result=e4m3fn") << "it is stated";
  EXPECT_EQ(on("gfx942", "m=1"), "any_op m=1 q_dtype_w=int8 of_result=int8");
}

TEST(Schema, AnOpWithoutSuchATypeRefusesIt) {
  const FamilySpec family = {.op = "any_op",
                             .key = {{"dtype", "dtype", ColumnKind::dtype, "bf16", {}, true, false, {"bf16"}}}};
  EXPECT_THROW(normalised(Problem::parse("any_op dtype=fp8"), family, {}), Error);
}

}  // namespace
}  // namespace attune
