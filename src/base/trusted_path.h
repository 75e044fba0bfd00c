// SPDX-License-Identifier: MIT
#pragma once
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

namespace attune {

/// Whether nobody but this user and root could have written what `status` is of: one of them owns it, and neither its
/// group nor others may write.
bool is_only_ours_to_write(const struct stat& status) noexcept;

/// What is wrong with a file that is to be used, as a clause for a person (`others than its owner may write it, chmod
/// go-w: '/x'`), when others could have written it, or replaced it in its folder; nothing: it is to be trusted, or not
/// there. Links are followed. `like`: whoever could write this file, or its folder, is trusted, too: who wrote the
/// library that asks may write what belongs to it.
std::optional<std::string> why_not_trusted(const std::filesystem::path& file, const std::filesystem::path& like = {});

}  // namespace attune
