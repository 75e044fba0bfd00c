// SPDX-License-Identifier: MIT
#include "store/entry_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "testing/journal_values.h"

namespace attune {
namespace {

class EntryJson : public testing::Test, protected JournalValues {};

TEST_F(EntryJson, NumbersThatAreNotFiniteAndTextThatIsNotUtf8Survive) {
  auto value = decision("a=1");
  value.comparison.interval.high = std::numeric_limits<double>::infinity();
  value.comparison.interval.low = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(entry_from_json(entry_to_json(value)), Entry(value));
  auto noisy = record("a=1");
  noisy.outcome.errors.cosine = std::numeric_limits<double>::quiet_NaN();
  noisy.outcome.detail = "\xff";
  const auto back = std::get<Record>(entry_from_json(entry_to_json(noisy)));
  EXPECT_TRUE(std::isnan(back.outcome.errors.cosine));
  EXPECT_EQ(back.outcome.detail, "\xef\xbf\xbd");
}

TEST_F(EntryJson, EntriesWithoutReportsOfCompilersAreThoseOfOlderVersions) {
  for (const Entry& entry : {Entry(record("a=1")), Entry(decision("a=1"))}) {
    const std::string with = entry_to_json(entry);
    EXPECT_EQ(entry_from_json(with), entry);
    auto older = nlohmann::json::parse(with);
    auto& holder = older.contains("finalists") ? older["finalists"][0] : older;
    EXPECT_EQ(holder["metadata"].dump(), R"([{"registers":"40","spills":"0"}])");
    EXPECT_EQ(holder.erase("metadata"), 1u);
    Entry expected = entry;
    if (auto* of_candidate = std::get_if<Record>(&expected)) of_candidate->metadata.clear();
    if (auto* of_problem = std::get_if<Decision>(&expected)) of_problem->finalists[0].metadata.clear();
    EXPECT_EQ(entry_from_json(older.dump()), expected);
    EXPECT_EQ(entry_to_json(expected), older.dump()) << "nothing is written where nothing was reported";
    holder["metadata"] = "40 registers";
    EXPECT_THROW(entry_from_json(older.dump()), Error);
  }
}

TEST_F(EntryJson, ADecisionKeepsTheBandwidthThatWasMeasured) {
  Decision measured = decision("a=1");
  EXPECT_EQ(nlohmann::json::parse(entry_to_json(measured)).count("bandwidth_gbs"), 0u) << "as of older versions";
  measured.bandwidth_gbs = 12.5;
  EXPECT_EQ(entry_from_json(entry_to_json(measured)), Entry(measured));
}

TEST_F(EntryJson, FinalistsWithoutANumberAreThoseOfOlderVersions) {
  Decision numbered = decision("a=1");
  const std::string without = entry_to_json(numbered);
  EXPECT_EQ(nlohmann::json::parse(without)["finalists"][0].count("number"), 0u);
  numbered.finalists[0].number = 17;
  const std::string with = entry_to_json(numbered);
  EXPECT_EQ(entry_from_json(with), Entry(numbered));
  auto damaged = nlohmann::json::parse(with);
  EXPECT_EQ(damaged["finalists"][0]["number"], 17);
  damaged["finalists"][0]["number"] = -1;
  EXPECT_THROW(entry_from_json(damaged.dump()), Error);
}

TEST_F(EntryJson, EntriesWithoutTheIdOfTheirDeviceAreThoseOfOlderVersions) {
  for (const Entry& entry : {Entry(record("a=1")), Entry(decision("a=1"))}) {
    auto older = nlohmann::json::parse(entry_to_json(entry));
    EXPECT_EQ(older["device_id"], "g:1");
    older.erase("device_id");
    Entry expected = entry;
    if (auto* of_candidate = std::get_if<Record>(&expected)) of_candidate->device_id.clear();
    if (auto* of_problem = std::get_if<Decision>(&expected)) of_problem->device_id.clear();
    EXPECT_EQ(entry_from_json(older.dump()), expected);
    EXPECT_EQ(entry_to_json(expected), older.dump());
  }
}

TEST_F(EntryJson, WhatIsNoEntryIsInvalidInput) {
  for (const std::string text :
       {"", "{", "[]", "{\"type\":\"x\"}", "{\"type\":\"started\"}", "{\"type\":1}", "null",
        R"({"type":"pardoned","device":"g","candidate":{"solver":"s","version":"1","config":"a"}})"}) {
    try {
      entry_from_json(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    }
  }
}

TEST_F(EntryJson, AnOutcomeIsReadAlone) {
  const Record one = record("a=1");
  const std::string text = entry_to_json(one);
  EXPECT_EQ(outcome_from_json(text), one.outcome);
  for (const std::string& other : {entry_to_json(started("a=1")), text.substr(0, text.size() - 1), std::string("[]")})
    EXPECT_THROW(outcome_from_json(other), Error) << other;
  std::string of_bytes = text;
  of_bytes[of_bytes.find("a=1")] = '\xff';
  EXPECT_THROW(outcome_from_json(of_bytes), Error);
}

}  // namespace
}  // namespace attune
