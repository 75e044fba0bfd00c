// SPDX-License-Identifier: MIT
#include "formats/csv/csv_document.h"

#include <csv.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace attune {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Reason why a line is not text; empty if it is.
std::string_view not_text(std::string_view line) {
  for (size_t i = 0; i < line.size();) {
    const auto c = static_cast<unsigned char>(line[i]);
    if (c == 0) return "a NUL byte";
    if ((c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f) return "a control character";
    const size_t length = utf8_length(line.substr(i));
    if (length == 0) return "bytes that are not UTF-8";
    i += length;
  }
  return {};
}

bool is_blank(std::string_view line) { return trim(line).empty(); }

}  // namespace

/// Feeds physical lines to libcsv, which splits cells, and records where the bytes of each record begin.
class CsvBuilder {
 public:
  explicit CsvBuilder(std::string name, size_t first_line = 1) : line_(first_line) {
    document_.name_ = std::move(name);
    document_.first_line_ = first_line;
    // STRICT: a quotation mark in the middle of a cell is an error.
    if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
  }
  ~CsvBuilder() { csv_free(&parser_); }
  CsvBuilder(const CsvBuilder&) = delete;
  CsvBuilder& operator=(const CsvBuilder&) = delete;

  void reserve(uint64_t num_bytes) { document_.content_.reserve(std::min(num_bytes, kMaxCsvFileBytes)); }

  void append(std::string_view bytes) {
    std::string& content = document_.content_;
    if (content.size() + bytes.size() > kMaxCsvFileBytes) fail_size();
    content += bytes;
    for (size_t end = content.find('\n', searched_); end != std::string::npos; end = content.find('\n', searched_)) {
      searched_ = end + 1;
      feed_line();
    }
    searched_ = content.size();
    check_length();
  }

  [[noreturn]] void fail_size() const {
    fail(ErrorCode::invalid_input, "{}: a table has at most {} MiB, split the file", document_.name_,
         kMaxCsvFileBytes >> 20);
  }

  CsvDocument finish() {
    std::string& content = document_.content_;
    if (line_begin_ < content.size()) {
      searched_ = content.size();
      feed_line();
    }
    records_in_line_ = 0;
    if (csv_fini(&parser_, on_cell, on_record, this) != 0) {
      fail_at(record_line_, "a quotation mark is opened and never closed, close it");
    }
    if (records_in_line_ > 0) end_record(unquoted_begin_);
    if (!has_header_)
      fail(ErrorCode::invalid_input, "{}: the file is empty, a table starts with a row of column names",
           document_.name_);
    return std::move(document_);
  }

 private:
  [[noreturn]] void fail_at(size_t line, std::string_view message) const {
    fail(ErrorCode::invalid_input, "{}:{}: {}", document_.name_, line, message);
  }

  /// Bounds an unfinished line, too, because a line without an end must not fill the memory.
  void check_length() const {
    if (document_.content_.size() - (in_record_ ? record_begin_ : line_begin_) > kMaxCsvLineBytes) fail_long();
  }
  [[noreturn]] void fail_long() const {
    fail_at(in_record_ ? record_line_ : line_, fmt::format("a row has at most {} bytes, this one is longer: check that "
                                                           "this is a table and its quotation marks are closed",
                                                           kMaxCsvLineBytes));
  }

  /// Parses content_[line_begin_, searched_).
  void feed_line() {
    std::string_view line = std::string_view(document_.content_).substr(line_begin_, searched_ - line_begin_);
    if (!in_record_) {
      record_begin_ = line_begin_;
      record_line_ = line_;
    }
    if (searched_ - record_begin_ > kMaxCsvLineBytes) fail_long();
    if (const auto what = not_text(line); !what.empty())
      fail_at(line_, fmt::format("the line contains {}, a table is UTF-8 text", what));
    if (line_begin_ == 0 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (has_header_ && !in_record_ && is_plain(line))
      split_plain(line);
    else if (in_record_ || !is_blank(line))
      parse(line);
    line_begin_ = searched_;
    ++line_;
  }

  /// Whether commas and the line end are all that separates the cells.
  static bool is_plain(std::string_view line) {
    if (line.find('"') != std::string_view::npos) return false;
    const size_t carriage_return = line.find('\r');
    return carriage_return == std::string_view::npos || line.substr(carriage_return) == "\r\n";
  }

  /// Records where the cells of a line end in the content, which thus needs no copy of them.
  void split_plain(std::string_view line) {
    if (is_blank(line)) return;
    line = line.substr(0, line.find_last_not_of("\r\n") + 1);
    for (size_t comma = line.find(','); comma != std::string_view::npos; comma = line.find(',', comma + 1))
      document_.cell_ends_.push_back(static_cast<uint32_t>(line_begin_ + comma));
    document_.cell_ends_.push_back(static_cast<uint32_t>(line_begin_ + line.size()));
    end_record(CsvDocument::kInContent);
  }

  void parse(std::string_view line) {
    records_in_line_ = 0;
    in_record_ = true;
    if (csv_parse(&parser_, line.data(), line.size(), on_cell, on_record, this) != line.size()) {
      if (csv_error(&parser_) == CSV_ENOMEM) throw std::bad_alloc();
      fail_at(line_, "an unquoted cell contains a quotation mark, quote the whole cell and double the mark");
    }
    // In a last line without an end, the text after a carriage return was not counted yet.
    const bool goes_on = records_in_line_ == 1 && !line.ends_with('\n') && !line.ends_with('\r');
    if (records_in_line_ > 1 || goes_on)
      fail_at(line_, "the line contains a carriage return, lines end with LF or CRLF");
    if (records_in_line_ == 1) end_record(unquoted_begin_);
  }

  /// `unquoted`: as CsvDocument::Row has it.
  void end_record(uint32_t unquoted) {
    in_record_ = false;
    const size_t first = rows_first_cell_;
    if (document_.cell_ends_.size() - first > kMaxCsvColumns) {
      fail_at(record_line_, fmt::format("a row has at most {} columns, this one has {}", kMaxCsvColumns,
                                        document_.cell_ends_.size() - first));
    }
    if (has_header_)
      document_.rows_.push_back({static_cast<uint32_t>(record_begin_), static_cast<uint32_t>(record_line_),
                                 static_cast<uint32_t>(first), unquoted});
    else
      take_header();
    rows_first_cell_ = document_.cell_ends_.size();
    unquoted_begin_ = static_cast<uint32_t>(document_.unquoted_.size());
  }

  void take_header() {
    has_header_ = true;
    size_t begin = 0;
    for (const size_t end : document_.cell_ends_) {
      document_.columns_.emplace_back(trim(std::string_view(document_.unquoted_).substr(begin, end - begin)));
      begin = end;
    }
    document_.cell_ends_.clear();
    document_.unquoted_.clear();
    const std::string_view text = std::string_view(document_.content_).substr(0, searched_);
    document_.header_end_ = text.find_last_not_of("\r\n") + 1;
    document_.crlf_ = text.ends_with("\r\n");
    for (auto column = document_.columns_.begin(); column != document_.columns_.end(); ++column) {
      if (!column->empty() && std::find(document_.columns_.begin(), column, *column) != column) {
        fail_at(record_line_, fmt::format("the column '{}' is named twice, remove one", shown(*column)));
      }
    }
  }

  static void on_cell(void* data, size_t size, void* builder) {
    auto& self = *static_cast<CsvBuilder*>(builder);
    self.document_.unquoted_.append(static_cast<const char*>(data), size);
    self.document_.cell_ends_.push_back(static_cast<uint32_t>(self.document_.unquoted_.size()));
  }
  static void on_record(int, void* builder) { ++static_cast<CsvBuilder*>(builder)->records_in_line_; }

  CsvDocument document_;
  csv_parser parser_{};
  size_t line_, line_begin_ = 0, searched_ = 0;
  size_t record_begin_ = 0, record_line_ = 1, rows_first_cell_ = 0;
  uint32_t unquoted_begin_ = 0;
  int records_in_line_ = 0;
  bool in_record_ = false, has_header_ = false;
};

bool is_yaml(std::string_view file) noexcept { return file.ends_with(".yaml") || file.ends_with(".yml"); }

CsvDocument CsvDocument::read(const std::filesystem::path& path) {
  FileReader reader(path);
  if (is_yaml(path.native()))
    fail(ErrorCode::invalid_input,
         "a CSV file is wanted, and this is YAML; attune tune --gemm_size_file reads sizes in YAML, attune check and "
         "attune diff read tuning results: '{}'",
         shown(path.native(), 500));
  CsvBuilder builder(path.string());
  builder.reserve(reader.size_bytes());
  std::vector<char> buffer(2 * kMaxCsvLineBytes);
  while (const size_t count = reader.read(buffer)) {
    builder.append({buffer.data(), count});
    // After the first piece: for a file that is no table at all, a missing line end is the better message.
    if (reader.size_bytes() > kMaxCsvFileBytes) builder.fail_size();
  }
  return builder.finish();
}

CsvDocument CsvDocument::parse(std::string_view content, std::string name, size_t first_line) {
  CsvBuilder builder(std::move(name), first_line);
  builder.reserve(content.size());
  builder.append(content);
  return builder.finish();
}

std::optional<size_t> CsvDocument::find_column(std::string_view column) const {
  const auto exact = std::find(columns_.begin(), columns_.end(), column);
  if (exact != columns_.end()) return static_cast<size_t>(exact - columns_.begin());
  const std::string lower = to_lower(column);
  const auto similar =
      std::find_if(columns_.begin(), columns_.end(), [&](const std::string& name) { return to_lower(name) == lower; });
  if (similar == columns_.end()) return std::nullopt;
  return static_cast<size_t>(similar - columns_.begin());
}

std::string CsvDocument::column_list() const {
  constexpr size_t kMaxCharacters = 400;
  std::vector<std::string> names;
  for (const std::string& column : columns_) names.push_back(shown(column));
  return shown(join(names, ", "), kMaxCharacters);
}

size_t CsvDocument::require_column(std::string_view column) const {
  if (const auto found = find_column(column)) return *found;
  fail(ErrorCode::invalid_input, "{}: the column '{}' is missing, the file has: {}", header_place(), column,
       column_list());
}

std::string CsvDocument::header_place() const { return name_ + ":" + std::to_string(std::max<size_t>(first_line_, 1)); }

size_t CsvDocument::num_cells(size_t row) const {
  const size_t end = row + 1 < rows_.size() ? rows_[row + 1].first_cell : cell_ends_.size();
  return end - rows_[row].first_cell;
}

std::string_view CsvDocument::cell(size_t row, size_t column) const {
  if (column >= num_cells(row)) return {};
  const Row& at = rows_[row];
  const size_t index = at.first_cell + column;
  const bool is_in_content = at.unquoted == kInContent;
  size_t begin = is_in_content ? at.begin : at.unquoted;
  if (column > 0) begin = cell_ends_[index - 1] + (is_in_content ? 1 : 0);  // A comma.
  return trim(std::string_view(is_in_content ? content_ : unquoted_).substr(begin, cell_ends_[index] - begin));
}

void CsvDocument::check_cells(size_t row) const {
  for (size_t i = columns_.size(); i < num_cells(row); ++i) {
    if (cell(row, i).empty()) continue;
    fail(ErrorCode::invalid_input, "{}: {}", where(row), surplus_cells_error(num_cells(row), columns_.size()));
  }
}

std::string surplus_cells_error(size_t num_cells, size_t num_columns) {
  return fmt::format("the row has {} cells and the header {} columns, remove the extra cells", num_cells, num_columns);
}

std::string CsvDocument::where(size_t row) const { return fmt::format("{}:{}", name_, line(row)); }

std::string_view CsvDocument::head() const noexcept {
  return std::string_view(content_).substr(0, rows_.empty() ? content_.size() : rows_.front().begin);
}

std::string_view CsvDocument::raw(size_t row) const noexcept {
  const size_t end = row + 1 < rows_.size() ? rows_[row + 1].begin : content_.size();
  return std::string_view(content_).substr(rows_[row].begin, end - rows_[row].begin);
}

std::string_view CsvDocument::header_text() const noexcept { return std::string_view(content_).substr(0, header_end_); }

std::string csv_cell(std::string_view text) {
  const bool plain = text.find_first_of(",\"\r\n") == std::string_view::npos && trim(text) == text;
  if (plain) return std::string(text);
  std::string quoted(2 * text.size() + 2, '\0');
  quoted.resize(csv_write(quoted.data(), quoted.size(), text.data(), text.size()));
  return quoted;
}

}  // namespace attune
