// SPDX-License-Identifier: MIT
#pragma once
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

namespace attune {

/// Whether only this user and root could have written the file of `status`: one of them owns it, and neither its group
/// nor others may write.
bool is_only_ours_to_write(const struct stat& status) noexcept;

/// Reports why a file must not be used, as a clause for a person (`other users may write it, chmod go-w:
/// '/x'`): other users could have written it, or replaced it in its folder. Empty: it is trusted, or does not exist.
/// Links are followed. `like`: users who may write this file, or its folder, are trusted too: the writer of the calling
/// library may write the files that belong to it.
std::optional<std::string> why_not_trusted(const std::filesystem::path& file, const std::filesystem::path& like = {});

/// Reports why a path must not be written to, as a clause: it leads through a link that lies in a folder in which every
/// user may write, and that neither this user nor the folder's owner made. This is the kernel's rule for
/// `fs.protected_symlinks`, which may be switched off and spares folders without the sticky bit. Empty: it may be
/// written to, or does not exist.
std::optional<std::string> why_planted(const std::filesystem::path& path);

}  // namespace attune
