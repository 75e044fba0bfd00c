// SPDX-License-Identifier: MIT
#include "store/fleet/fleet_dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::HasSubstr;

TEST(FleetDialect, AHostThatIsNotFoundMayBeFoundLater) {
  EXPECT_EQ(mariadb_dialect().fault_of("Unknown server host 'head' (-2)", false), SqlFault::lost);
  EXPECT_EQ(postgresql_dialect().fault_of(
                "could not translate host name \"head\" to address: Name or service not known", false),
            SqlFault::lost);
}

TEST(FleetDialect, AServerThatCannotWriteAsItConnectsIsAway) {
  EXPECT_EQ(postgresql_dialect().fault_of("FATAL:  could not write init file", false), SqlFault::lost);
  EXPECT_EQ(postgresql_dialect().fault_of("FATAL:  role \"x\" does not exist", false), SqlFault::refused);
}

TEST(FleetDialect, ARowThatIsThereIsADuplicate) {
  EXPECT_EQ(mariadb_dialect().fault_of("Duplicate entry '1' for key 'PRIMARY'", true), SqlFault::duplicate);
  EXPECT_EQ(postgresql_dialect().fault_of("ERROR: duplicate key value violates unique constraint \"a\"", true),
            SqlFault::duplicate);
}

TEST(FleetDialect, MySqlIsNoMariaDb) {
  EXPECT_EQ(mariadb_dialect().why_unusable("10.11.6-MariaDB-0+deb12u1"), "");
  EXPECT_THAT(mariadb_dialect().why_unusable("8.0.36"), HasSubstr("MySQL 8.0.36"));
  EXPECT_EQ(postgresql_dialect().why_unusable("PostgreSQL 15.6"), "");
}

}  // namespace
}  // namespace attune
