// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "ops/family.h"
#include "pipeline/run/git_history.h"

namespace attune {

/// Which shapes of a list a pipeline's run is about (`--only`): each that meets any of the conditions.
struct ShapeChoice {
  bool changed = false;  ///< The list does not have them at the commit of `since`.
  bool stale = false;    ///< No row serves them, or their row's kernel cannot run: its versions are void.
  std::string since;     ///< As GitHistory takes it.
  bool is_of_all() const noexcept { return !changed && !stale; }
};
/// Reads `changed`, `stale` or both with a comma between them; empty: all shapes. Throws invalid_input for other words,
/// and for a commit without `changed`.
ShapeChoice parse_shape_choice(std::string_view only, std::string since);

/// Returns for each shape of a list, in its order, whether no row serves it.
using StaleCheck = std::function<std::vector<bool>(const std::vector<Problem>& shapes)>;

/// A list with the chosen rows of a family's list alone, as text; nothing: none is chosen. `history`: null unless
/// changed shapes are wanted. Throws invalid_input for a list that cannot be read, with file and line.
std::optional<std::string> chosen_rows(const FamilySpec& family, const std::filesystem::path& list,
                                       const GitHistory* history, const StaleCheck& is_stale);

}  // namespace attune
