// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "formats/csv/table_diff.h"

namespace attune {

/// The difference of two tables for people, in Markdown: the numbers of rows, and a table of the added, changed and
/// removed rows. It has both times as numbers, and each cell that differs word by word. Without a heading. Texts of the
/// tables are escaped.
std::string diff_markdown(const TableDiff& diff);

/// Two texts as one: a word that differs as `~~before~~ **after**`, the others once. Words end at blanks and at
/// `, ; : =`; of texts with different numbers of words, each stands as a whole.
std::string changed_words(std::string_view before, std::string_view after);

}  // namespace attune
