// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace attune {

/// One bzip2 stream, level 9.
std::string bzip2(std::string_view bytes);
/// The content of one bzip2 stream. It is held up to `max_bytes`, also of a stream that expands further. Throws
/// invalid_input for a larger content, a damaged or cut stream, and bytes behind it.
std::string bunzip2(std::string_view stream, uint64_t max_bytes);

}  // namespace attune
