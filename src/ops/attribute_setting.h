// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/problem.h"
#include "ops/family.h"
#include "ops/op.h"

namespace attune {

/// A value that a person gave to an attribute of all problems of a run, and the flag with which.
struct AttributeSetting {
  std::string attribute;  ///< As in a schema. `dtype` is the type of the inputs, under any name in the family.
  std::string value;      ///< As typed.
  std::string flag;       ///< `--act`, for messages.
};

/// Letters of flags that the program and its commands have themselves: `-h` help, `-i` and `-o` files, `-t` table, `-v`
/// verbose.
inline constexpr std::string_view kCommandLetters = "hiotv";

/// The flag of an attribute: `-m` if its name or its column has one letter, else `--act`. A letter of kCommandLetters
/// is a capital: `-H`, as MIOpenDriver has it.
std::string flag_of(const AttributeSpec& attribute);

/// Whether an op has no problem without the attribute: the size of something.
bool is_size(std::string_view attribute);
/// Whether a setting is a size, so that all of them name one problem and need no file.
bool has_sizes(std::span<const AttributeSetting> settings);
/// The last setting of an attribute; null: none.
const AttributeSetting* find_setting(std::span<const AttributeSetting> settings, std::string_view attribute);

/// Attributes and values in the form of keys, in the order of the settings. Throws invalid_input for a setting without
/// an attribute in the family, and for a value that the attribute cannot have.
std::vector<std::pair<std::string, std::string>> values_of(const FamilySpec& family,
                                                           std::span<const AttributeSetting> settings);
/// The problem that the settings name, normalised. Throws invalid_input, naming the sizes that are missing.
Problem problem_of_size(const FamilySpec& family, std::span<const AttributeSetting> settings, const DeviceInfo& device);

}  // namespace attune
