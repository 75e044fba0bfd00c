// SPDX-License-Identifier: MIT
#include "formats/csv/publish.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "core/device_info.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/table.h"
#include "formats/csv/table_columns.h"

namespace attune {
namespace {

bool at_default(const PublishedRow& row, const AttributeSpec& key) {
  return key_value(row.problem, key) == (key.is_device_fp8 ? name(fp8_of(row.gfx)) : key.default_value);
}

bool is_column_of(const FamilySpec& family, std::string_view column) {
  const auto is = [&](std::string_view name) { return equal_ignoring_case(name, column); };
  return std::any_of(family.key.begin(), family.key.end(), [&](const AttributeSpec& key) { return is(key.column); }) ||
         std::any_of(family.results.begin(), family.results.end(), is);
}

/// Throws for a row that no table of the family can hold: a bug of the caller, or an op with a new attribute.
void check_row(const FamilySpec& family, const PublishedRow& row) {
  for (const auto& [attribute, value] : row.problem.attributes()) {
    const auto& key = family.key;
    if (std::any_of(key.begin(), key.end(),
                    [&, name = std::string_view(attribute)](const AttributeSpec& one) { return one.name == name; }))
      continue;
    fail(ErrorCode::invalid_input, "tables of {} have no column for the attribute '{}' of the problem '{}'", family.op,
         attribute, row.problem.key());
  }
  ATTUNE_CHECK(row.problem.op() == family.op, "a row of {} cannot be in a table of {}", row.problem.op(), family.op);
  ATTUNE_CHECK(std::isfinite(row.us) && row.us > 0, "a published time is positive, got {}", row.us);
}

/// Splits a row into its bytes and the empty lines that follow it.
std::pair<std::string_view, std::string_view> split_row(std::string_view raw) {
  const size_t text_end = raw.find_last_not_of(" \t\r\n");
  const size_t line_end = raw.find('\n', text_end == std::string_view::npos ? 0 : text_end);
  if (line_end == std::string_view::npos) return {raw, {}};
  return {raw.substr(0, line_end + 1), raw.substr(line_end + 1)};
}

/// A line of the new file: old bytes or new text.
struct Line {
  std::string text;  ///< With its line end.
  std::vector<std::string> sort_key;
};

/// One publication: the file as read under the lock, and the change to each row.
class TableEdit {
 public:
  TableEdit(const std::filesystem::path& path, const FamilySpec& family, const PublishOptions& options)
      : family_(family), options_(options) {
    report_.path = path;
    std::error_code missing;
    const auto size = std::filesystem::file_size(path, missing);
    if (missing || size == 0) return;  // A file made by mktemp counts as new, too.
    table_ = Table::read(path.string(), &family);
    check_publishable(document(), family);
    columns_ = document().columns();
    head_ = document().header_text();
    line_end_ = document().line_end();
    edits_.resize(document().num_rows());
  }

  void add(const PublishedRow& row) {
    check_row(family_, row);
    std::vector<const TableRow*> old;
    if (table_) {
      for (const TableRow* one : table_->all(row.problem, row.gfx, row.num_units)) {
        if (is_same_row(*one, row)) old.push_back(one);
      }
    }
    if (!old.empty() && keep_back(row, old)) return;
    add_columns(row);
    if (old.empty()) {
      add_new(row);
      return;
    }
    // A file may have the key twice. If the others stayed, the lowest time would win over the new result.
    RowEdit& edit = edits_[old.front()->row];
    if (!edit.replacement) ++report_.num_replaced;
    edit.replacement = &row;
    for (size_t i = 1; i < old.size(); ++i) edits_[old[i]->row].dropped = true;
    if (old.size() > 1) {
      report_.notices.push_back(fmt::format("{}: removed {} of the same key: {}", report_.path.string(),
                                            counted(old.size() - 1, "further row"), row.problem.key()));
    }
  }

  PublishReport finish(bool sort) {
    if (report_.num_added + report_.num_replaced == 0 && !(sort && table_)) return std::move(report_);
    std::vector<Line> lines;
    for (size_t row = 0; table_ && row < edits_.size(); ++row) {
      if (!edits_[row].dropped) lines.push_back(old_line(row));
    }
    for (const auto& row : appended_) lines.push_back(new_line(*row, std::nullopt));
    if (sort) {
      std::stable_sort(lines.begin(), lines.end(),
                       [](const Line& one, const Line& other) { return less(one.sort_key, other.sort_key); });
    }
    std::string content = head_text();
    for (Line& line : lines) {
      content += line.text;
      if (!content.ends_with('\n')) content += line_end_;  // the last line of the old file may lack its end
    }
    if (table_ && content == whole()) return std::move(report_);
    write_file_atomically(report_.path, content);
    report_.written = true;
    return std::move(report_);
  }

 private:
  struct RowEdit {
    bool dropped = false;
    const PublishedRow* replacement = nullptr;
  };

  /// Rows with a tag are alternatives of other tools. A row without a model matches any model until it is replaced.
  bool is_same_row(const TableRow& old, const PublishedRow& row) const {
    const RowEdit& edit = edits_[old.row];
    if (!old.tag.empty() || edit.dropped || old.require != row.require) return false;
    const std::string& model = edit.replacement ? edit.replacement->model : old.device;
    return model == row.model || (!edit.replacement && (model.empty() || row.model.empty()));
  }

  const CsvDocument& document() const { return table_->documents().front(); }

  std::string whole() const {
    std::string content(document().head());
    for (size_t row = 0; row < document().num_rows(); ++row) content += document().raw(row);
    return content;
  }

  bool keep_back(const PublishedRow& row, const std::vector<const TableRow*>& old) {
    if (!options_.update_improved) return false;
    std::optional<double> best;
    for (const TableRow* one : old) {
      if (one->us && (!best || *one->us < *best)) best = one->us;
    }
    if (!best || row.us <= *best * (1 - options_.min_improvement_pct / 100)) return false;
    const double gain_pct = (1 - row.us / *best) * 100;
    report_.kept_back.push_back(
        {row.problem, *best, row.us,
         fmt::format("the gain of {:.2f} % over the old row is below {:g} %", gain_pct, options_.min_improvement_pct)});
    return true;
  }

  void add_new(const PublishedRow& row) {
    // If the same problem is given twice, the later row counts.
    const auto key = fmt::format("{} {} {} {} {}", row.gfx, row.num_units, row.model, text(row.require),
                                 key_text(family_, row.problem));
    const auto [entry, is_new] = appended_index_.emplace(key, appended_.size());
    if (!is_new) {
      appended_[entry->second] = &row;
      return;
    }
    appended_.push_back(&row);
    ++report_.num_added;
  }

  bool has_column(std::string_view column) const {
    return std::any_of(columns_.begin(), columns_.end(),
                       [&](const std::string& one) { return equal_ignoring_case(one, column); });
  }
  void ensure_column(std::string_view column) {
    if (!has_column(column)) columns_.emplace_back(column);
  }

  void ensure_columns(const PublishedRow& row, TableColumn::Place place) {
    for (const TableColumn& column : table_columns()) {
      if (column.place != place) continue;
      if (place != TableColumn::Place::last_if_needed || !column.write(row).empty()) ensure_column(column.name);
    }
  }

  /// Keeps the file's header and its order; missing columns are appended.
  void add_columns(const PublishedRow& row) {
    if (!table_ && columns_.empty()) columns_ = new_table_header(family_);
    ensure_columns(row, TableColumn::Place::first);
    for (const AttributeSpec& key : family_.key) {
      if (!at_default(row, key)) ensure_column(key.column);
    }
    for (const std::string_view needed : {"us", "kernelName"}) {
      if (std::find(family_.results.begin(), family_.results.end(), needed) != family_.results.end())
        ensure_column(needed);
    }
    ensure_columns(row, TableColumn::Place::last);
    ensure_columns(row, TableColumn::Place::last_if_needed);
  }

  std::string head_text() const {
    std::string text(head_);
    for (size_t i = table_ ? document().columns().size() : 0; i < columns_.size(); ++i) {
      if (i > 0) text += ',';
      text += csv_cell(columns_[i]);
    }
    text += line_end_;
    return text;
  }

  Line old_line(size_t row) const {
    const auto [text, empty_lines] = split_row(document().raw(row));
    if (edits_[row].replacement) {
      Line line = new_line(*edits_[row].replacement, row);
      if (!options_.sort) line.text += empty_lines;
      return line;
    }
    const TableRow& old = table_->rows()[row];
    Line line{std::string(text), sort_key(old.gfx, old.num_units, old.problem)};
    if (!options_.sort) line.text += empty_lines;  // empty lines have no place in an order
    return line;
  }

  Line new_line(const PublishedRow& row, std::optional<size_t> replaced) const {
    std::string text;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) text += ',';
      if (const auto own = table_cell(family_, row, columns_[i]))
        text += csv_cell(*own);
      else if (replaced)
        text += csv_cell(document().cell(*replaced, i));
    }
    return {text + std::string(line_end_), sort_key(row.gfx, row.num_units, row.problem)};
  }

  std::vector<std::string> sort_key(std::string_view gfx, int64_t num_units, const Problem& problem) const {
    if (!options_.sort) return {};
    std::vector<std::string> key = {std::string(gfx), std::to_string(num_units)};
    std::string rows;
    for (const AttributeSpec& column : family_.key) {
      const auto value = key_value(problem, column);
      if (column.name == family_.rows) {
        rows = value;
        continue;
      }
      key.push_back(value);
      if (column.name == family_.columns) key.push_back(std::exchange(rows, {}));
    }
    if (!rows.empty()) key.push_back(rows);
    return key;
  }

  /// Compares numbers as numbers and texts as texts.
  static bool less(const std::vector<std::string>& one, const std::vector<std::string>& other) {
    return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end(),
                                        [](const auto& a, const auto& b) {
                                          const auto x = parse_int(a), y = parse_int(b);
                                          return x && y ? *x < *y : a < b;
                                        });
  }

  const FamilySpec& family_;
  PublishOptions options_;
  PublishReport report_;
  std::optional<Table> table_;
  std::vector<std::string> columns_;
  std::string_view head_, line_end_ = "\n";
  std::vector<RowEdit> edits_;
  std::vector<const PublishedRow*> appended_;
  std::map<std::string, size_t> appended_index_;
};

}  // namespace

void check_publishable(const CsvDocument& document, const FamilySpec& family) {
  if (!document.find_column("us")) {
    fail(ErrorCode::invalid_input,
         "{}:1: the file has no column 'us', so it is not a tuned table; name another output file", document.name());
  }
  for (const std::string& column : document.columns()) {
    if (is_column_of(family, column)) continue;
    for (const FamilySpec& other : families()) {
      if (!is_column_of(other, column)) continue;
      fail(ErrorCode::invalid_input,
           "{}:1: tables of {} have no column '{}', this is one of {}; name another output file", document.name(),
           family.op, shown(column), other.op);
    }
  }
}

PublishReport publish(const std::filesystem::path& path, const FamilySpec& family, std::span<const PublishedRow> rows,
                      const PublishOptions& options) {
  check_writable(path);
  const FileLock lock(path, FileLock::Use::shared, options.lock_wait_s);
  remove_stale_temporaries(path);
  TableEdit publication(path, family, options);
  for (const PublishedRow& row : rows) publication.add(row);
  return publication.finish(options.sort);
}

}  // namespace attune
