// SPDX-License-Identifier: MIT
// The database of a perf-db, apart from its text: libattune reads the text and links no SQLite.
// Columns: the databases of MIOpen's src/kernels.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "formats/perf_db/perf_db.h"
#include "formats/sqlite_file.h"

namespace attune {
namespace {

constexpr std::array<std::string_view, 3> kTextColumns = {"layout", "data_type", "direction"};

std::vector<std::string> config_columns() {
  std::vector<std::string> columns = {"id"};
  columns.insert(columns.end(), kTextColumns.begin(), kTextColumns.end());
  columns.insert(columns.end(), kPerfDbNumbers.begin(), kPerfDbNumbers.end());
  return columns;
}
const std::vector<std::string> kRowColumns = {"id", "solver", "config", "params"};
const std::vector<std::string> kPerfTables = {"config", "perf_db"};

std::string list_of(const std::vector<std::string>& columns, std::string_view prefix = "") {
  std::vector<std::string> all;
  for (const std::string& column : columns) all.push_back(std::string(prefix) + column);
  return join(all, ",");
}

std::string type_condition(std::span<const std::string_view> columns, std::string_view type) {
  std::vector<std::string> all;
  for (const std::string_view column : columns) all.push_back(fmt::format("typeof({}) = '{}'", column, type));
  return join(all, " AND ");
}

std::vector<PerfDbConfig> read_configs(soci::session& session) {
  std::vector<PerfDbConfig> configs;
  PerfDbConfig one;
  std::array<long long, kPerfDbNumbers.size()> numbers{};
  long long id = 0;
  soci::statement statement(session);
  statement.alloc();
  statement.prepare("SELECT " + list_of(config_columns()) + " FROM config ORDER BY id");
  statement.exchange(soci::into(id));
  for (std::string* text : {&one.layout, &one.data_type, &one.direction}) statement.exchange(soci::into(*text));
  for (long long& number : numbers) statement.exchange(soci::into(number));
  statement.define_and_bind();
  statement.execute();
  while (statement.fetch()) {
    one.id = id;
    std::ranges::copy(numbers, one.numbers.begin());
    configs.push_back(one);
  }
  return configs;
}

std::vector<PerfDbRow> read_rows(soci::session& session) {
  std::vector<PerfDbRow> rows;
  std::string solver, params;
  long long id = 0, config = 0;
  soci::statement statement = (session.prepare << "SELECT " + list_of(kRowColumns) + " FROM perf_db ORDER BY id",
                               soci::into(id), soci::into(solver), soci::into(config), soci::into(params));
  statement.execute();
  while (statement.fetch()) rows.push_back({id, solver, config, params});
  return rows;
}

void write_configs(soci::session& session, std::span<const PerfDbConfig> configs) {
  PerfDbConfig one;
  std::array<long long, kPerfDbNumbers.size()> numbers{};
  long long id = 0;
  soci::statement statement(session);
  statement.alloc();
  const auto columns = config_columns();
  statement.prepare(fmt::format("INSERT INTO config ({}) VALUES ({})", list_of(columns), list_of(columns, ":")));
  statement.exchange(soci::use(id, "id"));
  statement.exchange(soci::use(one.layout, "layout"));
  statement.exchange(soci::use(one.data_type, "data_type"));
  statement.exchange(soci::use(one.direction, "direction"));
  for (size_t i = 0; i < numbers.size(); ++i) statement.exchange(soci::use(numbers[i], std::string(kPerfDbNumbers[i])));
  statement.define_and_bind();
  for (const PerfDbConfig& config : configs) {
    one = config;
    id = config.id;
    std::ranges::copy(config.numbers, numbers.begin());
    statement.execute(true);
  }
}

void write_rows(soci::session& session, std::span<const PerfDbRow> rows) {
  std::string solver, params;
  long long id = 0, config = 0;
  soci::statement statement =
      (session.prepare << "INSERT INTO perf_db (id,solver,config,params) VALUES (:id,:solver,:config,:params)",
       soci::use(id, "id"), soci::use(solver, "solver"), soci::use(config, "config"), soci::use(params, "params"));
  for (const PerfDbRow& row : rows) {
    id = row.id;
    solver = row.solver;
    config = row.config;
    params = row.params;
    statement.execute(true);
  }
}

}  // namespace

bool is_perf_db_sqlite(const std::filesystem::path& path) { return tables_of_sqlite_file(path) == kPerfTables; }

PerfDb read_perf_db(const std::filesystem::path& path) {
  ForeignDatabase file(path);
  file.require_tables(kPerfTables);
  file.require_columns("config", config_columns());
  file.require_columns("perf_db", kRowColumns);
  file.require_rows("config", type_condition(kPerfDbNumbers, "integer"), "has a value that is no whole number");
  file.require_rows("config", type_condition(kTextColumns, "text"), "has a layout, type or direction that is no text");
  file.require_rows("perf_db", "typeof(solver) = 'text' AND typeof(params) = 'text' AND typeof(config) = 'integer'",
                    "has a value of another type");
  PerfDb db{.schema = file.schema(), .configs = {}, .rows = {}};
  file.guard([&] {
    db.configs = read_configs(file.session());
    db.rows = read_rows(file.session());
  });
  return db;
}

std::string perf_db_bytes(const PerfDb& db) {
  NewDatabase made(db.schema);
  made.fill("the perf-db", [&] {
    write_configs(made.session(), db.configs);
    write_rows(made.session(), db.rows);
  });
  return made.bytes();
}

}  // namespace attune
