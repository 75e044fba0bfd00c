// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/fleet/fleet_connection.h"
#include "store/fleet/fleet_schema.h"

namespace attune {

/// Whether a store of an older schema is brought to this program's, or refused. foreign: the tables of another program.
enum class SchemaUse : uint8_t { migrate, as_it_is, foreign };

/// Statements of a fleet's store with their values in order. Values are bound, never pasted into a statement: labels
/// and paths hold quotation marks. Not thread-safe.
class FleetSql {
 public:
  /// Requires: a file was claimed, or is there.
  FleetSql(const StoreAddress& address, int max_wait_ms, SchemaUse use = SchemaUse::migrate)
      : connection_(address, max_wait_ms, use == SchemaUse::foreign ? ServerUse::foreign : ServerUse::own) {
    if (use == SchemaUse::migrate) migrate_fleet(connection_);
    if (use == SchemaUse::as_it_is) check_fleet_schema(connection_);
  }

  /// Runs an action as a whole or not at all; see FleetConnection::transaction().
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
    connection_.check_size(sql.size() + (size_of(values) + ... + 0));
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
    std::optional<soci::statement> statement;
    connection_.guard([&] {
      try {
        statement.emplace(connection_.session());
        std::apply([&](auto&... one) { (statement->exchange(soci::use(one)), ...); }, bound);
        std::apply([&](auto&... one) { (statement->exchange(soci::into(one)), ...); }, row);
        start(*statement, sql, false);
      } catch (...) {
        statement.reset();  // Before a lost connection is closed.
        throw;
      }
    });
    while (connection_.guard([&] { return statement->fetch(); })) std::apply(take, std::as_const(row));
  }

  /// Inserts rows of texts, a hundred in a statement: `into` `VALUES` rows `end`. `row`: `(?, ?, 0)`, whose `?` are the
  /// texts of a row. The database converts them to the columns' types. Returns how many rows it changed.
  size_t insert(const std::string& into, std::string_view row, const std::string& end,
                std::span<const std::vector<std::string>> rows) {
    constexpr size_t kMaxRows = 100, kMaxBytes = 1 << 20;
    size_t num_changed = 0;
    while (!rows.empty()) {
      size_t count = 0, num_bytes = 0;
      std::vector<std::string> texts;
      std::string sql = into + " VALUES ";
      for (; count < std::min(kMaxRows, rows.size()) && (count == 0 || num_bytes < kMaxBytes); ++count) {
        if (count > 0) sql += ", ";
        auto text = rows[count].begin();
        for (const char one : row) {
          if (one != '?') {
            sql += one;
            continue;
          }
          sql += ":v" + std::to_string(texts.size());
          num_bytes += text->size();
          texts.push_back(*text++);
        }
      }
      sql += end;
      connection_.check_size(sql.size() + num_bytes);
      num_changed += connection_.guard([&] {
        soci::statement statement(connection_.session());
        for (const std::string& one : texts) statement.exchange(soci::use(one));
        start(statement, sql, true);
        return static_cast<size_t>(statement.get_affected_rows());
      });
      rows = rows.subspan(count);
    }
    return num_changed;
  }

  /// After `count` new rows of a table: without their number, a planner may read all of a table for each row of
  /// another.
  void note_new_rows(std::string_view table, size_t count) {
    constexpr size_t kMany = 1000;
    if (count >= kMany && !words().analyse.empty()) run(fmt::format(fmt::runtime(words().analyse), table));
  }

  /// The one number that a query gives; 0 without a row.
  template <typename... Values>
  long long number(const std::string& sql, const Values&... values) {
    long long found = 0;
    each<long long>(
        sql, [&](long long one) { found = one; }, values...);
    return found;
  }

  FleetConnection& connection() noexcept { return connection_; }
  const FleetDialect& dialect() const noexcept { return connection_.dialect(); }
  const FleetDialect::Words& words() const noexcept { return dialect().words; }

 private:
  template <std::integral Value>
  static long long bindable(Value value) {
    return static_cast<long long>(value);
  }
  static double bindable(double value) { return value; }
  static std::string bindable(const std::string& value) { return value; }
  static std::string bindable(std::string_view value) { return std::string(value); }
  static std::string bindable(const char* value) { return value; }

  template <typename Value>
  static size_t size_of(const Value& value) {
    if constexpr (std::convertible_to<Value, std::string_view>)
      return std::string_view(value).size();
    else
      return sizeof(value);
  }

  static void start(soci::statement& statement, const std::string& sql, bool has_all) {
    statement.alloc();
    // Not to be repeated: PostgreSQL then needs one message, not three.
    statement.prepare(sql, soci::details::st_one_time_query);
    statement.define_and_bind();
    statement.execute(has_all);
  }

  FleetConnection connection_;
};

}  // namespace attune
