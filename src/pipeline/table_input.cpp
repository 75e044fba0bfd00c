// SPDX-License-Identifier: MIT
#include "pipeline/table_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/candidate.h"
#include "formats/csv/key_cells.h"

namespace attune {

Hash128 PaddedRows::key_of(const TableRow& row, const Problem& problem) const {
  return hash128(fmt::format("{} {} {} {} {} {}", row.gfx, row.num_units, row.device, text(row.require),
                             layout_in_cell(row.layout), key_text(family_, problem)));
}

void PaddedRows::add(RowPlace place, const TableRow& row) {
  if (family_.pads_rows && row.us && row.tag.empty()) rows_.push_back({key_of(row, row.problem), place, *row.us});
}

void PaddedRows::sort() {
  // Of rows with one key, RowRank goes by the file and the time: they state the same requirement.
  const auto rank = [](const Row& row) {
    return std::tuple(row.key, row.place.file, static_cast<float>(row.us), row.place.row);
  };
  std::sort(rows_.begin(), rows_.end(), [&](const Row& one, const Row& other) { return rank(one) < rank(other); });
}

const PaddedRows::Row* PaddedRows::find(const TableRow& row, int64_t m) const {
  const Hash128 key = key_of(row, row.problem.with(family_.rows, std::to_string(m)));
  const auto found = std::lower_bound(rows_.begin(), rows_.end(), key,
                                      [](const Row& one, const Hash128& wanted) { return one.key < wanted; });
  return found != rows_.end() && found->key == key ? &*found : nullptr;
}

void FindingList::add(FindingKind kind, const TableRow& row, std::string detail) {
  findings_.push_back({kind, documents_[row.file].name(), row.line, row.problem.key(), std::move(detail)});
}

void FindingList::add(FindingKind kind, size_t document, size_t line, std::string detail) {
  findings_.push_back({kind, documents_[document].name(), line, "", std::move(detail)});
}

}  // namespace attune
