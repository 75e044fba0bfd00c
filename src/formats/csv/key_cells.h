// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "formats/csv/csv_document.h"
#include "ops/family.h"

namespace attune {

/// Strictness for cells of the key. `shape`: the problem will be tuned, so this build must support the value. `table`:
/// a row may belong to another device or a later version, so an unknown dtype or choice stays as text.
enum class Strictness { shape, table };

/// Reads the key columns of a family in a document as attributes of a problem. The document must outlive it.
class KeyCells {
 public:
  /// Throws invalid_input for a missing column without a default.
  KeyCells(const CsvDocument& document, const FamilySpec& family, Strictness strictness);
  /// Attributes in the order of the family; optional ones only if they differ from their default. `gfx`: the row's
  /// architecture, whose 8-bit float a missing cell may mean; empty: the problem leaves it to the device. Throws
  /// invalid_input with file, line, column and the expected value.
  Problem problem(size_t row, std::string_view gfx = {}) const;
  bool has(std::string_view attribute) const;  ///< True if the file has the column.

 private:
  std::string value(size_t row, size_t index) const;

  const CsvDocument& document_;
  const FamilySpec& family_;
  Strictness strictness_;
  std::vector<std::optional<size_t>> columns_;  ///< One per key column of the family.
};

/// Returns why a cell of a key column is not accepted, such as `column 'N' expects a whole number, got 'seven'`;
/// nothing if it is.
std::optional<std::string> key_cell_error(const AttributeSpec& key, std::string_view cell, Strictness strictness);

/// Converts a cell to an attribute's value: `torch.bfloat16` → `bf16`, `False` → `0`, `128.0` → `128`. nullopt if it is
/// not valid, and for a choice, whose names only the column knows.
std::optional<std::string> attribute_value(std::string_view cell, ColumnKind kind);
/// Like the above, of a key column: `GELU` → `gelu` where the column has this choice.
std::optional<std::string> attribute_value(std::string_view cell, const AttributeSpec& key);
/// The reverse, spelled as by older tools: `bf16` → `torch.bfloat16`, flags of GEMMs `True`, of fmoe `1`.
std::string cell_text(const FamilySpec& family, const AttributeSpec& key, std::string_view value);

/// The value of a key column in a problem; its default if the problem does not have it.
std::string key_value(const Problem& problem, const AttributeSpec& key);
/// Identity of a row's key: the values of all key columns. Equal for a normalised problem and one read from a file.
std::string key_text(const FamilySpec& family, const Problem& problem);

}  // namespace attune
