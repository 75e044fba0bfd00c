// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/binary.h"

namespace attune {

/// Where an entry lies and what stands in it, as docs/formats/kernel_cache.md has it.
namespace cache_entry {

/// Letters, digits and `._+-`, not starting with a dot: arch, recipe and toolchain are names of folders.
bool is_name(std::string_view text) noexcept;
/// A folder whose content nobody but this user and root could have written. Of the links in `root` itself only the
/// target counts; below it there are none.
bool is_trusted_root(const std::filesystem::path& root) noexcept;

/// Below the root: a folder, no link to one, that nobody but this user and root could have written.
bool is_trusted_folder(const std::filesystem::path& folder) noexcept;

enum class Content : uint8_t {
  none,      ///< Nothing is there.
  not_ours,  ///< Others could have written it, or it is no entry.
  wrong,     ///< Not readable, of another format or command, or of another arch, recipe or toolchain than its place.
  right
};
struct Entry {
  Content content = Content::none;
  Binary binary;  ///< Of `right`.
  bool is_right() const noexcept { return content == Content::right; }
};
/// Reads an entry's description, not its binary.
Entry read(const std::filesystem::path& root, std::string_view arch, std::string_view recipe,
           std::string_view toolchain);
/// Whether the binary is the one that was described.
bool is_intact(const Binary& binary);
/// Writes the description beside the binary, in a folder that nobody reads yet. Throws io.
void describe(const std::filesystem::path& folder, const Binary& binary);

/// Of all entries below a trusted root, ordered by arch, recipe and toolchain.
struct Place {
  std::string arch, recipe, toolchain;
  std::filesystem::path path(const std::filesystem::path& root) const { return root / arch / recipe / toolchain; }
};
std::vector<Place> places(const std::filesystem::path& root);
/// Toolchains for which there is an entry, in order of name.
std::vector<std::string> toolchains(const std::filesystem::path& root, std::string_view arch, std::string_view recipe);

constexpr const char* kBinary = "kernel";
constexpr const char* kDescription = "entry.json";

}  // namespace cache_entry
}  // namespace attune
