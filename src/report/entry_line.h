// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "store/query.h"

namespace attune {

/// Returns a JSON object with the members `id`, `at` (UTC; null if unknown) and `run` (0: none) before its own.
std::string with_stamp(const std::string& object, const Stamp& stamp);
/// Returns an entry of a journal as one line of JSON: its stamp and the members of docs/formats/journal.md.
std::string entry_line_json(const Entry& entry, const Stamp& stamp);

/// Date and time of an entry in UTC, to the minute: `2026-11-23 02:08`; blanks if unknown.
std::string short_time(const Stamp& stamp);
/// Returns the heading of short_stamp().
std::string stamp_header();
/// Returns time and run of an entry, which begin a line for people: `2026-11-23 02:08      5`; `-`: no run.
std::string short_stamp(const Stamp& stamp);
/// Returns an entry as one line for people, with its time and run.
std::string entry_line(const Entry& entry, const Stamp& stamp);

}  // namespace attune
