// SPDX-License-Identifier: MIT
#include "dispatch/capture/captured_shapes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/untuned_table.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

/// Returns the family from the part of the name before the process: `bf16_untuned_gemm.csv.host.1.2` belongs to bf16,
/// regardless of the host's name.
const FamilySpec* family_of_counts(const fs::path& file) {
  const std::string name = file.filename().string();
  return family_of_name(name.substr(0, name.find(".csv")));
}

class CaptureReader {
 public:
  explicit CaptureReader(const FamilySpec* wanted) : wanted_(wanted) {}

  void add(const fs::path& source) {
    std::error_code missing;
    if (!fs::is_directory(source, missing)) {
      add_file(source);
      return;
    }
    for (const FamilySpec& family : families()) {
      if (wanted_ && wanted_ != &family) continue;
      const fs::path file = source / untuned_file_name(family);
      if (fs::exists(file, missing)) read(file, &family);
      for (const fs::path& counts : counts_files(file)) read(counts, &family);
    }
  }

  std::vector<CapturedShapes> finish() {
    std::vector<CapturedShapes> all;
    for (const FamilySpec& family : families()) {
      const auto found = found_.find(&family);
      if (found == found_.end()) continue;
      auto& shapes = found->second.shapes;
      // Lists do not tell the limit of a shape, counts do.
      std::set<std::string> counted;
      for (const CalledShape& shape : shapes) {
        if (shape.threads != 0) counted.insert(shape.problem.key());
      }
      std::erase_if(shapes, [&](const CalledShape& shape) {
        return shape.threads == 0 && shape.calls == 0 && counted.contains(shape.problem.key());
      });
      std::stable_sort(shapes.begin(), shapes.end(),
                       [](const CalledShape& one, const CalledShape& other) { return one.calls > other.calls; });
      all.push_back({&family, std::move(shapes)});
    }
    return all;
  }

 private:
  struct ShapeIndex {
    std::vector<CalledShape> shapes;
    std::map<std::pair<std::string, int64_t>, size_t> places;  ///< Indices into `shapes`, by key and thread limit.
  };

  void add_file(const fs::path& file) {
    const auto family = read(file, wanted_);
    for (const fs::path& counts : counts_files(file)) read(counts, family);
  }

  /// Returns the family of the file.
  const FamilySpec* read(const fs::path& file, const FamilySpec* family) {
    std::error_code missing;
    const fs::path canonical = fs::weakly_canonical(file, missing);
    if (const auto known = done_.find(canonical); known != done_.end()) return known->second;
    const auto document = CsvDocument::read(file);
    const auto calls = document.find_column(kCallsColumn), threads = document.find_column(kThreadsColumn);
    if (!family && calls) family = family_of_counts(file);
    family = family_of_file(document, family ? family->op : std::string_view()).family;
    const KeyCells cells(document, *family, Strictness::shape);
    for (size_t row = 0; row < document.num_rows(); ++row) {
      document.check_cells(row);
      add_shape(*family, {.problem = cells.problem(row),
                          .calls = calls ? number_of(document, row, *calls, kCallsColumn) : 0,
                          .threads = calls && threads ? threads_of(document, row, *threads) : 0});
    }
    done_.emplace(canonical, family);
    return family;
  }

  static uint64_t number_of(const CsvDocument& document, size_t row, size_t column, std::string_view name) {
    const auto number = parse_int(document.cell(row, column));
    if (number && *number >= 0) return static_cast<uint64_t>(*number);
    fail(ErrorCode::invalid_input, "{}: column '{}' expects a whole number from 0, got '{}'", document.where(row), name,
         shown(document.cell(row, column)));
  }

  static int64_t threads_of(const CsvDocument& document, size_t row, size_t column) {
    if (document.cell(row, column).empty()) return 0;
    return static_cast<int64_t>(number_of(document, row, column, kThreadsColumn));
  }

  void add_shape(const FamilySpec& family, CalledShape shape) {
    ShapeIndex& found = found_[&family];
    const auto [place, is_new] =
        found.places.emplace(std::pair(shape.problem.key(), shape.threads), found.shapes.size());
    const uint64_t calls = std::exchange(shape.calls, 0);
    if (is_new) found.shapes.push_back(std::move(shape));
    uint64_t& sum = found.shapes[place->second].calls;
    // Saturates at the largest value that a file can hold, so that a sum can be read again.
    sum = std::min<uint64_t>(sum + calls, std::numeric_limits<int64_t>::max());
  }

  const FamilySpec* wanted_;
  std::map<const FamilySpec*, ShapeIndex> found_;
  std::map<fs::path, const FamilySpec*> done_;
};

}  // namespace

std::vector<CapturedShapes> read_captures(std::span<const fs::path> sources, const FamilySpec* family) {
  CaptureReader reader(family);
  for (const fs::path& source : sources) reader.add(source);
  return reader.finish();
}

}  // namespace attune
