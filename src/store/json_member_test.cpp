// SPDX-License-Identifier: MIT
#include "store/json_member.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(JsonMember, IsTheTextOfItsValue) {
  constexpr std::string_view kObject = R"( {"a": [1, {"b": 2}], "b":"x,}\"]\\", "c\"":{}, "d":3} )";
  EXPECT_EQ(json_member(kObject, "a"), R"([1, {"b": 2}])");
  EXPECT_EQ(json_member(kObject, "b"), R"("x,}\"]\\")");
  EXPECT_EQ(json_member(kObject, R"(c\")"), "{}");
  EXPECT_EQ(json_member(kObject, "d"), "3");
  EXPECT_EQ(json_member(kObject, "c"), std::nullopt);
  EXPECT_EQ(json_member("{}", "a"), std::nullopt);
  EXPECT_EQ(json_member(R"({"a":1,"a":2})", "a"), "2") << "the last one, as for a parser";
}

TEST(JsonMember, ATextThatIsNotOneWholeObjectHasNone) {
  constexpr std::string_view kObject = R"({"a":[1,{"b":"\\"}],"c":"}"})";
  ASSERT_EQ(json_member(kObject, "a"), R"([1,{"b":"\\"}])");
  for (size_t size = 0; size < kObject.size(); ++size)
    EXPECT_EQ(json_member(kObject.substr(0, size), "a"), std::nullopt) << size;
  for (const std::string_view text : {R"({"a":1}})", R"({"a":1]})", R"({"a":1},{})", R"(["a",1])", R"({"a" 1})",
                                      R"({a:1})", R"({"a":1,})", R"({"a":1}x)", "{", "}", "\"a\""})
    EXPECT_EQ(json_member(text, "a"), std::nullopt) << text;
}

}  // namespace
}  // namespace attune
