// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_key.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "ops/family.h"

namespace attune {
namespace {

/// The field of an attribute; none: GemmKey has no field for it.
struct FieldName {
  std::string_view attribute;
  GemmField field;
};
constexpr std::array<FieldName, 12> kFieldNames = {{{"m", GemmField::m},
                                                    {"n", GemmField::n},
                                                    {"k", GemmField::k},
                                                    {"batch", GemmField::batch},
                                                    {"dtype", GemmField::in},
                                                    {"q_dtype_w", GemmField::in},
                                                    {"outdtype", GemmField::out},
                                                    {"bias", GemmField::bias},
                                                    {"scale_ab", GemmField::scale_ab},
                                                    {"bpreshuffle", GemmField::bpreshuffle},
                                                    {"trans_a", GemmField::trans_a},
                                                    {"trans_b", GemmField::trans_b}}};

void set(GemmKey& key, GemmField field, int64_t value) {
  const auto flag = [&](uint8_t mask, bool is_set) {
    key.flags = static_cast<uint8_t>(is_set ? key.flags | mask : key.flags & ~mask);
  };
  switch (field) {
    case GemmField::m:
      key.m = value;
      break;
    case GemmField::n:
      key.n = value;
      break;
    case GemmField::k:
      key.k = value;
      break;
    case GemmField::batch:
      key.batch = value;
      break;
    case GemmField::in:
      key.in = static_cast<DType>(value);
      break;
    case GemmField::out:
      key.out = static_cast<DType>(value);
      break;
    case GemmField::bias:
      flag(GemmKey::bias, value != 0);
      break;
    case GemmField::scale_ab:
      flag(GemmKey::scale_ab, value != 0);
      break;
    case GemmField::bpreshuffle:
      flag(GemmKey::bpreshuffle, value != 0);
      break;
    case GemmField::trans_a:
      flag(GemmKey::trans_a, value != 0);
      break;
    case GemmField::trans_b:
      flag(GemmKey::b_is_kn, value == 0);
      break;
  }
}

/// The fields of a family's first attributes. An attribute without a field, and those after it, have their defaults.
struct FamilyFields {
  struct Column {
    GemmField field;
    int64_t default_value;
  };
  OpId op;
  std::vector<Column> columns;
  size_t num_required = 0;     ///< Columns up to the last one that is a type or has no default.
  unsigned unknown_flags = 0;  ///< Flags of a key that must not be set.
  bool has_batch = false;
};

const FieldName* find_field(std::string_view attribute) {
  const auto found =
      std::ranges::find_if(kFieldNames, [&](const FieldName& name) { return name.attribute == attribute; });
  return found == kFieldNames.end() ? nullptr : found;
}

FamilyFields fields_of(const FamilySpec& family) {
  FamilyFields made{.op = family.number, .columns = {}};
  for (const AttributeSpec& one : family.key) {
    const FieldName* const name = find_field(one.name);
    if (name == nullptr) break;
    made.columns.push_back({name->field, parse_int(one.default_value).value_or(0)});
  }
  const auto has = [&](GemmField field) {
    return std::ranges::any_of(made.columns, [&](const auto& column) { return column.field == field; });
  };
  for (size_t i = 0; i < family.key.size(); ++i) {
    if (family.key[i].kind == ColumnKind::dtype || family.key[i].default_value.empty()) made.num_required = i + 1;
  }
  for (const GemmField field : {GemmField::bias, GemmField::trans_a, GemmField::trans_b}) {
    if (!has(field)) made.unknown_flags |= gemm_key::flag_of(field);
  }
  made.has_batch = has(GemmField::batch);
  return made;
}

/// The fields of a matrix product; null for another op.
const FamilyFields* find_fields(OpId op) {
  static const std::vector<FamilyFields> all = [] {
    std::vector<FamilyFields> made;
    for (const FamilySpec& family : families()) made.push_back(fields_of(family));
    std::erase_if(made, [](const FamilyFields& one) { return one.columns.size() < one.num_required; });
    return made;
  }();
  const auto found = std::ranges::find_if(all, [&](const FamilyFields& one) { return one.op == op; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

bool gemm_key::key_of_family(const GemmKey& from, Key& to) noexcept {
  const FamilyFields* const own = find_fields(from.op);
  if (own == nullptr || (from.flags & own->unknown_flags) != 0 || (!own->has_batch && from.batch != 1)) return false;
  size_t size = own->num_required;
  for (size_t i = 0; i < own->columns.size(); ++i) {
    to[i] = value(own->columns[i].field, from);
    if (i >= size && to[i] != own->columns[i].default_value) size = i + 1;
  }
  to.resize(from.op, size);
  return true;
}

Key checked_key(const GemmKey& from) {
  Key key;
  if (to_key(from, key)) return key;
  for (const FamilySpec& family : families()) {
    if (family.number == from.op)
      fail(ErrorCode::invalid_input, "{} does not support this batch, bias or order of operands: batch={} flags={}",
           family.op, from.batch, from.flags);
  }
  fail(ErrorCode::invalid_input, "unknown op number: {}", static_cast<int>(from.op));
}

std::optional<GemmKey> to_gemm_key(const Key& key) noexcept {
  const FamilyFields* const own = find_fields(key.op());
  if (own == nullptr || key.size() > own->columns.size()) return std::nullopt;
  GemmKey made{.op = key.op()};
  for (size_t i = 0; i < key.size(); ++i) set(made, own->columns[i].field, key[i]);
  Key again;
  if (to_key(made, again) && again == key) return made;
  return std::nullopt;
}

}  // namespace attune
