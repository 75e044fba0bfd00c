// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "attune/problem.h"
#include "ops/family.h"

namespace attune {

/// The key columns of a family as numbers, in the family's order, with the layout of packed weights after them: what
/// is hashed to find a row. A number is the value itself, an enumerator of DType, or a hash of text that has no number.
/// Const after construction; any thread.
class KeyCodes {
 public:
  static constexpr size_t kMost = 16;
  using Codes = std::array<int64_t, kMost>;

  explicit KeyCodes(const FamilySpec& family);

  size_t size() const noexcept { return num_columns_; }
  /// Of a cell, or an attribute's value. Nothing when it is neither empty nor what the column holds.
  std::optional<int64_t> code(size_t column, std::string_view cell) const;
  /// Of a cell that is empty or missing: the column's default. `so_far`: of the columns before it.
  int64_t code_of_none(size_t column, const Codes& so_far) const;
  /// `plain` and nothing are 0.
  static int64_t layout_code(std::string_view layout);

  /// Throws invalid_input for a value that the column cannot hold.
  Codes codes(const Problem& problem) const;
  /// About 5 ns.
  Codes codes(const GemmKey& key) const noexcept;
  ProblemKey hash(const Codes& codes, int64_t layout = 0) const noexcept;
  /// Where M and N stand among the columns; nothing when the family's M is not padded.
  std::optional<size_t> m_column() const noexcept { return m_column_; }
  size_t n_column() const noexcept { return n_column_; }
  const FamilySpec& family() const noexcept { return family_; }

 private:
  enum class Field : uint8_t { m, n, k, batch, in, out, flag, none };

  const FamilySpec& family_;
  uint16_t op_;
  size_t num_columns_, n_column_ = 0;
  std::optional<size_t> m_column_, dtype_column_;
  std::array<Field, kMost> fields_{};
  std::array<uint8_t, kMost> flags_{};  ///< Mask of a Field::flag,
  std::array<uint8_t, kMost> flips_{};  ///< and whether the column is its opposite (trans_b).
  Codes defaults_{};
};

/// Of a family: its place in families().
OpId op_id(const FamilySpec& family);
const FamilySpec& family_of(OpId op);

}  // namespace attune
