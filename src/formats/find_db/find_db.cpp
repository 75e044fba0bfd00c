// SPDX-License-Identifier: MIT
#include "formats/find_db/find_db.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/find_db/find_db_key.h"
#include "formats/text_db.h"

namespace attune {
namespace {

constexpr size_t kNumFieldsV1 = 5, kNumFieldsV2 = 3;

struct EntryFields {
  std::array<std::string_view, kNumFieldsV1> fields;
  size_t size = 0;
};

EntryFields fields_of(std::string_view values) {
  EntryFields found;
  for (;;) {
    const size_t end = std::min(values.find(','), values.size());
    if (found.size < kNumFieldsV1) found.fields[found.size] = values.substr(0, end);
    ++found.size;
    if (end == values.size()) return found;
    values.remove_prefix(end + 1);
  }
}

FindDbEntry entry_of(const TextDbEntry& from, const std::string& name, size_t line) {
  const EntryFields all = fields_of(from.values);
  const auto& field = all.fields;
  if (all.size == kNumFieldsV2)
    return {.id = from.id,
            .solver = from.id,
            .time_ms = field[0],
            .workspace_bytes = field[1],
            .algorithm = field[2],
            .kernel_key = {}};
  if (all.size == kNumFieldsV1)
    return {.id = from.id,
            .solver = field[0],
            .time_ms = field[1],
            .workspace_bytes = field[2],
            .algorithm = field[3],
            .kernel_key = field[4]};
  fail(ErrorCode::invalid_input, "{}:{}: an entry has 3 fields, or 5 in old files, '{}' has {}", name, line,
       shown(from.id), all.size);
}

/// Sorts behind all times if it is no number.
double time_of(const FindDbEntry& entry) {
  const auto time = parse_double(entry.time_ms);
  return time && !std::isnan(*time) ? *time : std::numeric_limits<double>::infinity();
}

/// The first defect of an entry; empty: none.
std::string defect_of(const FindDbEntry& entry) {
  if (entry.solver.empty()) return "an entry names no solver";
  if (!has_usable_time(entry))
    return fmt::format("the time of {} must be a positive number of milliseconds, got '{}'", entry.solver,
                       shown(entry.time_ms));
  if (const auto bytes = parse_int(entry.workspace_bytes); !bytes || *bytes < 0)
    return fmt::format("the workspace of {} must be a number of bytes, got '{}'", entry.solver,
                       shown(entry.workspace_bytes));
  return entry.algorithm.empty() ? fmt::format("{} states no algorithm", entry.solver) : "";
}

std::string key_defect(std::string_view key) {
  try {
    FindDbKey::parse(key);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// Calls `report(what, is_time)` for each defect of a record until it returns false.
template <typename Report>
void find_defects(const FindDbRecord& record, Report report) {
  if (const std::string what = key_defect(record.key); !what.empty() && !report(what, false)) return;
  for (size_t i = 0; i < record.entries.size(); ++i) {
    const FindDbEntry& entry = record.entries[i];
    if (const std::string what = defect_of(entry);
        !what.empty() && !report(what, !entry.solver.empty() && !has_usable_time(entry)))
      return;
    const bool is_repeated = std::any_of(record.entries.begin(), record.entries.begin() + static_cast<ptrdiff_t>(i),
                                         [&](const FindDbEntry& one) { return one.solver == entry.solver; });
    if (is_repeated && !report(fmt::format("the solver {} stands twice in one line", entry.solver), false)) return;
  }
}

void append_entry(std::string& text, const FindDbEntry& entry) {
  text += entry.id;
  text += ':';
  if (entry.is_v1()) {
    text += entry.solver;
    text += ',';
  }
  text += entry.time_ms;
  text += ',';
  text += entry.workspace_bytes;
  text += ',';
  text += entry.algorithm;
  if (!entry.is_v1()) return;
  text += ',';
  text += entry.kernel_key;
}

}  // namespace

bool has_usable_time(const FindDbEntry& entry) {
  const auto time = parse_double(entry.time_ms);
  return time && std::isfinite(*time) && *time > 0;
}

FindDb FindDb::parse_with_defects(std::string content, const std::string& name) {
  FindDb db;
  db.name_ = name;
  db.ends_line_ = content.empty() || content.ends_with('\n');
  auto records = parse_text_db(db.keep(std::move(content)), name);
  db.records_.reserve(records.size());
  for (TextDbRecord& from : records) {
    FindDbRecord record{.key = from.key, .line = from.line, .entries = {}};
    record.entries.reserve(from.entries.size());
    for (const TextDbEntry& entry : from.entries) record.entries.push_back(entry_of(entry, name, from.line));
    db.records_.push_back(std::move(record));
    from.entries = {};
  }
  return db;
}

FindDb FindDb::parse(std::string content, const std::string& name) {
  FindDb db = parse_with_defects(std::move(content), name);
  db.check();
  return db;
}

FindDb FindDb::read_with_defects(const std::filesystem::path& path) {
  return parse_with_defects(read_file(path, kMaxTextDbBytes), path.string());
}

FindDb FindDb::read(const std::filesystem::path& path) {
  FindDb db = read_with_defects(path);
  db.check();
  return db;
}

size_t FindDb::num_entries() const noexcept {
  return std::accumulate(records_.begin(), records_.end(), size_t{0},
                         [](size_t sum, const FindDbRecord& record) { return sum + record.entries.size(); });
}

void FindDb::check() const {
  for (const FindDbRecord& record : records_) {
    find_defects(record, [&](const std::string& what, bool) -> bool {
      fail(ErrorCode::invalid_input, "{}:{}: {}", name_, record.line, what);
    });
  }
}

std::vector<FindDbDefect> FindDb::defects() const {
  std::vector<FindDbDefect> found;
  for (const FindDbRecord& record : records_) {
    find_defects(record, [&](const std::string& what, bool is_time) {
      found.push_back({record.line, std::string(record.key), what, is_time});
      return true;
    });
  }
  return found;
}

std::vector<FindDbDefect> FindDb::repeated_keys() const {
  std::vector<FindDbDefect> found;
  std::unordered_map<std::string_view, size_t> first_lines;
  first_lines.reserve(records_.size());
  for (const FindDbRecord& record : records_) {
    const auto [first, is_new] = first_lines.emplace(record.key, record.line);
    if (!is_new)
      found.push_back({record.line, std::string(record.key), fmt::format("the key of line {} again", first->second)});
  }
  return found;
}

std::vector<FindDbDefect> FindDb::untunable_keys() const {
  std::vector<FindDbDefect> found;
  for (const FindDbRecord& record : records_) {
    if (std::string why = why_untunable(FindDbKey::parse(record.key)); !why.empty())
      found.push_back({record.line, std::string(record.key), std::move(why)});
  }
  return found;
}

void FindDb::make_v2() noexcept {
  for (FindDbRecord& record : records_) {
    for (FindDbEntry& entry : record.entries) {
      entry.id = entry.solver;
      entry.kernel_key = {};
    }
  }
}

void FindDb::sort_entries() {
  for (FindDbRecord& record : records_)
    std::ranges::stable_sort(record.entries, {},
                             [](const FindDbEntry& entry) { return std::tuple(time_of(entry), entry.solver); });
}

void FindDb::sort(size_t best) {
  std::ranges::stable_sort(records_, {}, &FindDbRecord::key);
  sort_entries();
  for (FindDbRecord& record : records_) {
    if (best > 0 && record.entries.size() > best) record.entries.resize(best);
  }
}

std::string FindDb::text() const {
  std::string text;
  text.reserve(texts_.empty() ? 0 : texts_.front().size() + 1);
  for (const FindDbRecord& record : records_) {
    text += record.key;
    char separator = '=';
    for (const FindDbEntry& entry : record.entries) {
      text += separator;
      append_entry(text, entry);
      separator = ';';
    }
    text += '\n';
  }
  if (!ends_line_ && !text.empty()) text.pop_back();
  return text;
}

bool is_find_db(const std::filesystem::path& path) {
  const std::string head = head_of_file(path);
  const TextDbRecord first = first_text_record(head);
  if (first.entries.empty() || first.key.find('-') == std::string_view::npos) return false;
  const EntryFields all = fields_of(first.entries.front().values);
  return all.size == kNumFieldsV2 || all.size == kNumFieldsV1;
}

std::string miopen_device_name(std::string_view arch, int64_t num_units) {
  return num_units <= 64 ? fmt::format("{}_{}", arch, num_units) : fmt::format("{}{:x}", arch, num_units);
}

std::optional<MiopenDevice> device_of_miopen_file(const std::filesystem::path& path) {
  const std::string file = path.filename().string();
  const std::string_view name = std::string_view(file).substr(0, file.find('.'));
  if (!name.starts_with("gfx") || file.ends_with(".udb") || file.ends_with(".ufdb.txt") || file.ends_with(".udb.txt"))
    return std::nullopt;
  constexpr int64_t kMaxDecimal = 64, kMaxUnits = 4096;
  if (const size_t line = name.rfind('_'); line != std::string_view::npos) {
    const auto units = parse_int(name.substr(line + 1));
    if (!units || *units < 1 || *units > kMaxDecimal) return std::nullopt;
    return MiopenDevice{std::string(name.substr(0, line)), *units};
  }
  // gfx90a68: architectures of RDNA have four digits, others three.
  const size_t size = name.starts_with("gfx1") ? 7 : 6;
  if (name.size() <= size) return std::nullopt;
  int64_t units = 0;
  for (const char digit : name.substr(size)) {
    const auto value = std::string_view("0123456789abcdef").find(digit);
    if (value == std::string_view::npos || units > kMaxUnits) return std::nullopt;
    units = units * 16 + static_cast<int64_t>(value);
  }
  if (units <= kMaxDecimal || units > kMaxUnits) return std::nullopt;
  return MiopenDevice{std::string(name.substr(0, size)), units};
}

}  // namespace attune
