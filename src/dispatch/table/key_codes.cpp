// SPDX-License-Identifier: MIT
#include "dispatch/table/key_codes.h"

#include <array>

#include "base/error.h"
#include "base/hash.h"
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

KeyCodes::KeyCodes(const FamilySpec& family)
    : family_(family), op_(static_cast<uint16_t>(op_id(family))), num_columns_(family.key.size()) {
  ATTUNE_CHECK(num_columns_ < kMax, "{} has {} key columns", family.op, num_columns_);
  for (size_t i = 0; i < num_columns_; ++i) {
    const std::string_view name = family.key[i].attribute;
    const auto flag = [&](uint8_t mask, bool flip = false) {
      fields_[i] = Field::flag;
      flags_[i] = mask;
      flips_[i] = flip ? 1 : 0;
    };
    fields_[i] = Field::none;
    if (name == "m") fields_[i] = Field::m;
    if (name == "n") fields_[i] = Field::n;
    if (name == "k") fields_[i] = Field::k;
    if (name == "batch") fields_[i] = Field::batch;
    if (name == "dtype" || name == "q_dtype_w") fields_[i] = Field::in;
    if (name == "outdtype") fields_[i] = Field::out;
    if (name == "bias") flag(GemmKey::bias);
    if (name == "scale_ab") flag(GemmKey::scale_ab);
    if (name == "bpreshuffle") flag(GemmKey::bpreshuffle);
    if (name == "trans_a") flag(GemmKey::trans_a);
    if (name == "trans_b") flag(GemmKey::b_is_kn, true);
    if (name == "m") m_column_ = i;
    if (name == "dtype") dtype_column_ = i;
    if (fields_[i] == Field::in) head_mask_ |= kByte << kInShift;
    if (fields_[i] == Field::out) head_mask_ |= kByte << kOutShift;
    if (fields_[i] == Field::flag) head_mask_ |= flags_[i];
    if (fields_[i] == Field::batch) batch_mask_ = ~uint64_t{0};
    if (!family.key[i].default_value.empty()) defaults_[i] = code(i, family.key[i].default_value).value();
  }
}

std::optional<int64_t> KeyCodes::code(size_t column, std::string_view cell) const {
  const ColumnKind kind = family_.key[column].kind;
  if (kind == ColumnKind::integer) {
    if (const auto number = plain_number(cell)) return number;
  }
  if (kind == ColumnKind::dtype) {
    if (const auto dtype = parse_dtype(cell)) return static_cast<int64_t>(*dtype);
  }
  const bool is_text = kind == ColumnKind::text || kind == ColumnKind::dtype;
  const auto value = attribute_value(cell, is_text ? ColumnKind::text : kind);
  if (!value) return std::nullopt;
  return is_text ? code_of_text(*value) : std::stoll(*value);
}

int64_t KeyCodes::code_of_none(size_t column, const Codes& so_far) const {
  // The result type defaults to the inputs' type.
  if (fields_[column] == Field::out && dtype_column_) return so_far[*dtype_column_];
  return defaults_[column];
}

int64_t KeyCodes::layout_code(std::string_view layout) {
  return layout.empty() || layout == "plain" ? 0 : code_of_text(layout);
}

KeyCodes::Codes KeyCodes::codes(const Problem& problem) const {
  Codes codes{};
  for (size_t i = 0; i < num_columns_; ++i) {
    const std::string value = key_value(problem, family_.key[i]);
    const auto number = code(i, value);
    if (!number) {
      fail(ErrorCode::invalid_input, "the attribute '{}' of the problem '{}' cannot be '{}'", family_.key[i].attribute,
           problem.key(), value);
    }
    codes[i] = *number;
  }
  return codes;
}

KeyCodes::Codes KeyCodes::codes(const GemmKey& key) const noexcept {
  Codes codes{};
  for (size_t i = 0; i < num_columns_; ++i) {
    switch (fields_[i]) {
      case Field::m:
        codes[i] = key.m;
        break;
      case Field::n:
        codes[i] = key.n;
        break;
      case Field::k:
        codes[i] = key.k;
        break;
      case Field::batch:
        codes[i] = key.batch;
        break;
      case Field::in:
        codes[i] = static_cast<int64_t>(key.in);
        break;
      case Field::out:
        codes[i] = static_cast<int64_t>(key.out);
        break;
      case Field::flag:
        codes[i] = ((key.flags & flags_[i]) != 0 ? 1 : 0) ^ flips_[i];
        break;
      case Field::none:
        codes[i] = defaults_[i];
        break;
    }
  }
  return codes;
}

void KeyCodes::check_fits(const GemmKey& key) const {
  if (fits(key)) return;
  fail(ErrorCode::invalid_input, "{} does not support this batch, bias or order of operands: batch={} flags={}",
       family_.op, key.batch, key.flags);
}

GroupKey KeyCodes::group_key(const Codes& codes, int64_t layout) const noexcept {
  ShapeWords words{.op = op_, .rest = static_cast<uint64_t>(layout)};
  for (size_t i = 0; i < num_columns_; ++i) {
    const auto code = static_cast<uint64_t>(codes[i]);
    const bool has_no_number = codes[i] < 0;
    switch (fields_[i]) {
      case Field::m:
        break;
      case Field::n:
        words.n = code;
        break;
      case Field::k:
        words.k = code;
        break;
      case Field::batch:
        words.batch = code;
        break;
      case Field::flag:
        words.head |= (code ^ flips_[i]) != 0 ? uint64_t{flags_[i]} : 0;
        break;
      case Field::in:
      case Field::out:
        if (!has_no_number) words.head |= code << (fields_[i] == Field::in ? kInShift : kOutShift);
        break;
      case Field::none:
        break;
    }
    // Numbers that no typed key has: the columns of fmoe, and types without an enumerator.
    const bool is_type = fields_[i] == Field::in || fields_[i] == Field::out;
    if (fields_[i] == Field::none || (is_type && has_no_number))
      words.rest = mix(words.rest ^ code ^ kSecrets[i % kSecrets.size()], kSecrets[3] + i);
  }
  return GroupKey::of(words);
}

OpId op_id(const FamilySpec& family) { return static_cast<OpId>(&family - families().data()); }

const FamilySpec& family_of(OpId op) {
  const auto place = static_cast<size_t>(op);
  ATTUNE_CHECK(place < families().size(), "family {}", place);
  return families()[place];
}

}  // namespace attune
