// SPDX-License-Identifier: MIT
#include "dispatch/table/key_codes.h"

#include "base/error.h"
#include "base/hash.h"
#include "core/candidate.h"
#include "formats/csv/key_cells.h"

namespace attune {
namespace {

/// Returns a negative number, which no enumerator and no extent is.
int64_t code_of_text(std::string_view text) { return static_cast<int64_t>(hash128(text).low | (uint64_t{1} << 63)); }

/// Fast path for plain digits such as `128` and `0`, which nearly all cells of a table are.
std::optional<int64_t> plain_number(std::string_view cell) {
  if (cell.empty() || cell.size() > 9) return std::nullopt;
  int64_t number = 0;
  for (const char c : cell) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

}  // namespace

KeyCodes::KeyCodes(const FamilySpec& family, DType fp8)
    : family_(family),
      num_columns_(family.key.size()),
      m_column_(column_of(family.rows)),
      n_column_(column_of(family.columns)),
      packed_column_(column_of(family.packed)) {
  ATTUNE_CHECK(num_columns_ <= Key::kMaxValues, "{} has {} key columns", family.op, num_columns_);
  for (size_t i = 0; i < num_columns_; ++i) {
    const std::string_view default_value = family.key[i].is_device_fp8 ? name(fp8) : family.key[i].default_value;
    if (!default_value.empty()) defaults_[i] = code(i, default_value).value();
    followed_[i] = column_of(family.key[i].follows);
    ATTUNE_CHECK(family.key[i].follows.empty() || followed_[i] < i, "a column of {} follows none before it", family.op);
    if (default_value.empty() || family.key[i].kind == ColumnKind::dtype) num_required_ = i + 1;
  }
  for (const size_t column : {m_column_, n_column_}) {
    ATTUNE_CHECK(column == num_columns_ || column < num_required_, "a size of {} has a default", family.op);
  }
}

size_t KeyCodes::column_of(std::string_view attribute) const noexcept {
  size_t column = 0;
  while (column < num_columns_ && family_.key[column].name != attribute) ++column;
  return column;
}

std::optional<int64_t> KeyCodes::code(size_t column, std::string_view cell) const {
  const ColumnKind kind = family_.key[column].kind;
  if (kind == ColumnKind::integer) {
    if (const auto number = plain_number(cell)) return number;
  }
  if (kind == ColumnKind::dtype) {
    if (const auto dtype = parse_dtype(cell)) return static_cast<int64_t>(*dtype);
  }
  if (kind == ColumnKind::choice) {
    // A name of a later version has no number: its rows serve no key of this one.
    const auto number = choice_number(family_.key[column].allowed, cell);
    if (number) return static_cast<int64_t>(*number);
  }
  const bool is_text = kind == ColumnKind::choice || kind == ColumnKind::text || kind == ColumnKind::dtype;
  const auto value = attribute_value(cell, is_text ? ColumnKind::text : kind);
  if (!value) return std::nullopt;
  return is_text ? code_of_text(*value) : std::stoll(*value);
}

int64_t KeyCodes::code_of_none(size_t column, const Key& so_far) const {
  return followed_[column] < column ? so_far[followed_[column]] : defaults_[column];
}

int64_t KeyCodes::layout_code(std::string_view layout) {
  return layout.empty() || layout == kPlainLayout ? 0 : code_of_text(layout);
}

Key KeyCodes::key(const Problem& problem) const {
  Key key;
  key.resize(op(), num_columns_);
  for (size_t i = 0; i < num_columns_; ++i) {
    const std::string value = key_value(problem, family_.key[i]);
    const auto number = code(i, value);
    if (!number) {
      fail(ErrorCode::invalid_input, "the attribute '{}' of the problem '{}' cannot be '{}'", family_.key[i].name,
           problem.key(), value);
    }
    key[i] = *number;
  }
  return trimmed(key);
}

std::optional<Key> KeyCodes::shorten(const Key& key) const noexcept {
  const auto whole = complete(key);
  if (!whole) return std::nullopt;
  return trimmed(*whole);
}

std::optional<Key> KeyCodes::complete(const Key& key) const noexcept {
  if (key.size() > num_columns_) return std::nullopt;
  Key whole = key;
  whole.resize(op(), num_columns_);
  for (size_t i = key.size(); i < num_columns_; ++i) {
    if (family_.key[i].default_value.empty()) return std::nullopt;
    whole[i] = code_of_none(i, whole);
  }
  return whole;
}

Key FamilyCodes::key(const Problem& problem) const {
  for (const KeyCodes& codes : all_) {
    if (codes.family().op == problem.op()) return codes.key(problem);
  }
  fail(ErrorCode::invalid_input, "no family has this op: '{}'", problem.op());
}

FamilyCodes::FamilyCodes() : all_(families().begin(), families().end()) {
  while (num_dense_ < all_.size() && all_[num_dense_].op() == static_cast<OpId>(num_dense_)) ++num_dense_;
  for (size_t i = num_dense_; i < all_.size(); ++i) {
    const size_t number = static_cast<size_t>(OpId::first_registered) + i - num_dense_;
    ATTUNE_CHECK(static_cast<size_t>(all_[i].op()) == number, "the numbers of the ops have a gap at {}",
                 all_[i].family().op);
  }
}

}  // namespace attune
