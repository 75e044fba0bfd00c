// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/binary.h"

namespace attune {

/// Path and content of an entry, as described in docs/formats/kernel_cache.md.
namespace cache_entry {

/// Whether the text is valid as arch, recipe or toolchain, which are names of folders: letters, digits and `._+-`, not
/// starting with a dot.
bool is_name(std::string_view text) noexcept;
/// Whether only this user and root could have written the folder's content. A link in `root` itself is judged by its
/// target; below `root` no links are allowed.
bool is_trusted_root(const std::filesystem::path& root) noexcept;

/// Whether a folder below the root is a real folder, not a link, that only this user and root could have written.
bool is_trusted_folder(const std::filesystem::path& folder) noexcept;

enum class Content : uint8_t {
  none,      ///< There is no entry.
  not_ours,  ///< Other users could have written it, or it is not an entry.
  wrong,     ///< Unreadable, of another format or command, or its arch, recipe or toolchain does not match its path.
  rejected,  ///< The toolchain rejected the source, so there is no binary.
  right
};
struct Entry {
  Content content = Content::none;
  Binary binary;          ///< Set for `right` and `rejected`.
  std::string rejection;  ///< Set for `rejected`: the detail of the failed compilation.
  bool is_right() const noexcept { return content == Content::right; }
};
/// Reads an entry's description, but not its binary.
Entry read(const std::filesystem::path& root, std::string_view arch, std::string_view recipe,
           std::string_view toolchain);
/// Whether the compiler's current command made the binary. Binaries of a compiler that this build lacks are accepted:
/// they may come from another machine.
bool is_of_this_command(const Binary& binary);
/// Whether a file may be for an architecture: a cubin states its own, and the driver refuses it on others.
bool fits(std::string_view arch, std::string_view file);
/// Whether the binary matches its description: its sha256, and a cubin its architecture.
bool is_intact(const Binary& binary);
/// What a description says, without the file; of another format, without an arch. Throws invalid_input.
Binary described_by(std::string_view text);
/// Writes the description next to the binary, in a folder that has no readers yet. With a `rejection` it is all that
/// the folder holds. Throws io.
void describe(const std::filesystem::path& folder, const Binary& binary, std::string_view rejection = {});

/// Path of one entry. places() lists all entries below a trusted root, ordered by arch, recipe and toolchain.
struct Place {
  std::string arch, recipe, toolchain;
  std::filesystem::path path(const std::filesystem::path& root) const { return root / arch / recipe / toolchain; }
  std::string name() const { return arch + '/' + recipe + '/' + toolchain; }
};
std::vector<Place> places(const std::filesystem::path& root);
/// Toolchains with an entry for the recipe, ordered by name.
std::vector<std::string> toolchains(const std::filesystem::path& root, std::string_view arch, std::string_view recipe);

constexpr const char* kBinary = "kernel";
constexpr const char* kDescription = "entry.json";
constexpr uint64_t kMaxDescriptionBytes = 1 << 20;

}  // namespace cache_entry
}  // namespace attune
