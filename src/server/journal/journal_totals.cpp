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

/// Of a metric without labels.
std::vector<std::pair<std::string, std::string>> one_sample(auto value) { return {{"", fmt::format("{}", value)}}; }

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
  best_ratio_ = std::max(best_ratio_, decision.over_default().ratio);
}

std::vector<Metric> JournalTotals::metrics(uint64_t journal_bytes) const {
  std::vector<std::pair<std::string, std::string>> runs, problems, candidates;
  uint64_t num_ended = 0;
  for (const auto& [ending, count] : endings_) {
    runs.emplace_back(fmt::format("state=\"{}\"", label(ending)), fmt::to_string(count));
    num_ended += count;
  }
  runs.emplace_back("state=\"open\"", fmt::to_string(num_runs_ - std::min(num_runs_, num_ended)));
  for (const auto& [verdict, count] : problems_)
    problems.emplace_back(fmt::format("ending=\"{}\"", label(verdict)), fmt::to_string(count));
  for (const auto& [key, count] : candidates_)
    candidates.emplace_back(fmt::format("status=\"{}\",solver=\"{}\"", label(key.first), label(key.second)),
                            fmt::to_string(count));
  return {{"attune_runs", "gauge", "Runs by how they ended; open: they have no end, or were killed.", std::move(runs)},
          {"attune_problems_total", "counter", "Decided problems by verdict.", std::move(problems)},
          {"attune_candidates_total", "counter", "Verified candidates by outcome and solver.", std::move(candidates)},
          {"attune_best_ratio", "gauge", "Largest speed of a winner over its default.", one_sample(best_ratio_)},
          {"attune_worker_deaths_total", "counter", "Candidates that ended their worker or its deadline.",
           one_sample(num_deaths_)},
          {"attune_launches_total", "counter", "Launches for decided problems.", one_sample(num_launches_)},
          {"attune_journal_bytes", "gauge", "Size of the journal's file.", one_sample(journal_bytes)}};
}

}  // namespace attune
