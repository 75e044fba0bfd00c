// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string_view>

namespace attune {

/// Finds a member of a JSON object and returns the text of its value, a part of `object`. Strings and brackets are
/// followed, values are not decoded: about 1 ns a byte, a tenth of what a parser takes. Nothing if there is no such
/// member, or if the text is not one whole object; other errors in values are not seen. `name` is compared with the
/// name as it is written, escapes included.
std::optional<std::string_view> json_member(std::string_view object, std::string_view name);

}  // namespace attune
