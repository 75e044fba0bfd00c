// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace attune {

/// Names that a 64-bit little-endian ELF file defines for others (shared object, cubin): its dynamic symbols, or all
/// global ones of a file that has no dynamic table. Nothing for a file of another kind. Throws invalid_input when the
/// file contradicts itself.
std::optional<std::set<std::string, std::less<>>> exported_symbols(std::string_view file);

/// Whether it starts as a 64-bit little-endian ELF shared object does.
bool is_shared_object(std::string_view file) noexcept;

}  // namespace attune
