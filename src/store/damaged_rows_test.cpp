// SPDX-License-Identifier: MIT
// Rows whose columns and payload contradict each other.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <soci/soci-config.h>
#undef SOCI_HAVE_BOOST
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include "base/error.h"
#include "store/journal.h"

namespace attune {
namespace {

TEST(DamagedRows, APayloadOfAnotherKindThanItsRowIsDamage) {
  const auto folder = std::filesystem::temp_directory_path() / ("attune_damaged_rows." + std::to_string(::getpid()));
  const auto file = folder / "journal.db";
  const auto problem = Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=fp32 outdtype=fp32 bias=0");
  {
    const auto journal = open_sql_journal(file);
    Record record{.problem = problem, .device = "g/2", .candidate = {"s.gemm", "1", {}}};
    Decision decision;
    decision.problem = problem;
    decision.winner = decision.baseline = record.candidate;
    journal->append(std::vector<Entry>{record, decision});
  }
  soci::session(soci::sqlite3, "db=\"" + file.string() + "\"")
      << "UPDATE entries SET payload = (SELECT payload FROM entries WHERE kind = 1) WHERE kind = 2";
  const auto fail_if_visited = [](const Entry&, const Stamp&) { FAIL(); };
  const Query decisions{.started = false, .records = false, .pardons = false};
  EXPECT_EQ(open_sql_journal_read_only(file)->scan(decisions, fail_if_visited), 1u);
  EXPECT_FALSE(open_sql_journal_read_only(file)->decision(problem, "", {}, {}));
  EXPECT_THROW(open_sql_journal(file)->scan(decisions, fail_if_visited), Error);
  EXPECT_THROW(open_sql_journal(file)->decision(problem, "", {}, {}), Error);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace attune
