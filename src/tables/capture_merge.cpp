// SPDX-License-Identifier: MIT
#include "tables/capture_merge.h"

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/untuned_table.h"
#include "report/output_files.h"
#include "tables/captured_sources.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

CapturedShapes only_family(std::vector<CapturedShapes> captured, std::span<const fs::path> sources) {
  if (captured.empty()) fail(ErrorCode::invalid_input, "there are no captured shapes to merge in {}", list_of(sources));
  if (captured.size() > 1) {
    std::vector<std::string> names;
    for (const CapturedShapes& one : captured) names.emplace_back(one.family->op);
    fail(ErrorCode::invalid_input, "the shapes are of {}, but a file holds one family: choose it with --op",
         join(names, ", "));
  }
  return std::move(captured.front());
}

/// Whether read_captures() of the source may read a file at this path.
bool is_read_with(const fs::path& source, const fs::path& file) {
  const fs::path folder = file.parent_path();
  if (fs::is_directory(source)) return folder == source || folder == source / "counts";
  return file == source || file == fs::path(source.string() + ".counts") || folder == source.parent_path() / "counts";
}

void check_outputs(const CaptureOutputs& outputs, std::span<const fs::path> sources, const FamilySpec& family) {
  const auto whole = [](const fs::path& path) { return fs::weakly_canonical(fs::absolute(path)); };
  for (const fs::path& source : sources) {
    for (const fs::path& file : {outputs.shapes, outputs.counts}) {
      if (!is_read_with(whole(source), whole(file))) continue;
      fail(ErrorCode::invalid_input, "the output must not be one of the sources or lie among them, name another: '{}'",
           shown(file.string(), 500));
    }
  }
  const OutputFile files[] = {{"-o", outputs.shapes}, {"--counts", outputs.counts}};
  check_distinct_outputs(files, {});
  check_output(outputs.shapes);
  check_output(outputs.counts);
  check_untuned_output(outputs.shapes, family);
  std::error_code missing;
  if (!fs::is_regular_file(outputs.counts, missing) || fs::file_size(outputs.counts, missing) == 0) return;
  if (!CsvDocument::read(outputs.counts).find_column(kCallsColumn))
    fail(ErrorCode::invalid_input, "the file exists and has no counts, name another: '{}'",
         shown(outputs.counts.string(), 500));
}

}  // namespace

CaptureMerge capture_merge(std::vector<CapturedShapes> captured, std::span<const fs::path> sources,
                           const CaptureLimits& limits) {
  CaptureMerge merge{only_family(std::move(captured), sources), 0};
  auto& shapes = merge.shapes.shapes;
  merge.num_skipped = std::erase_if(shapes, [&](const CalledShape& shape) {
    return shape.calls < limits.min_calls || (limits.max_m && rows_of(shape.problem).value_or(0) > *limits.max_m);
  });
  if (shapes.empty())
    fail(ErrorCode::invalid_input, "no shape of {} is left, give a lower --min-calls or a higher --max-m",
         merge.num_skipped);
  return merge;
}

void write_capture_merge(const CaptureMerge& merge, const CaptureOutputs& outputs, std::span<const fs::path> sources) {
  const FamilySpec& family = *merge.shapes.family;
  check_outputs(outputs, sources, family);
  std::vector<Problem> problems;
  std::set<std::string> listed;  // A shape that was called under several thread limits occurs once.
  for (const CalledShape& shape : merge.shapes.shapes) {
    if (listed.insert(shape.problem.key()).second) problems.push_back(shape.problem);
  }
  write_file_atomically(outputs.shapes, untuned_text(family, problems));
  write_counts(outputs.counts, family, merge.shapes.shapes);
}

}  // namespace attune
