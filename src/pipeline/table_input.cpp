// SPDX-License-Identifier: MIT
#include "pipeline/table_input.h"

namespace attune {

void FindingList::add(FindingKind kind, const TableRow& row, std::string detail) {
  findings_.push_back({kind, table_.documents()[row.file].name(), row.line, row.problem.key(), std::move(detail)});
}

void FindingList::add(FindingKind kind, size_t document, size_t line, std::string detail) {
  findings_.push_back({kind, table_.documents()[document].name(), line, "", std::move(detail)});
}

}  // namespace attune
