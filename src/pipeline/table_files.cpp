// SPDX-License-Identifier: MIT
#include "pipeline/table_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "formats/csv/family_of_file.h"
#include "pipeline/family_columns.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

void add_folder(const fs::path& folder, std::vector<fs::path>& files) {
  const size_t first = files.size();
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (to_lower(entry.path().extension().string()) == ".csv") files.push_back(entry.path());
  }
  std::sort(files.begin() + static_cast<std::ptrdiff_t>(first), files.end());
}

std::vector<fs::path> files_of(std::span<const fs::path> named) {
  std::vector<fs::path> files;
  for (const fs::path& path : named) {
    std::error_code missing;
    if (!fs::exists(path, missing))
      fail(ErrorCode::invalid_input, "there is no such file or folder, check the path: '{}'",
           shown(path.string(), 500));
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    if (fs::is_directory(path / "model_configs", missing)) add_folder(path / "model_configs", files);
    add_folder(path, files);
  }
  return files;
}

bool is_named_as(const fs::path& file, std::string_view word) {
  return to_lower(file.filename().string()).find(word) != std::string::npos;
}

/// A finding from an error that begins with its place: `t.csv:17: …`.
TableFinding unreadable(const fs::path& file, std::string_view sentence) {
  TableFinding finding{FindingKind::unreadable, file.string(), 1, "", std::string(sentence)};
  if (!sentence.starts_with(finding.file + ":")) return finding;
  std::string_view rest = sentence.substr(finding.file.size() + 1);
  const size_t end = rest.find(':');
  if (const auto line = parse_int(rest.substr(0, end)); line && *line > 0 && end != std::string_view::npos) {
    finding.line = static_cast<size_t>(*line);
    rest.remove_prefix(end + 1);
  }
  finding.detail = trim(rest);
  return finding;
}

/// Whether a file with times is a table of winners, and not another tool's list.
bool is_table(const fs::path& file, const CsvDocument& document) {
  if (is_named_as(file, "untuned")) return false;
  if (is_named_as(file, "tuned")) return true;
  return document.find_column("us") && (document.find_column("kernelName") || document.find_column("cu_num"));
}

class TableSorter {
 public:
  explicit TableSorter(const FamilySpec* family) : family_(family) {}

  /// A file that was named must be a table; one of a folder may be something else.
  void add(const fs::path& file) {
    try {
      sort_in(file, CsvDocument::read(file));
    } catch (const Error& error) {
      ++files_.num_files;
      files_.findings.push_back(unreadable(file, error.what()));
    }
  }
  TableFiles take() { return std::move(files_); }

 private:
  void sort_in(const fs::path& file, CsvDocument document) {
    if (!is_table(file, document)) {
      ++files_.num_lists;
      return;
    }
    const FamilySpec* family = family_of(file, document);
    if (family == nullptr) return;
    ++files_.num_files;
    const auto missing = lacking_key_columns(*family, document);
    for (const std::string& column : missing)
      files_.findings.push_back({FindingKind::missing_column, file.string(), 1, "",
                                 fmt::format("a table of {} needs the column '{}' to be read", family->op, column)});
    if (!missing.empty()) return;
    const auto known = std::find_if(files_.families.begin(), files_.families.end(),
                                    [&](const FamilyFiles& one) { return one.family == family; });
    FamilyFiles& files = known != files_.families.end() ? *known : files_.families.emplace_back();
    files.family = family;
    files.documents.push_back(std::move(document));
  }

  /// Null: the file is skipped, with a sentence that gives the reason.
  const FamilySpec* family_of(const fs::path& file, const CsvDocument& document) {
    if (family_ != nullptr) return family_;
    const FamilySpec* by_name = family_of_name(file.string());
    try {
      const FamilySpec* family = family_of_file(document).family;
      // A table that lacks a column of its key may look like one of another family, whose other columns it lacks.
      const bool is_of_name =
          by_name != nullptr && lacking_columns(*by_name, document).size() < lacking_columns(*family, document).size();
      return is_of_name ? by_name : family;
    } catch (const Error& error) {
      if (by_name != nullptr) return by_name;
      // --op with a folder would assign every table in it to that family.
      files_.skipped.push_back(fmt::format(
          "not checked, {}; if it is of a family of `attune list ops`, check it alone: attune ci validate {} --op "
          "FAMILY",
          error.what(), shown(file.string(), 500)));
      return nullptr;
    }
  }

  const FamilySpec* family_;
  TableFiles files_;
};

}  // namespace

TableFiles read_table_files(std::span<const fs::path> named, const FamilySpec* family) {
  TableSorter sorter(family);
  const auto files = files_of(named);
  for (const fs::path& file : files) sorter.add(file);
  TableFiles found = sorter.take();
  const bool none_is_readable = std::all_of(found.findings.begin(), found.findings.end(), [](const TableFinding& one) {
    return one.kind == FindingKind::unreadable;
  });
  if (found.families.empty() && none_is_readable && !found.findings.empty())
    fail(ErrorCode::invalid_input, "{}: {}", found.findings.front().place(), found.findings.front().detail);
  if (found.num_files == 0) {
    std::vector<std::string> names;
    for (const fs::path& path : named) names.push_back("'" + shown(path.string(), 500) + "'");
    fail(ErrorCode::invalid_input, "there is no tuned table to check in: {}{}", join(names, ", "),
         found.skipped.empty() ? "" : "; " + found.skipped.front());
  }
  return found;
}

}  // namespace attune
