// SPDX-License-Identifier: MIT
#include "tables/miopen/miopen_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "formats/find_db/find_db.h"
#include "formats/find_db/find_db_key.h"
#include "formats/kernel_db/kernel_db.h"
#include "formats/perf_db/perf_db.h"

namespace attune {
namespace {

using Kind = MiopenFinding::Kind;

void add_findings(MiopenFindings& to, Kind kind, std::vector<FindDbDefect> defects) {
  for (FindDbDefect& one : defects)
    to.findings.push_back({kind, static_cast<int64_t>(one.line), std::move(one.key), std::move(one.what)});
}

MiopenFindings find_db_findings(const std::filesystem::path& path) {
  FindDb db = FindDb::read_with_defects(path);
  MiopenFindings found{MiopenFile::find_db, db.records().size(), db.num_entries(), {}};
  add_findings(found, Kind::defect, db.defects());
  add_findings(found, Kind::repeated_key, db.repeated_keys());
  std::set<std::string> bad_keys;
  for (const MiopenFinding& one : found.findings) bad_keys.insert(one.key);
  // A key with a defect may be none.
  std::erase_if(db.records(), [&](const FindDbRecord& record) {
    if (!bad_keys.contains(std::string(record.key))) return false;
    try {
      FindDbKey::parse(record.key);
      return false;
    } catch (const Error&) {
      return true;
    }
  });
  add_findings(found, Kind::untunable, db.untunable_keys());
  return found;
}

MiopenFindings perf_db_findings(const std::filesystem::path& path, MiopenFile file) {
  const PerfDb db = file == MiopenFile::perf_db ? read_perf_db(path) : read_perf_db_text(path);
  MiopenFindings found{file, db.configs.size(), db.rows.size(), {}};
  for (const PerfDbRow* row : db.orphans())
    found.findings.push_back(
        {Kind::orphan, row->id, row->solver, fmt::format("it names the config {}, which is not there", row->config)});
  for (const PerfDbRow& row : db.rows) {
    if (row.params.empty()) found.findings.push_back({Kind::defect, row.id, row.solver, "it has no parameters"});
  }
  std::unordered_set<int64_t> used;
  for (const PerfDbRow& row : db.rows) used.insert(row.config);
  for (const PerfDbConfig& config : db.configs) {
    if (const std::string defect = defect_of(config); !defect.empty())
      found.findings.push_back({Kind::defect, config.id, perf_db_key(config), "its " + defect});
    if (!used.contains(config.id))
      found.findings.push_back({Kind::unused, config.id, perf_db_key(config), "no row names this config"});
  }
  return found;
}

}  // namespace

std::string_view name(Kind kind) noexcept {
  constexpr std::array<std::string_view, 5> kNames = {"defect", "repeated key", "orphan", "untunable", "unused"};
  return kNames[static_cast<size_t>(kind)];
}

MiopenFindings miopen_findings(const std::filesystem::path& path, MiopenFile file) {
  if (file == MiopenFile::find_db) return find_db_findings(path);
  if (file != MiopenFile::kernel_db) return perf_db_findings(path, file);
  const KernelDb db = read_kernel_db(path);
  return {file, db.kernels.size(), db.kernels.size(), {}};
}

}  // namespace attune
