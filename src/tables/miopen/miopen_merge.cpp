// SPDX-License-Identifier: MIT
#include "tables/miopen/miopen_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/find_db/find_db.h"
#include "formats/kernel_db/kernel_db.h"
#include "formats/perf_db/perf_db.h"
#include "report/output_files.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

/// The merged bytes, and what the output and its inputs hold.
struct MergedBytes {
  std::string bytes;
  MiopenMerge result;
};

void count(MiopenMerge& merge, const fs::path& file, size_t num_values, size_t num_taken) {
  merge.inputs.push_back({file.string(), num_values, num_taken});
  merge.num_values += num_taken;
}

MergedBytes merge_find_dbs(std::span<const fs::path> inputs) {
  std::vector<FindDb> files;  // The merged records point into them.
  FindDb merged;
  MiopenMerge result{.kind = MiopenFile::find_db};
  std::unordered_map<std::string_view, size_t> places;
  for (const fs::path& input : inputs) {
    FindDb& file = files.emplace_back(FindDb::read(input));
    file.make_v2();
    const size_t before = merged.num_entries();
    for (const FindDbRecord& from : file.records()) {
      const auto [place, is_new] = places.emplace(from.key, merged.records().size());
      if (is_new) merged.records().push_back({.key = from.key, .line = 0, .entries = {}});
      auto& entries = merged.records()[place->second].entries;
      for (const FindDbEntry& entry : from.entries) {
        const auto is_same = [&](const FindDbEntry& one) { return one.solver == entry.solver; };
        if (std::ranges::none_of(entries, is_same)) entries.push_back(entry);
      }
    }
    count(result, input, file.num_entries(), merged.num_entries() - before);
  }
  merged.sort_entries();
  result.num_keys = merged.records().size();
  return {merged.text(), std::move(result)};
}

/// Fails for the first defect of a perf-db.
void check_perf_db(const PerfDb& db, const fs::path& file) {
  for (const PerfDbConfig& config : db.configs) {
    if (const std::string defect = defect_of(config); !defect.empty())
      fail(ErrorCode::invalid_input, "{}: config {}: its {}", file.string(), config.id, defect);
  }
  if (const auto orphans = db.orphans(); !orphans.empty())
    fail(ErrorCode::invalid_input, "{}: row {} names the config {}, which is not there", file.string(),
         orphans.front()->id, orphans.front()->config);
}

MergedBytes merge_perf_dbs(std::span<const fs::path> inputs, bool to_text) {
  PerfDb merged{.schema = PerfDb::own_schema(), .configs = {}, .rows = {}};
  MiopenMerge result{.kind = MiopenFile::perf_db};
  std::unordered_map<std::string, int64_t> ids;
  std::set<std::pair<int64_t, std::string>> taken;
  for (const fs::path& input : inputs) {
    const PerfDb file = miopen_file(input) == MiopenFile::perf_db_text ? read_perf_db_text(input) : read_perf_db(input);
    check_perf_db(file, input);
    std::unordered_map<int64_t, int64_t> own;  // This file's id of a config, and the merged one.
    for (const PerfDbConfig& config : file.configs) {
      const auto [id, is_new] = ids.emplace(perf_db_key(config), static_cast<int64_t>(merged.configs.size()) + 1);
      own.emplace(config.id, id->second);
      if (!is_new) continue;
      merged.configs.push_back(config);
      merged.configs.back().id = id->second;
    }
    const size_t before = merged.rows.size();
    for (const PerfDbRow& row : file.rows) {
      const int64_t config = own.at(row.config);
      if (taken.emplace(config, row.solver).second)
        merged.rows.push_back({static_cast<int64_t>(merged.rows.size()) + 1, row.solver, config, row.params});
    }
    count(result, input, file.rows.size(), merged.rows.size() - before);
  }
  result.num_keys = merged.configs.size();
  return {to_text ? perf_db_text(merged) : perf_db_bytes(merged), std::move(result)};
}

MergedBytes merge_kernel_dbs(std::span<const fs::path> inputs) {
  KernelDb merged{.schema = KernelDb::own_schema(), .kernels = {}};
  MiopenMerge result{.kind = MiopenFile::kernel_db};
  std::set<std::pair<std::string, std::string>> taken;
  for (const fs::path& input : inputs) {
    KernelDb file = read_kernel_db(input);
    const size_t before = merged.kernels.size();
    for (KernelDbRow& row : file.kernels) {
      if (!taken.emplace(row.name, row.args).second) continue;
      row.id = static_cast<int64_t>(merged.kernels.size()) + 1;
      merged.kernels.push_back(std::move(row));
    }
    count(result, input, file.kernels.size(), merged.kernels.size() - before);
  }
  result.num_keys = merged.kernels.size();
  return {kernel_db_bytes(merged), std::move(result)};
}

bool is_perf_db(MiopenFile file) { return file == MiopenFile::perf_db || file == MiopenFile::perf_db_text; }

/// The kind of all inputs. Throws invalid_input if they differ.
MiopenFile kind_of(std::span<const fs::path> inputs) {
  const MiopenFile first = miopen_file_or_named(inputs.front());
  for (const fs::path& input : inputs) {
    { const FileReader reader(input); }  // Reports why a file cannot be read.
    const MiopenFile kind = miopen_file_or_named(input);
    if (kind != first && !(is_perf_db(kind) && is_perf_db(first)))
      fail(ErrorCode::invalid_input, "merge files of one kind: '{}' is a {}, '{}' is a {}",
           shown(inputs.front().native(), 500), name(first), shown(input.native(), 500), name(kind));
  }
  return first;
}

}  // namespace

MiopenMerge merge_miopen_files(std::span<const fs::path> inputs, const fs::path& output) {
  const MiopenFile kind = kind_of(inputs);
  const OutputFile written{"-o", output};
  for (const fs::path& input : inputs) check_distinct_outputs(std::span(&written, 1), {"an input", input});
  const MiopenFile form = check_miopen_output(kind, output);
  MergedBytes merged = kind == MiopenFile::find_db     ? merge_find_dbs(inputs)
                       : kind == MiopenFile::kernel_db ? merge_kernel_dbs(inputs)
                                                       : merge_perf_dbs(inputs, form == MiopenFile::perf_db_text);
  write_miopen_file(output, merged.bytes);
  return std::move(merged.result);
}

}  // namespace attune
