// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/ban.h"

namespace attune {

/// What `attune quarantine` does with bans: they hold by the file in the overlay (formats/csv/ban_file.h), and the
/// journal keeps who made or lifted each, and when.

/// A ban that holds, and what the journal knows of it.
struct ListedBan {
  Ban ban;
  std::string by, at;  ///< Empty: the journal does not know.
};
/// The bans that hold. An empty `device`, `candidate` or `problem` (a key) selects all; a ban of every device or
/// problem is among those of each. `journal`: read if it exists. Prints what of the file is skipped.
std::vector<ListedBan> listed_bans(const Ban& selected, const std::filesystem::path& journal);

/// Bans a kernel, or replaces the reason of its ban; says what holds now. Throws invalid_input for what is neither a
/// candidate's full name (with a version's number and parameters) nor the id of a solver of this build, for a device
/// that is not an architecture and units on one line, and for a reason that is not one line of text.
int add_ban(Ban ban, const std::filesystem::path& journal);
/// Lifts a ban. Throws not_found unless a ban has exactly this candidate, device and problem.
int lift_ban(const Ban& ban, const std::filesystem::path& journal);

}  // namespace attune
