// SPDX-License-Identifier: MIT
#include "core/space/config_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Config> configs(const std::vector<std::string>& keys) {
  std::vector<Config> all;
  for (const auto& key : keys) all.push_back(Config::parse(key));
  return all;
}
std::vector<std::string> keys_of(const ConfigTable& table) {
  std::vector<std::string> keys;
  for (uint64_t row = 0; row < table.size(); ++row) keys.push_back(table.at(row).key());
  return keys;
}
std::string error_of(uint64_t num_rows, std::vector<ConfigTable::Column> columns) {
  try {
    const ConfigTable table(num_rows, std::move(columns));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
}

TEST(ConfigTable, HoldsEachConfigOnceAtItsFirstPlace) {
  const ConfigTable table(configs({"b=x;a=7", "a=3", "", "a=7;b=x", "a=3", "", "b=x"}));
  EXPECT_THAT(keys_of(table), ElementsAre("a=7;b=x", "a=3", "", "b=x"));
  EXPECT_EQ(table, ConfigTable(configs({"a=7;b=x", "a=3", "", "b=x"})));
  EXPECT_FALSE(table == ConfigTable(configs({"a=3", "a=7;b=x", "", "b=x"}))) << "the order counts";
  EXPECT_EQ(ConfigTable(configs({"", ""})).size(), 1u);
  EXPECT_EQ(ConfigTable().size(), 0u);
}

TEST(ConfigTable, FindsWhatItHoldsAndNothingElse) {
  const auto all = configs({"a=7;b=x", "a=3", "", "b=x", "a=7;b=y"});
  const ConfigTable table(all);
  for (size_t row = 0; row < all.size(); ++row) EXPECT_EQ(table.find(all[row]), row);
  for (const char* key : {"a=8", "a=7", "b=y", "c=1", "a=7;b=x;c=1", "a=3;b=y"})
    EXPECT_EQ(table.find(Config::parse(key)), std::nullopt) << key;
  EXPECT_EQ(ConfigTable().find(Config()), std::nullopt);
  EXPECT_EQ(ConfigTable(configs({""})).find(Config()), 0u);
}

TEST(ConfigTable, CountsAttributesThatDifferAndThatAreShared) {
  const ConfigTable table(configs({"a=1;b=2;c=3", "a=1;b=4", "d=1"}));
  EXPECT_EQ(table.num_differences(0, 0), 0u);
  EXPECT_EQ(table.num_differences(0, 1), 2u);
  EXPECT_EQ(table.num_differences(1, 2), 3u);
  EXPECT_EQ(table.num_shared(0, 1), 1u);
  EXPECT_EQ(table.num_shared(0, 2), 0u) << "an attribute that both lack is not shared";
  EXPECT_EQ(table.num_attributes(0), 3u);
  EXPECT_EQ(table.num_attributes(2), 1u);
}

TEST(ConfigTable, TakesColumnsWhateverTheirOrderAndTheOrderOfTheirValues) {
  const ConfigTable table(3, {{"b", {std::string("y"), std::string("x"), std::string("unused")}, {2, 1, 2}},
                              {"a", {int64_t{5}}, {1, 0, 1}},
                              {"never", {int64_t{1}}, {0, 0, 0}}});
  EXPECT_EQ(table, ConfigTable(configs({"a=5;b=x", "b=y"})));
  EXPECT_THAT(keys_of(table), ElementsAre("a=5;b=x", "b=y"));
}

TEST(ConfigTable, RefusesColumnsThatMakeNoRows) {
  const std::vector<Value> values = {int64_t{1}, int64_t{2}};
  EXPECT_THAT(error_of(2, {{"a", values, {1}}}), HasSubstr("a code for each of the 2 rows, got 1 for 'a'"));
  EXPECT_THAT(error_of(1, {{"a", values, {3}}}), HasSubstr("one of the 2 values of 'a', got 3"));
  EXPECT_THAT(error_of(1, {{"a", {int64_t{1}, int64_t{1}}, {1}}}), HasSubstr("got a=1 again"));
  EXPECT_THAT(error_of(1, {{"a", values, {1}}, {"a", values, {1}}}), HasSubstr("each attribute once, got 'a' again"));
  EXPECT_THAT(error_of(1, {{"a b", values, {1}}}), testing::Not(""));
}

TEST(ConfigTableBuilder, CollectsRowsOfNumbers) {
  ConfigTableBuilder rows(std::vector<std::string>{"pad", "algo"});
  using Row = std::vector<std::optional<int64_t>>;
  for (const Row& row : {Row{std::nullopt, 66}, Row{1, 66}, Row{std::nullopt, 24}, Row{1, 66}}) rows.add(row);
  EXPECT_THAT(keys_of(std::move(rows).build()), ElementsAre("algo=66", "algo=66;pad=1", "algo=24"));
}

}  // namespace
}  // namespace attune
