// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "attune/key.h"
#include "attune/problem.h"
#include "dispatch/table/shape_hash.h"
#include "ops/family.h"

namespace attune {

/// Encodes the key columns of a family as the numbers of a Key, in the family's order, and hashes them. Besides the
/// numbers that attune/key.h names, a text that is no choice and a data type that this build does not know have a hash
/// of the text, which is negative. Equal keys have equal hashes, whether a caller or a row made them; different ones
/// collide with a probability of about 2^-100. Const after construction, hence thread-safe.
class KeyCodes {
 public:
  /// `fp8`: the 8-bit float of the device, for the columns that default to it.
  explicit KeyCodes(const FamilySpec& family, DType fp8 = DType::e4m3fn);

  size_t size() const noexcept { return num_columns_; }
  OpId op() const noexcept { return family_.number; }
  /// Returns the code of a cell or attribute value; nothing if the column cannot hold it.
  std::optional<int64_t> code(size_t column, std::string_view cell) const;
  /// Returns the default code for an empty or missing cell. `so_far`: has the codes of the columns before it.
  int64_t code_of_none(size_t column, const Key& so_far) const;
  /// Returns 0 for `plain` and for an empty name.
  static int64_t layout_code(std::string_view layout);

  /// Returns the short key of a problem. Throws invalid_input for a value that the column cannot hold.
  Key key(const Problem& problem) const;
  /// Whether a key ends with a value that is not its column's default, or with the last one that has none. Only such
  /// keys are hashed and compared, so that an attribute costs those nothing who do not use it. Under 1 ns.
  bool is_short(const Key& key) const noexcept {
    const size_t size = key.size();
    return size == num_required_ ||
           (size > num_required_ && size <= num_columns_ && key[size - 1] != defaults_[size - 1]);
  }
  /// Returns the short form of a key; nothing if it has too many values, or leaves out one that has no default.
  std::optional<Key> shorten(const Key& key) const noexcept;
  /// Whether a key has a value for each column.
  bool is_complete(const Key& key) const noexcept { return key.size() == num_columns_; }
  /// Returns the short form of a complete key. About 5 ns.
  Key trimmed(const Key& key) const noexcept {
    size_t size = num_columns_;
    while (size > num_required_ && key[size - 1] == defaults_[size - 1]) --size;
    return {op(), key.values().first(size)};
  }
  /// Returns the key with the values of all columns; nothing in the same cases.
  std::optional<Key> complete(const Key& key) const noexcept;
  /// Returns a value of a short or complete key.
  int64_t value(const Key& key, size_t column) const noexcept {
    return column < key.size() ? key[column] : defaults_[column];
  }

  /// Hashes a short key without its M.
  GroupKey group_key(const Key& key, int64_t layout = 0) const noexcept {
    return GroupKey::of(family_.number, key.values(), m_column_, layout);
  }
  ProblemKey hash(const Key& key, int64_t layout = 0) const noexcept {
    return group_key(key, layout).with_m(m_of(key));
  }
  bool pads_m() const noexcept { return family_.pads_rows; }
  /// Returns the value of FamilySpec::rows; 0 for a family without it.
  int64_t m_of(const Key& key) const noexcept { return m_column_ < num_columns_ ? key[m_column_] : 0; }
  /// Returns the value of FamilySpec::columns; 0 for a family without it.
  int64_t n_of(const Key& key) const noexcept { return n_column_ < num_columns_ ? key[n_column_] : 0; }
  Key with_m(Key key, int64_t m) const noexcept {
    if (m_column_ < num_columns_) key[m_column_] = m;
    return key;
  }
  /// Whether the weights are packed ahead.
  bool is_packed(const Key& key) const noexcept {
    return family_.is_packed || (packed_column_ < key.size() && key[packed_column_] != 0);
  }
  /// Returns the short key for packed weights; unchanged for a family without them.
  Key with_packed(Key key) const noexcept {
    if (packed_column_ == num_columns_) return key;
    for (size_t i = key.size(); i < packed_column_; ++i) key.push_back(defaults_[i]);
    if (key.size() == packed_column_) key.push_back(1);
    key[packed_column_] = 1;
    return key;
  }
  const FamilySpec& family() const noexcept { return family_; }

 private:
  size_t column_of(std::string_view attribute) const noexcept;

  const FamilySpec& family_;
  size_t num_columns_;
  size_t m_column_, n_column_, packed_column_;  ///< num_columns_: the family has none.
  size_t num_required_ = 0;  ///< Columns up to the last one that is a type or has no default; short keys have them.
  std::array<int64_t, Key::kMaxValues> defaults_{};
  std::array<size_t, Key::kMaxValues> followed_{};  ///< Column of AttributeSpec::follows; num_columns_: none.
};

/// The codes of all families by the numbers of their ops.
class FamilyCodes {
 public:
  FamilyCodes();

  /// Null for a number of no op.
  const KeyCodes* find(OpId op) const noexcept {
    const auto number = static_cast<size_t>(op);
    if (number < num_dense_) return &all_[number];
    const size_t place = number - static_cast<size_t>(OpId::first_registered) + num_dense_;
    return place >= num_dense_ && place < all_.size() ? &all_[place] : nullptr;
  }
  /// Returns the key of a problem. Throws invalid_input for one of no family, and like KeyCodes::key().
  Key key(const Problem& problem) const;
  /// Requires: find() finds it.
  const KeyCodes& of(OpId op) const noexcept { return *find(op); }
  /// The place of a family in families().
  size_t place(const KeyCodes& codes) const noexcept { return static_cast<size_t>(&codes - all_.data()); }
  size_t size() const noexcept { return all_.size(); }
  const KeyCodes& at(size_t place) const { return all_.at(place); }

 private:
  std::vector<KeyCodes> all_;  ///< In the order of families().
  size_t num_dense_ = 0;       ///< The first ones, whose numbers are their places.
};

}  // namespace attune
