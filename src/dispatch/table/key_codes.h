// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "attune/gemm.h"
#include "attune/problem.h"
#include "dispatch/table/shape_hash.h"
#include "ops/family.h"

namespace attune {

/// Encodes the key columns of a family as numbers, in the family's order, and hashes them. A number is the value
/// itself, an enumerator of DType, or a hash of a text that is neither. Equal numbers have equal hashes, whether they
/// come from a typed key or a row; different ones collide with a probability of about 2^-100. Const after construction,
/// hence thread-safe.
class KeyCodes {
 public:
  static constexpr size_t kMax = 16;
  using Codes = std::array<int64_t, kMax>;

  explicit KeyCodes(const FamilySpec& family);

  size_t size() const noexcept { return num_columns_; }
  /// Returns the code of a cell or attribute value; nothing if the column cannot hold it.
  std::optional<int64_t> code(size_t column, std::string_view cell) const;
  /// Returns the default code for an empty or missing cell. `so_far`: codes of the columns before it.
  int64_t code_of_none(size_t column, const Codes& so_far) const;
  /// Returns 0 for `plain` and for an empty name.
  static int64_t layout_code(std::string_view layout);

  /// Throws invalid_input for a value that the column cannot hold.
  Codes codes(const Problem& problem) const;
  Codes codes(const GemmKey& key) const noexcept;
  /// Hashes a typed key without its M; ignores fields that the family has no column for. About 5 ns.
  GroupKey group_key(const GemmKey& key) const noexcept {
    return GroupKey::of({op_, head_of(key) & head_mask_, static_cast<uint64_t>(key.n), static_cast<uint64_t>(key.k),
                         static_cast<uint64_t>(key.batch) & batch_mask_, 0});
  }
  ProblemKey hash(const GemmKey& key) const noexcept { return group_key(key).with_m(key.m); }
  GroupKey group_key(const Codes& codes, int64_t layout = 0) const noexcept;
  ProblemKey hash(const Codes& codes, int64_t layout = 0) const noexcept {
    return group_key(codes, layout).with_m(m_of(codes));
  }
  /// Whether two typed keys are the same problem: equal in all fields that the family has columns for. About 2 ns.
  bool same(const GemmKey& a, const GemmKey& b) const noexcept {
    return a.m == b.m && a.n == b.n && a.k == b.k && ((head_of(a) ^ head_of(b)) & head_mask_) == 0 &&
           ((static_cast<uint64_t>(a.batch) ^ static_cast<uint64_t>(b.batch)) & batch_mask_) == 0;
  }
  /// Whether the family has columns for the batch, the bias and the operand orders that a key asks for. Without a
  /// column the field would be ignored and another product computed.
  bool fits(const GemmKey& key) const noexcept {
    constexpr uint64_t kAsked = GemmKey::bias | GemmKey::trans_a | GemmKey::b_is_kn;
    return (key.batch == 1 || batch_mask_ != 0) && (key.flags & kAsked & ~head_mask_) == 0;
  }
  /// Throws invalid_input unless fits(key).
  void check_fits(const GemmKey& key) const;
  bool pads_m() const noexcept { return family_.pads_rows; }
  /// Returns M from the codes; 0 for a family without M.
  int64_t m_of(const Codes& codes) const noexcept { return m_column_ ? codes[*m_column_] : 0; }
  const FamilySpec& family() const noexcept { return family_; }

 private:
  static constexpr uint64_t kByte = 0xff;
  static constexpr int kInShift = 16, kOutShift = 8;
  static uint64_t head_of(const GemmKey& key) noexcept {
    return uint64_t{key.flags} | static_cast<uint64_t>(key.out) << kOutShift |
           static_cast<uint64_t>(key.in) << kInShift;
  }
  enum class Field : uint8_t { m, n, k, batch, in, out, flag, none };

  const FamilySpec& family_;
  uint16_t op_;
  size_t num_columns_;
  std::optional<size_t> m_column_, dtype_column_;
  uint64_t head_mask_ = 0, batch_mask_ = 0;  ///< Masks of the GemmKey fields that have columns.
  std::array<Field, kMax> fields_{};
  std::array<uint8_t, kMax> flags_{};  ///< Mask of a Field::flag column.
  std::array<uint8_t, kMax> flips_{};  ///< Whether the column is the opposite of the flag (trans_b).
  Codes defaults_{};
};

/// The OpId of a family is its index in families().
OpId op_id(const FamilySpec& family);
const FamilySpec& family_of(OpId op);

}  // namespace attune
