// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// Splits a text of arguments, as a person types them into one field of a form: blanks separate, and quotes keep them.
/// Between `'` everything stands for itself, between `"` everything but `\"` and `\\`; quoted and bare parts without a
/// blank between them are one argument. Nothing is expanded or executed. Throws invalid_input for a control character
/// such as a line end, and for a quote that is not closed. Also for a character outside of quotes that means something
/// to a shell (`;`, `$`, `*`, a backslash …), because the user would expect its effect.
std::vector<std::string> split_arguments(std::string_view text);

}  // namespace attune
