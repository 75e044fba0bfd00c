// SPDX-License-Identifier: MIT
// For tests: a server of a journal that has a candidate, one that crashed, and a Decision.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "server/site.h"
#include "testing/becomes_true.h"
#include "testing/journal_values.h"
#include "testing/test_files.h"

namespace attune {

class SiteTest : public testing::Test, protected JournalValues {
 protected:
  SiteTest() : file_(folder_.path() / "journal.db"), journal_(open_sql_journal(file_)) {
    run_ =
        journal_->begin_run({{"attune", "tune"}, "0.1", "host", 1, "g/2", "here", "a <script>device</script>", {}, 3});
    auto crashed = record("a=3");
    crashed.stage = Stage::verify;
    crashed.outcome = {Status::crashed, "signal 11 \xff <b>" + std::string(5000, 'x'), {}, std::nullopt};
    journal_->append(std::vector<Entry>{started("a=1"), record("a=1"), crashed, decision("a=1")});
  }
  void start() { site_ = std::make_unique<Site>(std::vector{file_}, AccessRule({"127.0.0.1", 80}, {}, std::nullopt)); }

  HttpAnswer ask(const std::string& path, std::map<std::string, std::string> query = {}, const std::string& tag = {}) {
    return site_->answer(
        {.method = "GET", .path = path, .query = std::move(query), .host = "127.0.0.1", .if_none_match = tag});
  }
  nlohmann::json data(const std::string& path, std::map<std::string, std::string> query = {}) {
    const HttpAnswer answer = ask("/api/v1/" + path, std::move(query));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return nlohmann::json::parse(answer.body);
  }
  void wait_for(size_t num_results) {
    EXPECT_TRUE(becomes_true([&] {
      const nlohmann::json page = data("results");
      return page["complete"].get<bool>() && page["found"] == num_results;
    }));
  }

  TestFolder folder_;
  std::filesystem::path file_;
  std::unique_ptr<Journal> journal_;
  int64_t run_ = 0;
  std::unique_ptr<Site> site_;
};

}  // namespace attune
