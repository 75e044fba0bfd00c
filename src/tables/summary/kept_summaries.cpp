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

/// The files of the tables, in the order of lookups.
std::vector<FileStamp> table_stamps(const std::vector<std::string>& named) {
  std::vector<FileStamp> stamps;
  for (const std::string& paths : named) {
    for (const auto& file : split_table_paths(paths)) stamps.push_back(file_stamp(file));
  }
  if (!named.empty()) return stamps;
  for (const FamilySpec* family : wanted_families("")) {
    for (const TableSource& source : table_sources(*family).files) stamps.push_back(file_stamp(source.file));
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

FileStamp file_stamp(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {.file = file};
  const auto ns = [](const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  return {.file = file,
          .device = status.st_dev,
          .inode = status.st_ino,
          .size_bytes = static_cast<uint64_t>(status.st_size),
          .written_ns = ns(status.st_mtim),
          .changed_ns = ns(status.st_ctim)};
}

std::shared_ptr<const RowSummaries> KeptSummaries::rows() {
  std::vector<FileStamp> now = table_stamps(named_);  // Before they are read: what is written meanwhile is seen next.
  const auto tables = now;
  if (const auto overlay = path_if_any(overlay_location); !overlay.empty())
    now.push_back(file_stamp(overlay / kBanFileName));
  if (now != stamps_ || (!rows_ && !failed_)) {
    stamps_ = std::move(now);
    rows_ = nullptr;
    failed_ = nullptr;
    try {
      check_size(tables, max_bytes_);
      rows_ = std::make_shared<const RowSummaries>(read_row_summaries(named_));
      ::malloc_trim(0);  // What reading took beyond the rows goes back to the system.
    } catch (const Error&) {
      failed_ = std::current_exception();
    }
  }
  if (failed_) std::rethrow_exception(failed_);
  return rows_;
}

}  // namespace attune
