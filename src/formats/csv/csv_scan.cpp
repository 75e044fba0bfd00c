// SPDX-License-Identifier: MIT
#include "formats/csv/csv_scan.h"

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "base/text.h"

namespace attune {
namespace {

/// True for printable ASCII, tabs and line ends without quotation marks. Written so that the compiler vectorises it.
bool is_simple_text(std::string_view bytes) {
  unsigned odd = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const unsigned control = byte < ' ' && byte != '\t' && byte != '\n' ? 1U : 0U;
    odd |= control | (byte >= 0x7f ? 1U : 0U) | (byte == '"' ? 1U : 0U);
  }
  return odd == 0;
}

/// True if no line exceeds a table's line length, nor has room for more cells than a table's row.
bool has_short_lines(std::string_view bytes) {
  static_assert(kMaxCsvColumns < kMaxCsvLineBytes);
  for (size_t at = 0; at < bytes.size();) {
    const auto end = std::min(bytes.find('\n', at), bytes.size());
    if (end - at >= kMaxCsvColumns) return false;
    at = end + 1;
  }
  return true;
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(const char* begin, const char* end) {
  while (begin != end && is_blank(*begin)) ++begin;
  while (begin != end && is_blank(end[-1])) --end;
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace

CsvScan::CsvScan(const std::filesystem::path& path) : CsvScan(read_file(path, kMaxCsvFileBytes), path.string()) {}

CsvScan::CsvScan(std::string content, std::string name, size_t first_line)
    : content_(std::move(content)),
      head_(CsvDocument::parse("-", name)),
      next_line_(first_line + 1),
      line_(first_line) {
  at_ = std::min(content_.find('\n'), content_.size());
  const std::string_view header = std::string_view(content_).substr(0, at_);
  if (!is_simple_text(content_) || trim(header).empty() || !has_short_lines(content_)) {
    whole_ = CsvDocument::parse(content_, std::move(name), first_line);
    head_ = CsvDocument::parse(whole_->header_text(), whole_->name());
    content_ = {};
    return;
  }
  head_ = CsvDocument::parse(header, std::move(name));
  ++at_;
}

bool CsvScan::next() {
  if (!whole_) return next_plain();
  if (next_row_ == whole_->num_rows()) return false;
  line_ = whole_->line(next_row_);
  cells_.clear();
  for (size_t i = 0; i < whole_->num_cells(next_row_); ++i) cells_.push_back(whole_->cell(next_row_, i));
  ++next_row_;
  return true;
}

bool CsvScan::next_plain() {
  while (at_ < content_.size()) {
    const char* const begin = content_.data() + at_;
    const size_t left = content_.size() - at_;
    const auto* found = static_cast<const char*>(std::memchr(begin, '\n', left));  // NOLINT(bugprone-*): no C string
    const char* const end = found != nullptr ? found : begin + left;
    at_ += static_cast<size_t>(end - begin) + 1;
    line_ = next_line_++;
    if (trimmed(begin, end).empty()) continue;
    cells_.clear();
    for (const char* cell = begin;;) {
      const auto* comma = static_cast<const char*>(std::memchr(cell, ',', static_cast<size_t>(end - cell)));
      cells_.push_back(trimmed(cell, comma != nullptr ? comma : end));
      if (comma == nullptr) return true;
      cell = comma + 1;
    }
  }
  return false;
}

}  // namespace attune
