// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/csv/csv_document.h"
#include "ops/family.h"

namespace attune {

/// The place of a column in a document, under the name that another family's tables have for it, too.
std::optional<size_t> place_of_column(const CsvDocument& document, std::string_view name);

/// Columns that a family's tables have (new_table_header()) and a document lacks.
std::vector<std::string> lacking_columns(const FamilySpec& family, const CsvDocument& document);
/// The lacking columns without which the shape of a row is not known.
std::vector<std::string> lacking_key_columns(const FamilySpec& family, const CsvDocument& document);

}  // namespace attune
