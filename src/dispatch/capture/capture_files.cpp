// SPDX-License-Identifier: MIT
#include "dispatch/capture/capture_files.h"

#include <algorithm>
#include <list>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/untuned_table.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kPrivate = 0600;

std::optional<Problem> problem_or_nothing(const KeyCells& cells, size_t row) {
  try {
    return cells.problem(row);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Splits a text that ends with a line end into lines.
std::vector<std::string_view> lines_of(std::string_view text) {
  auto lines = split(text, '\n');
  lines.pop_back();
  return lines;
}

/// Whether the unterminated last line is a complete row. A row without its last cells, or with a truncated word, is
/// incomplete; missing digits in the last cell cannot be detected.
bool last_row_is_whole(std::string_view content, const fs::path& file, const FamilySpec& family) {
  try {
    const auto document = CsvDocument::parse(content, file.string());
    if (document.num_rows() == 0) return true;  // Only the header exists.
    const size_t last = document.num_rows() - 1;
    if (document.num_cells(last) != document.columns().size()) return false;
    return problem_or_nothing(KeyCells(document, family, Strictness::shape), last).has_value();
  } catch (const Error&) {
    return false;
  }
}

/// Returns the file's content without the remains of a torn write.
std::string kept_content(const fs::path& file, const FamilySpec& family) {
  std::error_code missing;
  if (!fs::exists(file, missing)) return {};
  std::string content = read_file(file, kMaxCsvFileBytes);
  if (trim(content).empty()) return {};
  if (content.ends_with('\n')) return content;
  if (content.find('\n') == std::string::npos) {
    // There is only a header: either a truncated header of our own, or a user's.
    return untuned_text(family, {}).starts_with(content) ? std::string() : content + '\n';
  }
  if (last_row_is_whole(content, file, family)) return content + '\n';
  content.resize(content.rfind('\n') + 1);
  return content;
}

/// An existing shape list and the shapes to append.
class ExistingList {
 public:
  ExistingList(CsvDocument document, const FamilySpec& family)
      : family_(family), document_(std::move(document)), columns_(document_.columns()) {
    for (const std::string_view result : family.results) {
      if (!document_.find_column(result)) continue;
      fail(ErrorCode::invalid_input, "{}:1: the file has a column '{}', so it is not a list of shapes; move it away",
           document_.name(), result);
    }
    const KeyCells cells(document_, family, Strictness::table);
    for (size_t row = 0; row < document_.num_rows(); ++row) {
      if (const auto problem = problem_or_nothing(cells, row)) known_.insert(key_text(family, *problem));
    }
  }

  /// Returns false if the list already has the shape.
  bool add(const Problem& problem) {
    if (!known_.insert(key_text(family_, problem)).second) return false;
    added_.push_back(&problem);
    for (const AttributeSpec& key : family_.key) {
      if (key_value(problem, key) == value_when_missing(problem, key)) continue;
      if (std::none_of(columns_.begin(), columns_.end(),
                       [&](const auto& one) { return equal_ignoring_case(one, key.column); }))
        columns_.emplace_back(key.column);
    }
    return true;
  }

  std::string text() const {
    std::string text(document_.header_text());
    for (size_t i = document_.columns().size(); i < columns_.size(); ++i) text += "," + csv_cell(columns_[i]);
    text += document_.line_end();
    for (size_t row = 0; row < document_.num_rows(); ++row) text += document_.raw(row);
    for (const Problem* problem : added_) {
      for (size_t i = 0; i < columns_.size(); ++i) text += (i == 0 ? "" : ",") + csv_cell(cell(*problem, columns_[i]));
      text += document_.line_end();
    }
    return text;
  }

 private:
  /// Returns the value that a reader uses for a missing cell.
  static std::string value_when_missing(const Problem& problem, const AttributeSpec& key) {
    if (!key.follows.empty() && problem.has(key.follows)) return problem.text(key.follows);
    return std::string(key.default_value);
  }

  std::string cell(const Problem& problem, std::string_view column) const {
    for (const AttributeSpec& key : family_.key) {
      if (equal_ignoring_case(key.column, column)) return cell_text(family_, key, key_value(problem, key));
    }
    return {};
  }

  const FamilySpec& family_;
  CsvDocument document_;
  std::vector<std::string> columns_;
  std::unordered_set<std::string> known_;
  std::vector<const Problem*> added_;
};

/// Whether a text begins with a header of add_shapes() or write_counts(), or is a part of one.
bool has_captured_header(std::string_view content, const FamilySpec& family) {
  const std::string own = untuned_text(family, {});
  const size_t end = content.find('\n');
  if (end == content.npos) return own.starts_with(content);
  const std::string_view header = content.substr(0, end), required = trim(own);
  if (!header.starts_with(required)) return false;
  const auto further = split(header.substr(required.size()), ',');
  return further.front().empty() && std::all_of(further.begin() + 1, further.end(), [&](std::string_view column) {
           return column == kCallsColumn || column == kThreadsColumn ||
                  std::any_of(family.key.begin(), family.key.end(),
                              [&](const AttributeSpec& key) { return key.column == column; });
         });
}

/// Throws invalid_input unless a capture wrote the file: such files are private and have its header.
void check_captured(const fs::path& file, const FamilySpec& family) {
  const bool is_private = (fs::status(file).permissions() & fs::perms(0077)) == fs::perms::none;
  if (is_private && has_captured_header(read_file(file, kMaxCsvFileBytes), family)) return;
  fail(ErrorCode::invalid_input,
       "no capture wrote this file ({}), so nothing is cleared: move it away, or remove it yourself: '{}'",
       is_private ? "its header is another" : "other users have rights to it", file.string());
}

}  // namespace

std::vector<std::optional<Problem>> as_read(const FamilySpec& family, std::span<const Problem> problems) {
  const auto document = CsvDocument::parse(untuned_text(family, problems), untuned_file_name(family));
  ATTUNE_CHECK(document.num_rows() == problems.size(), "{} rows", document.num_rows());
  const KeyCells cells(document, family, Strictness::shape);
  std::vector<std::optional<Problem>> read;
  for (size_t row = 0; row < problems.size(); ++row) read.push_back(problem_or_nothing(cells, row));
  return read;
}

size_t add_shapes(const fs::path& file, const FamilySpec& family, std::span<const Problem> problems,
                  double lock_wait_s) {
  make_private_folder(file.parent_path());
  const FileLock lock(file, FileLock::Use::alone, lock_wait_s);
  remove_stale_temporaries(file);
  const std::string content = kept_content(file, family);
  if (content.empty()) {
    write_file_atomically(file, untuned_text(family, problems), kPrivate);
    return problems.size();
  }
  ExistingList list(CsvDocument::parse(content, file.string()), family);
  const auto num_added =
      std::count_if(problems.begin(), problems.end(), [&](const Problem& problem) { return list.add(problem); });
  if (num_added > 0) write_file_atomically(file, list.text(), kPrivate);
  return static_cast<size_t>(num_added);
}

void write_counts(const fs::path& file, const FamilySpec& family, std::span<const CalledShape> shapes) {
  std::vector<Problem> problems;
  for (const CalledShape& shape : shapes) problems.push_back(shape.problem);
  const std::string text = untuned_text(family, problems);
  const auto lines = lines_of(text);
  const bool has_threads =
      std::any_of(shapes.begin(), shapes.end(), [](const CalledShape& shape) { return shape.threads != 0; });
  std::string content(lines.front());
  if (has_threads) content += fmt::format(",{}", kThreadsColumn);
  content += fmt::format(",{}\n", kCallsColumn);
  for (size_t i = 0; i < shapes.size(); ++i) {
    content += lines[i + 1];
    if (has_threads) content += shapes[i].threads == 0 ? "," : fmt::format(",{}", shapes[i].threads);
    content += fmt::format(",{}\n", shapes[i].calls);
  }
  if (file.has_parent_path()) make_private_folder(file.parent_path());
  write_file_atomically(file, content, kPrivate);
}

fs::path counts_file(const fs::path& captured, std::string_view process) {
  return captured.parent_path() / "counts" / fmt::format("{}.{}", captured.filename().string(), process);
}

std::vector<fs::path> counts_files(const fs::path& captured) {
  std::vector<fs::path> files;
  std::error_code missing;
  fs::path merged = captured;
  merged += ".counts";
  if (fs::is_regular_file(merged, missing)) files.push_back(merged);
  const std::string stem = captured.filename().string() + ".";
  for (const auto& entry : fs::directory_iterator(captured.parent_path() / "counts", missing)) {
    if (entry.path().filename().string().starts_with(stem) && entry.is_regular_file(missing))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

namespace {

/// A captured list, if it exists, and its counts.
std::vector<fs::path> captured_files(const fs::path& list) {
  auto files = counts_files(list);
  std::error_code missing;
  if (fs::is_regular_file(list, missing)) files.push_back(list);
  return files;
}

}  // namespace

size_t clear_captures(const fs::path& folder) {
  const auto checked_files = [&](const FamilySpec& family) {
    auto files = captured_files(folder / untuned_file_name(family));
    for (const fs::path& file : files) check_captured(file, family);
    return files;
  };
  std::vector<const FamilySpec*> captured;  // Checked before a lock file is made, and again under the lock.
  for (const FamilySpec& family : families()) {
    if (!checked_files(family).empty()) captured.push_back(&family);
  }
  std::list<FileLock> locks;
  std::vector<fs::path> all;
  for (const FamilySpec* family : captured) {
    locks.emplace_back(folder / untuned_file_name(*family), FileLock::Use::alone, kShapesLockWaitS);
    for (fs::path& file : checked_files(*family)) all.push_back(std::move(file));
  }
  size_t num_removed = 0;
  for (const fs::path& file : all) {
    std::error_code error;
    num_removed += fs::remove(file, error);
    if (error) fail(ErrorCode::io, "cannot remove the file ({}): '{}'", error.message(), file.string());
  }
  std::error_code not_empty;
  fs::remove(folder / "counts", not_empty);
  return num_removed;
}

}  // namespace attune
