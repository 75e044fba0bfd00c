// SPDX-License-Identifier: MIT
#include "store/fleet/store_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "testing/environment.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string address_refusal(const std::string& store) {
  try {
    store_address(store);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  ADD_FAILURE() << "not refused: " << store;
  return {};
}

TEST(StoreAddress, NamesAServer) {
  const auto address = store_address("postgresql://al%40ice@head-1:6543/fleet%20db?tls=require");
  EXPECT_EQ(address.kind, DatabaseKind::postgresql);
  EXPECT_EQ(address.user, "al@ice");
  EXPECT_EQ(address.host, "head-1");
  EXPECT_EQ(address.port, 6543);
  EXPECT_EQ(address.database, "fleet db");
  EXPECT_TRUE(address.requires_tls);
  EXPECT_EQ(store_address("mysql://a@b/c").kind, DatabaseKind::mariadb);
  EXPECT_EQ(store_address("mariadb://a@b/c").shown(), "mariadb://a@b/c");
  EXPECT_EQ(store_address("postgresql://a@[::1]:5/c").host, "::1");
  EXPECT_EQ(store_address("mariadb://a@localhost/c?socket=/run/m.sock").socket, "/run/m.sock");
  EXPECT_EQ(store_address("sqlite:/a/b.db").file, "/a/b.db");
}

TEST(StoreAddress, WhatCannotBeReadIsRefusedWithItsReason) {
  const std::pair<const char*, const char*> all[] = {
      {"sqlite:", "is not understood"},
      {"fleet.db", "is not understood"},
      {"oracle://a@b/c", "no known database 'oracle'"},
      {"mysql://head/fleet", "names no user"},
      {"mysql://a@/fleet", "names no host"},
      {"mysql://a@he ad/fleet", "names no host"},
      {"mysql://a@head", "names no database"},
      {"mysql://a@head/", "names no database"},
      {"mysql://a@head/x/y", "names no database"},
      {"mysql://a@head:0/x", "port"},
      {"mysql://a@head:70000/x", "port"},
      {"mysql://a@head:x/x", "port"},
      {"mysql://a@[::1/x", "']'"},
      {"mysql://a%zz@head/x", "broken %"},
      {"mysql://a%0a@head/x", "broken %"},
      {"mysql://a@head/x?tls=maybe", "tls=require"},
      {"mysql://a@head/x?tls", "without a value"},
      {"mysql://a@head/x?colour=red", "unknown parameter 'colour'"},
  };
  for (const auto& [store, why] : all) EXPECT_THAT(address_refusal(store), HasSubstr(why)) << store;
}

TEST(StoreAddress, APasswordInItIsRefusedAndNotShown) {
  for (const char* store : {"mariadb://user:secret@head/fleet", "mysql://u@head/x?password=secret", "u:secret@head",
                            "oracle://u:secret@head/x", "mysql://u%3asecret@head/x", "mysql://u@head/x password=secret",
                            "mysql://u:secret@head:x/y?z=1"}) {
    EXPECT_THAT(address_refusal(store), Not(HasSubstr("secret"))) << store;
  }
  EXPECT_THAT(address_refusal("mariadb://user:secret@head/fleet"), HasSubstr("ATTUNE_STORE_PASSWORD"));
}

TEST(StoreAddress, ThePasswordComesFromAVariableOrAPrivateFile) {
  constexpr const char* kOwn[] = {"ATTUNE_STORE_PASSWORD", "ATTUNE_STORE_PASSWORD_FILE"};
  const TestEnvironment none(kOwn);
  const TestFolder folder;
  const auto file = folder.put("password", "from file\nnot this");
  const std::string store = "mysql://a@head/x?password_file=" + file.string();
  ::chmod(file.c_str(), 0640);
  EXPECT_THAT(address_refusal(store), HasSubstr("chmod 600"));
  ::chmod(file.c_str(), 0600);
  EXPECT_EQ(store_address(store).password, "from file");
  const TestEnvironment named("ATTUNE_STORE_PASSWORD_FILE", file.string());
  EXPECT_EQ(store_address("mysql://a@head/x").password, "from file");
  const TestEnvironment variable("ATTUNE_STORE_PASSWORD", "it's \\ it");
  const auto address = store_address(store);
  EXPECT_EQ(address.password, "it's \\ it");
  EXPECT_THAT(address.shown(), Not(HasSubstr(address.password)));
}

TEST(StoreAddress, TheOlderToolsVariablesAreAliases) {
  constexpr const char* kOwn[] = {"ATTUNE_STORE", "ATTUNE_STORE_PASSWORD", "ATTUNE_STORE_PASSWORD_FILE"};
  const TestEnvironment none(kOwn);
  const TestEnvironment host("TUNA_DB_HOSTNAME", "head"), name("TUNA_DB_NAME", "tuna");
  EXPECT_THAT(address_refusal(""), HasSubstr("TUNA_DB_USER_NAME"));
  const TestEnvironment user("TUNA_DB_USER_NAME", "alice"), password("TUNA_DB_USER_PASSWORD", "secret");
  EXPECT_EQ(store_address("").shown(), "mysql://alice@head/tuna");
  EXPECT_EQ(store_address("").password, "secret");
  const TestEnvironment own("ATTUNE_STORE", "sqlite:/x/fleet.db");
  EXPECT_EQ(store_address("").shown(), "/x/fleet.db");
}

TEST(StoreAddress, ADatabaseOfTheOlderToolHasAPasswordOfItsOwn) {
  const TestEnvironment own("ATTUNE_STORE_PASSWORD", "own");
  EXPECT_EQ(older_database_address("mysql://a@head/tuna").password, "");
  const TestEnvironment older("TUNA_DB_USER_PASSWORD", "older");
  const StoreAddress address = older_database_address("mariadb://a@head:3307/tuna");
  EXPECT_EQ(address.password, "older");
  EXPECT_EQ(address.shown(), "mariadb://a@head:3307/tuna");
  for (const char* text : {"", "tuna.db", "sqlite:tuna.db", "postgresql://a@head/tuna"}) {
    try {
      older_database_address(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("name it as mariadb://USER@HOST[:PORT]/DATABASE")) << text;
    }
  }
}

}  // namespace
}  // namespace attune
