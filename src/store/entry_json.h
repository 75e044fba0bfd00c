// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "store/journal.h"

namespace attune {

/// Encodes an entry as one line of JSON (docs/formats/journal.md). entry_from_json(entry_to_json(e)) == e, numbers to
/// the last bit; bytes of a text that are not UTF-8 (a compiler's message) become U+FFFD.
std::string entry_to_json(const Entry& entry);
/// Throws invalid_input. Unknown members are ignored; missing ones are errors.
Entry entry_from_json(std::string_view json);
/// Decodes of a Record only its outcome, in a fifth of the time. Throws invalid_input for another entry, for a torn
/// text, for bytes that are not UTF-8 and for an outcome that is none; other members are not looked at.
Outcome outcome_from_json(std::string_view json);

}  // namespace attune
