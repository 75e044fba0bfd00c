// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>

#include "store/fleet/fleet_schema.h"
#include "store/sql_connection.h"

namespace attune {

/// Statements of a fleet's store with their values in order. Values are bound, never pasted into a statement: labels
/// and paths hold quotation marks. Not thread-safe.
class FleetSql {
 public:
  /// Requires: the file was claimed. Migrates it.
  FleetSql(const std::filesystem::path& file, int max_wait_ms)
      : connection_(file, SqlAccess::read_write, file, words(max_wait_ms)) {
    migrate_fleet(connection_, file);
  }

  /// Runs an action as a whole or not at all.
  template <typename Action>
  void transaction(Action action) {
    connection_.transaction(action);
  }

  /// Runs readers, who see one state of the store.
  template <typename Action>
  void read_transaction(Action action) {
    connection_.read_transaction(action);
  }

  /// Runs a statement; returns how many rows it changed.
  template <typename... Values>
  size_t run(const std::string& sql, const Values&... values) {
    auto bound = std::make_tuple(bindable(values)...);
    return connection_.guard([&] {
      soci::statement statement(connection_.session());
      std::apply([&](auto&... one) { (statement.exchange(soci::use(one)), ...); }, bound);
      start(statement, sql, true);
      return static_cast<size_t>(statement.get_affected_rows());
    });
  }

  /// Calls take(column, …) for each row, with columns of these types: std::string, long long, double.
  template <typename... Columns, typename Take, typename... Values>
  void each(const std::string& sql, Take take, const Values&... values) {
    auto bound = std::make_tuple(bindable(values)...);
    std::tuple<Columns...> row;
    soci::statement statement(connection_.session());
    connection_.guard([&] {
      std::apply([&](auto&... one) { (statement.exchange(soci::use(one)), ...); }, bound);
      std::apply([&](auto&... one) { (statement.exchange(soci::into(one)), ...); }, row);
      start(statement, sql, false);
    });
    while (connection_.guard([&] { return statement.fetch(); })) std::apply(take, std::as_const(row));
  }

  /// A statement that is compiled once, for thousands of rows. Requires: it ends before its transaction.
  template <typename... Values>
  class Repeated {
   public:
    Repeated(FleetSql& sql, const std::string& text) : connection_(sql.connection_), statement_(connection_.session()) {
      connection_.guard([&] {
        std::apply([&](auto&... one) { (statement_.exchange(soci::use(one)), ...); }, bound_);
        statement_.alloc();
        statement_.prepare(text);
        statement_.define_and_bind();
      });
    }
    /// Returns how many rows it changed.
    size_t run(const Values&... values) {
      bound_ = std::tuple<Values...>(values...);
      return connection_.guard([&] {
        statement_.execute(true);
        return static_cast<size_t>(statement_.get_affected_rows());
      });
    }

   private:
    SqlConnection& connection_;
    std::tuple<Values...> bound_;  ///< The statement reads it.
    soci::statement statement_;
  };

  /// The one number that a query gives; 0 without a row.
  template <typename... Values>
  long long number(const std::string& sql, const Values&... values) {
    long long found = 0;
    each<long long>(
        sql, [&](long long one) { found = one; }, values...);
    return found;
  }

  SqlConnection& connection() noexcept { return connection_; }

 private:
  static DatabaseWords words(int max_wait_ms) {
    DatabaseWords words = kFleetWords;
    words.max_wait_ms = max_wait_ms;
    return words;
  }
  template <std::integral Value>
  static long long bindable(Value value) {
    return static_cast<long long>(value);
  }
  static double bindable(double value) { return value; }
  static std::string bindable(const std::string& value) { return value; }
  static std::string bindable(std::string_view value) { return std::string(value); }
  static std::string bindable(const char* value) { return value; }

  static void start(soci::statement& statement, const std::string& sql, bool has_all) {
    statement.alloc();
    statement.prepare(sql);
    statement.define_and_bind();
    statement.execute(has_all);
  }

  SqlConnection connection_;
};

}  // namespace attune
