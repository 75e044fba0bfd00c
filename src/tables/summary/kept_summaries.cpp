// SPDX-License-Identifier: MIT
#include "tables/summary/kept_summaries.h"

#include <malloc.h>

#include <algorithm>

#include "base/error.h"
#include "base/locations.h"
#include "formats/csv/ban_file.h"
#include "formats/csv/table.h"
#include "tables/runtime_tables.h"
#include "tables/summary/row_summaries.h"

namespace attune {
namespace {

/// Returns the stamps of the tables' files, in the order of lookups. Adds the notices of files that are skipped.
std::vector<FileStamp> table_stamps(const std::vector<std::string>& named, std::vector<std::string>& notices) {
  std::vector<FileStamp> stamps;
  for (const std::string& paths : named) {
    for (const auto& file : split_table_paths(paths)) stamps.push_back(file_stamp(file));
  }
  if (!named.empty()) return stamps;
  for (const FamilySpec* family : wanted_families("")) {
    const auto sources = table_sources(*family);
    for (const TableSource& source : sources.files) stamps.push_back(file_stamp(source.file));
    notices.insert(notices.end(), sources.notices.begin(), sources.notices.end());
  }
  return stamps;
}

void check_size(const std::vector<FileStamp>& tables, uint64_t max_bytes) {
  uint64_t sum_bytes = 0;
  for (const FileStamp& one : tables) sum_bytes += one.size_bytes;
  if (sum_bytes <= max_bytes) return;
  constexpr double kMebi = 1 << 20;
  fail(ErrorCode::invalid_input,
       "the tables are {:.1f} MiB in all and at most {:g} MiB of them are shown, name smaller ones with --table; the "
       "largest is '{}'",
       static_cast<double>(sum_bytes) / kMebi, static_cast<double>(max_bytes) / kMebi,
       std::ranges::max_element(tables, {}, &FileStamp::size_bytes)->file.string());
}

}  // namespace

std::shared_ptr<const RowSummaries> KeptSummaries::rows() {
  std::vector<std::string> notices;
  std::vector<FileStamp> now =
      table_stamps(named_, notices);  // Before they are read: what is written meanwhile is seen next.
  const auto tables = now;
  if (const auto overlay = path_if_any(overlay_location); !overlay.empty())
    now.push_back(file_stamp(overlay / kBanFileName));
  if (now != stamps_ || notices != notices_ || (!rows_ && !failed_)) {
    stamps_ = std::move(now);
    notices_ = std::move(notices);
    rows_ = nullptr;
    failed_ = nullptr;
    try {
      check_size(tables, max_bytes_);
      rows_ = std::make_shared<const RowSummaries>(read_row_summaries(named_));
      ::malloc_trim(0);  // With glibc, what reading took beyond the rows goes back to the system.
    } catch (const Error&) {
      failed_ = std::current_exception();
    }
  }
  if (failed_) std::rethrow_exception(failed_);
  return rows_;
}

}  // namespace attune
