// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace attune {

/// Makes a text from anywhere a cell of a Markdown table: one line of at most 500 characters. It adds no column, no
/// markup of Markdown or of a web page, and no mention of a user. An underscore within a word is no markup, and names
/// stay as they are typed.
std::string markdown_cell(std::string_view text);

}  // namespace attune
