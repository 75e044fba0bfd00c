// SPDX-License-Identifier: MIT
#include "formats/csv/key_cells.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "core/device_info.h"

namespace attune {
namespace {

/// True if a text may be a value in a problem's key.
bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c > ' ' && c < 127 && c != '=' && c != ',' && c != '"'; });
}

/// The expected content of a cell, for a message.
std::string wanted(const AttributeSpec& key) {
  switch (key.kind) {
    case ColumnKind::integer:
      return fmt::format("a whole number from {} to {}", key.min, key.max);
    case ColumnKind::flag:
      return "True or False";
    case ColumnKind::dtype:
      if (!key.allowed.empty()) return "one of " + join({key.allowed.begin(), key.allowed.end()}, ", ");
      return "a data type such as torch.bfloat16";
    case ColumnKind::text:
      return "a word without blanks";
    case ColumnKind::choice:
      return "one of " + join({key.allowed.begin(), key.allowed.end()}, ", ");
  }
  return {};
}

bool in_range(const AttributeSpec& key, const std::string& value) {
  if (key.kind == ColumnKind::integer) {
    const auto number = parse_int(value);
    return number && key.contains(*number);
  }
  if (key.kind != ColumnKind::dtype || key.allowed.empty()) return true;
  return std::ranges::find(key.allowed, value) != key.allowed.end();
}

/// Returns the value of a cell; nothing if it is not accepted.
std::optional<std::string> accepted_value(const AttributeSpec& key, std::string_view cell, Strictness strictness) {
  auto value = attribute_value(cell, key);
  // Another device's row may have values that cannot be tuned on this machine: a dtype, or -1 for "any".
  if (strictness == Strictness::table) {
    const bool has_names = key.kind == ColumnKind::dtype || key.kind == ColumnKind::choice;
    return value || !has_names ? value : attribute_value(cell, ColumnKind::text);
  }
  // The device decides which format it is, in Op::normalise().
  if (!value && key.kind == ColumnKind::dtype && trim(cell) == kDeviceFp8) {
    const bool takes_one =
        in_range(key, std::string(name(DType::e4m3fn))) || in_range(key, std::string(name(DType::e4m3fnuz)));
    return takes_one ? std::optional(std::string(kDeviceFp8)) : std::nullopt;
  }
  return value && in_range(key, *value) ? value : std::nullopt;
}

}  // namespace

std::optional<std::string> key_cell_error(const AttributeSpec& key, std::string_view cell, Strictness strictness) {
  if (cell.empty() && !key.default_value.empty()) return std::nullopt;
  if (accepted_value(key, cell, strictness)) return std::nullopt;
  // A table may have numbers beyond the family's range, but the range says more of a number that is refused.
  const bool is_any_number = strictness == Strictness::table && key.kind == ColumnKind::integer && !parse_double(cell);
  return fmt::format("column '{}' expects {}, got '{}'", key.column, is_any_number ? "a whole number" : wanted(key),
                     shown(cell));
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

std::optional<std::string> attribute_value(std::string_view cell, const AttributeSpec& key) {
  if (key.kind != ColumnKind::choice) return attribute_value(cell, key.kind);
  const auto number = choice_number(key.allowed, trim(cell));
  return number ? std::optional(std::string(key.allowed[*number])) : std::nullopt;
}

std::string cell_text(const FamilySpec& family, const AttributeSpec& key, std::string_view value) {
  if (key.kind == ColumnKind::dtype) {
    const auto dtype = parse_dtype(value);
    return std::string(dtype ? torch_name(*dtype) : value);
  }
  // use_g1u1 and doweight_stage1 are numbers in every shipped file; the flags of a GEMM are Python's True and False.
  if (key.kind == ColumnKind::flag && family.op != "fmoe") return value == "1" ? "True" : "False";
  return std::string(value);
}

std::string key_value(const Problem& problem, const AttributeSpec& key) {
  if (problem.has(key.name)) return problem.text(key.name);
  if (!key.follows.empty() && problem.has(key.follows)) return problem.text(key.follows);
  return std::string(key.default_value);
}

std::string key_text(const FamilySpec& family, const Problem& problem) {
  std::string text;
  for (const AttributeSpec& key : family.key) text += key_value(problem, key) + ' ';
  return text;
}

KeyCells::KeyCells(const CsvDocument& document, const FamilySpec& family, Strictness strictness)
    : document_(document), family_(family), strictness_(strictness) {
  for (const AttributeSpec& key : family.key) {
    if (key.default_value.empty())
      columns_.emplace_back(document.require_column(key.column));
    else
      columns_.push_back(document.find_column(key.column));
  }
}

bool KeyCells::has(std::string_view attribute) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (family_.key[i].name == attribute) return columns_[i].has_value();
  }
  return false;
}

std::string KeyCells::value(size_t row, size_t index) const {
  const AttributeSpec& key = family_.key[index];
  const std::string_view cell = columns_[index] ? document_.cell(row, *columns_[index]) : std::string_view();
  if (cell.empty() && !key.default_value.empty()) return {};
  if (auto value = accepted_value(key, cell, strictness_)) return *std::move(value);
  fail(ErrorCode::invalid_input, "{}: {}", document_.where(row), key_cell_error(key, cell, strictness_).value());
}

Problem KeyCells::problem(size_t row, std::string_view gfx) const {
  std::vector<std::pair<std::string, std::string>> attributes;
  const auto stated = [&](std::string_view attribute) {
    const auto found = std::ranges::find_if(attributes, [&](const auto& one) { return one.first == attribute; });
    return found == attributes.end() ? std::string() : found->second;
  };
  for (size_t i = 0; i < columns_.size(); ++i) {
    const AttributeSpec& key = family_.key[i];
    std::string own = value(row, i);
    if (own.empty() && !key.follows.empty()) own = stated(key.follows);
    if (own.empty() && key.is_device_fp8) {
      if (gfx.empty()) continue;
      own = name(fp8_of(gfx));
    }
    if (own.empty()) own = key.default_value;
    if (!key.omits(own)) attributes.emplace_back(key.name, std::move(own));
  }
  return Problem(std::string(family_.op), std::move(attributes));
}

}  // namespace attune
