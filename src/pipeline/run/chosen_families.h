// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ops/family.h"

namespace attune {

/// A family to tune, and its list of shapes.
struct ChosenFamily {
  const FamilySpec* family = nullptr;
  std::filesystem::path shapes;  ///< Exists.
};

/// A family that was named and cannot be tuned, with the reason.
struct SkippedFamily {
  const FamilySpec* family = nullptr;
  std::string reason;
};

/// The families of a pipeline's run.
struct ChosenFamilies {
  std::vector<ChosenFamily> families;  ///< Each once, in the order in which they are named.
  std::vector<SkippedFamily> skipped;  ///< Each once. At least one is in this list or the one above.
  std::vector<std::string> notices;    ///< Sentences about lists of families that this build cannot tune.
};

/// Finds the families that `names` lists, with commas between them and blanks around them; the prefix `ck_` of older
/// job names is accepted. Without a name: all that this build can tune and that have a list of shapes in the
/// configuration folder (untuned_file_name()). A named family that this build cannot tune, or that has no list there,
/// is skipped. Throws invalid_input for an unknown name, with the list of the known ones, and when there is nothing to
/// tune because lists are missing.
ChosenFamilies choose_families(std::string_view names, const std::filesystem::path& config_dir);

}  // namespace attune
