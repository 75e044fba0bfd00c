// SPDX-License-Identifier: MIT
#include "formats/csv/key_cells.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "ops/extent.h"
#include "ops/op.h"

namespace attune {
namespace {

const AttributeSpec* find_attribute(const FamilySpec& family, std::string_view attribute) {
  const Op* op = find_op(family.op);
  if (!op) return nullptr;
  for (const AttributeSpec& spec : op->schema()) {
    if (spec.name == attribute) return &spec;
  }
  return nullptr;
}

/// True if a text may be a value in a problem's key.
bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c > ' ' && c < 127 && c != '=' && c != ',' && c != '"'; });
}

/// The expected content of a cell, for a message.
std::string wanted(const FamilySpec& family, const KeyColumn& key) {
  const AttributeSpec* spec = find_attribute(family, key.attribute);
  const NumberRange range = number_range(family, key);
  switch (key.kind) {
    case ColumnKind::integer:
      return fmt::format("a whole number from {} to {}", range.min, range.max);
    case ColumnKind::flag:
      return "True or False";
    case ColumnKind::dtype:
      if (spec && !spec->allowed.empty()) return "one of " + join({spec->allowed.begin(), spec->allowed.end()}, ", ");
      return "a data type such as torch.bfloat16";
    case ColumnKind::text:
      return "a word without blanks";
    case ColumnKind::choice:
      return "one of " + join({key.choices.begin(), key.choices.end()}, ", ");
  }
  return {};
}

bool in_range(const FamilySpec& family, const KeyColumn& key, const std::string& value) {
  const AttributeSpec* spec = find_attribute(family, key.attribute);
  if (key.kind == ColumnKind::integer) {
    const auto number = parse_int(value);
    return number && number_range(family, key).contains(*number);
  }
  if (key.kind != ColumnKind::dtype || !spec || spec->allowed.empty()) return true;
  return std::find(spec->allowed.begin(), spec->allowed.end(), value) != spec->allowed.end();
}

/// Returns the value of a cell; nothing if it is not accepted.
std::optional<std::string> accepted_value(const FamilySpec& family, const KeyColumn& key, std::string_view cell,
                                          Strictness strictness) {
  auto value = attribute_value(cell, key);
  // Another device's row may have values that cannot be tuned on this machine: a dtype, or -1 for "any".
  if (strictness == Strictness::table) {
    const bool has_names = key.kind == ColumnKind::dtype || key.kind == ColumnKind::choice;
    return value || !has_names ? value : attribute_value(cell, ColumnKind::text);
  }
  // The device decides which format it is, in Op::normalise().
  if (!value && key.kind == ColumnKind::dtype && trim(cell) == kDeviceFp8) {
    const bool takes_one = in_range(family, key, std::string(name(DType::e4m3fn))) ||
                           in_range(family, key, std::string(name(DType::e4m3fnuz)));
    return takes_one ? std::optional(std::string(kDeviceFp8)) : std::nullopt;
  }
  return value && in_range(family, key, *value) ? value : std::nullopt;
}

}  // namespace

NumberRange number_range(const FamilySpec& family, const KeyColumn& key) {
  const AttributeSpec* spec = find_attribute(family, key.attribute);
  return spec ? NumberRange{spec->min, spec->max} : NumberRange{1, kMaxExtent};
}

std::optional<std::string> key_cell_error(const FamilySpec& family, const KeyColumn& key, std::string_view cell,
                                          Strictness strictness) {
  if (cell.empty() && !key.default_value.empty()) return std::nullopt;
  if (accepted_value(family, key, cell, strictness)) return std::nullopt;
  // A table may have numbers beyond the family's range, but the range says more of a number that is refused.
  const bool is_any_number = strictness == Strictness::table && key.kind == ColumnKind::integer && !parse_double(cell);
  return fmt::format("column '{}' expects {}, got '{}'", key.column,
                     is_any_number ? "a whole number" : wanted(family, key), shown(cell));
}

std::optional<std::string> attribute_value(std::string_view cell, ColumnKind kind) {
  cell = trim(cell);
  if (kind == ColumnKind::dtype) {
    if (const auto dtype = parse_dtype(cell)) return std::string(name(*dtype));
    return std::nullopt;
  }
  if (kind == ColumnKind::choice) return std::nullopt;
  if (kind == ColumnKind::text) return is_word(cell) ? std::optional(std::string(cell)) : std::nullopt;
  if (kind == ColumnKind::flag) {
    if (const auto flag = parse_bool(cell)) return *flag ? "1" : "0";
  }
  if (const auto number = parse_int(cell)) {
    if (kind == ColumnKind::flag) return std::nullopt;
    return std::to_string(*number);
  }
  // Tools that support missing values write whole numbers as 128.0. Beyond 2^53 a double has lost digits.
  const auto number = parse_double(cell);
  if (!number || *number != std::floor(*number) || std::abs(*number) > 9007199254740992.0) return std::nullopt;
  if (kind == ColumnKind::flag && *number != 0 && *number != 1) return std::nullopt;
  return std::to_string(static_cast<int64_t>(*number));
}

std::optional<std::string> attribute_value(std::string_view cell, const KeyColumn& key) {
  if (key.kind != ColumnKind::choice) return attribute_value(cell, key.kind);
  const auto number = choice_number(key.choices, trim(cell));
  return number ? std::optional(std::string(key.choices[*number])) : std::nullopt;
}

std::string cell_text(const FamilySpec& family, const KeyColumn& key, std::string_view value) {
  if (key.kind == ColumnKind::dtype) {
    const auto dtype = parse_dtype(value);
    return std::string(dtype ? torch_name(*dtype) : value);
  }
  // use_g1u1 and doweight_stage1 are numbers in every shipped file; the flags of a GEMM are Python's True and False.
  if (key.kind == ColumnKind::flag && family.op != "fmoe") return value == "1" ? "True" : "False";
  return std::string(value);
}

std::string key_value(const Problem& problem, const KeyColumn& key) {
  if (problem.has(key.attribute)) return problem.text(key.attribute);
  if (!key.follows.empty() && problem.has(key.follows)) return problem.text(key.follows);
  return std::string(key.default_value);
}

std::string key_text(const FamilySpec& family, const Problem& problem) {
  std::string text;
  for (const KeyColumn& key : family.key) text += key_value(problem, key) + ' ';
  return text;
}

KeyCells::KeyCells(const CsvDocument& document, const FamilySpec& family, Strictness strictness)
    : document_(document), family_(family), strictness_(strictness) {
  for (const KeyColumn& key : family.key) {
    if (key.default_value.empty())
      columns_.emplace_back(document.require_column(key.column));
    else
      columns_.push_back(document.find_column(key.column));
  }
}

bool KeyCells::has(std::string_view attribute) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (family_.key[i].attribute == attribute) return columns_[i].has_value();
  }
  return false;
}

std::string KeyCells::value(size_t row, size_t index) const {
  const KeyColumn& key = family_.key[index];
  const std::string_view cell = columns_[index] ? document_.cell(row, *columns_[index]) : std::string_view();
  if (cell.empty() && !key.default_value.empty()) return {};
  if (auto value = accepted_value(family_, key, cell, strictness_)) return *std::move(value);
  fail(ErrorCode::invalid_input, "{}: {}", document_.where(row),
       key_cell_error(family_, key, cell, strictness_).value());
}

Problem KeyCells::problem(size_t row) const {
  std::vector<std::pair<std::string, std::string>> attributes;
  const auto stated = [&](std::string_view attribute) {
    const auto found = std::ranges::find_if(attributes, [&](const auto& one) { return one.first == attribute; });
    return found == attributes.end() ? std::string() : found->second;
  };
  for (size_t i = 0; i < columns_.size(); ++i) {
    const KeyColumn& key = family_.key[i];
    std::string own = value(row, i);
    if (own.empty() && !key.follows.empty()) own = stated(key.follows);
    if (own.empty()) own = key.default_value;
    if (!key.optional || own != key.default_value) attributes.emplace_back(key.attribute, std::move(own));
  }
  return Problem(std::string(family_.op), std::move(attributes));
}

}  // namespace attune
