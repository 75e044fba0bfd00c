// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "formats/csv/csv_document.h"
#include "ops/family.h"

namespace attune {

/// How strictly a cell of the key is read. `shape`: it will be tuned, so it must mean something to this build.
/// `table`: a row may belong to another device or a later version; a dtype that is not known stays as text.
enum class Strictness { shape, table };

/// The key columns of a family in a document, as attributes of a problem. The document must outlive it.
class KeyCells {
 public:
  /// Throws invalid_input for a column that is missing and has no default.
  KeyCells(const CsvDocument& document, const FamilySpec& family, Strictness strictness);
  /// Attributes in the order of the family; optional ones only when not at their default. Throws invalid_input with
  /// file, line, column and what is wanted.
  Problem problem(size_t row) const;
  bool has(std::string_view attribute) const;  ///< The file has the column.

 private:
  std::string value(size_t row, size_t index) const;

  const CsvDocument& document_;
  const FamilySpec& family_;
  Strictness strictness_;
  std::vector<std::optional<size_t>> columns_;  ///< Of each key column of the family.
};

/// A cell as an attribute's value: `torch.bfloat16` → `bf16`, `False` → `0`, `128.0` → `128`. Nothing if it is none.
std::optional<std::string> attribute_value(std::string_view cell, ColumnKind kind);
/// The reverse, as older tools write it: `bf16` → `torch.bfloat16`, flags of GEMMs `True`, of fmoe `1`.
std::string cell_text(const FamilySpec& family, const KeyColumn& key, std::string_view value);

/// The value of a key column in a problem, with its default when it is left out.
std::string key_value(const Problem& problem, const KeyColumn& key);
/// Identity of a row's key: the values of all key columns. The same for a normalised problem and one read from a file.
std::string key_text(const FamilySpec& family, const Problem& problem);

}  // namespace attune
