// SPDX-License-Identifier: MIT
#include "pipeline/miopen/miopen_validation.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "tables/miopen/miopen_findings.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

/// Nothing for notes.
std::optional<FindingKind> finding_kind(MiopenFinding::Kind kind) {
  switch (kind) {
    case MiopenFinding::Kind::defect:
      return FindingKind::unreadable;
    case MiopenFinding::Kind::unusable_time:
      return FindingKind::unusable_time;
    case MiopenFinding::Kind::repeated_key:
      return FindingKind::duplicate_key;
    case MiopenFinding::Kind::orphan:
    case MiopenFinding::Kind::other_device:
      return FindingKind::unreachable;
    case MiopenFinding::Kind::unknown_solver:
    case MiopenFinding::Kind::no_candidate:
      return FindingKind::unknown_kernel;
    case MiopenFinding::Kind::untunable:
    case MiopenFinding::Kind::unused:
      break;
  }
  return std::nullopt;
}

/// By content, and by names that only such files have: a `.db` may be anything.
MiopenFile validated_kind(const fs::path& file) {
  const MiopenFile kind = miopen_file(file);
  return kind == MiopenFile::none && !file.native().ends_with("db.txt") && file.extension() != ".kdb"
             ? kind
             : miopen_file_or_named(file);
}

void add_miopen_file(MiopenValidation& to, const fs::path& file, MiopenFile kind) {
  const MiopenFindings found = miopen_findings(file, kind);
  ++to.num_files;
  to.num_entries += found.num_entries;
  for (const MiopenFinding& one : found.findings) {
    if (const auto finding = finding_kind(one.kind))
      to.findings.push_back(
          {*finding, file.string(), static_cast<size_t>(std::max<int64_t>(1, one.line)), one.key, one.what});
  }
}

/// The files of MIOpen in a folder by their names; `has_tables`: it has others that may be tables.
std::vector<fs::path> miopen_files_in(const fs::path& folder, bool& has_tables) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    has_tables = has_tables || to_lower(entry.path().extension().string()) == ".csv" || name == "model_configs";
    if (name.starts_with('.') || !entry.is_regular_file()) continue;
    if (validated_kind(entry.path()) != MiopenFile::none) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

void add_miopen_folder(MiopenValidation& to, const fs::path& folder) {
  bool has_tables = false;
  const auto files = miopen_files_in(folder, has_tables);
  if (has_tables || files.empty()) to.others.push_back(folder);
  for (const fs::path& file : files) {
    try {
      add_miopen_file(to, file, validated_kind(file));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_input) throw;
      ++to.num_files;
      to.findings.push_back({FindingKind::unreadable, file.string(), 1, "", error.what()});
    }
  }
}

}  // namespace

MiopenValidation validate_miopen_files(std::span<const fs::path> named) {
  MiopenValidation found;
  for (const fs::path& path : named) {
    std::error_code error;
    if (fs::is_directory(path, error))
      add_miopen_folder(found, path);
    else if (const MiopenFile kind = validated_kind(path); fs::exists(path, error) && kind != MiopenFile::none)
      add_miopen_file(found, path, kind);
    else
      found.others.push_back(path);
  }
  return found;
}

}  // namespace attune
