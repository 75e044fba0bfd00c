// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/fleet/fleet_connection.h"
#include "store/fleet/fleet_sql.h"
#include "testing/fleet/fleet_store_fixture.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> tested_servers() {
  auto all = tested_databases();
  std::erase(all, "sqlite");
  return all;
}

/// What a file cannot do to its users.
class FleetServerTest : public FleetStoreFixture {
 protected:
  void SetUp() override {
    FleetStoreFixture::SetUp();
    run("CREATE TABLE mine (a INTEGER PRIMARY KEY, b INTEGER NOT NULL)");
    run("INSERT INTO mine VALUES (1, 0), (2, 0)");
  }
  bool is_mariadb() const { return GetParam() == "mariadb"; }
  /// Ends a connection as an administrator does.
  void kill(FleetConnection& connection) const {
    long long id = 0;
    connection.session() << (is_mariadb() ? "SELECT CONNECTION_ID()" : "SELECT pg_backend_pid()"), soci::into(id);
    run((is_mariadb() ? "KILL " : "SELECT pg_terminate_backend(") + std::to_string(id) + (is_mariadb() ? "" : ")"));
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FleetServerTest);
INSTANTIATE_TEST_SUITE_P(Databases, FleetServerTest, ::testing::ValuesIn(tested_servers()),
                         [](const auto& one) { return one.param; });

TEST_P(FleetServerTest, ATransactionWhoseConnectionIsKilledIsRunAgainOnce) {
  FleetConnection connection(store_address(store_), 1000);
  int num_runs = 0;
  connection.transaction([&] {
    connection.session() << "UPDATE mine SET b = b + 1 WHERE a = 1";
    if (++num_runs == 1) kill(connection);
    connection.session() << "UPDATE mine SET b = b + 1 WHERE a = 2";
  });
  EXPECT_EQ(num_runs, 2);
  EXPECT_EQ(number("SELECT sum(b) FROM mine"), 2);
}

TEST_P(FleetServerTest, AConnectionThatWasKilledBetweenStatementsIsMadeAgain) {
  FleetConnection connection(store_address(store_), 1000);
  connection.guard([&] { connection.session() << "SELECT 1"; });
  kill(connection);
  connection.guard([&] { connection.session() << "UPDATE mine SET b = 7"; });
  EXPECT_EQ(number("SELECT sum(b) FROM mine"), 14);
}

TEST_P(FleetServerTest, TransactionsThatWaitForEachOtherAreRunAgain) {
  std::atomic<int> num_locked = 0, num_runs = 0;
  std::vector<std::thread> threads;
  for (const int first : {1, 2}) {
    threads.emplace_back([&, first] {
      FleetConnection connection(store_address(store_), 20'000);
      connection.transaction([&] {
        ++num_runs;
        const auto change = [&](int row) {
          connection.session() << "UPDATE mine SET b = b + 1 WHERE a = " + std::to_string(row);
        };
        change(first);
        ++num_locked;
        for (int i = 0; i < 200 && num_locked < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        change(3 - first);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(num_runs, 3);
  EXPECT_EQ(number("SELECT sum(b) FROM mine"), 4);
}

TEST_P(FleetServerTest, AReaderSeesOneStateOfTheStore) {
  FleetConnection connection(store_address(store_), 1000);
  long long before = -1, after = -1;
  connection.read_transaction([&] {
    connection.session() << "SELECT sum(b) FROM mine", soci::into(before);
    run("UPDATE mine SET b = 5");
    connection.session() << "SELECT sum(b) FROM mine", soci::into(after);
  });
  EXPECT_EQ(before, 0);
  EXPECT_EQ(after, 0);
}

TEST_P(FleetServerTest, AStatementThatTheServerDoesNotTakeIsASentence) {
  if (!is_mariadb()) return;  // PostgreSQL takes 1 GB.
  FleetConnection connection(store_address(store_), 1000);
  connection.guard([&] { connection.session() << "SELECT 1"; });
  try {
    connection.check_size(size_t{1} << 40);
    FAIL() << "it was not refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("max_allowed_packet"));
  }
}

}  // namespace
}  // namespace attune
