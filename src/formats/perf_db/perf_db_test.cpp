// SPDX-License-Identifier: MIT
#include "formats/perf_db/perf_db.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "attune/error.h"
#include "base/file.h"
#include "formats/bzip2.h"
#include "formats/find_db/find_db.h"
#include "formats/find_db/find_db_key.h"
#include "formats/sqlite_file.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;

constexpr const char* kPerfKey = "2x64x56x28x1x3x1x1x32x8x1x0x0x2x1x0x1x1x0x0x1xNCHWxFP32xF";
const std::string kPerfText = std::string(kPerfKey) + "=ConvAsm1x1U:1,16,1;ConvHip:DeviceConv<256, 128> Filter1x1\n" +
                              "2x1000x13x13x1x1x1x1x512x16x0x0x0x1x1x0x1x1x0x0x4xNHWCxFP16xB=Gtc:bwd,nhwc,152[2]\n";

template <typename Action>
std::string perf_db_error(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "accepted";
}

std::string text_error(const std::string& text) {
  return perf_db_error([&] { parse_perf_db_text(text, "a.db.txt"); });
}

PerfDb sample() { return parse_perf_db_text(kPerfText, "a.db.txt"); }

/// Reads what a statement leaves of the sample.
std::string database_error(const std::string& statement) {
  const TestFolder folder;
  const auto path = folder.put("a.db", perf_db_bytes(sample()));
  soci::session(soci::sqlite3, "db=\"" + path.string() + "\"") << statement;
  return perf_db_error([&] { read_perf_db(path); });
}

TEST(PerfDb, TextAndDatabaseHoldTheSame) {
  const TestFolder folder;
  const PerfDb db = sample();
  EXPECT_EQ(db.configs.size(), 2u);
  ASSERT_EQ(db.rows.size(), 3u);
  EXPECT_EQ(db.rows[1].params, "DeviceConv<256, 128> Filter1x1");
  EXPECT_EQ(perf_db_text(db), kPerfText);
  const auto path = folder.put("a.db", perf_db_bytes(db));
  EXPECT_TRUE(is_perf_db_sqlite(path));
  EXPECT_FALSE(is_perf_db_text(path));
  EXPECT_TRUE(is_perf_db_text(folder.put("a.db.txt", kPerfText)));
  EXPECT_FALSE(is_perf_db_sqlite(folder.path() / "a.db.txt"));
  const PerfDb again = read_perf_db(path);
  EXPECT_EQ(perf_db_text(again), kPerfText);
  EXPECT_EQ(again.schema, PerfDb::own_schema());
}

TEST(PerfDb, ProblemsHaveConfigs) {
  EXPECT_EQ(perf_db_key(perf_db_config_of(
                Problem::parse("conv direction=fwd n=8 c=64 h=56 w=28 k=32 y=3 x=1 pad_h=1 stride_h=2 dtype=fp32"))),
            kPerfKey);
  EXPECT_EQ(perf_db_key(perf_db_config_of(Problem::parse(
                "conv direction=bwd_data n=8 c=64 h=56 w=28 k=32 y=3 x=1 pad_h=1 stride_h=2 dtype=fp32"))),
            "2x32x28x28x1x3x1x1x64x8x1x0x0x2x1x0x1x1x0x0x1xNCHWxFP32xB")
      << "gradients state the output";
}

TEST(PerfDb, ABadTextIsOneSentenceWithFileAndLine) {
  EXPECT_THAT(text_error(kPerfText + "no equals"), HasSubstr("a.db.txt:3: the line has no '='"));
  EXPECT_THAT(text_error("2x3=S:1\n"), HasSubstr("a.db.txt:1: a key has 24 parts joined by 'x', this one 2"));
  EXPECT_THAT(text_error(kPerfText + kPerfText), HasSubstr("a.db.txt:3: the key of line 1 again"));
  EXPECT_THAT(text_error(std::string(kPerfKey) + "=S:1;S:2\n"), HasSubstr("a.db.txt:1: the solver S stands twice"));
  EXPECT_THAT(text_error("z" + std::string(kPerfKey) + "=S:1\n"), HasSubstr("a.db.txt:1: the key's spatial_dim must"));
}

TEST(PerfDb, ADatabaseOfAnotherKindIsRefused) {
  EXPECT_THAT(database_error("CREATE TABLE journal (id INTEGER)"), HasSubstr("a database of another program"));
  EXPECT_THAT(database_error("PRAGMA application_id = 7"), HasSubstr("a database of another program"));
  EXPECT_THAT(database_error("ALTER TABLE config ADD COLUMN vector_length INT NOT NULL DEFAULT 1"),
              HasSubstr("the table config has a column that this program does not know, 'vector_length'"));
  EXPECT_THAT(database_error("CREATE TRIGGER t AFTER INSERT ON config BEGIN DELETE FROM perf_db; END"),
              HasSubstr("no trigger"));
  EXPECT_THAT(database_error("UPDATE config SET in_h = 'tall' WHERE id = 2"),
              HasSubstr("row 2 of config has a value that is no whole number"));
  EXPECT_THAT(database_error("UPDATE perf_db SET params = x'00' WHERE id = 3"),
              HasSubstr("row 3 of perf_db has a value of another type"));
  const TestFolder folder;
  const std::string bytes = perf_db_bytes(sample());
  for (const auto& [content, what] :
       {std::pair(std::string("text"), "no SQLite database"), std::pair(std::string(), "no SQLite database"),
        std::pair(bytes.substr(0, 9000), "database")}) {
    const auto path = folder.put("b.db", content);
    EXPECT_THAT(perf_db_error([&] { read_perf_db(path); }), HasSubstr(what));
  }
  EXPECT_NE(perf_db_error([&] { read_perf_db(folder.path() / "missing.db"); }), "accepted");
}

TEST(PerfDb, OrphansStayInADatabaseAndHaveNoText) {
  PerfDb db = sample();
  db.rows.push_back({9, "Orphan", 77, "1"});
  const TestFolder folder;
  const PerfDb again = read_perf_db(folder.put("a.db", perf_db_bytes(db)));
  ASSERT_EQ(again.orphans().size(), 1u);
  EXPECT_EQ(again.orphans().front()->solver, "Orphan");
  EXPECT_THAT(perf_db_error([&] { perf_db_text(again); }), HasSubstr("row 9 of perf_db names the config 77, which is"));
}

TEST(PerfDb, SortsByKeyAndSolver) {
  PerfDb db = sample();
  db.rows.push_back({9, "Orphan", 77, "1"});
  sort_perf_db(db);
  EXPECT_EQ(db.orphans().size(), 1u);
  db.rows.pop_back();
  const size_t second = kPerfText.find('\n') + 1;
  EXPECT_EQ(perf_db_text(db), kPerfText.substr(second) + kPerfText.substr(0, second));
}

TEST(PerfDb, RowsThatStandTwiceAreNotWritten) {
  PerfDb db = sample();
  db.rows.push_back({9, "Gtc", 2, "1"});
  EXPECT_THAT(perf_db_error([&] { perf_db_bytes(db); }), HasSubstr("UNIQUE"));
}

TEST(PerfDb, ValuesWithSqlInThemAreData) {
  PerfDb db = sample();
  db.rows[0].params = "1'); DROP TABLE config; --\" :id";
  const TestFolder folder;
  EXPECT_EQ(read_perf_db(folder.put("a.db", perf_db_bytes(db))).rows[0].params, db.rows[0].params);
}

/// The output of a command.
std::string output_of_command(const std::string& command) {
  std::string output(1 << 25, '\0');
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  output.resize(std::fread(output.data(), 1, output.size(), pipe));
  ::pclose(pipe);
  return output;
}

TEST(PerfDb, ARealDatabaseHasTheSameDump) {
  const auto shared = shared_data() / "miopen_db";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "the files are not here: " << shared;
  const TestFolder folder;
  const auto path = folder.put("a.db", bunzip2(read_file(shared / "gfx942130.db.bz2"), 100'000'000));
  const PerfDb db = read_perf_db(path);
  EXPECT_EQ(db.configs.size(), 9'393u);
  EXPECT_EQ(db.rows.size(), 21'058u);
  EXPECT_TRUE(db.orphans().empty());
  EXPECT_EQ(db.schema, PerfDb::own_schema());
  const auto copy = folder.put("b.db", perf_db_bytes(db));
  for (const char* what : {".dump", "\"SELECT sql FROM sqlite_master\"", "\"PRAGMA integrity_check\""}) {
    const std::string before = output_of_command(fmt::format("sqlite3 {} {}", path.string(), what));
    EXPECT_FALSE(before.empty()) << what;
    EXPECT_TRUE(before == output_of_command(fmt::format("sqlite3 {} {}", copy.string(), what))) << what;
  }
  const std::string text = perf_db_text(db);
  EXPECT_TRUE(perf_db_text(parse_perf_db_text(text, "a.db.txt")) == text);

  // Each config belongs to a key of the same device's find-db.
  const FindDb times =
      FindDb::parse(bunzip2(read_file(shared / "gfx942130.HIP.fdb.txt.bz2"), 100'000'000), "a.fdb.txt");
  std::set<std::string> keys;
  for (const FindDbRecord& record : times.records())
    keys.insert(perf_db_key(perf_db_config_of(*problem_of_find_db_key(record.key))));
  const auto num_known =
      std::ranges::count_if(db.configs, [&](const PerfDbConfig& config) { return keys.contains(perf_db_key(config)); });
  EXPECT_EQ(static_cast<size_t>(num_known), db.configs.size());
}

}  // namespace
}  // namespace attune
