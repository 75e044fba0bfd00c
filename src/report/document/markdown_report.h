// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>

#include "report/document/model.h"

namespace attune {

/// The summary of a CI job may hold 1 MiB.
inline constexpr size_t kMaxMarkdownBytes = 900'000;

/// A report in Markdown with tables, as job summaries and pull requests show it: the results, shapes, failures,
/// environment. At most kMaxMarkdownBytes: a longer one ends at a whole line, followed by a note. Pure: the same model
/// gives the same bytes.
std::string markdown_text(const ReportModel& model);

}  // namespace attune
