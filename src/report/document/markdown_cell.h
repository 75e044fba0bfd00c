// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace attune {

/// A text from anywhere as a cell of a Markdown table: one line of at most 500 characters, without a column of its own,
/// markup of Markdown or of a web page, or a mention of a user. An underscore within a word is none, and names stay as
/// they are typed.
std::string markdown_cell(std::string_view text);

}  // namespace attune
