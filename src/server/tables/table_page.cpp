// SPDX-License-Identifier: MIT
#include "server/tables/table_page.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace attune {
namespace {

constexpr std::array<std::string_view, kNumRowAgreements> kNames = {"same", "other", "undecided", "unpublished"};

/// Takes lines one by one, and keeps those of the page.
class PageLines {
 public:
  explicit PageLines(const TableQuery& query) : query_(query), text_(to_lower(query.text)) {}

  /// One of `row` and `decision` may be null.
  void add(const RowSummary* row, const ResultRow* decision, RowAgreement agreement) {
    ++page_.counts[static_cast<size_t>(agreement)];
    if (query_.agreement && *query_.agreement != agreement) return;
    if (!text_.empty() && !(row != nullptr && is_in(*row)) && !(decision != nullptr && is_in(*decision))) return;
    const size_t at = page_.num_found++;
    if (at < query_.after || page_.lines.size() == query_.limit) return;
    page_.lines.push_back({row == nullptr ? std::nullopt : std::optional(*row),
                           decision == nullptr ? std::nullopt : std::optional(*decision), agreement});
  }
  TablePage take() { return std::move(page_); }

 private:
  bool has_text(const std::string& where) const { return to_lower(where).find(text_) != std::string::npos; }
  bool is_in(const RowSummary& row) const {
    return has_text(row.problem) || has_text(row.kernel) || has_text(row.device) || has_text(row.place);
  }
  bool is_in(const ResultRow& row) const {
    return has_text(row.problem) || has_text(row.winner) || has_text(row.device);
  }

  const TableQuery& query_;
  const std::string text_;
  TablePage page_;
};

}  // namespace

std::string_view name(RowAgreement agreement) noexcept { return kNames[static_cast<size_t>(agreement)]; }

std::optional<RowAgreement> parse_row_agreement(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<RowAgreement>(found - kNames.begin());
}

TablePage table_page(const RowSummaries& rows, const NewestResults& newest, const TableQuery& query) {
  std::unordered_set<ResultPlace, ResultPlaceHash> published;
  PageLines lines(query);
  for (const RowSummary& row : rows.rows) {
    const ResultPlace place{row.problem, row.device, row.require};
    if (row.is_taken) published.insert(place);
    const ResultRow* decision = newest.find(place);
    if (decision == nullptr)
      lines.add(&row, nullptr, RowAgreement::undecided);
    else
      lines.add(&row, decision, row.kernel == decision->winner ? RowAgreement::same : RowAgreement::other);
  }
  for (const auto& one : newest.rows()) {
    if (!published.contains({one->problem, one->device, one->require}))
      lines.add(nullptr, one.get(), RowAgreement::unpublished);
  }
  return lines.take();
}

}  // namespace attune
