// SPDX-License-Identifier: MIT
#include "server/journal/journal_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace attune {
namespace {

/// Escapes a label's value as the format wants: UTF-8, without which nothing of the answer is taken.
std::string label(std::string_view value) {
  std::string text;
  while (!value.empty()) {
    const size_t length = utf8_length(value);
    if (length == 0)
      text += "\uFFFD";
    else if (value.front() == '\n')
      text += "\\n";
    else if (value.front() == '\\' || value.front() == '"')
      text += fmt::format("\\{}", value.front());
    else
      text += value.substr(0, length);
    value.remove_prefix(std::max<size_t>(length, 1));
  }
  return text;
}

std::string heading(const char* name, const char* type, const char* help) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

}  // namespace

void JournalTotals::add(const EntryHeading& heading) {
  if (heading.kind == EntryKind::run_begin) ++num_runs_;
  if (heading.kind == EntryKind::run_end) ++endings_[heading.status];
  if (heading.kind == EntryKind::decision) ++problems_[heading.status];
  if (heading.kind != EntryKind::record || heading.stage != name(Stage::verify)) return;
  ++candidates_[{heading.status, heading.solver}];
  if (const auto status = parse_status(heading.status); status && is_dangerous(*status)) ++num_deaths_;
}

void JournalTotals::add(const Decision& decision) {
  num_launches_ += decision.launches;
  best_ratio_ = std::max(best_ratio_, decision.comparison.ratio);
}

std::string JournalTotals::metrics_text(uint64_t journal_bytes) const {
  std::string text = heading("attune_runs", "gauge", "Runs by how they ended; open: they have no end, or were killed.");
  uint64_t num_ended = 0;
  for (const auto& [ending, count] : endings_) {
    text += fmt::format("attune_runs{{state=\"{}\"}} {}\n", label(ending), count);
    num_ended += count;
  }
  text += fmt::format("attune_runs{{state=\"open\"}} {}\n", num_runs_ - std::min(num_runs_, num_ended));
  text += heading("attune_problems_total", "counter", "Decided problems by verdict.");
  for (const auto& [verdict, count] : problems_)
    text += fmt::format("attune_problems_total{{ending=\"{}\"}} {}\n", label(verdict), count);
  text += heading("attune_candidates_total", "counter", "Verified candidates by outcome and solver.");
  for (const auto& [key, count] : candidates_)
    text += fmt::format("attune_candidates_total{{status=\"{}\",solver=\"{}\"}} {}\n", label(key.first),
                        label(key.second), count);
  text += heading("attune_best_ratio", "gauge", "Largest speed of a winner over its default.") +
          fmt::format("attune_best_ratio {}\n", best_ratio_);
  text += heading("attune_worker_deaths_total", "counter", "Candidates that ended their worker or its deadline.") +
          fmt::format("attune_worker_deaths_total {}\n", num_deaths_);
  text += heading("attune_launches_total", "counter", "Launches for decided problems.") +
          fmt::format("attune_launches_total {}\n", num_launches_);
  text += heading("attune_journal_bytes", "gauge", "Size of the journal's file.") +
          fmt::format("attune_journal_bytes {}\n", journal_bytes);
  return text;
}

}  // namespace attune
