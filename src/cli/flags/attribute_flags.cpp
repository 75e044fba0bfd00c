// SPDX-License-Identifier: MIT
#include "cli/flags/attribute_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/flags/arguments.h"
#include "cli/flags/value_checks.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "ops/family.h"

namespace attune {
namespace {

/// Further names of an attribute's flag, those of the older tuners.
struct Spelling {
  std::string_view attribute;
  const char* names;
};
constexpr Spelling kSpellings[] = {
    {"dtype", ",--indtype,--dtype_a"}, {"outdtype", ",--dtype_c"}, {"bias", ",--bias_vector"}, {"w", ",-W"}};

/// An op's attribute of a flag that several ops may have.
struct FlagUse {
  std::string_view op;
  const AttributeSpec* attribute;
};

/// Uses of a flag in the order of families(): the default family first.
std::vector<FlagUse> uses_of(const std::string& flag) {
  std::vector<FlagUse> uses;
  for (const FamilySpec& family : families()) {
    if (!family.tunable) continue;
    for (const AttributeSpec& attribute : family.key) {
      if (flag_of(attribute) == flag) uses.push_back({family.op, &attribute});
    }
  }
  return uses;
}

/// What an attribute means to an op, its values and its default.
std::string meaning_of(const FlagUse& use) {
  const AttributeSpec& attribute = *use.attribute;
  std::string help(attribute.help);
  if (!attribute.allowed.empty())
    help += "; one of " + join({attribute.allowed.begin(), attribute.allowed.end()}, ", ");
  if (!attribute.follows.empty())
    help += fmt::format("; default: that of --{}", attribute.follows);
  else if (attribute.is_device_fp8)
    help += "; default: the 8-bit float of the device";
  else if (attribute.name == "dtype" && use.op == default_family().op)
    help += fmt::format("; default: {} for -m, -n, -k and for sizes in YAML, else {}",
                        name(TuneGemmOptions::kDefaultType), attribute.default_value);
  else if (!attribute.default_value.empty())
    help += fmt::format("; default: {}", attribute.default_value);
  return help;
}

/// The help of a flag: its meaning to the first op that has it, and what differs for others.
std::string help_of(const std::vector<FlagUse>& uses) {
  std::string help = meaning_of(uses.front());
  if (uses.front().attribute->default_value.empty())
    help = "One size: " + help;
  else if (help.find(' ') != 1)  // `x is stored …` names an operand.
    help[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(help[0])));
  std::vector<std::pair<std::string, std::string>> meanings;  // With the names of their ops.
  for (const FlagUse& use : uses) {
    const std::string meaning = meaning_of(use);
    const auto known = std::ranges::find(meanings, meaning, &std::pair<std::string, std::string>::first);
    if (known == meanings.end())
      meanings.emplace_back(meaning, use.op);
    else
      known->second += ", " + std::string(use.op);
  }
  if (uses.front().op != default_family().op) help += fmt::format(" ({})", meanings.front().second);
  for (size_t i = 1; i < meanings.size(); ++i) help += fmt::format(". {}: {}", meanings[i].second, meanings[i].first);
  return help;
}

/// The check of a flag of whole numbers: the range of its attribute, of several ops the widest.
std::function<std::string(const std::string&)> range_check(const std::vector<FlagUse>& uses) {
  int64_t min = std::numeric_limits<int64_t>::max(), max = std::numeric_limits<int64_t>::min();
  for (const FlagUse& use : uses) {
    if (use.attribute->kind != ColumnKind::integer) continue;
    min = std::min(min, use.attribute->min);
    max = std::max(max, use.attribute->max);
  }
  return [min, max](const std::string& text) { return range_error(text, min, max); };
}

void add_attribute_flag(CLI::App& command, const AttributeSpec& attribute, std::vector<AttributeSetting>& settings) {
  const std::string flag = flag_of(attribute);
  if (command.get_option_no_throw(flag) != nullptr) return;  // A flag of another op, or of the command.
  const std::vector<FlagUse> uses = uses_of(flag);
  std::string names = flag;
  for (const auto& [of, others] : kSpellings) {
    if (of == attribute.name) names += others;
  }
  CLI::Option* option = command.add_option_function<std::string>(
      names,
      [&settings, name = std::string(attribute.name), flag](const std::string& value) {
        settings.push_back({name, value, flag});
      },
      help_of(uses));
  if (attribute.kind == ColumnKind::integer) option->type_name("INT")->check(range_check(uses));
  if (attribute.kind == ColumnKind::flag) option->type_name("BOOLEAN")->expected(0, 1)->default_str("1");
}

/// Flags of the older tuners for values of attributes that have a flag of another name.
void add_older_flags(CLI::App& command, std::vector<AttributeSetting>& settings) {
  command.add_option_function<std::string>(
      "--dtype_b",
      [&settings](const std::string& dtype) {
        const AttributeSetting* other = find_setting(settings, "dtype");
        if (other != nullptr && other->value != dtype)
          throw CLI::ValidationError("--dtype_b must equal --dtype_a: this version does not support mixed input types");
        settings.push_back({"dtype", dtype, "--dtype_b"});
      },
      "Type of the weights: must equal --dtype_a");
  command.add_flag_callback(
      "--col_a",
      [&settings] {
        settings.push_back({"trans_a", "1", "--col_a"});
      },
      "x is column-major: --trans_a 1");
  command.add_flag_callback(
      "--col_b",
      [&settings] {
        settings.push_back({"trans_b", "1", "--col_b"});
      },
      "The weights are column-major: --trans_b 1");
}

}  // namespace

void add_attribute_flags(CLI::App& command, std::vector<AttributeSetting>& settings) {
  command.option_defaults()->group("What to tune");
  for (const FamilySpec& family : families()) {
    if (!family.tunable) continue;
    for (const AttributeSpec& attribute : family.key) add_attribute_flag(command, attribute, settings);
  }
  add_older_flags(command, settings);
}

}  // namespace attune
