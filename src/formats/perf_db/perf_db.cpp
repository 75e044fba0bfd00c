// SPDX-License-Identifier: MIT
// Keys of the text: MIOpen's tools/sqlite2txt (ROCm/MIOpen; MIT).
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
#include "formats/text_db.h"

namespace attune {
namespace {

constexpr std::array<std::string_view, 3> kTexts = {"layout", "data_type", "direction"};

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
