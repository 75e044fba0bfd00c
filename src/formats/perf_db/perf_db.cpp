// SPDX-License-Identifier: MIT
// Columns: the databases of MIOpen's src/kernels. Keys of the text: MIOpen's tools/sqlite2txt (ROCm/MIOpen; MIT).
#include "formats/perf_db/perf_db.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/miopen_conv.h"
#include "formats/sqlite_file.h"
#include "formats/text_db.h"

namespace attune {
namespace {

constexpr std::array<std::string_view, 3> kTexts = {"layout", "data_type", "direction"};

std::vector<std::string> config_columns() {
  std::vector<std::string> columns = {"id"};
  columns.insert(columns.end(), kTexts.begin(), kTexts.end());
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

/// Reads `2x64x…xNCHWxFP32xF`. Throws invalid_input without the file's name.
PerfDbConfig config_of_key(std::string_view key) {
  const auto parts = split(key, 'x');
  constexpr size_t kNumParts = kPerfDbNumbers.size() + kTexts.size();
  if (parts.size() != kNumParts)
    fail(ErrorCode::invalid_input, "a key has {} parts joined by 'x', this one {}: '{}'", kNumParts, parts.size(),
         shown(key));
  PerfDbConfig config;
  for (size_t i = 0; i < kPerfDbNumbers.size(); ++i) {
    const auto number = parse_int(parts[i]);
    if (!number || std::to_string(*number) != parts[i])
      fail(ErrorCode::invalid_input, "the key's {} must be a whole number, got '{}'", kPerfDbNumbers[i],
           shown(parts[i]));
    config.numbers[i] = *number;
  }
  config.layout = parts[kPerfDbNumbers.size()];
  config.data_type = parts[kPerfDbNumbers.size() + 1];
  config.direction = parts[kPerfDbNumbers.size() + 2];
  if (const std::string defect = defect_of(config); !defect.empty())
    fail(ErrorCode::invalid_input, "the key's {}", defect);
  return config;
}

void check_plain(std::string_view text, std::string_view separators, const PerfDbRow& row) {
  const bool is_plain = std::ranges::all_of(
      text, [&](char one) { return one >= ' ' && one <= '~' && separators.find(one) == std::string_view::npos; });
  if (!is_plain)
    fail(ErrorCode::invalid_input, "row {} has a character that the text form cannot hold: '{}'", row.id, shown(text));
}

}  // namespace

const std::vector<std::string>& PerfDb::own_schema() {
  static const std::vector<std::string> schema = [] {
    std::string columns, key = "layout,data_type,direction";
    for (const std::string_view text : kTexts) columns += fmt::format(",`{}` TEXT NOT NULL", text);
    for (const std::string_view number : kPerfDbNumbers) {
      // MIOpen's own text has this blank.
      columns += fmt::format(",{}`{}` INT NOT NULL", number == "batchsize" ? " " : "", number);
      key += fmt::format(",{}", number);
    }
    return std::vector<std::string>{
        fmt::format("CREATE TABLE `config` (`id` INTEGER PRIMARY KEY ASC{})", columns),
        "CREATE TABLE `perf_db` (`id` INTEGER PRIMARY KEY ASC,`solver` TEXT NOT NULL,`config` INTEGER NOT NULL, "
        "`params` TEXT NOT NULL)",
        fmt::format("CREATE UNIQUE INDEX `idx_config` ON config( {} )", key),
        "CREATE UNIQUE INDEX `idx_perf_db` ON perf_db(solver, config)"};
  }();
  return schema;
}

std::vector<const PerfDbRow*> PerfDb::orphans() const {
  std::unordered_set<int64_t> ids;
  for (const PerfDbConfig& config : configs) ids.insert(config.id);
  std::vector<const PerfDbRow*> found;
  for (const PerfDbRow& row : rows) {
    if (!ids.contains(row.config)) found.push_back(&row);
  }
  return found;
}

size_t PerfDb::num_configs_without_rows() const {
  std::unordered_set<int64_t> named;
  for (const PerfDbRow& row : rows) named.insert(row.config);
  return static_cast<size_t>(
      std::ranges::count_if(configs, [&](const PerfDbConfig& config) { return !named.contains(config.id); }));
}

std::string defect_of(const PerfDbConfig& config) {
  for (size_t i = 0; i < kPerfDbNumbers.size(); ++i) {
    if (config.numbers[i] < 0)
      return fmt::format("{} must not be negative, got {}", kPerfDbNumbers[i], config.numbers[i]);
  }
  if (config.direction != "F" && config.direction != "B" && config.direction != "W")
    return fmt::format("direction must be F, B or W, got '{}'", shown(config.direction));
  for (size_t i = 0; i < 2; ++i) {
    const std::string& text = i == 0 ? config.layout : config.data_type;
    const bool is_word =
        !text.empty() && std::ranges::all_of(text, [](unsigned char one) { return std::isalnum(one); });
    if (!is_word || text.find('x') != std::string::npos)
      return fmt::format("{} must be letters and digits without an x, got '{}'", kTexts[i], shown(text));
  }
  return {};
}

void sort_perf_db(PerfDb& db) {
  std::vector<std::pair<std::string, size_t>> keys;
  for (size_t i = 0; i < db.configs.size(); ++i) keys.emplace_back(perf_db_key(db.configs[i]), i);
  std::ranges::sort(keys);
  std::unordered_map<int64_t, int64_t> new_ids;
  std::vector<PerfDbConfig> sorted;
  for (const auto& [key, place] : keys) {
    PerfDbConfig& config = db.configs[place];
    const auto id = static_cast<int64_t>(sorted.size()) + 1;
    new_ids.emplace(config.id, id);
    config.id = id;
    sorted.push_back(std::move(config));
  }
  db.configs = std::move(sorted);
  // An orphan must not come to name a config.
  const auto num_configs = static_cast<int64_t>(db.configs.size());
  for (PerfDbRow& row : db.rows) {
    const auto found = new_ids.find(row.config);
    if (found != new_ids.end())
      row.config = found->second;
    else
      row.config = row.config > num_configs ? row.config : num_configs + 1 + std::abs(row.config);
  }
  std::ranges::stable_sort(db.rows, {}, [](const PerfDbRow& row) { return std::tie(row.config, row.solver); });
  int64_t id = 0;
  for (PerfDbRow& row : db.rows) row.id = ++id;
}

bool is_perf_db_text(const std::filesystem::path& path) {
  const std::string head = head_of_file(path);
  const TextDbRecord first = first_text_record(head);
  return !first.key.empty() && std::ranges::count(first.key, 'x') + 1 == kPerfDbNumbers.size() + kTexts.size();
}

bool is_perf_db_sqlite(const std::filesystem::path& path) { return tables_of_sqlite_file(path) == kPerfTables; }

PerfDb read_perf_db(const std::filesystem::path& path) {
  ForeignDatabase file(path);
  file.require_tables(kPerfTables);
  file.require_columns("config", config_columns());
  file.require_columns("perf_db", kRowColumns);
  file.require_rows("config", type_condition(kPerfDbNumbers, "integer"), "has a value that is no whole number");
  file.require_rows("config", type_condition(kTexts, "text"), "has a layout, type or direction that is no text");
  file.require_rows("perf_db", "typeof(solver) = 'text' AND typeof(params) = 'text' AND typeof(config) = 'integer'",
                    "has a value of another type");
  PerfDb db{.schema = file.schema(), .configs = {}, .rows = {}};
  file.guard([&] {
    db.configs = read_configs(file.session());
    db.rows = read_rows(file.session());
  });
  return db;
}

namespace {

/// `report(record, defect, is_repeated)`: a line or a solver is skipped.
template <typename Report>
PerfDb parse_perf_db_records(std::string_view content, const std::string& name, Report report) {
  PerfDb db{.schema = PerfDb::own_schema(), .configs = {}, .rows = {}};
  std::unordered_map<std::string_view, size_t> lines;
  for (const TextDbRecord& record : parse_text_db(content, name)) {
    const auto [first, is_new] = lines.emplace(record.key, record.line);
    if (!is_new) {
      report(record, fmt::format("the key of line {} again", first->second), true);
      continue;
    }
    PerfDbConfig config;
    try {
      config = config_of_key(record.key);
    } catch (const Error& error) {
      report(record, error.what(), false);
      continue;
    }
    config.id = static_cast<int64_t>(db.configs.size()) + 1;
    config.line = record.line;
    std::set<std::string_view> solvers;
    for (const TextDbEntry& entry : record.entries) {
      if (!solvers.insert(entry.id).second)
        report(record, fmt::format("the solver {} stands twice in one line", entry.id), true);
      else
        db.rows.push_back({static_cast<int64_t>(db.rows.size()) + 1, std::string(entry.id), config.id,
                           std::string(entry.values), record.line});
    }
    db.configs.push_back(std::move(config));
  }
  return db;
}

}  // namespace

PerfDb parse_perf_db_text(std::string_view content, const std::string& name) {
  return parse_perf_db_records(content, name, [&](const TextDbRecord& record, const std::string& what, bool) {
    fail(ErrorCode::invalid_input, "{}:{}: {}", name, record.line, what);
  });
}

PerfDb read_perf_db_text_with_defects(const std::filesystem::path& path, std::vector<PerfDbDefect>& defects) {
  const std::string content = read_file(path, kMaxTextDbBytes);
  return parse_perf_db_records(
      content, path.string(), [&](const TextDbRecord& record, std::string what, bool is_repeated) {
        defects.push_back({record.line, std::string(record.key), std::move(what), is_repeated});
      });
}

PerfDb read_perf_db_text(const std::filesystem::path& path) {
  return parse_perf_db_text(read_file(path, kMaxTextDbBytes), path.string());
}

std::string perf_db_bytes(const PerfDb& db) {
  NewDatabase made(db.schema);
  made.fill("the perf-db", [&] {
    write_configs(made.session(), db.configs);
    write_rows(made.session(), db.rows);
  });
  return made.bytes();
}

std::string perf_db_text(const PerfDb& db) {
  if (const auto orphans = db.orphans(); !orphans.empty())
    fail(ErrorCode::invalid_input,
         "row {} of perf_db names the config {}, which is not there, and a text cannot hold "
         "such a row",
         orphans.front()->id, orphans.front()->config);
  std::unordered_map<int64_t, std::vector<const PerfDbRow*>> by_config;
  std::vector<int64_t> order;
  for (const PerfDbRow& row : db.rows) {
    check_plain(row.solver, ";:=", row);
    check_plain(row.params, ";", row);
    auto& rows = by_config[row.config];
    if (rows.empty()) order.push_back(row.config);
    rows.push_back(&row);
  }
  std::unordered_map<int64_t, const PerfDbConfig*> configs;
  for (const PerfDbConfig& config : db.configs) configs.emplace(config.id, &config);
  std::string text;
  for (const int64_t id : order) {
    const PerfDbConfig& config = *configs.at(id);
    if (const std::string defect = defect_of(config); !defect.empty())
      fail(ErrorCode::invalid_input, "config {}: its {}", id, defect);
    text += perf_db_key(config);
    char separator = '=';
    for (const PerfDbRow* row : by_config.at(id)) {
      text += separator;
      text += row->solver;
      text += ':';
      text += row->params;
      separator = ';';
    }
    text += '\n';
  }
  return text;
}

std::string perf_db_key(const PerfDbConfig& config) {
  return fmt::format("{}x{}x{}x{}", fmt::join(config.numbers, "x"), config.layout, config.data_type, config.direction);
}

PerfDbConfig perf_db_config_of(const Problem& problem) {
  const MiopenConv conv = miopen_conv_of(problem);
  const bool is_forward = conv.direction == ConvDirection::forward;
  const Extents in = is_forward ? conv.input : output_of(conv);
  // MIOpen writes 0 for the depth of 2-D strides and dilations.
  const int64_t stride_d = conv.is_3d ? conv.stride[0] : 0, dilation_d = conv.is_3d ? conv.dilation[0] : 0;
  return {.id = 0,
          .layout = conv.layout,
          .data_type = conv.dtype,
          .direction = std::string(1, letter_of(conv.direction)),
          .numbers = {conv.is_3d ? 3 : 2,
                      is_forward ? conv.c : conv.k,
                      in[1],
                      in[2],
                      in[0],
                      conv.filter[1],
                      conv.filter[2],
                      conv.filter[0],
                      is_forward ? conv.k : conv.c,
                      conv.n,
                      conv.pad[1],
                      conv.pad[2],
                      conv.pad[0],
                      conv.stride[1],
                      conv.stride[2],
                      stride_d,
                      conv.dilation[1],
                      conv.dilation[2],
                      dilation_d,
                      conv.bias,
                      conv.groups}};
}

}  // namespace attune
