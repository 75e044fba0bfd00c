// SPDX-License-Identifier: MIT
#include "dispatch/table/find_db_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "core/candidate.h"
#include "formats/csv/key_cells.h"
#include "formats/find_db/find_db.h"
#include "formats/find_db/find_db_key.h"
#include "formats/perf_db/perf_db.h"
#include "ops/family.h"
#include "ops/op.h"

namespace attune {
namespace {

/// The part of a file's name before its first dot.
std::string device_part(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.substr(0, name.find('.'));
}

MiopenDevice device_of_table(const std::filesystem::path& path, const DeviceInfo* device) {
  const std::string name = device_part(path);
  if (device != nullptr && name == miopen_device_name(device->gfx, device->num_units))
    return {device->gfx, device->num_units};
  if (const auto stated = device_of_miopen_file(path)) return *stated;
  const size_t line = name.rfind('_');
  const auto units = line == std::string::npos ? std::nullopt : parse_int(name.substr(line + 1));
  if (!units || *units < 1)
    fail(ErrorCode::invalid_input,
         "the name of a find-db must begin with its device, such as {}, to serve as a table: '{}'",
         device != nullptr ? miopen_device_name(device->gfx, device->num_units) : "gfx90878",
         shown(path.native(), 500));
  return {name.substr(0, line), *units};
}

using PerfParams = std::map<std::pair<std::string, std::string>, std::string>;  // By key of the perf-db and solver.

/// Empty without a perf-db's text in the same folder, or if it cannot be read.
PerfParams params_beside(const std::filesystem::path& path) {
  PerfParams all;
  const auto file = path.parent_path() / (device_part(path) + ".db.txt");
  if (!is_perf_db_text(file)) return all;
  try {
    const PerfDb db = read_perf_db_text(file);
    std::map<int64_t, std::string> keys;
    for (const PerfDbConfig& config : db.configs) keys.emplace(config.id, perf_db_key(config));
    for (const PerfDbRow& row : db.rows) {
      const auto key = keys.find(row.config);
      if (key != keys.end() && row.solver.find('.') != std::string::npos)
        all.emplace(std::pair(key->second, row.solver), row.params);
    }
  } catch (const Error&) {
    all.clear();  // `attune check` tells why.
  }
  return all;
}

bool is_of_attune(const FindDbEntry& entry) { return entry.solver.find('.') != std::string_view::npos; }

class FindDbTableBuilder {
 public:
  FindDbTableBuilder(const std::filesystem::path& path, const DeviceInfo* device)
      : device_(device_of_table(path, device)), params_(params_beside(path)) {
    if (device != nullptr && device->gfx == device_.arch && device->num_units == device_.num_units)
      model_ = device->model;
    table_.csv = "gfx,cu_num,device";
    for (const AttributeSpec& key : family_.key) table_.csv += "," + std::string(key.column);
    table_.csv += ",us,kernelName\n";
  }

  void add(const FindDbRecord& record) {
    for (; line_ < record.line; ++line_) table_.csv += '\n';
    const FindDbEntry* best = nullptr;
    for (const FindDbEntry& entry : record.entries) {
      if (!is_of_attune(entry)) {
        if (table_.num_foreign++ == 0) table_.first_foreign = entry.solver;
        continue;
      }
      const auto rank = [](const FindDbEntry& one) { return std::tuple(parse_double(one.time_ms), one.solver); };
      if (has_usable_time(entry) && (best == nullptr || rank(entry) < rank(*best))) best = &entry;
    }
    if (best != nullptr) add_row(record, *best);
  }

  FindDbTable take() { return std::move(table_); }

 private:
  void add_row(const FindDbRecord& record, const FindDbEntry& entry) {
    std::optional<Problem> problem;
    try {
      problem = problem_of_find_db_key(record.key);
      if (!problem) return;
      problem = op_of(*problem).normalise(*problem, {});
      const Candidate candidate{std::string(entry.solver), kAnyVersion, config_of(*problem, entry)};
      std::string row = fmt::format("{},{},{}", csv_cell(device_.arch), device_.num_units, csv_cell(model_));
      for (const AttributeSpec& key : family_.key)
        row += "," + csv_cell(cell_text(family_, key, key_value(*problem, key)));
      row += fmt::format(",{},{}", 1000 * parse_double(entry.time_ms).value_or(0), csv_cell(candidate.name()));
      table_.csv += row;
      ++table_.num_rows;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_input) throw;  // A malformed key, which `attune check` names.
    }
  }

  Config config_of(const Problem& problem, const FindDbEntry& entry) const {
    const auto found = params_.find({perf_db_key(perf_db_config_of(problem)), std::string(entry.solver)});
    if (found == params_.end()) return {};
    std::string text = found->second;
    std::ranges::replace(text, ',', ';');
    return Config::parse(text);
  }

  const FamilySpec& family_ = *find_family("conv");
  const MiopenDevice device_;
  std::string model_;  // Empty: not known.
  const PerfParams params_;
  FindDbTable table_;
  size_t line_ = 1;  ///< The line that csv's end is in.
};

}  // namespace

FindDbTable find_db_table(const std::filesystem::path& path, const DeviceInfo* device) {
  const FindDb db = FindDb::read_with_defects(path);
  FindDbTableBuilder builder(path, device);
  for (const FindDbRecord& record : db.records()) builder.add(record);
  return builder.take();
}

CsvDocument find_db_document(const std::filesystem::path& path, const DeviceInfo* device) {
  return CsvDocument::parse(find_db_table(path, device).csv, path.string(), 0);
}

}  // namespace attune
