// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace attune {

enum class DatabaseKind : uint8_t { sqlite, mariadb, postgresql };

/// Where a fleet's store is, and how to log in.
struct StoreAddress {
  DatabaseKind kind = DatabaseKind::sqlite;
  std::filesystem::path file;  ///< Of SQLite, absolute.
  std::string scheme;          ///< As the user wrote it: `mariadb`, `mysql`, `postgresql`.
  std::string user, host, database;
  int port = 0;         ///< 0: the database's usual one.
  std::string socket;   ///< A Unix socket instead of the host; of PostgreSQL its folder.
  std::string ca_file;  ///< Certificates that a server's must be signed by; empty: not checked.
  bool requires_tls = false;
  std::string password;  ///< Goes into no message.

  bool is_server() const noexcept { return kind != DatabaseKind::sqlite; }
  /// For messages: the path of a file, else `mariadb://alice@head:3307/fleet`.
  std::string shown() const;
};

/// Reads `sqlite:FILE` or `SCHEME://USER@HOST[:PORT]/DATABASE[?tls=require&ca=FILE&socket=PATH&password_file=FILE]`.
/// SCHEME: mariadb, mysql, postgresql. USER and DATABASE may hold %XX. `store` empty: ATTUNE_STORE; else a MySQL
/// database of TUNA_DB_HOSTNAME, _NAME and _USER_NAME; else fleet.db in ATTUNE_HOME. The password:
/// ATTUNE_STORE_PASSWORD, else the file of mode 0600 that `password_file` or ATTUNE_STORE_PASSWORD_FILE names, else
/// TUNA_DB_USER_PASSWORD. Throws invalid_input with one sentence that never holds a password.
StoreAddress store_address(const std::string& store);

/// Reads the address of a database of MITuna, `mariadb://…` or `mysql://…` as above. The password: the file of mode
/// 0600 that `password_file` names, else TUNA_DB_USER_PASSWORD. Throws like store_address().
StoreAddress older_database_address(const std::string& text);

}  // namespace attune
