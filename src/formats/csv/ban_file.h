// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/ban.h"

namespace attune {

/// File of the Bans in the overlay of the state folder, beside the tables: `candidate,device,problem,reason`.
inline constexpr const char* kBanFileName = "banned.csv";
inline constexpr uint64_t kMaxBanFileBytes = 1 << 20;

/// What a file of Bans says. Its faults are sentences, because an application must run on with the rest.
struct BanFile {
  std::vector<Ban> bans;
  std::vector<std::string> notices;  ///< `banned.csv:3: …` for each line that is skipped, or one for the whole file.
};

/// The file's Bans; none if it does not exist. A file that other users could have written is skipped, and so is a line
/// that is torn, names nothing that can be banned, or states no reason. Throws nothing of attune::Error.
BanFile read_ban_file(const std::filesystem::path& file);

/// The list of this user's state folder, as the run time reads it; adds sentences about what of it is skipped.
std::shared_ptr<const BanList> bans_of_user(std::vector<std::string>& notices);

/// Changes the file under its lock and atomically; `change` gets the Bans that are there, and nothing is written if it
/// leaves them as they are. Makes a private folder. Throws invalid_input for a file with faults, whose lines would be
/// lost; io; timeout.
void change_ban_file(const std::filesystem::path& file, const std::function<void(std::vector<Ban>& bans)>& change);

}  // namespace attune
